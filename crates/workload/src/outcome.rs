//! What a step found.

use seekwell_engine::JobResult;
use seekwell_model::warning::Warning;
use seekwell_stats::Histogram;
use std::collections::BTreeMap;

/// Metrics that an outline names and that only the caller of a step can know, since they compare
/// the step with the device's counters or with the time of the flush.
pub const METRICS_OF_THE_CALLER: &[&str] = &["mb_per_s_durable", "read_per_byte", "latency_ratio"];

/// What a step found.
#[derive(Clone, Debug, Default)]
pub struct StepOutcome {
    /// Operations or files.
    pub ops: u64,
    /// Bytes that the workload read.
    pub app_bytes_read: u64,
    /// Bytes that the workload wrote.
    pub app_bytes_written: u64,
    /// Metrics by name; units in [`seekwell_model::metrics`]. Absent is not measured.
    pub metrics: BTreeMap<String, f64>,
    /// Latency histograms in ns by kind of operation.
    pub histograms: BTreeMap<String, Histogram>,
    /// CPU time, user and system, of the step's threads or processes.
    pub cpu_ns: u64,
    /// From the first operation to the end of the last; without setting up.
    pub elapsed_ns: u64,
    /// Cost of reading the clock once; `None` where the engine did not run.
    pub clock_cost_ns: Option<f64>,
    /// Doubts.
    pub warnings: Vec<Warning>,
}

impl StepOutcome {
    /// Sets a metric.
    pub fn set(&mut self, metric: &str, value: f64) {
        self.metrics.insert(metric.to_owned(), value);
    }

    /// Sets a metric to an amount per second of elapsed time, unless no time passed.
    pub fn set_per_second(&mut self, metric: &str, amount: f64) {
        if self.elapsed_ns > 0 {
            self.set(metric, amount * 1e9 / self.elapsed_ns as f64);
        }
    }

    /// Keeps a histogram that is not empty.
    pub fn keep(&mut self, kind: &str, histogram: Histogram) {
        if !histogram.is_empty() {
            self.histograms.insert(kind.to_owned(), histogram);
        }
    }

    /// Sets `app_bytes` and `mb_per_s` from the bytes read and written.
    pub fn set_bytes(&mut self) {
        let bytes = (self.app_bytes_read + self.app_bytes_written) as f64;
        self.set("app_bytes", bytes);
        self.set_per_second("mb_per_s", bytes / 1e6);
    }

    /// Sets the latency metrics from the latencies of all operations, unless there are none.
    pub fn set_latencies(&mut self, all: &Histogram) {
        if let Some(mean) = all.mean_ns() {
            self.set("latency_mean", mean);
        }
        let quantiles = [("latency_p50", 0.5), ("latency_p99", 0.99), ("latency_p999", 0.999)];
        for (metric, quantile) in quantiles {
            if let Some(value) = all.percentile_ns(quantile) {
                self.set(metric, value as f64);
            }
        }
        if let Some(max) = all.max_ns() {
            self.set("latency_max", max as f64);
        }
    }
}

impl From<JobResult> for StepOutcome {
    /// Counts, times and histograms; no metrics.
    fn from(job: JobResult) -> Self {
        let mut outcome = Self {
            ops: job.ops,
            app_bytes_read: job.bytes_read,
            app_bytes_written: job.bytes_written,
            cpu_ns: job.cpu_ns,
            elapsed_ns: job.elapsed_ns,
            clock_cost_ns: Some(job.clock.cost_ns),
            ..Self::default()
        };
        outcome.keep("read", job.read);
        outcome.keep("write", job.write);
        outcome.keep("fsync", job.fsync);
        outcome
    }
}
