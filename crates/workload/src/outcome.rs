//! Result of a step.

use seekwell_engine::JobResult;
use seekwell_model::warning::Warning;
use seekwell_stats::Histogram;
use std::collections::BTreeMap;

/// Histogram of the transactions of a database.
pub(crate) const TRANSACTION: &str = "transaction";

/// Files and bytes that a step handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Files.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Result of a step.
#[derive(Clone, Debug, Default)]
pub struct StepOutcome {
    /// Operations or files.
    pub ops: u64,
    /// Bytes that the workload read.
    pub app_bytes_read: u64,
    /// Part of them that the step had read or written before, so that the page cache may answer.
    pub app_bytes_reread: u64,
    /// Bytes that the workload wrote.
    pub app_bytes_written: u64,
    /// Metrics by name; units in [`seekwell_model::metrics`]. Absent is not measured.
    pub metrics: BTreeMap<String, f64>,
    /// Settings and version of a program, as it said itself, by name.
    pub settings: BTreeMap<String, String>,
    /// Latency histograms in ns by kind of operation.
    pub histograms: BTreeMap<String, Histogram>,
    /// CPU time, user and system, of the step's threads or processes.
    pub cpu_ns: u64,
    /// From the first operation to the end of the last; without setting up.
    pub elapsed_ns: u64,
    /// Cost of reading the clock once; `None` where the engine did not run.
    pub clock_cost_ns: Option<f64>,
    /// True when the caller's stop ended the step early: its totals are partial.
    pub stopped: bool,
    /// Doubts.
    pub warnings: Vec<Warning>,
}

impl StepOutcome {
    /// Keeps a histogram that is not empty.
    pub fn keep(&mut self, kind: &str, histogram: Histogram) {
        if !histogram.is_empty() {
            self.histograms.insert(kind.to_owned(), histogram);
        }
    }

    /// Sets those of the metrics that are known.
    pub(crate) fn set<const N: usize>(&mut self, metrics: [(&str, Option<f64>); N]) {
        let known = metrics.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        self.metrics.extend(known);
    }

    /// Sets those of the named metrics that follow from counts, times and histograms. One that
    /// cannot be known (a latency when nothing completed) stays absent.
    pub fn compute(&mut self, metrics: &[String]) {
        let bytes = (self.app_bytes_read + self.app_bytes_written) as f64;
        let count = |kind: &str| self.histograms.get(kind).map_or(0, Histogram::count) as f64;
        let (reads, writes) = (count("read"), count("write"));
        let latencies = self.latencies();
        let percentile = |q: f64| latencies.percentile_ns(q).map(|value| value as f64);
        let of = |kind: &str, q: f64| {
            self.histograms.get(kind)?.percentile_ns(q).map(|value| value as f64)
        };
        let seconds = (self.elapsed_ns > 0).then_some(self.elapsed_ns as f64 / 1e9);
        let per_second = |amount: f64| seconds.map(|seconds| amount / seconds);
        let ops = self.ops as f64;
        for metric in metrics {
            let value = match metric.as_str() {
                "ops" => Some(ops),
                "iops" | "files_per_s" => per_second(ops),
                "read_iops" => per_second(reads),
                "write_iops" => per_second(writes),
                "app_bytes" => Some(bytes),
                "mb_per_s" => per_second(bytes / 1e6),
                "latency_mean" => latencies.mean_ns(),
                "latency_p50" => percentile(0.5),
                "latency_p99" => percentile(0.99),
                "latency_p999" => percentile(0.999),
                "latency_max" => latencies.max_ns().map(|value| value as f64),
                "commit_latency_p50" => of("commit", 0.5),
                "commit_latency_p99" => of("commit", 0.99),
                "write_latency_p50" => of("write", 0.5),
                "write_latency_p99" => of("write", 0.99),
                "sync_latency_p50" => of("fsync", 0.5),
                "sync_latency_p99" => of("fsync", 0.99),
                "deliveries_per_s" => per_second(count("deliver")),
                "deliver_latency_p50" => of("deliver", 0.5),
                "deliver_latency_p99" => of("deliver", 0.99),
                "fetch_latency_p50" => of("fetch", 0.5),
                "fetch_latency_p99" => of("fetch", 0.99),
                "cpu_ns_per_op" => (self.ops > 0).then(|| self.cpu_ns as f64 / ops),
                _ => None,
            };
            if let Some(value) = value {
                self.metrics.insert(metric.clone(), value);
            }
        }
    }

    /// Latencies of reads and writes together. A write that was synced counts until its sync has
    /// returned.
    #[must_use]
    pub fn latencies(&self) -> Histogram {
        let mut all = Histogram::new();
        let written = if self.histograms.contains_key("commit") { "commit" } else { "write" };
        for histogram in
            ["read", written, TRANSACTION].iter().filter_map(|kind| self.histograms.get(*kind))
        {
            all.merge(histogram);
        }
        all
    }

    /// Adds a later run of the same step: counts, times and histograms are summed. Metrics that
    /// follow from those are for the caller to compute again; of others the later value stays.
    pub fn add(&mut self, later: Self) {
        self.ops += later.ops;
        self.app_bytes_read += later.app_bytes_read;
        self.app_bytes_reread += later.app_bytes_reread;
        self.app_bytes_written += later.app_bytes_written;
        self.cpu_ns += later.cpu_ns;
        self.elapsed_ns += later.elapsed_ns;
        self.clock_cost_ns = later.clock_cost_ns.or(self.clock_cost_ns);
        self.stopped |= later.stopped;
        self.metrics.extend(later.metrics);
        self.settings.extend(later.settings);
        for (kind, histogram) in later.histograms {
            self.histograms.entry(kind).or_default().merge(&histogram);
        }
        for warning in later.warnings {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
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
            clock_cost_ns: Some(job.clock_cost_ns),
            stopped: job.stopped,
            ..Self::default()
        };
        outcome.keep("read", job.read);
        outcome.keep("write", job.write);
        outcome.keep("fsync", job.fsync);
        outcome.keep("commit", job.commit);
        outcome
    }
}
