//! The records of a run so far, and the candidates that are not tried again.

use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use std::collections::BTreeMap;

/// A candidate whose trials failed so many times in a row is not tried again in this run.
pub const FAILURES_BEFORE_QUARANTINE: u32 = 3;

/// Records so far, by trial index.
pub type Records = BTreeMap<u32, (PlannedTrial, Record)>;

/// Returns true if a candidate's last trials before this one all failed: it is not tried again.
#[must_use]
pub fn is_quarantined(records: &Records, candidate: u32, before: u32) -> bool {
    let failed = records
        .range(..before)
        .rev()
        .filter(|(_, (trial, _))| trial.candidate == candidate)
        .take_while(|(_, (_, record))| matches!(record.status, Status::Failed { .. }))
        .take(FAILURES_BEFORE_QUARANTINE as usize)
        .count();
    failed == FAILURES_BEFORE_QUARANTINE as usize
}

/// Trials that need not run again when a run is resumed. A failed trial is run again, except where
/// its failure has counted already: in a race, where later trials depend on it, and in a verdict that
/// more rounds are added to (`extends_verdict`).
#[must_use]
pub fn worth_keeping(
    plan: &Plan,
    records: Vec<(PlannedTrial, Record)>,
    extends_verdict: bool,
) -> Records {
    let has_counted = plan.race.is_some() || plan.prolonged.is_some() || extends_verdict;
    records
        .into_iter()
        .filter(|(_, record)| has_counted || !matches!(record.status, Status::Failed { .. }))
        .map(|(trial, record)| (trial.index, (trial, record)))
        .collect()
}
