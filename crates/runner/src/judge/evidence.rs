//! Evidence for a verdict: effect of each axis, activity of the devices, share of device time.

use super::agreement;
use crate::axes::{Axis, axes};
use crate::records::Records;
use seekwell_model::plan::Plan;
use seekwell_model::record::{DeviceTotals, Record, Status, StepRecord};
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
pub(super) fn add(plan: &Plan, records: &Records, values: &Values, verdict: &mut Verdict) {
    verdict.evidence.storage = storage(plan, records);
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
            axis.beside = beside(plan, records, &design, effect);
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

/// The judged step of a record that may be ranked.
fn judged<'a>(plan: &Plan, record: &'a Record) -> Option<&'a StepRecord> {
    let (step, _) = plan.lab.judge.metric.split_once('.')?;
    (record.status == Status::Ok).then_some(())?;
    record.steps.iter().find(|candidate| candidate.name == step)
}

/// Quantities of the judged step.
fn quantities(record: &Record, step: &StepRecord) -> Vec<(&'static str, f64)> {
    let mut all = Vec::new();
    let mut add = |what, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            all.push((what, value));
        }
    };
    // Without a count it is not finite, and left out.
    let per = |sum: u64, count: u64| Some(sum as f64 / count as f64);
    if let Some(device) = &step.device {
        let DeviceTotals { reads, read_bytes, writes, writes_merged, written_bytes, .. } = *device;
        add("flushes", device.flushes.map(|flushes| flushes as f64));
        add("KiB per write", per(written_bytes, writes).map(|bytes| bytes / 1024.0));
        add("KiB per read", per(read_bytes, reads).map(|bytes| bytes / 1024.0));
        add("% of writes merged", per(100 * writes_merged, writes + writes_merged));
        add("MB written", Some(written_bytes as f64 / 1e6));
        add("MB read", Some(read_bytes as f64 / 1e6));
    }
    add("MB to the journal device", step.journal.map(|journal| journal.written_bytes as f64 / 1e6));
    add("bytes written per byte", step.metrics.get("written_per_byte").copied());
    let metric = |name: &str| step.metrics.get(name).copied();
    add("s of CPU", metric("cpu"));
    // What only a modelled device tells.
    add("s of the arm's movement", metric("arm_time"));
    add("s of waiting for the sector", metric("rotation_time"));
    add("blocks erased", metric("erases"));
    add("MB programmed", metric("programmed_bytes").map(|bytes| bytes / 1e6));
    add("requests in flight", in_flight(record, step));
    all
}

/// Samples that a step must hold before it is said how many requests were in flight.
const LEAST_SAMPLES: usize = 3;

/// Mean over the samples whose whole interval is inside the step. Others also contain mkfs or the step
/// before.
fn in_flight(record: &Record, step: &StepRecord) -> Option<f64> {
    let queues: Vec<f64> = record
        .timeline
        .windows(2)
        .filter(|pair| pair[0].at_ns >= step.started_ns && pair[1].at_ns <= step.ended_ns)
        .map(|pair| pair[1].queue_size)
        .collect();
    (queues.len() >= LEAST_SAMPLES).then(|| mean(&queues)).flatten()
}

/// An amount of a quantity that is next to nothing: 0 against a little of it is no difference.
fn floor(what: &str) -> f64 {
    match what {
        "flushes" => 2.0,
        "% of writes merged" => 5.0,
        "requests in flight" => 0.2,
        "s of CPU" => 0.005,
        "s of the arm's movement" | "s of waiting for the sector" => 0.05,
        "bytes written per byte" => 0.1,
        // MB and KiB.
        _ => 1.0,
    }
}

/// Returns the other differences between the trials with the two extreme values of an axis.
fn beside(plan: &Plan, records: &Records, design: &Design, effect: &AxisEffect) -> Vec<Beside> {
    if !effect.measurable {
        return vec![];
    }
    let mut found: Vec<(&'static str, [Vec<f64>; 2])> = Vec::new();
    for (trial, record) in records.values() {
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
        let Some(step) = judged(plan, record) else { continue };
        for (what, value) in quantities(record, step) {
            match found.iter_mut().find(|(name, _)| *name == what) {
                Some((_, sides)) => sides[side].push(value),
                None => {
                    let mut sides = [Vec::new(), Vec::new()];
                    sides[side].push(value);
                    found.push((what, sides));
                }
            }
        }
    }
    let mut all: Vec<(f64, Beside)> = found
        .into_iter()
        .filter_map(|(what, sides)| {
            let [at_highest, at_lowest] = [median(&sides[0])?, median(&sides[1])?];
            let floor = floor(what);
            let apart = ((at_highest + floor) / (at_lowest + floor)).ln().abs();
            let beside = Beside { what: what.to_owned(), at_highest, at_lowest };
            (apart > WORTH_NAMING.ln()).then_some((apart, beside))
        })
        .collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.into_iter().take(BESIDE).map(|(_, beside)| beside).collect()
}

/// Returns the share of the judged step in which the device was busy, for the stack with the largest.
fn storage(plan: &Plan, records: &Records) -> Option<StorageShare> {
    let mut of_stacks = vec![(Vec::new(), true); plan.ranked()];
    for (trial, record) in records.values() {
        let stack = plan.candidates[trial.candidate as usize].stack as usize;
        let Some((shares, blind)) = of_stacks.get_mut(stack) else { continue };
        let Some(step) = judged(plan, record) else { continue };
        let Some(device) = &step.device else { continue };
        let seconds = step.metrics.get("elapsed_durable").or(step.metrics.get("elapsed"));
        let Some(elapsed_ns) = seconds.map(|seconds| (seconds * 1e9) as u64) else { continue };
        let busy_ns = device.busy_ms.saturating_mul(1_000_000);
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
