//! Runs the trials of a plan on a backend and keeps every record at once.

use crate::order::{self, FEWEST_ROUNDS, PILOT_ROUNDS};
use crate::records::{
    End, Extractor, FAILURES_BEFORE_QUARANTINE, Outcome, Outcomes, is_all_marked, is_quarantined,
};
use crate::staged::{Part, Staged};
use seekwell_model::backend::{Backend, BackendError};
use seekwell_model::lab::Effort;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A run ends before a trial that would take it beyond this many times the time it was given.
pub const OVER: f64 = 1.15;

/// Trials that are announced to a backend at once, where so many are certain to run: enough for all nodes of a cluster.
pub const AHEAD: usize = 32_768;

/// Storage for records, trial by trial.
pub trait Keeper {
    /// Keeps a record durably.
    ///
    /// # Errors
    /// When it could not be kept; the run ends, and earlier records stay.
    fn keep(&mut self, trial: &PlannedTrial, record: &Record) -> Result<(), BackendError>;

    /// Keeps a record that the backend still has, durably only with the next [`Self::keep`] or [`Self::settle`]: one write
    /// to the disk is enough for many.
    ///
    /// # Errors
    /// As [`Self::keep`].
    fn put(&mut self, trial: &PlannedTrial, record: &Record) -> Result<(), BackendError> {
        self.keep(trial, record)
    }

    /// Makes what was put durable.
    ///
    /// # Errors
    /// As [`Self::keep`].
    fn settle(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
}

/// Events of a run, for a display.
#[derive(Debug)]
pub enum Event<'a> {
    /// Before the trials: replays run on the stack of their capture.
    CheckingReplays,
    /// A trial begins.
    Began {
        /// The trial.
        trial: &'a PlannedTrial,
        /// Trials done, in earlier sessions too.
        done: u64,
        /// Total number of trials, as estimated now.
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
    /// A candidate will not run again.
    Quarantined {
        /// Its last trial.
        trial: &'a PlannedTrial,
        /// Reason of its last failure.
        reason: &'a str,
    },
    /// A part of a race begins, or continues with fewer stacks.
    Part {
        /// The part.
        part: Part,
        /// Stacks that run in its rounds.
        stacks: usize,
    },
}

/// Errors that end a run early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The backend is broken.
    #[error("trial {index} could not be run")]
    Backend {
        /// Index of the trial.
        index: u32,
        /// Cause.
        source: BackendError,
    },
    /// The record could not be kept.
    #[error("the record of trial {index} could not be stored")]
    Keep {
        /// Index of the trial.
        index: u32,
        /// Cause.
        source: BackendError,
    },
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// All rounds are done.
    Complete,
    /// No trial of the first rounds can be ranked, see [`is_all_marked`].
    AllMarked,
    /// The stop flag was raised; the run can be resumed.
    Stopped,
}

/// A run under way.
pub struct Execution<'a> {
    plan: &'a Plan,
    outcomes: Outcomes,
    extractor: Extractor,
    /// Number of failed trials of each candidate: few have any, and none of the others is looked at for each trial.
    failures: BTreeMap<u32, u32>,
    spent_ns: u64,
    /// The longest trial, without the writing of images.
    longest_ns: u64,
    /// Candidates that were given up in this session.
    quarantined: u32,
}

impl<'a> Execution<'a> {
    /// A run of this plan that continues with the outcomes of kept records.
    #[must_use]
    pub fn new(plan: &'a Plan, kept: Outcomes) -> Self {
        let spent_ns = kept.values().map(|(_, outcome)| spent_ns(outcome)).sum();
        let longest_ns = kept.values().map(|(_, outcome)| without_images_ns(outcome)).max();
        let longest_ns = longest_ns.unwrap_or(0);
        let mut failures = BTreeMap::new();
        for (trial, _) in kept.values().filter(|(_, outcome)| outcome.end == End::Failed) {
            *failures.entry(trial.candidate).or_default() += 1;
        }
        let extractor = Extractor::new(plan);
        Self { plan, outcomes: kept, extractor, failures, spent_ns, longest_ns, quarantined: 0 }
    }

    /// The outcomes of all trials, kept before or run now. Their records are with the [`Keeper`].
    #[must_use]
    pub fn outcomes(&self) -> &Outcomes {
        &self.outcomes
    }

    /// Returns the outcomes.
    #[must_use]
    pub fn into_outcomes(self) -> Outcomes {
        self.outcomes
    }

    /// Runs what is missing, round by round, until the effort is spent, enough is known, or `stop`
    /// is raised.
    ///
    /// # Errors
    /// [`RunError`] when the backend or the keeper breaks. What was kept stays kept.
    pub fn run(
        &mut self,
        backend: &mut dyn Backend,
        keeper: &mut dyn Keeper,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, RunError> {
        let ended = self.rounds(backend, keeper, stop, on_event);
        if matches!(ended, Err(RunError::Keep { .. })) {
            // What was put may be lost, so that the backend must not forget it.
            return ended;
        }
        let settled = self.settle(backend, keeper);
        ended.and_then(|ended| settled.map(|()| ended))
    }

    fn rounds(
        &mut self,
        backend: &mut dyn Backend,
        keeper: &mut dyn Keeper,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, RunError> {
        let mut course = Course::new(self.plan, &self.outcomes);
        let (mut told, mut announced) = (None, Announced::default());
        let mut rounds = 0;
        while let Some(round) = self.next_round(&course) {
            // No part is told of twice.
            let now = course.part().filter(|now| told != Some(*now));
            if let Some((part, stacks)) = now {
                told = now;
                on_event(Event::Part { part, stacks });
            }
            if announced.is_old(&course, self.quarantined) {
                let (trials, renewed) = self.ahead(&course, &round);
                announced = renewed;
                // A backend that is told of other trials may forget those before.
                self.settle(backend, keeper)?;
                backend.announce(&trials);
            }
            for trial in &round {
                if stop.load(Ordering::Relaxed) {
                    return Ok(Ended::Stopped);
                }
                if self.is_missing(trial) {
                    if self.is_out_of_time(&course) {
                        return Ok(Ended::Complete);
                    }
                    let left = self.left(&course, &round);
                    self.one(trial, left, backend, keeper, on_event)?;
                }
            }
            course.take(&round, &self.outcomes);
            rounds += 1;
            if rounds == PILOT_ROUNDS && is_all_marked(&self.outcomes) {
                return Ok(Ended::AllMarked);
            }
        }
        Ok(Ended::Complete)
    }

    fn is_missing(&self, trial: &PlannedTrial) -> bool {
        !self.outcomes.contains_key(&trial.index)
            && !self.is_quarantined(trial.candidate, trial.index)
    }

    /// As [`is_quarantined`].
    fn is_quarantined(&self, candidate: u32, before: u32) -> bool {
        self.failures.get(&candidate).is_some_and(|failed| *failed >= FAILURES_BEFORE_QUARANTINE)
            && is_quarantined(&self.outcomes, candidate, before)
    }

    /// Missing trials of this round and, where the number of rounds is fixed, of some after it.
    fn ahead(&self, course: &Course<'_>, round: &[PlannedTrial]) -> (Vec<PlannedTrial>, Announced) {
        let mut trials: Vec<PlannedTrial> =
            round.iter().filter(|trial| self.is_missing(trial)).copied().collect();
        let mut announced = Announced { renew_at: 0, quarantined: self.quarantined };
        if let (Course::Rounds(now), Effort::Rounds(rounds)) = (course, self.plan.effort()) {
            let (seed, candidates) = (self.plan.lab.seed, self.plan.candidates.len() as u32);
            let mut end = now + 1;
            while trials.len() < AHEAD && end < rounds {
                let later = order::round_order(seed, candidates, end);
                trials.extend(later.into_iter().filter(|trial| self.is_missing(trial)));
                end += 1;
            }
            announced.renew_at = if end < rounds { now + (end - now).div_ceil(2) } else { rounds };
        }
        (trials, announced)
    }

    /// The round to run or to finish; `None` when the run is over.
    fn next_round(&self, course: &Course<'_>) -> Option<Vec<PlannedTrial>> {
        let candidates = self.plan.candidates.len() as u32;
        let round = match course {
            Course::Rounds(round) => (candidates > 0 && self.another_round(*round))
                .then(|| order::round_order(self.plan.lab.seed, candidates, *round)),
            Course::Race(staged) => staged.round(),
        }?;
        let over = match (course, self.plan.effort()) {
            (Course::Race(staged), Effort::Budget(budget)) => {
                let begun = round.iter().any(|trial| self.outcomes.contains_key(&trial.index));
                let next = self.trial_ns().saturating_mul(round.len() as u64);
                !begun && staged.may_end() && self.spent_ns.saturating_add(next) > budget.0
            }
            _ => false,
        };
        (!over).then_some(round)
    }

    /// Returns true if a race would exceed its budget by more than [`OVER`] with a trial as long as
    /// the longest so far. The round under way does not count then.
    fn is_out_of_time(&self, course: &Course<'_>) -> bool {
        match (course, self.plan.effort()) {
            (Course::Race(_), Effort::Budget(budget)) if self.plan.prolonged.is_none() => {
                let then = self.spent_ns.saturating_add(self.longest_ns);
                then as f64 > budget.0 as f64 * OVER
            }
            _ => false,
        }
    }

    /// Trials, this one included, that the budget of a race has time for; without a budget any number.
    fn left_in_budget(&self) -> u64 {
        match (self.plan.effort(), &self.plan.race) {
            (Effort::Budget(budget), Some(_)) if self.plan.prolonged.is_none() => {
                (budget.0.saturating_sub(self.spent_ns) / self.trial_ns().max(1)).max(1)
            }
            _ => u64::MAX,
        }
    }

    fn one(
        &mut self,
        trial: &PlannedTrial,
        left: u64,
        backend: &mut dyn Backend,
        keeper: &mut dyn Keeper,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), RunError> {
        let index = trial.index;
        let done = self.outcomes.len() as u64;
        let left = left.min(self.left_in_budget());
        let left_ns = left.saturating_mul(self.trial_ns());
        on_event(Event::Began { trial, done, total: done + left, left_ns });
        let begun = Instant::now();
        let mut progress = |name: &str| on_event(Event::Step { trial, name });
        let mut record = backend
            .run(self.plan, trial, &mut progress)
            .map_err(|source| RunError::Backend { index, source })?;
        // The agent's own time leaves out its start and the writing of images.
        let wall_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        record.cost_ns = Some(backend.cost_ns(&record, wall_ns));
        if backend.holds_last() {
            keeper.put(trial, &record).map_err(|source| RunError::Keep { index, source })?;
        } else {
            keeper.keep(trial, &record).map_err(|source| RunError::Keep { index, source })?;
            backend.settled().map_err(|source| RunError::Backend { index, source })?;
        }
        on_event(Event::Ended { trial, record: &record });
        let outcome = self.extractor.outcome(&record);
        self.spent_ns += spent_ns(&outcome);
        self.longest_ns = self.longest_ns.max(without_images_ns(&outcome));
        self.outcomes.insert(index, (*trial, outcome));
        if let Status::Failed { reason, .. } = &record.status {
            *self.failures.entry(trial.candidate).or_default() += 1;
            if self.is_quarantined(trial.candidate, index + 1) {
                self.quarantined += 1;
                on_event(Event::Quarantined { trial, reason });
            }
        }
        Ok(())
    }

    /// Makes what was put durable, and tells the backend.
    fn settle(&self, backend: &mut dyn Backend, keeper: &mut dyn Keeper) -> Result<(), RunError> {
        let index = self.outcomes.last_key_value().map_or(0, |(index, _)| *index);
        keeper.settle().map_err(|source| RunError::Keep { index, source })?;
        backend.settled().map_err(|source| RunError::Backend { index, source })
    }

    /// Returns true if round number `round` is to be run or finished.
    fn another_round(&self, round: u32) -> bool {
        match self.plan.effort() {
            Effort::Rounds(rounds) => round < rounds,
            Effort::Budget(budget) => {
                let begun = self.outcomes.values().any(|(trial, _)| trial.round == round);
                round < FEWEST_ROUNDS
                    || begun
                    || (round < order::MOST_ROUNDS
                        && self.spent_ns.saturating_add(self.round_ns()) <= budget.0)
            }
        }
    }

    /// Returns the time of a trial: the mean so far, or the prediction before the first.
    fn trial_ns(&self) -> u64 {
        let predicted = || self.plan.costs.iter().map(|cost| cost.time_ns);
        match self.outcomes.len() as u64 {
            0 => predicted().fold(0, u64::saturating_add) / (predicted().count() as u64).max(1),
            done => self.spent_ns / done,
        }
    }

    /// Returns the time of a round of all candidates.
    fn round_ns(&self) -> u64 {
        self.trial_ns().saturating_mul(self.plan.candidates.len() as u64)
    }

    /// Remaining trials, as estimated now; at least this one.
    fn left(&self, course: &Course<'_>, round: &[PlannedTrial]) -> u64 {
        let done = self.outcomes.len() as u64;
        let left = match course {
            Course::Rounds(_) => {
                let rounds = match self.plan.effort() {
                    Effort::Rounds(rounds) => u64::from(rounds),
                    Effort::Budget(budget) => (budget.0 / self.round_ns().max(1))
                        .clamp(u64::from(FEWEST_ROUNDS), u64::from(order::MOST_ROUNDS)),
                };
                (rounds * self.plan.candidates.len() as u64).saturating_sub(done)
            }
            Course::Race(staged) => {
                let here =
                    round.iter().filter(|trial| self.outcomes.contains_key(&trial.index)).count();
                staged.expected().saturating_sub(here as u64)
            }
        };
        left.max(1)
    }
}

/// Part of the budget that a kept trial used. A record of an earlier version tells its own time alone.
fn spent_ns(outcome: &Outcome) -> u64 {
    outcome.cost_ns.unwrap_or(outcome.elapsed_ns)
}

/// The same without the writing of images: the first trial waits for its image, later ones do not.
fn without_images_ns(outcome: &Outcome) -> u64 {
    spent_ns(outcome).min(outcome.elapsed_ns)
}

/// Progress of a run.
enum Course<'a> {
    /// The number of the next complete round.
    Rounds(u32),
    Race(Box<Staged<'a>>),
}

impl<'a> Course<'a> {
    fn new(plan: &'a Plan, outcomes: &Outcomes) -> Self {
        match &plan.race {
            Some(race) => Self::Race(Box::new(Staged::replay(plan, race, outcomes))),
            None => Self::Rounds(0),
        }
    }

    /// The part of a race that the next round belongs to, and the stacks that run in it.
    fn part(&self) -> Option<(Part, usize)> {
        match self {
            Self::Rounds(_) => None,
            Self::Race(staged) => staged.part(),
        }
    }

    fn take(&mut self, round: &[PlannedTrial], outcomes: &Outcomes) {
        match self {
            Self::Rounds(number) => *number += 1,
            Self::Race(staged) => staged.take(round, outcomes),
        }
    }
}

/// Announced trials.
#[derive(Default)]
struct Announced {
    /// Round before which more are announced.
    renew_at: u32,
    /// Candidates that were given up by then.
    quarantined: u32,
}

impl Announced {
    fn is_old(&self, course: &Course<'_>, quarantined: u32) -> bool {
        match course {
            Course::Rounds(now) => *now >= self.renew_at || quarantined != self.quarantined,
            // A race decides after each round what runs next.
            Course::Race(_) => true,
        }
    }
}

#[cfg(test)]
mod tests;
