//! Runs of the same question, stack by stack: before and after an update of the kernel, the firmware or
//! the disk.
//!
//! Runs share no rounds, so this compares independent samples; what else changed between the runs
//! is a part of every ratio and is listed. With one run per side the machine is one of those things.
//! Two designs exclude it: three or more runs per side, each of which counts as one value, and a
//! reference stack that the change does not touch, to which every stack is compared inside its rounds.

mod differences;
mod samples;

use crate::judge::{others_percent, warnings};
use crate::records::Records;
use samples::Samples;
use seekwell_model::comparison::{Change, RunComparison, StackComparison, Threshold};
use seekwell_model::lab::{Better, Workload};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::stack::Stack;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_stats::Interval;
use seekwell_stats::independent::ratio;
use seekwell_stats::question::MIN_ROUNDS;
use std::collections::BTreeSet;

/// Fewest runs per side that tell a change of the setup from the ups and downs of a machine.
pub const RUNS_THAT_TELL: usize = 3;

/// Difference of the shares of the trials' CPUs that other programs used, in percentage points, from which it explains a
/// difference of two runs.
const OTHERS_DIFFER_PERCENT: f64 = 15.0;

/// One of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a> {
    /// As it was named.
    pub name: &'a str,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its records.
    pub records: &'a Records,
    /// Name of its backend.
    pub backend: &'a str,
    /// The machine that made it, from the run file.
    pub environment: &'a serde_json::Value,
    /// The version of the program that made it.
    pub tool: &'a str,
}

/// Options of a comparison.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted<'a> {
    /// Worse by more than this fails, as a fraction.
    pub fail_above: Option<f64>,
    /// Label of a stack that the change does not touch: ratios are of each stack's ratio to it.
    pub reference: Option<&'a str>,
}

/// The reason for which runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotComparable(pub(crate) String);

impl NotComparable {
    /// The sides have a number of runs from which nothing follows.
    fn runs(first: usize, second: usize) -> Self {
        Self(format!(
            "{first} runs before and {second} after; compare one with one, or three or more with \
             three or more: two values say nothing of how much runs differ by themselves"
        ))
    }
}

/// Compares the judged metric of one run per side, or of three and more. Tie width and confidence are the
/// first run's; the permitted error is divided among the stacks.
///
/// # Errors
/// [`NotComparable`] when the runs answer different questions or are too few.
pub fn compare(
    first: &[Side<'_>],
    second: &[Side<'_>],
    wanted: &Wanted<'_>,
) -> Result<RunComparison, NotComparable> {
    let ([one, ..], [two, ..]) = (first, second) else {
        return Err(NotComparable::runs(first.len(), second.len()));
    };
    let tells = first.len().min(second.len()) >= RUNS_THAT_TELL;
    if !tells && first.len().max(second.len()) > 1 {
        return Err(NotComparable::runs(first.len(), second.len()));
    }
    for other in first.iter().skip(1).chain(second) {
        check(one, other)?;
    }
    let shared = shared(first, second)?;
    let samples = Samples::new(first, second, &shared, wanted.reference)?;
    let judge = &one.plan.lab.judge;
    let compared = shared.len() - usize::from(wanted.reference.is_some());
    let machine = wanted.reference.is_none() && !tells && one.backend != "virtual";
    let withheld = if machine { explained(one, two, &shared) } else { None };
    let question = Question {
        better: judge.better,
        tie: judge.tie,
        error: (1.0 - judge.confidence) / compared.max(1) as f64,
        fail_above: wanted.fail_above,
        withheld: withheld.is_some(),
    };
    let label = |position: usize| one.plan.stacks[shared[position][0]].label.as_str();
    let stacks = (0..shared.len())
        .filter(|position| wanted.reference != Some(label(*position)))
        .map(|position| question.stack(label(position), &samples, position))
        .collect();
    let pairs: Vec<(usize, usize)> =
        shared.iter().map(|indices| (indices[0], indices[first.len()])).collect();
    let names = |sides: &[Side<'_>]| sides.iter().map(|side| side.name.to_owned()).collect();
    Ok(RunComparison {
        format: seekwell_model::FORMAT.to_string(),
        first: one.name.to_owned(),
        second: two.name.to_owned(),
        first_runs: names(first),
        second_runs: names(second),
        reference: wanted.reference.map(str::to_owned),
        withheld,
        backend: one.backend.to_owned(),
        metric: judge.metric.clone(),
        better: judge.better,
        confidence: judge.confidence,
        tie: judge.tie,
        fail_above: wanted.fail_above,
        stacks,
        only_first: unmatched(one.plan, &|index| pairs.iter().all(|(a, _)| *a != index)),
        only_second: unmatched(two.plan, &|index| pairs.iter().all(|(_, b)| *b != index)),
        differences: differences::of_sides(first, second, &shared),
        first_doubts: doubts(first),
        second_doubts: doubts(second),
    })
}

fn unmatched(plan: &Plan, is_unmatched: &dyn Fn(usize) -> bool) -> Vec<String> {
    let all = plan.stacks.iter().enumerate().filter(|(index, _)| is_unmatched(*index));
    all.map(|(_, stack)| stack.label.clone()).collect()
}

/// Stacks that every run has: for each the index in each run, those of the first side before those
/// of the second.
fn shared(first: &[Side<'_>], second: &[Side<'_>]) -> Result<Vec<Vec<usize>>, NotComparable> {
    let one = first[0].plan;
    let in_all = |stack: &Stack| -> Option<Vec<usize>> {
        first.iter().chain(second).map(|side| position(side.plan, stack)).collect()
    };
    let found: Vec<Vec<usize>> = one.stacks.iter().filter_map(in_all).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let example = |plan: &Plan| plan.stacks.first().map_or("none", |s| &s.label).to_owned();
    Err(NotComparable(format!(
        "{} and {} have no stack in common ({}, {}); stacks are told apart by their labels",
        first[0].name,
        second[0].name,
        example(one),
        example(second[0].plan)
    )))
}

/// Doubts about the runs of a side, which are doubts about every ratio with it.
fn doubts(sides: &[Side<'_>]) -> Vec<Warning> {
    let mut all = Vec::new();
    for side in sides {
        for mut doubt in doubts_of(side) {
            if sides.len() > 1 {
                doubt.text = format!("{}: {}", side.name, doubt.text);
            }
            all.push(doubt);
        }
    }
    all
}

fn doubts_of(side: &Side<'_>) -> Vec<Warning> {
    let records: Vec<_> = side.records.values().cloned().collect();
    warnings(side.plan, &records)
}

/// The reason to call nothing different: the runs had other nodes, or one of them a busy machine, which alone makes
/// runs differ.
fn explained(first: &Side<'_>, second: &Side<'_>, shared: &[Vec<usize>]) -> Option<String> {
    let nodes = [first, second].map(nodes);
    if nodes[0] != nodes[1] {
        let [one, two] = nodes.map(|names| names.into_iter().collect::<Vec<_>>().join(", "));
        return Some(format!("{} ran on the nodes {one}, {} on {two}", first.name, second.name));
    }
    let shares = [(first, 0), (second, 1)].map(|(side, run)| {
        let is_shared = |trial: &PlannedTrial| {
            let stack = side.plan.candidates.get(trial.candidate as usize).map(|one| one.stack);
            shared.iter().any(|of| stack == Some(of[run] as u32))
        };
        let trials = side.records.values().filter(|(trial, _)| is_shared(trial));
        others_percent(trials.map(|(_, record)| record))
    });
    if let [Some(one), Some(two)] = shares
        && (one - two).abs() >= OTHERS_DIFFER_PERCENT
    {
        return Some(format!(
            "other programs used {one:.0} % of the processors during {} and {two:.0} % during {}",
            first.name, second.name
        ));
    }
    busy_on_one_side(first, second)
}

/// Names of the nodes that ran the trials of a run; none where a machine ran them all.
fn nodes(side: &Side<'_>) -> BTreeSet<String> {
    let of = |record: &Record| Some(record.in_force.node.as_ref()?.name.clone());
    side.records.values().filter_map(|(_, record)| of(record)).collect()
}

/// The reason to call nothing different where trials do not say what others used.
fn busy_on_one_side(first: &Side<'_>, second: &Side<'_>) -> Option<String> {
    let is_busy =
        |side: &Side<'_>| doubts_of(side).iter().any(|d| d.is(WarningCode::BusyProcessors));
    let busy = match (is_busy(first), is_busy(second)) {
        (true, false) => first.name,
        (false, true) => second.name,
        _ => return None,
    };
    Some(format!("something else kept the processors busy during {busy} alone"))
}

fn check(first: &Side<'_>, second: &Side<'_>) -> Result<(), NotComparable> {
    same_question(first, second)?;
    if first.backend == second.backend {
        return Ok(());
    }
    Err(NotComparable(format!(
        "{} ran on the {} backend and {} on {}; times of different backends cannot be compared",
        first.name, first.backend, second.name, second.backend
    )))
}

/// Checks that both judge the same metric of the same work.
fn same_question(first: &Side<'_>, second: &Side<'_>) -> Result<(), NotComparable> {
    let (one, two) = (&first.plan.lab.judge, &second.plan.lab.judge);
    if one.metric != two.metric || one.better != two.better {
        let word = |better| if better == Better::Lower { "lower" } else { "higher" };
        return Err(NotComparable(format!(
            "{} judges {} ({} is better) and {} judges {} ({} is better); \
             run both with the same [judge] table",
            first.name,
            one.metric,
            word(one.better),
            second.name,
            two.metric,
            word(two.better)
        )));
    }
    if let Some((workload, detail)) = other_work(first.plan, second.plan) {
        return Err(NotComparable(format!(
            "{} and {} do not do the same work: workload '{workload}' differs ({detail}); \
             run both with the same [[workload]] tables",
            first.name, second.name
        )));
    }
    Ok(())
}

/// The first workload that reports the judged metric and is not the same in both.
fn other_work(one: &Plan, two: &Plan) -> Option<(String, String)> {
    let metric = &one.lab.judge.metric;
    let judged = |plan: &Plan| -> Vec<Workload> {
        let reports = |workload: &&Workload| workload.reports_or_times(metric);
        plan.workloads.iter().filter(reports).cloned().collect()
    };
    let (one, two) = (judged(one), judged(two));
    for workload in &one {
        match two.iter().find(|other| other.name == workload.name) {
            None => return Some((workload.name.clone(), "only in the first".to_owned())),
            Some(other) if other != workload => {
                let detail = "its parameters are not the same".to_owned();
                return Some((workload.name.clone(), detail));
            }
            Some(_) => {}
        }
    }
    let extra = two.iter().find(|other| one.iter().all(|workload| workload.name != other.name))?;
    Some((extra.name.clone(), "only in the second".to_owned()))
}

/// The same stack in another plan: by its label, else by everything but its label, which names
/// only the axes that have several values.
fn position(plan: &Plan, stack: &Stack) -> Option<usize> {
    let relabelled =
        |other: &Stack| Stack { label: other.label.clone(), ..stack.clone() } == *other;
    let by_label = plan.stacks.iter().position(|other| other.label == stack.label);
    by_label.or_else(|| plan.stacks.iter().position(relabelled))
}

struct Question {
    better: Better,
    tie: f64,
    error: f64,
    fail_above: Option<f64>,
    /// True if no difference may be named, because the machine explains it.
    withheld: bool,
}

impl Question {
    fn stack(&self, label: &str, samples: &Samples, position: usize) -> StackComparison {
        let [first, second] = samples.of(position);
        let interval = first.sample.zip(second.sample).and_then(|(a, b)| ratio(&a, &b, self.error));
        let enough = first.trials.min(second.trials) >= MIN_ROUNDS;
        let (change, threshold) = match interval.filter(|_| enough) {
            Some(interval) => (self.change(&interval), self.threshold(&interval)),
            None => (Change::TooFew, self.fail_above.map(|_| Threshold::NotResolved)),
        };
        StackComparison {
            stack: label.to_owned(),
            ratio: interval.map(|interval| interval.centre),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high).filter(|high| high.is_finite()),
            first_median: first.median,
            second_median: second.median,
            first_trials: first.trials as u32,
            second_trials: second.trials as u32,
            change,
            threshold,
        }
    }

    /// "Worse by" as a factor: lower end, estimate and upper end.
    fn worse_by(&self, interval: &Interval) -> (f64, f64, f64) {
        match self.better {
            Better::Lower => (interval.low, interval.centre, interval.high),
            Better::Higher => (1.0 / interval.high, 1.0 / interval.centre, 1.0 / interval.low),
        }
    }

    /// As within a run: a difference must exist, and be estimated to be one that matters.
    fn change(&self, interval: &Interval) -> Change {
        let (low, centre, high) = self.worse_by(interval);
        let width = 1.0 + self.tie;
        if low >= 1.0 / width && high <= width {
            Change::Same
        } else if self.withheld {
            Change::NotResolved
        } else if low > 1.0 && centre > width {
            Change::Worse
        } else if high < 1.0 && centre < 1.0 / width {
            Change::Better
        } else {
            Change::NotResolved
        }
    }

    fn threshold(&self, interval: &Interval) -> Option<Threshold> {
        let limit = 1.0 + self.fail_above?;
        let (low, _, high) = self.worse_by(interval);
        Some(if high <= limit {
            Threshold::Held
        } else if low > limit && !self.withheld {
            Threshold::Failed
        } else {
            Threshold::NotResolved
        })
    }
}

#[cfg(test)]
mod tests;
