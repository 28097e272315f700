//! The judged metric of every trial, by stack and round.

use crate::nodes::strays;
use crate::records::{End, Outcome, Outcomes, is_quarantined};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_stats::field::Observed;
use std::collections::{BTreeMap, BTreeSet};

/// Workloads that report the judged metric, by stack.
pub(crate) fn judged_workloads(plan: &Plan) -> BTreeMap<u32, BTreeSet<u32>> {
    let metric = &plan.lab.judge.metric;
    let reports: Vec<bool> =
        plan.workloads.iter().map(|workload| workload.reports_or_times(metric)).collect();
    let mut by_stack: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for pair in &plan.candidates {
        if reports.get(pair.workload as usize).copied().unwrap_or(false) {
            by_stack.entry(pair.stack).or_default().insert(pair.workload);
        }
    }
    by_stack
}

/// Workloads that report the judged metric and that every stack runs which runs one of them.
pub(crate) fn common_workloads(plan: &Plan) -> BTreeSet<u32> {
    let by_stack = judged_workloads(plan);
    let mut sets = by_stack.values();
    let first = sets.next().cloned().unwrap_or_default();
    sets.fold(first, |common, set| common.intersection(set).copied().collect())
}

/// Values of the judged metric: per stack, one entry per round.
///
/// Only trials that ended well count: a marked trial is kept and never ranked, and neither is one
/// whose metric is not a positive number. Where several workloads report the metric, a stack's
/// value of a round is their geometric mean, and missing when one of them is; only workloads that
/// every compared stack runs take part.
#[must_use]
pub fn judged_values(plan: &Plan, outcomes: &Outcomes) -> Vec<Vec<Option<f64>>> {
    present(&judged_trials(plan, outcomes))
}

/// As [`judged_values`], with failed and doubtful trials distinguished from those that were not run.
#[must_use]
pub fn judged_trials(plan: &Plan, outcomes: &Outcomes) -> Vec<Vec<Observed>> {
    let rounds = outcomes.values().map(|(trial, _)| trial.round + 1).max().unwrap_or(0) as usize;
    let judged = common_workloads(plan);
    let mut parts: Vec<Vec<Vec<Observed>>> = vec![Vec::new(); plan.stacks.len()];
    for (pair, row) in plan.candidates.iter().zip(rows(plan, outcomes, rounds)) {
        if judged.contains(&pair.workload) {
            parts[pair.stack as usize].push(row);
        }
    }
    let combined = |rows: &Vec<Vec<Observed>>| -> Vec<Observed> {
        (0..rounds).map(|round| combine(rows.iter().map(|row| row[round]))).collect()
    };
    parts.iter().map(combined).collect()
}

/// Trials of the stacks of one round, as [`judged_trials`] makes them.
#[must_use]
pub fn round_values(
    plan: &Plan,
    outcomes: &Outcomes,
    round: &[PlannedTrial],
) -> Vec<(usize, Observed)> {
    let judged = common_workloads(plan);
    let mut parts: BTreeMap<usize, Vec<Observed>> = BTreeMap::new();
    let strays = strays(round.iter().filter_map(|trial| outcomes.get(&trial.index)));
    for trial in round.iter().filter(|trial| !strays.contains(&trial.index)) {
        let pair = plan.candidates[trial.candidate as usize];
        let of_stack = parts.entry(pair.stack as usize).or_default();
        if judged.contains(&pair.workload) {
            let outcome = outcomes.get(&trial.index).map(|(_, outcome)| outcome);
            of_stack.push(outcome.map_or(Observed::Failed, observed));
        }
    }
    let trial = |(stack, rows): (usize, Vec<Observed>)| match combine(rows.into_iter()) {
        Observed::NotRun => (stack, Observed::Failed),
        trial => (stack, trial),
    };
    parts.into_iter().map(trial).collect()
}

/// The values that there are.
pub(crate) fn present(trials: &[Vec<Observed>]) -> Vec<Vec<Option<f64>>> {
    let value = |trial: &Observed| match trial {
        Observed::Value(value) => Some(*value),
        Observed::Failed | Observed::Doubtful | Observed::NotRun => None,
    };
    trials.iter().map(|row| row.iter().map(value).collect()).collect()
}

/// The trials of each candidate, in one pass over the outcomes: a run may have 1,000 candidates and 100,000 trials.
fn rows(plan: &Plan, outcomes: &Outcomes, rounds: usize) -> Vec<Vec<Observed>> {
    let mut rows = vec![vec![Observed::NotRun; rounds]; plan.candidates.len()];
    // The round behind the last one.
    let mut ends = vec![0; plan.candidates.len()];
    let strays = strays(outcomes.values());
    for (trial, outcome) in outcomes.values().filter(|(trial, _)| !strays.contains(&trial.index)) {
        let (candidate, round) = (trial.candidate as usize, trial.round as usize);
        if let (Some(row), Some(end)) = (rows.get_mut(candidate), ends.get_mut(candidate)) {
            row[round] = observed(outcome);
            *end = (*end).max(round + 1);
        }
    }
    for (candidate, (row, end)) in rows.iter_mut().zip(ends).enumerate() {
        // A stack that failed several times in a row is not tried again: it would have failed.
        if is_quarantined(outcomes, candidate as u32, u32::MAX) {
            row[end..].fill(Observed::Failed);
        }
    }
    rows
}

/// Geometric mean of the parts of a stack's round: failed or doubtful when one of them is.
fn combine(parts: impl Iterator<Item = Observed>) -> Observed {
    let (mut logs, mut count) = (0.0, 0_u32);
    let mut missing = None;
    for part in parts {
        count += 1;
        match part {
            Observed::Value(value) => logs += value.ln(),
            Observed::Failed => missing = Some(Observed::Failed),
            Observed::Doubtful if missing != Some(Observed::Failed) => missing = Some(part),
            Observed::Doubtful => {}
            Observed::NotRun => missing = missing.or(Some(Observed::NotRun)),
        }
    }
    match missing {
        Some(missing) => missing,
        None if count == 0 => Observed::NotRun,
        None => Observed::Value((logs / f64::from(count)).exp()),
    }
}

/// The judged metric of a trial, when it has a ratio to others.
fn observed(outcome: &Outcome) -> Observed {
    match outcome.end {
        End::Ok => Observed::run(outcome.value.filter(|value| *value > 0.0 && value.is_finite())),
        End::Marked => Observed::Doubtful,
        End::Failed => Observed::Failed,
    }
}

/// Trials whose judged metric is no positive number.
pub(crate) fn without_ratio(plan: &Plan, records: &[(PlannedTrial, Record)]) -> Vec<Warning> {
    let metric = &plan.lab.judge.metric;
    let (step, name) = metric.split_once('.').unwrap_or((metric, ""));
    let mut by_stack: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (trial, record) in records {
        let value = (record.status == Status::Ok).then(|| record.metric(metric)).flatten();
        if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
            let label = plan.pair(trial).0.label.as_str();
            let seen = format!("{value} in round {}", trial.round + 1);
            by_stack.entry(label).or_default().push(seen);
        }
    }
    by_stack
        .into_iter()
        .map(|(label, mut seen)| {
            let count = seen.len();
            if count > 4 {
                seen.truncate(4);
                seen.push(format!("… ({count} trials)"));
            }
            let text = format!(
                "{label}: step {step} reported {name} = {}; only a positive number can be compared, so these trials count as failed",
                seen.join(", ")
            );
            Warning::new(WarningCode::MetricWithoutRatio, text)
        })
        .collect()
}

#[cfg(test)]
mod tests;
