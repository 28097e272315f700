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
    /// Speed over block size or threads, where the kind has such a curve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<Curve>,
    /// Throughput over file and record size, where the kind has such a surface: one for each pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub surfaces: Vec<Surface>,
    /// Doubts.
    pub warnings: Vec<Warning>,
}

/// The variable of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CurveAxis {
    /// Bytes per operation.
    BlockBytes,
    /// Threads.
    Threads,
}

/// Speed of one target over block size or threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// The target.
    pub target: String,
    /// Its variable.
    pub axis: CurveAxis,
    /// Its points in ascending order.
    pub points: Vec<CurvePoint>,
    /// Time of one access in ns, estimated from the smallest block; `None` unless the curve is over
    /// block sizes.
    pub seek_time_ns: Option<f64>,
}

/// One point of a [`Curve`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Bytes per operation, or threads.
    pub at: u64,
    /// Operations per second.
    pub iops: f64,
    /// Megabytes (10⁶ bytes) per second; `None` when no time passed.
    pub mb_per_s: Option<f64>,
    /// Mean of what one access takes, in ns.
    pub seek_time_ns: Option<f64>,
}

/// Throughput of one pass over file and record size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Surface {
    /// The pass, for example `random-read`.
    pub pass: String,
    /// File sizes in bytes, ascending: the rows.
    pub files: Vec<u64>,
    /// Record sizes in bytes, ascending: the columns.
    pub records: Vec<u64>,
    /// Megabytes (10⁶ bytes) per second by row and column; `None` where it was not run.
    pub mb_per_s: Vec<Vec<Option<f64>>>,
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
