//! Time left of a run whose rounds are fixed: every stack has a cost of its own, so after the
//! first round the rest is their sum. The mean of all trials so far would mislead in the middle of
//! a round.

use seekwell_model::lab::Effort;
use seekwell_model::plan::{Plan, PlannedTrial};
use std::time::Instant;

/// Durations of the trials of this process, by candidate.
pub struct TimeLeft<'a> {
    plan: &'a Plan,
    /// Time and number by candidate.
    spent: Vec<(u64, u64)>,
    current: Option<(usize, Instant)>,
}

impl<'a> TimeLeft<'a> {
    pub fn new(plan: &'a Plan) -> Self {
        Self { plan, spent: vec![(0, 0); plan.candidates.len()], current: None }
    }

    /// A trial begins; the time left with it, when that can be said better than by a plain mean:
    /// rounds are fixed, and every candidate has run once.
    pub fn began(&mut self, trial: &PlannedTrial) -> Option<u64> {
        self.current = Some((trial.candidate as usize, Instant::now()));
        let Effort::Rounds(rounds) = self.plan.effort() else { return None };
        if self.plan.race.is_some() {
            return None;
        }
        self.rest(trial, rounds)
    }

    /// The rest of this round, in which `trial` is the next, and the rounds after it.
    fn rest(&self, trial: &PlannedTrial, rounds: u32) -> Option<u64> {
        let means: Vec<u64> = self
            .spent
            .iter()
            .map(|(time, count)| (*count > 0).then(|| time / count))
            .collect::<Option<_>>()?;
        let round: u64 = means.iter().sum();
        let in_round = trial.index as usize % self.plan.candidates.len().max(1);
        let order = seekwell_runner::order::round_order(
            self.plan.lab.seed,
            self.plan.candidates.len() as u32,
            trial.round,
        );
        let rest: u64 =
            order.iter().skip(in_round).filter_map(|one| means.get(one.candidate as usize)).sum();
        let later = u64::from(rounds.saturating_sub(trial.round + 1));
        Some(rest.saturating_add(round.saturating_mul(later)))
    }

    /// The trial under way begins only now: an image was written before, which no other trial waits for.
    pub fn began_now(&mut self) {
        if let Some((_, begun)) = &mut self.current {
            *begun = Instant::now();
        }
    }

    /// The trial that began ended.
    pub fn ended(&mut self) {
        if let Some((candidate, begun)) = self.current.take()
            && let Some((time, count)) = self.spent.get_mut(candidate)
        {
            *time += u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
            *count += 1;
        }
    }
}

#[cfg(test)]
mod tests;
