//! Power cuts after a trial (`[trial] power_cut`): names, metrics and the outcome of each cut.

use crate::record::StepRecord;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Step of a record with the results, and stage of the power cuts.
pub const STEP: &str = "power_cut";

/// Stage that writes the files.
pub const ENDURE: &str = "endure";

/// Stage that looks for them after a cut.
pub const SURVEY: &str = "survey";

/// Rounds of each writer before the power fails for the last time.
pub const ROUNDS: u64 = 60;

const CUTS: &str = "cuts";
const SURVIVED: &str = "cuts_survived";
const LOST_SYNCED: &str = "cuts_lost_synced";
const UNMOUNTABLE: &str = "cuts_unmountable";
const DAMAGED: &str = "cuts_damaged";

/// Metrics of the step.
pub const METRICS: &[&str] = &[CUTS, SURVIVED, LOST_SYNCED, UNMOUNTABLE, DAMAGED];

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
    }

    /// Cuts that lost synced data, or the filesystem with it.
    #[must_use]
    pub fn losses(&self) -> u64 {
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
        let metrics = counts.map(|(name, count)| (name.to_owned(), count as f64)).into();
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
        })
    }
}
