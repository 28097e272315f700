//! Runs to which rounds are added after they were judged, with the error rate kept.
//!
//! Two calls are all that a command needs:
//!
//! - [`prolong`] lets a plan have more rounds. The trials of the rounds it had stay the same, index
//!   by index, so that [`crate::execute::Execution`] finds their records and goes on behind them.
//! - [`judge_prolonged`] judges such a run. It takes the verdict that was kept when the run was
//!   first finished.
//!
//! In a run whose stacks leave at planned looks the looks go on for ever ([`seekwell_stats::looks`]):
//! there, [`judge_prolonged`] does what [`super::judge`] does. A run of fixed rounds was judged at
//! its planned end with most of the permitted error; what was left then is divided among the ends
//! that it may have later. A run that was finished before any error was left over is judged on its
//! new rounds alone.

use super::{METHOD, add_evidence, judge, judged_trials, laboratory, of_rounds, values};
use crate::execute::Records;
use crate::order;
use seekwell_model::lab::Effort;
use seekwell_model::plan::Plan;
use seekwell_model::verdict::Verdict;
use seekwell_stats::field::Observed;
use seekwell_stats::looks;
use seekwell_stats::race::looks_for;

/// Lets a plan have so many rounds, in a race so many of its final; never fewer than it has.
pub fn prolong(plan: &mut Plan, rounds: u32) {
    match &mut plan.race {
        Some(race) => {
            let last = race.looks.last().copied().unwrap_or(0).max(rounds);
            race.looks = looks_for(last as usize).into_iter().map(|look| look as u32).collect();
        }
        None => {
            let have = plan.rounds();
            let candidates = plan.candidates.len() as u32;
            for round in have..rounds {
                plan.trials.extend(order::round_order(plan.lab.seed, candidates, round));
            }
            plan.lab.judge.effort = Effort::Rounds(have.max(rounds));
        }
    }
}

/// Judges a run to which rounds were added after `finished` was its verdict.
#[must_use]
pub fn judge_prolonged(plan: &Plan, records: &Records, finished: &Verdict) -> Verdict {
    if plan.race.is_some() {
        return judge(plan, records);
    }
    let all = judged_trials(plan, records);
    let rounds = all.first().map_or(0, Vec::len);
    let before = finished.rounds as usize;
    if rounds <= before {
        return judge(plan, records);
    }
    let total = 1.0 - plan.lab.judge.confidence;
    let first = if finished.method == 0 { before } else { 0 };
    let share = if finished.method == 0 {
        looks::share_at(rounds - before)
    } else {
        looks::prolonged_share(before, rounds)
    };
    let trials: Vec<Vec<Observed>> = all.iter().map(|row| row[first..].to_vec()).collect();
    let mut verdict = of_rounds(plan, records, &trials, total * share);
    if first > 0 {
        verdict.reason.push_str(&format!(
            "; judged on the {} rounds that were added alone, because the first {before} were judged by method {} and not by {METHOD}",
            rounds - before,
            finished.method
        ));
    }
    verdict.evidence.control = laboratory::control_of_rounds(plan, &trials);
    add_evidence(plan, records, &values::present(&all), &mut verdict);
    verdict
}

#[cfg(test)]
mod tests;
