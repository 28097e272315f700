//! Checks of the measurement itself: the A/A control, and drift, order and other effects.

use super::percent;
use crate::question::question;
use crate::records::{End, Outcomes};
use seekwell_model::plan::Plan;
use seekwell_model::verdict::{CheckFound, ControlFound, Decision, Verdict, VerdictKind};
use seekwell_stats::checks::{self, Checks, DETECT_BELOW, Trend, Trial};
use seekwell_stats::estimate;
use seekwell_stats::field::Observed;
use seekwell_stats::paired::{ErrorShare, compare_led_by};
use seekwell_stats::question::{MIN_ROUNDS, Question};
use std::collections::BTreeMap;

/// Error that the control may use: it must hardly ever withdraw a sound verdict.
const CONTROL_ERROR: f64 = 0.01;

/// A trial whose device moved so many times the bytes that trials of the same stack usually do had
/// company.
const OTHER_WRITER: f64 = 1.5;

/// Less than this on top is no sign of company: metadata differs by so much.
const OTHER_WRITER_BYTES: f64 = 4e6;

/// The stack and its copy compared over all rounds.
pub(super) fn control_of_rounds(plan: &Plan, trials: &[Vec<Observed>]) -> Option<ControlFound> {
    let [stack, copy] = plan.control?.map(|stack| stack as usize);
    let pair = [trials.get(stack)?.clone(), trials.get(copy)?.clone()];
    let question = Question { confidence: 1.0 - CONTROL_ERROR, ..question(plan) };
    let share = ErrorShare { error: CONTROL_ERROR, stacks: 2 };
    let found = compare_led_by(&pair, &question, share, 0).ok()?;
    let row = found.rows.get(1)?;
    let joint = row.joint.filter(|_| row.rounds >= MIN_ROUNDS);
    Some(ControlFound {
        stack: plan.stacks[stack].label.clone(),
        ratio: joint.map(|joint| joint.centre),
        low: joint.map(|joint| joint.low),
        high: joint.map(|joint| joint.high),
        pairs: row.rounds as u32,
        separated: joint.is_some_and(|joint| !joint.contains(1.0)),
    })
}

/// Takes a verdict back whose control separated.
pub(super) fn withdraw(verdict: &mut Verdict) {
    let Some(control) = verdict.evidence.control.as_ref().filter(|control| control.separated)
    else {
        return;
    };
    let change = |ratio: Option<f64>| ratio.map_or("?".to_owned(), |r| format!("{r:.3}"));
    verdict.kind = VerdictKind::Unresolved;
    verdict.decision = Some(Decision::Inconclusive);
    verdict.sentence =
        format!("Withdrawn: {} run twice under two names differs from itself.", control.stack);
    verdict.stacks.clear();
    verdict.reason = format!(
        "the verdict is withdrawn: {} and its copy are the same stack, but their ratio is {} ({} to {}) in {} rounds. Something on this machine favours one of two equal stacks; look for it in the checks and warnings, then run again",
        control.stack,
        change(control.ratio),
        change(control.low),
        change(control.high),
        control.pairs
    );
}

/// Returns every check, with or without a finding.
pub(super) fn checks(
    plan: &Plan,
    outcomes: &Outcomes,
    values: &[Vec<Option<f64>>],
) -> Vec<CheckFound> {
    let trials = in_order(plan, outcomes, values);
    let found = checks::check(&trials);
    let mut all = vec![
        trend("drift", "from the first round to the last", found.drift),
        trend("order", "from the first trial of a round to its last", found.order),
        carry_over(&found),
        dependence(&found),
    ];
    all.extend(temperature(plan, outcomes, &trials));
    all.extend(other_writer(plan, outcomes));
    all
}

/// The trials of all stacks in the order in which they ran.
fn in_order(plan: &Plan, outcomes: &Outcomes, values: &[Vec<Option<f64>>]) -> Vec<Trial> {
    let mut places: BTreeMap<u32, u32> = BTreeMap::new();
    let mut seen: Vec<(usize, u32)> = Vec::new();
    let mut trials = Vec::new();
    for (trial, _) in outcomes.values() {
        let place = places.entry(trial.round).or_default();
        let position = *place as usize;
        *place += 1;
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        // A stack with several workloads has one value in a round.
        if seen.contains(&(stack, trial.round)) {
            continue;
        }
        seen.retain(|(_, round)| *round == trial.round);
        seen.push((stack, trial.round));
        let round = trial.round as usize;
        if let Some(value) = values[stack].get(round).copied().flatten() {
            trials.push(Trial { stack, round, position, value });
        }
    }
    trials
}

fn signed(factor: f64) -> String {
    format!("{:+.1} %", (factor - 1.0) * 100.0)
}

fn trend(name: &str, over: &str, found: Option<Trend>) -> CheckFound {
    let text = match &found {
        None => "too few trials to say".to_owned(),
        Some(trend) => {
            let change = &trend.change;
            let beyond = if trend.detected() { "" } else { ", which may be chance" };
            format!(
                "{} {over} ({} to {}){beyond}",
                signed(change.centre),
                signed(change.low),
                signed(change.high)
            )
        }
    };
    CheckFound {
        name: name.to_owned(),
        found: found.map(|trend| trend.detected()),
        text,
        change: found.map(|trend| trend.change.centre).filter(|change| change.is_finite()),
        p: found.map(|trend| trend.p),
    }
}

fn carry_over(found: &Checks) -> CheckFound {
    let found = found.carry_over;
    let text = match &found {
        None => "too few trials to say".to_owned(),
        Some(carry) if carry.detected() => format!(
            "the stack that ran before a trial changes its result by up to {}",
            percent((carry.factor - 1.0).abs())
        ),
        Some(_) => "no effect of the stack that ran before, beyond chance".to_owned(),
    };
    CheckFound {
        name: "carry-over".to_owned(),
        found: found.map(|carry| carry.detected()),
        text,
        change: found.map(|carry| carry.factor).filter(|factor| factor.is_finite()),
        p: found.map(|carry| carry.p),
    }
}

fn dependence(found: &Checks) -> CheckFound {
    let p = found.dependence_p;
    let text = match p {
        None => "too few trials to say",
        Some(p) if p < DETECT_BELOW => {
            "successive trials resemble each other; the intervals account for it"
        }
        Some(_) => "successive trials resemble each other no more than by chance",
    };
    CheckFound {
        name: "dependence".to_owned(),
        found: p.map(|p| p < DETECT_BELOW),
        text: text.to_owned(),
        change: None,
        p,
    }
}

/// The metric against the device's temperature, where SMART gives one.
fn temperature(plan: &Plan, outcomes: &Outcomes, trials: &[Trial]) -> Option<CheckFound> {
    let mut known: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (trial, outcome) in outcomes.values() {
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        if let Some(celsius) = outcome.celsius {
            known.insert((stack, trial.round as usize), celsius);
        }
    }
    if known.is_empty() {
        return None;
    }
    let beside: Vec<Option<f64>> =
        trials.iter().map(|trial| known.get(&(trial.stack, trial.round)).copied()).collect();
    let lowest = known.values().copied().fold(f64::INFINITY, f64::min);
    let highest = known.values().copied().fold(f64::NEG_INFINITY, f64::max);
    let over = format!("from {lowest:.0} to {highest:.0} °C of the device");
    Some(trend("temperature", &over, checks::covariate(trials, &beside)))
}

/// Trials whose device moved far more bytes than those of the same stack and workload usually do.
fn other_writer(plan: &Plan, outcomes: &Outcomes) -> Option<CheckFound> {
    let mut moved: BTreeMap<u32, Vec<(u32, f64)>> = BTreeMap::new();
    for (trial, outcome) in outcomes.values().filter(|(_, outcome)| outcome.end != End::Failed) {
        if let Some(bytes) = outcome.moved_bytes {
            moved.entry(trial.candidate).or_default().push((trial.index, bytes));
        }
    }
    let mut odd: Vec<(u32, u32, f64)> = Vec::new();
    let mut judged = false;
    for (candidate, trials) in &moved {
        let usual = estimate::median(&trials.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>())?;
        judged |= trials.len() >= 3;
        let more = |(_, bytes): &&(u32, f64)| {
            trials.len() >= 3
                && *bytes > OTHER_WRITER * usual
                && *bytes - usual > OTHER_WRITER_BYTES
        };
        odd.extend(
            trials.iter().filter(more).map(|(index, bytes)| (*candidate, *index, bytes / usual)),
        );
    }
    if moved.is_empty() {
        return None;
    }
    let text = match odd.iter().max_by(|a, b| a.2.total_cmp(&b.2)) {
        None => "no trial moved far more bytes than others of its stack".to_owned(),
        Some((candidate, index, times)) => {
            let stack = plan.candidates[*candidate as usize].stack as usize;
            format!(
                "{} of {} trials moved far more bytes than others of their stack, trial {} of {} {times:.1} times as many: consistent with another writer on the device",
                odd.len(),
                outcomes.len(),
                index,
                plan.stacks[stack].label
            )
        }
    };
    Some(CheckFound {
        name: "other-writer".to_owned(),
        found: judged.then_some(!odd.is_empty()),
        text,
        change: None,
        p: None,
    })
}

#[cfg(test)]
mod tests;
