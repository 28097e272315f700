//! Evidence for a verdict: effect of each axis, activity of the devices, share of device time.

use super::agreement;
use crate::axes::{Axis, axes};
use crate::records::Outcomes;
use crate::records::quantities::QUANTITIES;
use seekwell_model::plan::Plan;
use seekwell_model::verdict::{AxisFound, Beside, InteractionFound, StorageShare, Verdict};
use seekwell_stats::design::Design;
use seekwell_stats::effects::{self, AxisEffect, Interaction, Wording};
use seekwell_stats::estimate::{mean, median};
use seekwell_stats::interval::{Interval, mean_interval};
use seekwell_stats::question::MIN_ROUNDS;
use seekwell_stats::sensitivity::{self, Sees};

/// More stacks than this have no effects computed: it would take longer than it is worth.
const MOST_STACKS: usize = 600;

/// Number of other differences shown with an effect.
const BESIDE: usize = 3;

/// A quantity that differs by less than this factor is not worth naming.
const WORTH_NAMING: f64 = 1.25;

type Values = [Vec<Option<f64>>];

/// Attaches the supporting evidence to the verdict.
pub(super) fn add(plan: &Plan, outcomes: &Outcomes, values: &Values, verdict: &mut Verdict) {
    verdict.evidence.storage = storage(plan, outcomes);
    let ranked = plan.ranked();
    if ranked > MOST_STACKS {
        return;
    }
    let (names, design) = axes(plan, ranked);
    let values = &values[..ranked];
    let confidence = plan.lab.judge.confidence;
    let Some(found) = effects::effects(&design, values, confidence) else { return };
    let mut axes: Vec<AxisFound> = found
        .axes
        .iter()
        .filter(|effect| effect.change.centre.is_finite())
        .map(|effect| {
            let mut axis = axis(&names[effect.axis], effect);
            axis.confirmed = confirmed(&design, values, effect, confidence);
            axis.beside = beside(plan, outcomes, &design, effect);
            axis
        })
        .collect();
    axes.sort_by(|a, b| b.share.total_cmp(&a.share));
    verdict.evidence.axes = axes;
    let mut interactions: Vec<InteractionFound> = found
        .interactions
        .iter()
        .filter(|interaction| interaction.measurable)
        .map(|found| interaction(&names, found))
        .collect();
    interactions.sort_by(|a, b| b.ratio.ln().abs().total_cmp(&a.ratio.ln().abs()));
    verdict.evidence.interactions = interactions;
    agreement::settle(plan, &names, &design, verdict);
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

fn axis(names: &Axis, effect: &AxisEffect) -> AxisFound {
    AxisFound {
        axis: names.name.to_owned(),
        highest: names.values[effect.extremes.0].clone(),
        lowest: names.values[effect.extremes.1].clone(),
        ratio: effect.change.centre,
        low: finite(effect.change.low),
        high: finite(effect.change.high),
        measurable: effect.measurable,
        at_most: finite(effect.at_most),
        share: effect.share,
        confirmed: false,
        beside: vec![],
    }
}

fn interaction(names: &[Axis], found: &Interaction) -> InteractionFound {
    let (a, b) = found.axes;
    InteractionFound {
        axes: [names[a].name.to_owned(), names[b].name.to_owned()],
        values: [names[a].values[found.levels.0].clone(), names[b].values[found.levels.1].clone()],
        ratio: found.departure.centre,
        low: finite(found.departure.low),
        high: finite(found.departure.high),
    }
}

/// Returns true if rounds that had no part in finding an effect show it too. In a full factorial the
/// pairs of stacks that differ in one axis alone are the same contrast of the same trials, and
/// confirm nothing. So the first half of the rounds has to find the effect, and pairs of the second
/// half have to move the metric in the same direction.
fn confirmed(design: &Design, values: &Values, effect: &AxisEffect, confidence: f64) -> bool {
    let rounds = values.iter().map(Vec::len).max().unwrap_or(0);
    let part = |from: usize, to: usize| -> Vec<Vec<Option<f64>>> {
        let row = |row: &Vec<Option<f64>>| row.get(from..to.min(row.len())).unwrap_or(&[]).to_vec();
        values.iter().map(row).collect()
    };
    let first = effects::effects(design, &part(0, rounds / 2), confidence);
    let found = first.and_then(|found| found.axes.into_iter().find(|a| a.axis == effect.axis));
    let Some(found) = found.filter(|found| found.extremes == effect.extremes) else { return false };
    let ablation = ablation(design, &part(rounds / 2, rounds), effect, confidence);
    effects::wording(found.change, ablation) == Wording::Confirmed
}

/// Ratio between stacks that differ in this axis alone, in its two extreme values, over the rounds
/// that they share; `None` below the fewest rounds that decide anything.
fn ablation(
    design: &Design,
    values: &Values,
    effect: &AxisEffect,
    confidence: f64,
) -> Option<Interval> {
    let (high, low) = effect.extremes;
    let level = |stack: usize| design.level(stack, effect.axis);
    let pairs: Vec<(usize, usize)> = effects::one_factor_pairs(design, effect.axis)
        .into_iter()
        .filter_map(|(a, b)| match (level(a), level(b)) {
            (first, second) if (first, second) == (high, low) => Some((a, b)),
            (first, second) if (first, second) == (low, high) => Some((b, a)),
            _ => None,
        })
        .collect();
    let rounds = values.iter().map(Vec::len).max().unwrap_or(0);
    let at = |stack: usize, round: usize| {
        values[stack].get(round).copied().flatten().filter(|value| *value > 0.0)
    };
    let logs: Vec<f64> = (0..rounds)
        .filter_map(|round| {
            let logs: Vec<f64> = pairs
                .iter()
                .filter_map(|(a, b)| Some((at(*a, round)? / at(*b, round)?).ln()))
                .collect();
            mean(&logs)
        })
        .collect();
    let enough = logs.len() >= MIN_ROUNDS;
    enough.then(|| mean_interval(&logs, 1.0 - confidence).map(Interval::exp)).flatten()
}

/// Returns the other differences between the trials with the two extreme values of an axis.
fn beside(plan: &Plan, outcomes: &Outcomes, design: &Design, effect: &AxisEffect) -> Vec<Beside> {
    if !effect.measurable {
        return vec![];
    }
    let mut found: [[Vec<f64>; 2]; QUANTITIES.len()] = Default::default();
    for (trial, outcome) in outcomes.values() {
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        if stack >= design.stacks() {
            continue;
        }
        let level = design.level(stack, effect.axis);
        let side = match level {
            _ if level == effect.extremes.0 => 0,
            _ if level == effect.extremes.1 => 1,
            _ => continue,
        };
        for (number, amount) in outcome.judged.iter().flat_map(|step| step.quantities.iter()) {
            found[number][side].push(amount);
        }
    }
    let mut all: Vec<(f64, Beside)> = found
        .into_iter()
        .zip(QUANTITIES)
        .filter_map(|([highest, lowest], (what, floor))| {
            let [at_highest, at_lowest] = [median(&highest)?, median(&lowest)?];
            let apart = ((at_highest + floor) / (at_lowest + floor)).ln().abs();
            let beside = Beside { what: what.to_owned(), at_highest, at_lowest };
            (apart > WORTH_NAMING.ln()).then_some((apart, beside))
        })
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().take(BESIDE).map(|(_, beside)| beside).collect()
}

/// Returns the share of the judged step in which the device was busy, for the stack with the largest.
fn storage(plan: &Plan, outcomes: &Outcomes) -> Option<StorageShare> {
    let mut of_stacks = vec![(Vec::new(), true); plan.ranked()];
    for (trial, outcome) in outcomes.values() {
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        let Some((shares, blind)) = of_stacks.get_mut(stack) else { continue };
        let Some((busy_ns, elapsed_ns)) = outcome.judged.as_ref().and_then(|step| step.busy) else {
            continue;
        };
        let Some(rest) = sensitivity::share_without_device(busy_ns, elapsed_ns) else { continue };
        shares.push(1.0 - rest);
        *blind &= sensitivity::sees_by_busy_time(busy_ns, elapsed_ns) == Some(Sees::No);
    }
    let mut busiest: Option<(f64, bool)> = None;
    for (shares, blind) in of_stacks {
        if let Some(share) = median(&shares)
            && busiest.is_none_or(|(most, _)| share > most)
        {
            busiest = Some((share, !blind));
        }
    }
    busiest.map(|(busy, seen)| StorageShare { busy, seen })
}

#[cfg(test)]
mod tests;
