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

const CUTS: &str = "cuts";
const SURVIVED: &str = "cuts_survived";
const LOST_SYNCED: &str = "cuts_lost_synced";
const UNMOUNTABLE: &str = "cuts_unmountable";
const DAMAGED: &str = "cuts_damaged";
const TORN: &str = "cuts_torn";
const REORDERED: &str = "cuts_reordered";
const NEED_FSCK: &str = "cuts_need_fsck";
const REPAIRED: &str = "cuts_repaired";
const DATABASE_DAMAGED: &str = "cuts_database_damaged";
const LOST_FILES_MAX: &str = "lost_files_max";
const LOST_BYTES_MAX: &str = "lost_bytes_max";
const LOST_TRANSACTIONS_MAX: &str = "lost_transactions_max";

/// Metrics of the step.
pub const METRICS: &[&str] = &[
    CUTS,
    SURVIVED,
    LOST_SYNCED,
    UNMOUNTABLE,
    DAMAGED,
    TORN,
    REORDERED,
    NEED_FSCK,
    REPAIRED,
    DATABASE_DAMAGED,
    LOST_FILES_MAX,
    LOST_BYTES_MAX,
    LOST_TRANSACTIONS_MAX,
];

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
    fn metric(self) -> &'static str {
        match self {
            Self::Whole => SURVIVED,
            Self::Damaged => DAMAGED,
            Self::LostSynced => LOST_SYNCED,
            Self::Unmountable => UNMOUNTABLE,
        }
    }

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
    pub fn add_all(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.survived += other.survived;
        self.lost_synced += other.lost_synced;
        self.unmountable += other.unmountable;
        self.damaged += other.damaged;
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
        let counts = [
            (CUTS, self.cuts),
            (AfterCut::Whole.metric(), self.survived),
            (AfterCut::LostSynced.metric(), self.lost_synced),
            (AfterCut::Unmountable.metric(), self.unmountable),
            (AfterCut::Damaged.metric(), self.damaged),
        ];
        let losses = self.losses.into_iter().flat_map(|found| {
            let counts = [
                (TORN, found.torn),
                (REORDERED, found.reordered),
                (NEED_FSCK, found.need_fsck),
                (REPAIRED, found.repaired),
                (DATABASE_DAMAGED, found.database_damaged),
                (LOST_FILES_MAX, found.lost_files_max),
                (LOST_BYTES_MAX, found.lost_bytes_max),
            ];
            let transactions = found.lost_transactions_max;
            counts.into_iter().chain(transactions.map(|lost| (LOST_TRANSACTIONS_MAX, lost)))
        });
        let metrics = counts.into_iter().chain(losses);
        let metrics = metrics.map(|(name, count)| (name.to_owned(), count as f64)).collect();
        StepRecord { name: STEP.to_owned(), started_ns, ended_ns, metrics, ..StepRecord::default() }
    }

    /// The counts of a record's steps; `None` if no power was cut.
    #[must_use]
    pub fn of(steps: &[StepRecord]) -> Option<Self> {
        let step = steps.iter().find(|step| step.name == STEP)?;
        let count = |name: &str| step.metrics.get(name).map(|value| *value as u64);
        Some(Self {
            cuts: count(CUTS)?,
            survived: count(SURVIVED)?,
            lost_synced: count(LOST_SYNCED)?,
            unmountable: count(UNMOUNTABLE)?,
            damaged: count(DAMAGED)?,
            // Earlier runs have none of them.
            losses: count(TORN).and_then(|torn| {
                Some(CutLosses {
                    torn,
                    reordered: count(REORDERED)?,
                    need_fsck: count(NEED_FSCK)?,
                    repaired: count(REPAIRED)?,
                    database_damaged: count(DATABASE_DAMAGED)?,
                    lost_files_max: count(LOST_FILES_MAX)?,
                    lost_bytes_max: count(LOST_BYTES_MAX)?,
                    lost_transactions_max: count(LOST_TRANSACTIONS_MAX),
                })
            }),
        })
    }
}
