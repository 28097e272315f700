//! Two runs of the same question, stack by stack: before and after an update of the kernel, the
//! firmware or the disk.
//!
//! The trials of two runs share no rounds, so this compares independent samples; what else
//! changed between the runs is a part of every ratio and is listed.

mod differences;

use crate::judge::warnings;
use crate::records::Records;
use crate::values::judged_values;
use seekwell_model::comparison::{Change, RunComparison, StackComparison, Threshold};
use seekwell_model::lab::{Better, Workload};
use seekwell_model::plan::Plan;
use seekwell_model::stack::Stack;
use seekwell_model::warning::Warning;
use seekwell_stats::Interval;
use seekwell_stats::independent::ratio_interval;
use seekwell_stats::question::MIN_ROUNDS;

/// One of the two runs.
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

/// Reasons for which two runs cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// They judge different metrics.
    #[error(
        "{first} judges {first_metric} and {second} judges {second_metric}; \
         run both with the same [judge] table"
    )]
    Metric {
        /// Name of the first run.
        first: String,
        /// Its metric.
        first_metric: String,
        /// Name of the second run.
        second: String,
        /// Its metric.
        second_metric: String,
    },
    /// They do different work.
    #[error(
        "{first} and {second} do not do the same work: workload '{workload}' differs ({detail}); \
         run both with the same [[workload]] tables"
    )]
    Workload {
        /// Name of the first run.
        first: String,
        /// Name of the second run.
        second: String,
        /// Name of the workload.
        workload: String,
        /// Description of the difference.
        detail: String,
    },
    /// They ran on different backends: real and virtual time cannot be compared.
    #[error(
        "{first} ran on the {first_backend} backend and {second} on {second_backend}; times of \
         different backends cannot be compared"
    )]
    Backend {
        /// Name of the first run.
        first: String,
        /// Its backend.
        first_backend: String,
        /// Name of the second run.
        second: String,
        /// Its backend.
        second_backend: String,
    },
    /// They have no stack in common.
    #[error(
        "{first} and {second} have no stack in common ({example_first}, {example_second}); \
         stacks are told apart by their labels"
    )]
    NoStack {
        /// Name of the first run.
        first: String,
        /// Name of the second run.
        second: String,
        /// A stack of the first run.
        example_first: String,
        /// A stack of the second run.
        example_second: String,
    },
}

/// Compares the judged metric of two runs. Tie width and confidence are the first run's; the
/// permitted error is divided among the stacks. `fail_above` is a fraction: worse by more fails.
///
/// # Errors
/// [`NotComparable`] when the runs answer different questions.
pub fn compare(
    first: &Side<'_>,
    second: &Side<'_>,
    fail_above: Option<f64>,
) -> Result<RunComparison, NotComparable> {
    check(first, second)?;
    let (plan, other) = (first.plan, second.plan);
    let pairs: Vec<(usize, usize)> = plan
        .stacks
        .iter()
        .enumerate()
        .filter_map(|(index, stack)| Some((index, position(other, stack)?)))
        .collect();
    if pairs.is_empty() {
        let example = |plan: &Plan| plan.stacks.first().map_or("none", |s| &s.label).to_owned();
        return Err(NotComparable::NoStack {
            first: first.name.to_owned(),
            second: second.name.to_owned(),
            example_first: example(plan),
            example_second: example(other),
        });
    }
    let judge = &plan.lab.judge;
    let values = (judged_values(plan, first.records), judged_values(other, second.records));
    let question = Question {
        better: judge.better,
        tie: judge.tie,
        error: (1.0 - judge.confidence) / pairs.len() as f64,
        fail_above,
    };
    let stacks = pairs
        .iter()
        .map(|(a, b)| {
            let present = |rounds: &[Option<f64>]| rounds.iter().flatten().copied().collect();
            question.stack(&plan.stacks[*a].label, present(&values.0[*a]), present(&values.1[*b]))
        })
        .collect();
    let labels = |plan: &Plan, unmatched: &dyn Fn(usize) -> bool| {
        let all = plan.stacks.iter().enumerate().filter(|(index, _)| unmatched(*index));
        all.map(|(_, stack)| stack.label.clone()).collect()
    };
    Ok(RunComparison {
        format: seekwell_model::FORMAT.to_string(),
        first: first.name.to_owned(),
        second: second.name.to_owned(),
        backend: first.backend.to_owned(),
        metric: judge.metric.clone(),
        better: judge.better,
        confidence: judge.confidence,
        tie: judge.tie,
        fail_above,
        stacks,
        only_first: labels(plan, &|index| pairs.iter().all(|(a, _)| *a != index)),
        only_second: labels(other, &|index| pairs.iter().all(|(_, b)| *b != index)),
        differences: differences::between(first, second, &pairs),
        first_doubts: doubts(first),
        second_doubts: doubts(second),
    })
}

/// Doubts about a run, which are doubts about every ratio with it.
fn doubts(side: &Side<'_>) -> Vec<Warning> {
    let records: Vec<_> = side.records.values().cloned().collect();
    warnings(side.plan, &records)
}

fn check(first: &Side<'_>, second: &Side<'_>) -> Result<(), NotComparable> {
    let names = || (first.name.to_owned(), second.name.to_owned());
    let (one, two) = (&first.plan.lab.judge, &second.plan.lab.judge);
    if one.metric != two.metric || one.better != two.better {
        let word = |better| if better == Better::Lower { "lower" } else { "higher" };
        let (first, second) = names();
        return Err(NotComparable::Metric {
            first,
            first_metric: format!("{} ({} is better)", one.metric, word(one.better)),
            second,
            second_metric: format!("{} ({} is better)", two.metric, word(two.better)),
        });
    }
    if first.backend != second.backend {
        let (name, other) = names();
        return Err(NotComparable::Backend {
            first: name,
            first_backend: first.backend.to_owned(),
            second: other,
            second_backend: second.backend.to_owned(),
        });
    }
    if let Some((workload, detail)) = other_work(first.plan, second.plan) {
        let (first, second) = names();
        return Err(NotComparable::Workload { first, second, workload, detail });
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
}

impl Question {
    fn stack(&self, label: &str, first: Vec<f64>, second: Vec<f64>) -> StackComparison {
        let interval = ratio_interval(&first, &second, self.error);
        let enough = first.len().min(second.len()) >= MIN_ROUNDS;
        let (change, threshold) = match interval.filter(|_| enough) {
            Some(interval) => (self.change(&interval), self.threshold(&interval)),
            None => (Change::TooFew, self.fail_above.map(|_| Threshold::NotResolved)),
        };
        StackComparison {
            stack: label.to_owned(),
            ratio: interval.map(|interval| interval.centre),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
            first_median: seekwell_stats::estimate::median(&first),
            second_median: seekwell_stats::estimate::median(&second),
            first_trials: first.len() as u32,
            second_trials: second.len() as u32,
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
        } else if low > limit {
            Threshold::Failed
        } else {
            Threshold::NotResolved
        })
    }
}

#[cfg(test)]
mod tests;
