//! A folder, trials and records for the tests of this room.

use crate::spool::{Line, Share, Spool, Work};
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

/// Offers these shares.
pub(crate) fn offer(spool: &Spool, shares: &[Share]) {
    shares.iter().for_each(|share| spool.want(share).unwrap());
}

/// The share that a worker takes.
pub(crate) fn took(spool: &Spool, task: &str) -> Option<Share> {
    spool.take(task).unwrap().map(|sheet| sheet.share)
}

/// The result of a trial, by this worker.
pub(crate) fn line(index: u32, task: &str) -> Line {
    let result = Ok(Box::new(record(index)));
    Line { trial: index, task: task.to_owned(), wall_ns: Some(1_000_000_000), result }
}

/// A share of these trials.
pub(crate) fn batch(trials: std::ops::Range<u32>) -> Share {
    Share { index: trials.start, trials: trials.map(trial).collect() }
}
