//! Checks of the measurement itself: drift, order and other effects.

use super::percent;
use crate::question::is_exact;
use crate::records::{End, Outcomes};
use seekwell_model::plan::Plan;
use seekwell_model::verdict::CheckFound;
use seekwell_stats::checks::{self, CarryOver, DETECT_BELOW, Trend, Trial};
use seekwell_stats::estimate;
use std::collections::BTreeMap;

/// A trial whose device moved so many times the bytes that trials of the same stack usually do had
/// company.
const OTHER_WRITER: f64 = 1.5;

/// Less than this on top is no sign of company: metadata differs by so much.
const OTHER_WRITER_BYTES: f64 = 4e6;

/// Returns every check, with or without a finding.
pub(super) fn checks(
    plan: &Plan,
    outcomes: &Outcomes,
    values: &[Vec<Option<f64>>],
) -> Vec<CheckFound> {
    // Each trial on models is a guest of its own, which knows nothing of those before it.
    if is_exact(plan) {
        return other_writer(plan, outcomes).into_iter().collect();
    }
    let trials = in_order(plan, outcomes, values);
    let found = checks::check(&trials);
    let mut all = vec![
        trend("drift", "from the first round to the last", found.drift),
        trend("order", "from the first trial of a round to its last", found.order),
        carry_over(found.carry_over),
        dependence(found.dependence_p),
    ];
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
    let text = found.map(|trend| {
        let change = &trend.change;
        let beyond = if trend.detected() { "" } else { ", which may be chance" };
        format!(
            "{} {over} ({} to {}){beyond}",
            signed(change.centre),
            signed(change.low),
            signed(change.high)
        )
    });
    check(name, text, found.map(|trend| trend.p), found.map(|trend| trend.change.centre))
}

fn carry_over(found: Option<CarryOver>) -> CheckFound {
    let text = found.map(|carry| match carry.detected() {
        true => format!(
            "the stack that ran before a trial changes its result by up to {}",
            percent((carry.factor - 1.0).abs())
        ),
        false => "no effect of the stack that ran before, beyond chance".to_owned(),
    });
    check("carry-over", text, found.map(|carry| carry.p), found.map(|carry| carry.factor))
}

fn dependence(p: Option<f64>) -> CheckFound {
    let text = p.map(|p| match p < DETECT_BELOW {
        true => "successive trials resemble each other; the intervals account for it".to_owned(),
        false => "successive trials resemble each other no more than by chance".to_owned(),
    });
    check("dependence", text, p, None)
}

/// A check with the chance of its effect and the effect as a factor; `None` with too few trials.
fn check(name: &str, text: Option<String>, p: Option<f64>, change: Option<f64>) -> CheckFound {
    CheckFound {
        name: name.to_owned(),
        found: p.map(|p| p < DETECT_BELOW),
        text: text.unwrap_or_else(|| "too few trials to say".to_owned()),
        change: change.filter(|change| change.is_finite()),
        p,
    }
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
