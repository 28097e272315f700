//! The result of one workload run now, without a lab.

use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Result of `bench`, as its JSON has it. Names are stable: add, never rename.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchResult {
    /// Workload kind.
    pub workload: String,
    /// Target as given.
    pub target: String,
    /// Steps in order.
    pub steps: Vec<BenchStep>,
    /// Doubts.
    pub warnings: Vec<Warning>,
}

/// One step of a [`BenchResult`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchStep {
    /// Name.
    pub name: String,
    /// Operations completed.
    pub ops: u64,
    /// Time until the last call returned.
    pub elapsed_ns: u64,
    /// Operations per second.
    pub iops: f64,
    /// Megabytes (10⁶ bytes) per second; `None` when the step moves no data.
    pub mb_per_s: Option<f64>,
    /// CPU time of all threads per operation; `None` when not known.
    pub cpu_ns_per_op: Option<f64>,
    /// Completion latency; `None` when no operation completed.
    pub latency_ns: Option<LatencySummary>,
    /// Every metric of the step by name; units as in the lab reference.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
}

/// Summary of a latency histogram in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
    /// Largest.
    pub max: u64,
}
