//! The verdict of a race.

use super::answer;
use super::{
    best_first, blank, mean_trial_ns, median, of_rounds, percent, tie_reason, unresolved_reason,
    verdict as of_comparison, with_doubts,
};
use crate::durability;
use crate::records::{End, Outcomes};
use crate::staged::{Rounds, Staged};
use crate::values::{judged_trials, round_values};
use seekwell_model::answer::Answer;
use seekwell_model::plan::{Plan, PlannedRace};
use seekwell_model::verdict::METHOD;
use seekwell_model::verdict::{
    Basis, Decision, DroppedStack, OutStack, RaceCourse, Ratio, Verdict, VerdictKind,
};
use seekwell_stats::field::Observed;
use seekwell_stats::looks;
use seekwell_stats::paired::{Finding, Unresolved};
use seekwell_stats::race::{DropReason, Dropped, Outcome, Race, Stop};

/// The verdict of a race as far as its trials go.
pub(super) fn verdict(plan: &Plan, planned: &PlannedRace, kept: &Outcomes, end: Stop) -> Verdict {
    if planned.method != METHOD || plan.control.is_some() {
        return earlier(plan, planned, kept, end);
    }
    if barred_by_cuts(plan, kept) {
        return in_one_look(plan, planned, kept);
    }
    let mut staged = Staged::replay(plan, planned, kept);
    let rounds = staged.rounds();
    let values = final_values(plan, rounds, kept);
    staged.end(end);
    let blank = Verdict { rounds: rounds.last, ..blank(plan, &values) };
    match (&staged.broken, &staged.race) {
        (Some(why), _) => Verdict { reason: why.clone(), ..blank },
        (None, None) => Verdict {
            reason: "the pilot is not finished, and its trials are never ranked".to_owned(),
            ..blank
        },
        (None, Some(race)) => of_race(plan, rounds, race, kept, &values, blank),
    }
}

/// True if power cuts showed a stack to lose data that its definition promises: the race took it for one
/// that may be picked.
fn barred_by_cuts(plan: &Plan, kept: &Outcomes) -> bool {
    durability::ineligible(plan, kept) != durability::ineligible(plan, &Outcomes::new())
}

/// The verdict of a race whose method decided otherwise which stacks run on.
fn earlier(plan: &Plan, planned: &PlannedRace, kept: &Outcomes, end: Stop) -> Verdict {
    let mut verdict = in_one_look(plan, planned, kept);
    if end == Stop::Interrupted {
        verdict.kind = VerdictKind::Unresolved;
        verdict.decision = Some(Decision::Inconclusive);
        verdict.reason =
            "this race was started by an earlier version and is not finished; it cannot be \
                          continued, run the lab again"
                .to_owned();
    }
    verdict
}

/// The verdict of a single look at all rounds of the final.
fn in_one_look(plan: &Plan, planned: &PlannedRace, kept: &Outcomes) -> Verdict {
    let before = planned.pilot_rounds as usize + planned.screen.len();
    let finals = final_trials(plan, before, kept);
    let error = (1.0 - plan.lab.judge.confidence) * looks::PLANNED;
    let mut verdict = of_rounds(plan, kept, &finals, error, &[]);
    verdict.evidence.race = Some(RaceCourse {
        pilot_rounds: planned.pilot_rounds,
        screen_rounds: planned.screen.len() as u32,
        final_rounds: finals.first().map_or(0, Vec::len) as u32,
        looks: planned.looks.clone(),
        best_guess: verdict.baseline.clone(),
        ..RaceCourse::default()
    });
    verdict
}

/// Returns true if a trial of the stack has a value: a race that has just begun guesses its first stack.
fn has_value(plan: &Plan, kept: &Outcomes, stack: usize) -> bool {
    kept.values().any(|(trial, outcome)| {
        let own = plan.candidates[trial.candidate as usize].stack as usize;
        own == stack && outcome.value.is_some()
    })
}

/// Values of the final by stack and round.
fn final_values(plan: &Plan, rounds: Rounds, kept: &Outcomes) -> Vec<Vec<Option<f64>>> {
    let first = rounds.pilot + rounds.screen;
    let mut values = vec![vec![None; rounds.last as usize]; plan.stacks.len()];
    let mut of_rounds = vec![Vec::new(); rounds.last as usize];
    for (trial, _) in kept.values() {
        let number = trial.round.checked_sub(first).map(|number| number as usize);
        if let Some(of_round) = number.and_then(|number| of_rounds.get_mut(number)) {
            of_round.push(*trial);
        }
    }
    for (number, of_round) in of_rounds.iter().enumerate() {
        for (stack, value) in round_values(plan, kept, of_round) {
            if let Observed::Value(value) = value {
                values[stack][number] = Some(value);
            }
        }
    }
    values
}

fn of_race(
    plan: &Plan,
    rounds: Rounds,
    race: &Race,
    kept: &Outcomes,
    values: &[Vec<Option<f64>>],
    blank: Verdict,
) -> Verdict {
    let outcome = race.outcome();
    let label = |stack: usize| plan.stacks[stack].label.clone();
    let each = plan.candidates.len() as u64 / (plan.stacks.len() as u64).max(1);
    let round_ns = mean_trial_ns(kept)
        .saturating_mul(each)
        .saturating_mul(u64::from(plan.race.as_ref().map_or(1, |race| race.finalists)));
    let mut verdict = match &outcome.comparison {
        Some(comparison) => of_comparison(plan, values, comparison, round_ns),
        None => blank,
    };
    verdict.rounds = outcome.looked_at as u32;
    add_dropped(plan, &outcome, &mut verdict);
    let reason = reason(plan, rounds, &outcome, &verdict);
    verdict.reason = match &outcome.comparison {
        Some(comparison) => with_doubts(plan, comparison, reason),
        None => reason,
    };
    if let (None, Finding::Unresolved { candidates, .. }) = (&outcome.comparison, &outcome.finding)
    {
        verdict.stacks = candidates.iter().map(|stack| label(*stack)).collect();
        verdict.baseline = outcome.best_guess.map(label);
    }
    let finals = final_trials(plan, (rounds.pilot + rounds.screen) as usize, kept);
    let compared = outcome.comparison.as_ref();
    let run = compared.map(|comparison| answer::Run {
        plan,
        outcomes: kept,
        trials: &finals[..plan.ranked()],
        comparison,
    });
    verdict.ratios.extend(run.as_ref().map_or_else(Vec::new, answer::Run::not_eligible));
    verdict.ratios.extend(screened(plan, race, &outcome, kept, &verdict));
    sort_rows(plan, &mut verdict.ratios);
    let mut answer = match &run {
        Some(run) => run.answer(round_ns),
        None => Answer {
            pick: outcome.best_guess.filter(|stack| has_value(plan, kept, *stack)).map(label),
            cause: Some(verdict.reason.clone()),
            among: plan.ranked() as u32,
            ..Answer::default()
        },
    };
    let failed = |dropped: &&Dropped| matches!(dropped.reason, DropReason::Failed { .. });
    answer.out.extend(outcome.dropped.iter().filter(failed).map(|dropped| label(dropped.stack)));
    verdict.answer = Some(answer);
    verdict.evidence.race = Some(course(plan, rounds, race, &outcome));
    verdict
}

/// The judged trials of the final, which has this number of rounds before it.
fn final_trials(plan: &Plan, before: usize, kept: &Outcomes) -> Vec<Vec<Observed>> {
    let all = judged_trials(plan, kept);
    all.iter().map(|row| row.get(before..).unwrap_or(&[]).to_vec()).collect()
}

/// Certified rows first: those of the screen are estimates.
fn sort_rows(plan: &Plan, rows: &mut Vec<Ratio>) {
    let (mut paired, mut rest): (Vec<Ratio>, Vec<Ratio>) =
        rows.drain(..).partition(|ratio| ratio.basis == Basis::Paired);
    best_first(&mut paired, plan.lab.judge.better);
    best_first(&mut rest, plan.lab.judge.better);
    rows.extend(paired.into_iter().chain(rest));
}

/// Adds the stacks that left before the comparison to those that are out, which the sentence counts.
fn add_dropped(plan: &Plan, outcome: &Outcome, verdict: &mut Verdict) {
    let (Some(comparison), Finding::Unresolved { .. }) = (&outcome.comparison, &outcome.finding)
    else {
        return;
    };
    let is_compared = |stack| comparison.rows.iter().any(|row| row.stack == stack);
    let gone = outcome.dropped.iter().filter(|dropped| !is_compared(dropped.stack));
    verdict.evidence.out.extend(gone.map(|dropped| {
        let left = left(plan, dropped);
        OutStack { stack: left.stack, reason: left.reason }
    }));
}

fn reason(plan: &Plan, rounds: Rounds, outcome: &Outcome, verdict: &Verdict) -> String {
    let tie = percent(plan.lab.judge.tie);
    let sure = percent(plan.lab.judge.confidence);
    let screened = outcome.dropped.iter().filter(|dropped| dropped.in_screen).count();
    let risk = match screened {
        0 => String::new(),
        left => format!(
            "; {left} left in the screen, and the chance that one of them is better by more than {tie} is at most about {}",
            risk_words(outcome.screening_risk)
        ),
    };
    match &outcome.finding {
        Finding::Winner { .. } => format!(
            "better than every other stack by more than the tie of {tie}, at {sure} confidence for all of them and all looks together{risk}"
        ),
        Finding::Tie { not_better, .. } => {
            let also: Vec<String> =
                not_better.iter().map(|stack| plan.stacks[*stack].label.clone()).collect();
            format!("{}{risk}", tie_reason(plan, &also))
        }
        Finding::Unresolved { reason, .. } => unresolved(plan, rounds, outcome, *reason, verdict),
    }
}

fn unresolved(
    plan: &Plan,
    rounds: Rounds,
    outcome: &Outcome,
    reason: Unresolved,
    verdict: &Verdict,
) -> String {
    match reason {
        Unresolved::TooFewRounds { need, .. } if outcome.comparison.is_none() => {
            match (rounds.screen, rounds.last) {
                (0, 0) => {
                    format!("the race stopped before a whole round; it is judged after {need}")
                }
                (screen, 0) => format!(
                    "the race stopped in its screen after {screen} rounds; its final is judged after {need} fresh rounds"
                ),
                (_, 1) => {
                    format!("only 1 round of the final is done; it is first judged after {need}")
                }
                (_, last) => format!(
                    "only {last} rounds of the final are done; it is first judged after {need}"
                ),
            }
        }
        other => unresolved_reason(plan, other, verdict.evidence.needed.as_ref(), verdict.rounds),
    }
}

/// A small chance, in words that do not promise more digits than there are.
fn risk_words(risk: f64) -> String {
    if risk < 0.001 { "0.1 %".to_owned() } else { percent((risk * 1000.0).ceil() / 1000.0) }
}

/// Rows of the stacks that left in the screen: estimates against the leader with strength borrowed
/// from the others.
fn screened(
    plan: &Plan,
    race: &Race,
    outcome: &Outcome,
    kept: &Outcomes,
    verdict: &Verdict,
) -> Vec<Ratio> {
    let estimates = race.estimates();
    let leader = verdict
        .baseline
        .as_ref()
        .and_then(|label| plan.stacks.iter().position(|stack| stack.label == *label));
    let known: Vec<&String> = verdict.ratios.iter().map(|ratio| &ratio.stack).collect();
    let mut measured: Vec<Vec<Option<f64>>> = vec![Vec::new(); plan.stacks.len()];
    for (trial, ran) in kept.values().filter(|(_, ran)| ran.end == End::Ok) {
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        measured[stack].push(ran.value);
    }
    (0..plan.ranked())
        .filter(|stack| !known.contains(&&plan.stacks[*stack].label))
        .filter(|stack| {
            outcome.comparison.is_none() || outcome.dropped.iter().any(|d| d.stack == *stack)
        })
        .map(|stack| {
            let found = leader.and_then(|leader| race.ratio(estimates[stack], estimates[leader]));
            Ratio {
                stack: plan.stacks[stack].label.clone(),
                ratio: found.map(|found| found.centre),
                low: found.map(|found| found.low),
                high: found.map(|found| found.high),
                median: median(&measured[stack]),
                pairs: 0,
                basis: Basis::Screen,
                hodges_lehmann: None,
                a12: None,
                autocorrelated: false,
            }
        })
        .collect()
}

fn course(plan: &Plan, rounds: Rounds, race: &Race, outcome: &Outcome) -> RaceCourse {
    let label = |stack: usize| plan.stacks[stack].label.clone();
    let screened: Vec<usize> = outcome
        .dropped
        .iter()
        .filter(|dropped| dropped.in_screen)
        .map(|dropped| dropped.stack)
        .collect();
    let in_final = rounds.last > 0 || outcome.comparison.is_some();
    let finalists = (0..plan.ranked()).filter(|stack| in_final && !screened.contains(stack));
    RaceCourse {
        pilot_rounds: rounds.pilot,
        screen_rounds: rounds.screen,
        final_rounds: rounds.last,
        finalists: finalists.map(label).collect(),
        looks: race.planned_looks().into_iter().map(|look| look as u32).collect(),
        looked_at: outcome.looked_at as u32,
        best_guess: outcome.best_guess.map(label),
        dropped: outcome.dropped.iter().map(|dropped| left(plan, dropped)).collect(),
        screening_risk: outcome.screening_risk,
    }
}

fn left(plan: &Plan, dropped: &Dropped) -> DroppedStack {
    let reason = match dropped.reason {
        DropReason::NotInBetterHalf { rank, kept } => {
            format!("rank {rank} by the estimates of the screen, which kept {kept}")
        }
        DropReason::WorseThanLeader { rounds } => {
            format!("worse than the leader after {rounds} rounds of the final")
        }
        DropReason::NotBetter { rounds } => {
            format!("not better than the leader by more than the tie after {rounds} rounds")
        }
        DropReason::Ineligible => "it may lose data that other stacks of the lab keep".to_owned(),
        DropReason::Failed { failed, of } => format!("failed in {failed} of {of} rounds"),
    };
    DroppedStack {
        stack: plan.stacks[dropped.stack].label.clone(),
        part: if dropped.in_screen { "screen" } else { "final" }.to_owned(),
        trials: dropped.trials as u32,
        ratio: dropped.ratio.map(|ratio| ratio.centre),
        low: dropped.ratio.map(|ratio| ratio.low),
        high: dropped.ratio.map(|ratio| ratio.high),
        reason,
    }
}

#[cfg(test)]
mod tests;
