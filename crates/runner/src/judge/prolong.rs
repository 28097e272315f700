//! Runs to which rounds are added after they were judged, with the error rate kept.
//!
//! - [`prolong`] gives a plan more rounds. The trials of the rounds it had stay the same, index by
//!   index, so that [`crate::execute::Execution`] finds their records and continues behind them.
//! - [`judged`] judges any run, continued or not; [`so_far`] one that is not over.
//!
//! A run is judged at looks that are planned before its trials are seen ([`seekwell_stats::looks`]). A
//! part of the permitted error is left for rounds that are added behind the planned ones, each look a
//! quarter more ([`next_look`]). Rounds after the last look are kept and count at the next.

use super::{add_evidence, interim, judge, of_rounds};
use crate::order::{self, MOST_ROUNDS};
use crate::records::Outcomes;
use crate::values::{self, judged_trials};
use seekwell_model::plan::{Plan, Prolonged};
use seekwell_model::replay_check::{ReplayCheck, worst};
use seekwell_model::verdict::METHOD;
use seekwell_model::verdict::{Verdict, VerdictKind};
use seekwell_stats::looks;

/// Reasons why a run can have no more rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMore {
    /// A race ends with its decision.
    #[error(
        "the race is decided, and a decided race has no further looks; for more rounds run its lab with rounds = N"
    )]
    Decided,
    /// An earlier version chose the looks of the run and left none.
    #[error(
        "an earlier version of seekwell judged this run and left no further looks; run its lab again with -o NEW.seekwell"
    )]
    EarlierMethod,
    /// The bound allows for a replay that takes another time than its program.
    #[error(
        "further rounds would not lower the bound: it allows for the time by which the replay differs from your program"
    )]
    Replay,
    /// The most rounds that a run may have.
    #[error("a run has at most {MOST_ROUNDS} rounds, and this one has them")]
    MostRounds,
}

/// Gives a run that was judged the rounds up to its next look, in a race as many as it may ever
/// have.
///
/// # Errors
/// [`NoMore`], and the plan stays as it was.
pub fn prolong(plan: &mut Plan, outcomes: &Outcomes, verdict: &Verdict) -> Result<(), NoMore> {
    let done = outcomes.values().map(|(trial, _)| trial.round + 1).max().unwrap_or(0);
    let prolonged = plan.prolonged.unwrap_or(Prolonged {
        rounds: 0,
        judged_rounds: if plan.race.is_some() { verdict.rounds } else { done },
        judged_trials: outcomes.keys().next_back().map_or(0, |last| last + 1),
        method: verdict.method,
    });
    match &mut plan.race {
        Some(race) if race.method != METHOD => return Err(NoMore::EarlierMethod),
        None if prolonged.method == 0 => return Err(NoMore::EarlierMethod),
        Some(_) if verdict.kind != VerdictKind::Unresolved => return Err(NoMore::Decided),
        // It was decided before its last look.
        Some(_) if prolonged.rounds > done && is_wide(&plan.replay_checks, verdict.tie) => {
            return Err(NoMore::Replay);
        }
        Some(_) if prolonged.rounds >= MOST_ROUNDS => return Err(NoMore::MostRounds),
        Some(_) => plan.prolonged = Some(Prolonged { rounds: MOST_ROUNDS, ..prolonged }),
        None => {
            let rounds = next_look(&prolonged, done);
            let candidates = plan.candidates.len() as u32;
            if rounds > MOST_ROUNDS || candidates == 0 {
                return Err(NoMore::MostRounds);
            }
            let round = |round| order::round_order(plan.lab.seed, candidates, round);
            plan.trials = (0..rounds).flat_map(round).collect();
            plan.prolonged = Some(Prolonged { rounds, ..prolonged });
        }
    }
    Ok(())
}

/// Returns true if a replay is off by more than the tie.
fn is_wide(checks: &[ReplayCheck], tie: f64) -> bool {
    let error = worst(checks).and_then(|check| check.compared()?.error());
    error.is_some_and(|error| error - 1.0 > tie)
}

/// Rounds at the first look of a continued run of fixed rounds behind `done` rounds.
#[must_use]
pub fn next_look(prolonged: &Prolonged, done: u32) -> u32 {
    looks_of(prolonged).find(|look| *look > done).unwrap_or(u32::MAX)
}

/// The looks of a continued run of fixed rounds, rising without end.
fn looks_of(prolonged: &Prolonged) -> impl Iterator<Item = u32> {
    looks::added(prolonged.judged_rounds as usize).map(|look| look as u32)
}

/// Part of the error that the first end of a run had by methods before 4, against today's.
const EARLIER: f64 = 0.8;

/// The verdict of a run that is over, or of a continued run at its last look.
#[must_use]
pub fn judged(plan: &Plan, outcomes: &Outcomes) -> Verdict {
    let Some(prolonged) = &plan.prolonged else { return judge(plan, outcomes) };
    let verdict = match plan.race {
        Some(_) => Some(interim(plan, outcomes)),
        None => last_look(plan, prolonged, outcomes)
            .map(|look| rounds_until(plan, prolonged, outcomes, look)),
    };
    verdict.unwrap_or_else(|| judge(plan, &before(prolonged, outcomes)))
}

/// Judges a run that is interrupted or still running. The verdict of a continued run is that of its
/// last look.
#[must_use]
pub fn so_far(plan: &Plan, outcomes: &Outcomes) -> Verdict {
    if plan.prolonged.is_some() { judged(plan, outcomes) } else { interim(plan, outcomes) }
}

/// The records of the first end.
fn before(prolonged: &Prolonged, outcomes: &Outcomes) -> Outcomes {
    let kept = outcomes.range(..prolonged.judged_trials);
    kept.map(|(index, kept)| (*index, kept.clone())).collect()
}

/// Rounds at the last look that all trials before it have reached.
fn last_look(plan: &Plan, prolonged: &Prolonged, outcomes: &Outcomes) -> Option<u32> {
    let missing = |trial: &&seekwell_model::plan::PlannedTrial| {
        !outcomes.contains_key(&trial.index)
            && !crate::records::is_quarantined(outcomes, trial.candidate, trial.index)
    };
    let whole = plan.trials.iter().find(missing).map_or(plan.rounds(), |trial| trial.round);
    looks_of(prolonged).take_while(|look| *look <= whole).last()
}

/// The verdict at a look of a continued run of fixed rounds.
fn rounds_until(plan: &Plan, prolonged: &Prolonged, outcomes: &Outcomes, look: u32) -> Verdict {
    let of_look: Outcomes = outcomes
        .iter()
        .filter(|(_, (trial, _))| trial.round < look)
        .map(|(index, kept)| (*index, kept.clone()))
        .collect();
    let trials = judged_trials(plan, &of_look);
    let share = looks::added_share(prolonged.judged_rounds as usize, look as usize);
    let left =
        if prolonged.method < METHOD { (1.0 - EARLIER) / (1.0 - looks::PLANNED) } else { 1.0 };
    let error = (1.0 - plan.lab.judge.confidence) * share * left;
    let nodes = crate::nodes::of_rounds(&of_look);
    let mut verdict = of_rounds(plan, &of_look, &trials, error, &nodes);
    add_evidence(plan, &of_look, &values::present(&trials), &mut verdict);
    verdict
}

#[cfg(test)]
mod tests;
