//! The verdict: winner, tie or not resolved.

use crate::lab::Better;
use serde::{Deserialize, Serialize};

/// Which of the three a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictKind {
    /// One stack is better than every other by more than chance.
    Winner,
    /// Several stacks are within the tie width of each other.
    Tie,
    /// The evidence does not decide.
    Unresolved,
}

/// The ratio of one stack to the baseline on the judged metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// Label of the stack.
    pub stack: String,
    /// Stack over baseline; `None` when there is no complete pair.
    pub ratio: Option<f64>,
    /// Lower end of the interval; `None` when there are too few pairs for one.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Median of the judged metric itself, in its unit.
    pub median: Option<f64>,
    /// Complete pairs behind the ratio.
    pub pairs: u32,
}

/// What a run found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Which of the three.
    pub kind: VerdictKind,
    /// The winner, the tie set, or the candidates that are left.
    pub stacks: Vec<String>,
    /// What the ratios are relative to: the leader.
    pub baseline: Option<String>,
    /// One per stack, best first.
    pub ratios: Vec<Ratio>,
    /// Why, and for an unresolved verdict what it would take.
    pub reason: String,
    /// `STEP.METRIC` that was judged.
    pub metric: String,
    /// Which way it is good.
    pub better: Better,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Tie width.
    pub tie: f64,
    /// Complete rounds behind it.
    pub rounds: u32,
}
