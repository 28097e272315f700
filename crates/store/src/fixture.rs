//! A small plan and records for tests.

use seekwell_fixtures::{mail, stack, step};
use seekwell_model::lab::{Effort, Lab};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::verdict::{Verdict, VerdictKind};

/// Two stacks, one workload, six rounds.
pub(crate) fn plan() -> Plan {
    let lab = seekwell_fixtures::lab("unpack.elapsed_durable", Effort::Rounds(6), vec![mail()]);
    let question = "which stack unpacks fastest?".to_owned();
    let lab = Lab { name: "mail".to_owned(), question, ..lab };
    seekwell_fixtures::plan(lab, vec![stack("ext4", "none"), stack("xfs", "none")], 6)
}

/// Trial number `index` of [`plan`].
pub(crate) fn trial(index: u32) -> PlannedTrial {
    let round = index / 2;
    PlannedTrial { index, round, candidate: index % 2, seed: u64::from(round) }
}

/// The record of trial number `index`.
pub(crate) fn record(index: u32) -> Record {
    let unpack = 2.0 + f64::from(index) / 8.0;
    let steps =
        vec![step("mkfs", "elapsed_durable", 0.1), step("unpack", "elapsed_durable", unpack)];
    Record { steps, clock_cost_ns: Some(21.5), elapsed_ns: 3_000_000_000, ..Record::blank() }
}

/// The environment of the run.
pub(crate) fn environment() -> serde_json::Value {
    serde_json::json!({ "place": "host", "kernel": "6.18.44" })
}

/// A verdict that nothing was judged for.
#[allow(dead_code, reason = "not every test that includes this file needs it")]
pub(crate) fn verdict() -> Verdict {
    Verdict {
        baseline: Some("xfs/none".to_owned()),
        reason: "because".to_owned(),
        ..seekwell_fixtures::verdict(VerdictKind::Winner, &["xfs/none"], 6)
    }
}
