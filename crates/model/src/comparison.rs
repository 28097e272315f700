//! Runs compared: what `seekwell compare` found.

use crate::lab::Better;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};

/// The result of a stack's second run against its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// The second run is better: the interval excludes equality and the ratio is outside the tie
    /// width. The cause may be the change between the runs, or the machine.
    Better,
    /// The second run is worse, likewise.
    Worse,
    /// The whole interval is inside the tie width.
    Same,
    /// The interval is too wide to say.
    NotResolved,
    /// One of the runs has too few trials that ended well.
    TooFew,
}

/// The result of the threshold for a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Threshold {
    /// Shown not to be worse by more than the threshold.
    Held,
    /// Shown to be worse by more than the threshold.
    Failed,
    /// Neither.
    NotResolved,
}

/// One stack in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StackComparison {
    /// Label of the stack.
    pub stack: String,
    /// Typical ratio second : first of the judged metric, or of the ratio to the reference; `None` with
    /// fewer than 2 trials in one.
    pub ratio: Option<f64>,
    /// Lower end of the interval.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Median of the judged metric in the first run.
    pub first_median: Option<f64>,
    /// Median in the second run.
    pub second_median: Option<f64>,
    /// Trials of the first run that count; of several runs, of the one that has fewest.
    pub first_trials: u32,
    /// Trials of the second run that count, likewise.
    pub second_trials: u32,
    /// The result by the interval.
    pub change: Change,
    /// The result by the threshold, if one was given.
    pub threshold: Option<Threshold>,
}

/// Something that was not the same in both runs, and is a part of every ratio.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Difference {
    /// The name: `kernel`, `firmware`, `nr_requests` …
    pub what: String,
    /// In the first run; `None` when it is not known.
    pub first: Option<String>,
    /// In the second run.
    pub second: Option<String>,
    /// Stacks it was seen on; empty when it is a matter of the whole run.
    pub stacks: Vec<String>,
}

/// Runs compared, stack by stack. Names are stable: add, never rename.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunComparison {
    /// Version of this format, see [`crate::FORMAT`].
    pub format: String,
    /// The first run, as it was named.
    pub first: String,
    /// The second run.
    pub second: String,
    /// All runs of the first side: one, or three and more; empty in files of earlier versions.
    #[serde(default)]
    pub first_runs: Vec<String>,
    /// All runs of the second side.
    #[serde(default)]
    pub second_runs: Vec<String>,
    /// The stack that every ratio is relative to, which the change does not touch.
    #[serde(default)]
    pub reference: Option<String>,
    /// The reason for which no stack is called different, although an interval may exclude equality.
    #[serde(default)]
    pub withheld: Option<String>,
    /// Name of the backend of both runs; empty in files of earlier versions.
    #[serde(default)]
    pub backend: String,
    /// `STEP.METRIC` that is compared.
    pub metric: String,
    /// Direction in which the metric is better.
    pub better: Better,
    /// Confidence of all intervals together.
    pub confidence: f64,
    /// Relative difference that does not matter.
    pub tie: f64,
    /// "Worse by more than this fails", as a fraction.
    pub fail_above: Option<f64>,
    /// One per stack that is in both runs, in the order of the first.
    pub stacks: Vec<StackComparison>,
    /// Stacks of the first run alone.
    pub only_first: Vec<String>,
    /// Stacks of the second run alone.
    pub only_second: Vec<String>,
    /// Settings and versions that differ between the runs.
    pub differences: Vec<Difference>,
    /// Doubts about the first run.
    #[serde(default)]
    pub first_doubts: Vec<Warning>,
    /// Doubts about the second run.
    #[serde(default)]
    pub second_doubts: Vec<Warning>,
}

impl RunComparison {
    /// Returns true if each side has several runs, each of which counts as one value.
    #[must_use]
    pub fn has_several_runs(&self) -> bool {
        self.first_runs.len() > 1
    }

    /// Returns true if every stack has an answer: better, worse or the same.
    #[must_use]
    pub fn is_resolved(&self) -> bool {
        let open = |change| matches!(change, Change::NotResolved | Change::TooFew);
        !self.stacks.iter().any(|stack| open(stack.change))
    }

    /// The result of the threshold for all stacks; `None` without a threshold.
    #[must_use]
    pub fn threshold(&self) -> Option<Threshold> {
        self.fail_above?;
        let any = |wanted| self.stacks.iter().any(|stack| stack.threshold == Some(wanted));
        Some(if any(Threshold::Failed) {
            Threshold::Failed
        } else if any(Threshold::NotResolved) {
            Threshold::NotResolved
        } else {
            Threshold::Held
        })
    }
}
