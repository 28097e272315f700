//! Runs the trials of a plan in a place and keeps every record at once.

use crate::order::{self, FEWEST_ROUNDS};
use seekwell_model::lab::Effort;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A candidate whose trials failed so many times in a row is not tried again in this run.
pub const FAILURES_BEFORE_QUARANTINE: u32 = 3;

/// Where trials run.
pub trait Place {
    /// Runs one trial. `progress` hears the name of each step that begins. A trial that fails is
    /// a record with [`Status::Failed`], not an error.
    ///
    /// # Errors
    /// When the place itself is broken, so that no further trial makes sense.
    fn run(
        &mut self,
        plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, Box<dyn Error + Send + Sync>>;
}

/// Where records are kept, trial by trial.
pub trait Keeper {
    /// Keeps a record durably.
    ///
    /// # Errors
    /// When it could not be kept; the run ends, and what was kept before stays.
    fn keep(
        &mut self,
        trial: &PlannedTrial,
        record: &Record,
    ) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// What happens during a run, for a display.
#[derive(Debug)]
pub enum Event<'a> {
    /// A trial begins.
    Began {
        /// The trial.
        trial: &'a PlannedTrial,
        /// Trials done, in earlier sessions too.
        done: u64,
        /// Trials in all, as far as can be said now.
        total: u64,
        /// Time left in nanoseconds, from the mean of the trials so far.
        left_ns: u64,
    },
    /// A step of the trial begins.
    Step {
        /// The trial.
        trial: &'a PlannedTrial,
        /// Name of the step.
        name: &'a str,
    },
    /// A trial ended and its record is kept.
    Ended {
        /// The trial.
        trial: &'a PlannedTrial,
        /// Its record.
        record: &'a Record,
    },
    /// A candidate will not be tried again.
    Quarantined {
        /// Its last trial.
        trial: &'a PlannedTrial,
        /// Why it failed the last time.
        reason: &'a str,
    },
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The place is broken.
    #[error("trial {index} could not be run")]
    Place {
        /// Index of the trial.
        index: u32,
        /// Cause.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The record could not be kept.
    #[error("the record of trial {index} could not be kept")]
    Keep {
        /// Index of the trial.
        index: u32,
        /// Cause.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All rounds are done.
    Complete,
    /// The stop flag was raised; the run can be resumed.
    Stopped,
}

/// Records so far, by trial index.
pub type Records = BTreeMap<u32, (PlannedTrial, Record)>;

/// A run under way.
pub struct Execution<'a> {
    plan: &'a Plan,
    records: Records,
    spent_ns: u64,
}

impl<'a> Execution<'a> {
    /// A run of this plan of which these records were kept before.
    #[must_use]
    pub fn new(plan: &'a Plan, kept: Records) -> Self {
        let spent_ns = kept.values().map(|(_, record)| record.elapsed_ns).sum();
        Self { plan, records: kept, spent_ns }
    }

    /// All records, kept before or made now.
    #[must_use]
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Gives the records away.
    #[must_use]
    pub fn into_records(self) -> Records {
        self.records
    }

    /// Runs what is missing, round by round, until the effort is spent or `stop` is raised.
    ///
    /// # Errors
    /// [`RunError`] when the place or the keeper breaks. What was kept stays kept.
    pub fn run(
        &mut self,
        place: &mut dyn Place,
        keeper: &mut dyn Keeper,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, RunError> {
        let candidates = self.plan.candidates.len() as u32;
        let mut round = 0;
        while candidates > 0 && self.another_round(round) {
            for trial in order::round_order(self.plan.lab.seed, candidates, round) {
                if stop.load(Ordering::Relaxed) {
                    return Ok(Ended::Stopped);
                }
                if !self.records.contains_key(&trial.index) && !self.quarantined(trial.candidate) {
                    self.one(&trial, place, keeper, on_event)?;
                }
            }
            round += 1;
        }
        Ok(Ended::Complete)
    }

    fn one(
        &mut self,
        trial: &PlannedTrial,
        place: &mut dyn Place,
        keeper: &mut dyn Keeper,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), RunError> {
        let index = trial.index;
        let (total, left_ns) = self.outlook();
        on_event(Event::Began { trial, done: self.records.len() as u64, total, left_ns });
        let begun = Instant::now();
        let mut progress = |name: &str| on_event(Event::Step { trial, name });
        let record = place
            .run(self.plan, trial, &mut progress)
            .map_err(|source| RunError::Place { index, source })?;
        keeper.keep(trial, &record).map_err(|source| RunError::Keep { index, source })?;
        on_event(Event::Ended { trial, record: &record });
        // The agent's own time leaves out its start, the writing of images and the record's way to
        // disk; a place in virtual time has no other account.
        let wall_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.spent_ns += record.elapsed_ns.max(wall_ns);
        self.records.insert(index, (*trial, record));
        if let (true, Some((_, record))) =
            (self.quarantined(trial.candidate), self.records.get(&index))
            && let Status::Failed { reason, .. } = &record.status
        {
            on_event(Event::Quarantined { trial, reason });
        }
        Ok(())
    }

    /// Whether round number `round` is to be run, or finished.
    fn another_round(&self, round: u32) -> bool {
        match self.plan.lab.judge.effort {
            Effort::Rounds(rounds) => round < rounds,
            Effort::Budget(budget) => {
                let begun = self.records.values().any(|(trial, _)| trial.round == round);
                round < FEWEST_ROUNDS
                    || begun
                    || (round < order::MOST_ROUNDS
                        && self.spent_ns.saturating_add(self.round_ns()) <= budget.0)
            }
        }
    }

    /// What a round costs: the mean of the trials so far, else the prediction.
    fn round_ns(&self) -> u64 {
        let candidates = self.plan.candidates.len() as u64;
        match self.records.len() as u64 {
            0 => self.plan.costs.iter().map(|cost| cost.time_ns).fold(0, u64::saturating_add),
            done => self.spent_ns / done * candidates,
        }
    }

    /// Trials in all and time left.
    fn outlook(&self) -> (u64, u64) {
        let candidates = (self.plan.candidates.len() as u64).max(1);
        let done = self.records.len() as u64;
        let rounds = match self.plan.lab.judge.effort {
            Effort::Rounds(rounds) => u64::from(rounds),
            Effort::Budget(budget) => (budget.0 / self.round_ns().max(1))
                .clamp(u64::from(FEWEST_ROUNDS), u64::from(order::MOST_ROUNDS)),
        };
        let total = (rounds * candidates).max(done + 1);
        (total, (total - done) * (self.round_ns() / candidates))
    }

    /// Whether the candidate's last trials all failed.
    fn quarantined(&self, candidate: u32) -> bool {
        let of_candidate =
            self.records.values().rev().filter(|(trial, _)| trial.candidate == candidate);
        let failed = of_candidate
            .take_while(|(_, record)| matches!(record.status, Status::Failed { .. }))
            .take(FAILURES_BEFORE_QUARANTINE as usize)
            .count();
        failed == FAILURES_BEFORE_QUARANTINE as usize
    }
}

#[cfg(test)]
mod tests;
