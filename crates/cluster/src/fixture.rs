//! A folder, trials and records for the tests of this room.

use crate::spool::{Share, Spool, Work};
use seekwell_fixtures::{lab, mail, stack};
use seekwell_model::lab::Effort;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;

/// Work with two stacks.
pub(crate) fn some_work() -> Work {
    let stacks = vec![stack("ext4", "none"), stack("xfs", "none")];
    Work {
        plan: seekwell_fixtures::plan(
            lab("unpack.elapsed", Effort::Rounds(3), vec![mail()]),
            stacks,
            3,
        ),
        environment: serde_json::json!({"kernel": "6.12"}),
        settings: serde_json::json!({}),
    }
}

/// A new shared folder.
pub(crate) fn spool(folder: &tempfile::TempDir) -> Spool {
    Spool::create(&folder.path().join("x.nodes"), &some_work()).unwrap()
}

pub(crate) fn trial(index: u32) -> PlannedTrial {
    PlannedTrial { index, round: 0, candidate: 0, seed: 7 }
}

/// The share of one trial.
pub(crate) fn share(index: u32) -> Share {
    trial(index).into()
}

/// A record that tells its trial.
pub(crate) fn record(index: u32) -> Record {
    Record { elapsed_ns: u64::from(index), ..seekwell_fixtures::record(vec![]) }
}
