//! Power cuts of a trial's workload (`[trial] power_cut`): names, metrics and the outcome of each cut.

use crate::record::StepRecord;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Step of a record with the results, and stage of the power cuts.
pub const STEP: &str = "power_cut";

/// Stage that looks at the files after a cut.
pub const SURVEY: &str = "survey";

/// Step of a survey in which the filesystem's checker repairs.
pub const REPAIR: &str = "repair";

/// A metric, and its place among the counts.
type Count<T> = (&'static str, fn(&mut T) -> &mut u64);

/// The metrics of the counts of all cuts.
const COUNTS: [Count<CutCounts>; 5] = [
    ("cuts", |found| &mut found.cuts),
    ("cuts_survived", |found| &mut found.survived),
    ("cuts_lost_synced", |found| &mut found.lost_synced),
    ("cuts_unmountable", |found| &mut found.unmountable),
    ("cuts_damaged", |found| &mut found.damaged),
];

/// The metrics of the losses.
const LOSSES: [Count<CutLosses>; 7] = [
    ("cuts_torn", |found| &mut found.torn),
    ("cuts_reordered", |found| &mut found.reordered),
    ("cuts_need_fsck", |found| &mut found.need_fsck),
    ("cuts_repaired", |found| &mut found.repaired),
    ("cuts_database_damaged", |found| &mut found.database_damaged),
    ("lost_files_max", |found| &mut found.lost_files_max),
    ("lost_bytes_max", |found| &mut found.lost_bytes_max),
];

const LOST_TRANSACTIONS_MAX: &str = "lost_transactions_max";

/// Metrics of the step.
pub const METRICS: &[&str] = &{
    let mut names = [LOST_TRANSACTIONS_MAX; COUNTS.len() + LOSSES.len() + 1];
    let mut at = 0;
    while at < names.len() - 1 {
        names[at] = if at < COUNTS.len() { COUNTS[at].0 } else { LOSSES[at - COUNTS.len()].0 };
        at += 1;
    }
    names
};

/// State of a stack after one power cut. The first that is true, from the last to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AfterCut {
    /// It mounts, has everything that was synced, and its checker finds nothing.
    Whole,
    /// Its checker finds damage after the mount that recovers from the cut.
    Damaged,
    /// Data that a sync had returned for is lost.
    LostSynced,
    /// It cannot be mounted, read or unmounted.
    Unmountable,
}

impl AfterCut {
    /// The state in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Whole => "everything synced is there",
            Self::Damaged => "the checker finds damage",
            Self::LostSynced => "synced data is lost",
            Self::Unmountable => "the filesystem cannot be mounted, read or unmounted",
        }
    }
}

/// Power cuts, counted by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutCounts {
    /// Cuts that were looked at.
    pub cuts: u64,
    /// Of them: everything synced is there, and the filesystem is consistent.
    pub survived: u64,
    /// Synced data is lost.
    pub lost_synced: u64,
    /// The filesystem cannot be mounted, read or unmounted.
    pub unmountable: u64,
    /// Everything synced is there, and the checker finds damage.
    pub damaged: u64,
    /// Kind and size of the losses; `None` in runs of before 0.3.0, whose cuts were not of their workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<CutLosses>,
}

/// Kind and size of what power cuts took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CutLosses {
    /// Cuts that left a file of which a part of the acknowledged bytes is missing.
    pub torn: u64,
    /// Cuts after which a later change of a file is there and an earlier one is not.
    pub reordered: u64,
    /// Cuts after which the filesystem does not mount, or its checker finds damage.
    pub need_fsck: u64,
    /// Part of these that the checker repairs.
    pub repaired: u64,
    /// Cuts after which the database's own check finds damage.
    pub database_damaged: u64,
    /// Acknowledged files and names that the worst cut took.
    pub lost_files_max: u64,
    /// Acknowledged bytes that the worst cut took.
    pub lost_bytes_max: u64,
    /// Acknowledged transactions that the worst cut took; `None` without a database.
    #[serde(default)]
    pub lost_transactions_max: Option<u64>,
}

impl CutLosses {
    /// The losses by their metrics; `None` for runs of earlier versions, which have none of them.
    fn of(kept: &dyn Fn(&str) -> Option<u64>) -> Option<Self> {
        let mut found = Self::default();
        for (name, count) in LOSSES {
            *count(&mut found) = kept(name)?;
        }
        found.lost_transactions_max = kept(LOST_TRANSACTIONS_MAX);
        Some(found)
    }

    /// Adds other cuts.
    pub fn add_all(&mut self, other: Self) {
        self.torn += other.torn;
        self.reordered += other.reordered;
        self.need_fsck += other.need_fsck;
        self.repaired += other.repaired;
        self.database_damaged += other.database_damaged;
        self.lost_files_max = self.lost_files_max.max(other.lost_files_max);
        self.lost_bytes_max = self.lost_bytes_max.max(other.lost_bytes_max);
        self.lost_transactions_max = self.lost_transactions_max.max(other.lost_transactions_max);
    }
}

impl CutCounts {
    /// Adds a cut.
    pub fn add(&mut self, after: AfterCut) {
        self.cuts += 1;
        *match after {
            AfterCut::Whole => &mut self.survived,
            AfterCut::Damaged => &mut self.damaged,
            AfterCut::LostSynced => &mut self.lost_synced,
            AfterCut::Unmountable => &mut self.unmountable,
        } += 1;
    }

    /// Adds the cuts of another trial.
    pub fn add_all(&mut self, mut other: Self) {
        for (_, count) in COUNTS {
            *count(self) += *count(&mut other);
        }
        if let Some(losses) = other.losses {
            self.losses.get_or_insert_default().add_all(losses);
        }
    }

    /// Cuts that lost synced data, or the filesystem with it.
    #[must_use]
    pub fn lossy(&self) -> u64 {
        self.lost_synced + self.unmountable
    }

    /// The step of a record that tells them; times are nanoseconds since the trial began.
    #[must_use]
    pub fn step(&self, started_ns: u64, ended_ns: u64) -> StepRecord {
        let mut step =
            StepRecord { name: STEP.to_owned(), started_ns, ended_ns, ..StepRecord::default() };
        let mut all = *self;
        for (name, count) in COUNTS {
            step.metrics.insert(name.to_owned(), *count(&mut all) as f64);
        }
        if let Some(mut found) = self.losses {
            for (name, count) in LOSSES {
                step.metrics.insert(name.to_owned(), *count(&mut found) as f64);
            }
            if let Some(lost) = found.lost_transactions_max {
                step.metrics.insert(LOST_TRANSACTIONS_MAX.to_owned(), lost as f64);
            }
        }
        step
    }

    /// The counts of a record's steps; `None` if no power was cut.
    #[must_use]
    pub fn of(steps: &[StepRecord]) -> Option<Self> {
        let step = steps.iter().find(|step| step.name == STEP)?;
        let kept = |name: &str| step.metrics.get(name).map(|value| *value as u64);
        let mut all = Self::default();
        for (name, count) in COUNTS {
            *count(&mut all) = kept(name)?;
        }
        all.losses = CutLosses::of(&kept);
        Some(all)
    }
}
