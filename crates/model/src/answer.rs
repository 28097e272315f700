//! The answer of a run: the stack to take, the most that it can cost, what is out, what matters.
//!
//! An answer is made after every run, whatever its end. The kinds of [`crate::verdict`] follow from it:
//! "certified" means that the loss is within the tie.

use crate::durability::DurabilityClass;
use serde::{Deserialize, Serialize};

/// The answer of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// Label of the stack to take; `None` if no stack has a value.
    pub pick: Option<String>,
    /// The most that the pick can be worse than the best stack, with the confidence of the verdict:
    /// 0.09 for 9 %. `None` if the trials set no bound; then [`Answer::cause`] says why.
    pub loss: Option<f64>,
    /// Reason why there is no bound, as a sentence without a full stop.
    pub cause: Option<String>,
    /// Number of stacks among which the pick was made.
    pub among: u32,
    /// Stacks that left before them, after one or a few trials each and without a bound.
    pub screened: u32,
    /// True if the loss is within the tie and every stack that is not out has six trials that count.
    pub certified: bool,
    /// Rounds behind the answer: those of the stack that ran in most.
    pub rounds: u32,
    /// Stacks that may be as good as the pick or better, best first.
    pub close: Vec<String>,
    /// Stacks that are worse than the pick, best first. Their ratios are in the verdict.
    pub out: Vec<String>,
    /// Stacks without a usable value, each with the reason.
    pub unmeasured: Vec<Unmeasured>,
    /// Answer for each axis with several values, the one that matters most first.
    pub axes: Vec<AxisAnswer>,
    /// The doubt that could change the pick; `None` if there is none.
    pub doubt: Option<Doubt>,
    /// Time spent in the judged step, by value of the axis that matters most.
    pub time: Option<TimeSpent>,
    /// Faster stacks that were not eligible, because they may lose data that the pick keeps.
    pub weaker: Option<Weaker>,
    /// Fraction by which more rounds are expected to bring the loss down, and their cost.
    pub more: Option<More>,
}

/// A stack that has no usable value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmeasured {
    /// Its label.
    pub stack: String,
    /// Reason, such as `10 of 13 trials were marked`.
    pub reason: String,
}

/// Answer for one axis, averaged over the combinations of the other axes that are left.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AxisAnswer {
    /// `device`, `layer`, `journal`, `filesystem`, `scheduler` or `memory`.
    pub axis: String,
    /// Values of which some stack is not out, best first.
    pub left: Vec<String>,
    /// No two of these values differ by more than this fraction: 0.06 for 6 %. `None` if fewer than two
    /// are left, the axis depends on another, or the trials set no bound.
    pub within: Option<f64>,
    /// Most that two values differ in any single combination of the other axes, as a fraction.
    pub single: Option<f64>,
    /// Values whose stacks are all out, each against the best value that is left.
    pub out: Vec<ValueOut>,
    /// Values that were averaged over, in words: `the schedulers`, `ext4 and xfs`. Empty for a lab with one axis.
    pub over: String,
    /// One entry per combination of the other axes, where averaging would mislead.
    pub depends: Vec<Depends>,
    /// Ordered numeric values alone: how the metric changes with the value.
    pub trend: Option<Trend>,
    /// Counters that differ between best and worst value, in verdicts of versions before `seekwell why`.
    pub beside: Vec<Beside>,
    /// The value that `beside` calls highest, which is the one with the worst result.
    pub worst: Option<String>,
}

/// A value that is out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueOut {
    /// The value.
    pub value: String,
    /// The value that it is compared with.
    pub against: String,
    /// Ratio of the metric to that of the other value.
    pub ratio: f64,
    /// Lower end; `None` if there is none.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Result of an axis with one combination of the other axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Depends {
    /// The combination: `ext4`, or `ext4/inside`.
    pub with: String,
    /// The best value there.
    pub best: String,
    /// The worst value there.
    pub worst: String,
    /// Ratio of the metric of the worst to that of the best.
    pub ratio: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
}

/// Change of the metric along an axis of ordered values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Trend {
    /// The smallest value.
    pub from: String,
    /// The largest value.
    pub to: String,
    /// Ratio of the metric at the largest value to that at the smallest.
    pub ratio: f64,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// True if the metric rises, or falls, at every step.
    pub steady: bool,
}

/// The doubt that could change the pick.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Doubt {
    /// Stable name: `failures`, `carry-over`, `short-step`, `in-memory`, `busy-device`, `model`, `busy-cpu`,
    /// `recorded-sleep`.
    pub name: String,
    /// The matter in doubt, one sentence without a full stop.
    pub text: String,
    /// The remedy, one sentence without a full stop; empty if nothing can be done.
    pub remedy: String,
}

/// Time spent in the judged step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeSpent {
    /// The axis of the rows; empty for one row of all stacks.
    pub axis: String,
    /// One row per value, best first: medians over the stacks with this value.
    pub rows: Vec<TimeRow>,
}

/// Time of one value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeRow {
    /// The value, or the label of the only stack.
    pub value: String,
    /// The step until its bytes were on the device, ns.
    pub elapsed_ns: u64,
    /// CPU time of the workload, at most the time of the step, ns; `None` if it was not counted.
    pub computing_ns: Option<u64>,
    /// Rest of the step: waiting, for the device or for others, ns.
    pub waiting_ns: Option<u64>,
    /// Writing out what was still in memory when the step ended, ns.
    pub writing_out_ns: u64,
    /// Share of the step in which the device was busy, 0 to 1; `None` if it was not counted.
    pub busy: Option<f64>,
}

/// Gain of stacks that may lose what the pick keeps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weaker {
    /// Number of stacks that were not eligible.
    pub stacks: u32,
    /// The best of them.
    pub stack: String,
    /// Its durability class.
    pub class: DurabilityClass,
    /// The class of the pick.
    pub pick_class: DurabilityClass,
    /// Ratio of its metric to that of the pick; `None` if they share too few rounds.
    pub ratio: Option<f64>,
    /// Lower end.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// The data that it may lose, in words: `lost data that a sync had returned for in 27 of 30 power cuts`.
    pub loses: String,
}

/// Cost of a smaller loss.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct More {
    /// Rounds in all after which the loss is expected to be within the tie.
    pub rounds: u64,
    /// Further time that they take, ns; virtual time on the virtual backend.
    pub more_ns: u64,
}

/// A quantity of the judged step under the two extreme values of an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// Quantity with its unit: `flushes`, `KiB per write`.
    pub what: String,
    /// Median over the trials with the value of the highest metric.
    pub at_highest: f64,
    /// The same with the value of the lowest.
    pub at_lowest: f64,
}
