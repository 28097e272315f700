//! The record of one trial: what was asked, what was in force, what was measured.

use crate::shared::Shared;
use crate::units::Bytes;
use crate::warning::Warning;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Outcome of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Every step ran; the values may be compared.
    #[default]
    Ok,
    /// Every step ran, and something makes the values doubtful: they are kept and never ranked.
    Marked,
    /// A step failed; nothing of it is compared.
    Failed {
        /// The stage: a step's name, or `setup`, `teardown`.
        stage: String,
        /// The cause and the fix.
        reason: String,
    },
}

impl Status {
    /// The stable word of machine output.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Marked => "marked",
            Self::Failed { .. } => "failed",
        }
    }
}

/// Queue settings of a block device as read back. `None` is "the kernel does not say".
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueueSettings {
    /// Scheduler in force.
    pub scheduler: Option<String>,
    /// `queue/nr_requests`.
    pub nr_requests: Option<u32>,
    /// `queue/read_ahead_kb`.
    pub read_ahead_kb: Option<u32>,
    /// `queue/max_sectors_kb`.
    pub max_sectors_kb: Option<u32>,
    /// `queue/rotational`.
    pub rotational: Option<bool>,
    /// `queue/logical_block_size`.
    pub logical_block_bytes: Option<u32>,
    /// `queue/physical_block_size`.
    pub physical_block_bytes: Option<u32>,
    /// `queue/discard_max_bytes`.
    pub discard_max_bytes: Option<u64>,
    /// `queue/write_cache`.
    pub write_cache: Option<String>,
    /// `queue/iosched/*` by file name.
    pub tunables: BTreeMap<String, String>,
}

/// A device as it was during the trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DeviceInForce {
    /// Kernel name, for example `loop3`.
    pub kernel_name: String,
    /// Size in bytes.
    pub size: Bytes,
    /// Model, where the device has one.
    pub model: Option<String>,
    /// Serial number, where the device has one.
    pub serial: Option<String>,
    /// Firmware revision, where the device has one.
    pub firmware: Option<String>,
    /// Queue settings as read back after they were set.
    pub queue: QueueSettings,
}

/// The node of a cluster on which a trial ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Release of its kernel.
    pub kernel: Option<String>,
    /// Model of its CPU.
    pub cpu: Option<String>,
    /// Its memory.
    pub ram: Option<Bytes>,
}

/// The stack as it was during the trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InForce {
    /// Data device.
    pub device: DeviceInForce,
    /// Journal device, where there is an external one.
    pub journal: Option<DeviceInForce>,
    /// Devices below the layers, the second devices of caches last; empty without layers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<DeviceInForce>,
    /// The commands that made the layers, one text each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// The mkfs command lines that were run, one text each.
    pub mkfs: Vec<String>,
    /// Mount options as `/proc/self/mountinfo` shows them.
    pub mount: Option<String>,
    /// Block size of the filesystem as `statfs` says.
    pub block_bytes: Option<u32>,
    /// Journal size as read back from the filesystem.
    pub journal_bytes: Option<Bytes>,
    /// Memory limit in force.
    pub memory_limit: Option<Bytes>,
    /// `v1` or `v2` of the memory cgroup; v1 does not limit write-back.
    pub memory_cgroup: Option<String>,
    /// Swap that was on, in bytes.
    pub swap: Option<Bytes>,
    /// CPUs that agent and workload were pinned to.
    pub cpus: Vec<u32>,
    /// The node of a cluster that ran the trial, where a trial depends on its node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Node>,
}

/// One sample of the timeline: iostat's columns over the interval that ends at `at_ns`, and the
/// state of memory at that time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// End of the interval, nanoseconds since the trial began.
    pub at_ns: u64,
    /// Reads completed per second.
    #[serde(rename = "r/s")]
    pub reads_per_s: f64,
    /// Writes completed per second.
    #[serde(rename = "w/s")]
    pub writes_per_s: f64,
    /// KiB read per second.
    #[serde(rename = "rkB/s")]
    pub read_kib_per_s: f64,
    /// KiB written per second.
    #[serde(rename = "wkB/s")]
    pub written_kib_per_s: f64,
    /// Read requests merged per second.
    #[serde(rename = "rrqm/s")]
    pub reads_merged_per_s: f64,
    /// Write requests merged per second.
    #[serde(rename = "wrqm/s")]
    pub writes_merged_per_s: f64,
    /// Mean time of reads from queueing to completion in ms; `None` when there were none.
    #[serde(rename = "r_await")]
    pub read_await_ms: Option<f64>,
    /// Mean time of writes from queueing to completion in ms; `None` when there were none.
    #[serde(rename = "w_await")]
    pub write_await_ms: Option<f64>,
    /// Mean queue length.
    #[serde(rename = "aqu-sz")]
    pub queue_size: f64,
    /// Mean size of reads in KiB; `None` when there were none.
    #[serde(rename = "rareq-sz")]
    pub read_request_kib: Option<f64>,
    /// Mean size of writes in KiB; `None` when there were none.
    #[serde(rename = "wareq-sz")]
    pub write_request_kib: Option<f64>,
    /// Flushes completed per second; `None` on kernels that do not count them.
    #[serde(rename = "f/s")]
    pub flushes_per_s: Option<f64>,
    /// Share of the interval in which the device had work, in percent.
    #[serde(rename = "%util")]
    pub utilisation_percent: f64,
    /// Dirty page cache of the machine in bytes.
    pub dirty_bytes: Option<u64>,
    /// Page cache under write-back in bytes.
    pub writeback_bytes: Option<u64>,
    /// `/proc/pressure/io`, some, share of the interval stalled in percent.
    pub io_pressure_percent: Option<f64>,
    /// `/proc/pressure/cpu`, some.
    pub cpu_pressure_percent: Option<f64>,
    /// `/proc/pressure/memory`, some.
    pub memory_pressure_percent: Option<f64>,
}

/// The field of a column of a [`Sample`].
#[derive(Clone, Copy, Debug)]
pub enum SampleField {
    /// A whole number.
    Whole(fn(&mut Sample) -> &mut u64),
    /// A whole number that may be unknown.
    MaybeWhole(fn(&mut Sample) -> &mut Option<u64>),
    /// A number.
    Number(fn(&mut Sample) -> &mut f64),
    /// A number that may be unknown.
    MaybeNumber(fn(&mut Sample) -> &mut Option<f64>),
}

/// The columns of a [`Sample`] in the order of a run file's timelines, which only grows.
pub const SAMPLE_COLUMNS: [(&str, SampleField); 19] = {
    use SampleField::{MaybeNumber, MaybeWhole, Number, Whole};
    [
        ("at_ns", Whole(|sample| &mut sample.at_ns)),
        ("r/s", Number(|sample| &mut sample.reads_per_s)),
        ("w/s", Number(|sample| &mut sample.writes_per_s)),
        ("rkB/s", Number(|sample| &mut sample.read_kib_per_s)),
        ("wkB/s", Number(|sample| &mut sample.written_kib_per_s)),
        ("rrqm/s", Number(|sample| &mut sample.reads_merged_per_s)),
        ("wrqm/s", Number(|sample| &mut sample.writes_merged_per_s)),
        ("r_await", MaybeNumber(|sample| &mut sample.read_await_ms)),
        ("w_await", MaybeNumber(|sample| &mut sample.write_await_ms)),
        ("aqu-sz", Number(|sample| &mut sample.queue_size)),
        ("rareq-sz", MaybeNumber(|sample| &mut sample.read_request_kib)),
        ("wareq-sz", MaybeNumber(|sample| &mut sample.write_request_kib)),
        ("f/s", MaybeNumber(|sample| &mut sample.flushes_per_s)),
        ("%util", Number(|sample| &mut sample.utilisation_percent)),
        ("dirty_bytes", MaybeWhole(|sample| &mut sample.dirty_bytes)),
        ("writeback_bytes", MaybeWhole(|sample| &mut sample.writeback_bytes)),
        ("io_pressure_percent", MaybeNumber(|sample| &mut sample.io_pressure_percent)),
        ("cpu_pressure_percent", MaybeNumber(|sample| &mut sample.cpu_pressure_percent)),
        ("memory_pressure_percent", MaybeNumber(|sample| &mut sample.memory_pressure_percent)),
    ]
};

/// Totals of a block device over a step, from its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceTotals {
    /// Reads completed.
    pub reads: u64,
    /// Reads merged.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged.
    pub writes_merged: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes discarded; `None` on kernels that do not count them.
    pub discarded_bytes: Option<u64>,
    /// Flushes; `None` on kernels that do not count them.
    pub flushes: Option<u64>,
    /// Time with work in progress, in ms.
    pub busy_ms: u64,
}

impl DeviceTotals {
    /// The sum with another device; what one of them does not count is not known of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        let both = |one: Option<u64>, two: Option<u64>| Some(one? + two?);
        Self {
            reads: self.reads + other.reads,
            reads_merged: self.reads_merged + other.reads_merged,
            read_bytes: self.read_bytes + other.read_bytes,
            writes: self.writes + other.writes,
            writes_merged: self.writes_merged + other.writes_merged,
            written_bytes: self.written_bytes + other.written_bytes,
            discarded_bytes: both(self.discarded_bytes, other.discarded_bytes),
            flushes: both(self.flushes, other.flushes),
            busy_ms: self.busy_ms + other.busy_ms,
        }
    }
}

/// One step of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Name.
    pub name: String,
    /// Begin, nanoseconds since the trial began.
    pub started_ns: u64,
    /// End of the last call, nanoseconds since the trial began.
    pub ended_ns: u64,
    /// Metrics by name; units in [`crate::metrics`]. Absent is not measured, never 0.
    pub metrics: BTreeMap<String, f64>,
    /// Latency histograms by operation kind (`read`, `write`, `fsync`, `create`, `unlink` …), as
    /// HDR histogram V2 bytes, values in nanoseconds.
    pub histograms: BTreeMap<String, Vec<u8>>,
    /// Counters of the data device over the step, durability included. Of a stack with layers those
    /// of the uppermost layer.
    pub device: Option<DeviceTotals>,
    /// Counters of the devices below the layers, as in [`InForce::members`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<DeviceTotals>,
    /// Counters of the external journal device.
    pub journal: Option<DeviceTotals>,
    /// Settings and version of a program of the step, as it said itself, by name: those of a database
    /// that decide what a commit is worth.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// Doubts about this step.
    pub warnings: Vec<Warning>,
    /// Retired: every single operation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub single_ios: Vec<SingleIo>,
}

impl StepRecord {
    /// Samples of the trial's timeline whose interval touches the step.
    #[must_use]
    pub fn samples<'t>(&self, timeline: &'t [Sample]) -> &'t [Sample] {
        let begins = timeline.iter().position(|sample| sample.at_ns > self.started_ns);
        let behind = &timeline[begins.unwrap_or(timeline.len())..];
        let ends = behind.iter().position(|sample| sample.at_ns >= self.ended_ns);
        &behind[..ends.map_or(behind.len(), |last| last + 1)]
    }
}

/// One operation of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SingleIo {
    /// Begin, nanoseconds since the trial began; with a rate, when it was due.
    pub at_ns: u64,
    /// Latency of the request.
    pub latency_ns: u64,
    /// `read`, `write` or `fsync`.
    pub operation: String,
    /// Offset in the file or device in bytes.
    pub offset: u64,
}

/// A SMART reading, as `smartctl -j` gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmartReading {
    /// Before the trial; `None` is unknown.
    pub before: Option<serde_json::Value>,
    /// After the trial; `None` is unknown.
    pub after: Option<serde_json::Value>,
}

/// One block event, when the stream was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockEvent {
    /// Nanoseconds since the trial began.
    pub at_ns: u64,
    /// Issue or completion.
    pub complete: bool,
    /// First sector, 512 bytes each.
    pub sector: u64,
    /// Sectors.
    pub sectors: u32,
    /// `R`, `W`, `D`, `F` for read, write, discard, flush.
    pub operation: char,
    /// Process that issued it; 0 for the kernel or when completed in an interrupt.
    pub pid: u32,
}

/// The stream of block events of a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockEvents {
    /// Events in order.
    pub events: Vec<BlockEvent>,
    /// Events that the kernel dropped: the stream has holes when this is not 0.
    pub lost: u64,
}

/// The result of one trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Outcome.
    pub status: Status,
    /// The stack as it was.
    pub in_force: Shared<InForce>,
    /// Steps in order, `mkfs`, `mount`, `umount` and `fsck` among them.
    pub steps: Vec<StepRecord>,
    /// Timeline of the data device.
    pub timeline: Vec<Sample>,
    /// Timeline of the external journal device.
    pub journal_timeline: Vec<Sample>,
    /// Cost of reading the clock once, as measured by the engine.
    pub clock_cost_ns: Option<f64>,
    /// Retired: SMART data of the data device; always `None`.
    pub smart: Option<SmartReading>,
    /// Block events, when asked for.
    pub block_events: Option<BlockEvents>,
    /// Fingerprint of a virtual trial; `None` on other backends.
    pub fingerprint: Option<String>,
    /// Wall time from the agent's first to its last instruction.
    pub elapsed_ns: u64,
    /// Part of the run's budget that the trial used, ns ([`Backend::cost_ns`]); `None` in files of
    /// earlier versions.
    ///
    /// [`Backend::cost_ns`]: crate::backend::Backend::cost_ns
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_ns: Option<u64>,
    /// Share of the trial's CPUs that other programs used meanwhile, outside the kernel, in percent; `None` on modelled
    /// devices and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others_cpu_percent: Option<f64>,
    /// Doubts about the trial as a whole.
    pub warnings: Vec<Warning>,
    /// Metrics by `STEP.METRIC` that [`Self::keep_metrics`] took out of their steps; in memory alone.
    #[serde(skip)]
    pub apart: Vec<(Arc<str>, f64)>,
}

impl Record {
    /// The record of a trial of which nothing is known yet.
    #[must_use]
    pub fn blank() -> Self {
        Self::default()
    }

    /// The record of a trial that failed in `stage`.
    #[must_use]
    pub fn failed(stage: impl Into<String>, reason: impl Into<String>) -> Self {
        let status = Status::Failed { stage: stage.into(), reason: reason.into() };
        Self { status, ..Self::blank() }
    }

    /// This record as the second part of a trial whose first part is `first`: its steps come
    /// first, and times of this record count from the start of that one.
    #[must_use]
    pub fn behind(mut self, first: Self) -> Self {
        self.delay(first.elapsed_ns);
        let put_first = |before: Vec<Sample>, after: &mut Vec<Sample>| {
            after.splice(0..0, before);
        };
        put_first(first.timeline, &mut self.timeline);
        put_first(first.journal_timeline, &mut self.journal_timeline);
        self.steps.splice(0..0, first.steps);
        self.in_force.mkfs.clone_from(&first.in_force.mkfs);
        self.block_events = match (first.block_events, self.block_events) {
            (Some(mut before), Some(after)) => {
                before.events.extend(after.events);
                before.lost += after.lost;
                Some(before)
            }
            (_, after) => after,
        };
        self
    }

    /// Moves all times of the record.
    fn delay(&mut self, by_ns: u64) {
        self.elapsed_ns += by_ns;
        for step in &mut self.steps {
            step.started_ns += by_ns;
            step.ended_ns += by_ns;
            step.single_ios.iter_mut().for_each(|one| one.at_ns += by_ns);
        }
        let samples = self.timeline.iter_mut().chain(&mut self.journal_timeline);
        samples.for_each(|sample| sample.at_ns += by_ns);
        let events = self.block_events.iter_mut().flat_map(|seen| &mut seen.events);
        events.for_each(|event| event.at_ns += by_ns);
    }

    /// Adds a warning; the trial is marked when its severity says so.
    pub fn add_warning(&mut self, warning: Warning) {
        self.warnings.push(warning);
        self.mark_if_doubtful();
    }

    /// Adds a step; the trial is marked when a warning of the step says so.
    pub fn add_step(&mut self, step: StepRecord) {
        self.steps.push(step);
        self.mark_if_doubtful();
    }

    /// Marks a trial that has a warning of [`crate::warning::Severity::NotRanked`].
    pub fn mark_if_doubtful(&mut self) {
        let mut all = self.warnings.iter().chain(self.steps.iter().flat_map(|step| &step.warnings));
        if self.status == Status::Ok && all.any(Warning::keeps_from_ranking) {
            self.status = Status::Marked;
        }
    }

    /// A metric by `STEP.METRIC`. `None` when it was not measured.
    #[must_use]
    pub fn metric(&self, path: &str) -> Option<f64> {
        let (step, metric) = path.split_once('.')?;
        let step = self.steps.iter().find(|candidate| candidate.name == step);
        let own = step.and_then(|step| step.metrics.get(metric)).copied();
        own.or_else(|| self.apart.iter().find(|(name, _)| **name == *path).map(|(_, value)| *value))
    }

    /// Keeps these metrics alone, out of their steps: a map in each step takes ten times the memory. Those of the step
    /// `usual` stay in it.
    pub fn keep_metrics(&mut self, wanted: &[Arc<str>], usual: &str) {
        let is_usual = |path: &str| path.split_once('.').is_some_and(|(step, _)| step == usual);
        let others = wanted.iter().filter(|path| !is_usual(path));
        let known = others.filter_map(|path| Some((Arc::clone(path), self.metric(path)?)));
        self.apart = known.collect();
        self.apart.shrink_to_fit();
        for step in &mut self.steps {
            // A new map: one that only loses entries keeps their memory.
            let all = std::mem::take(&mut step.metrics);
            if step.name == usual {
                let is_wanted = |name: &str| {
                    let own = |path: &Arc<str>| path.split_once('.') == Some((usual, name));
                    wanted.iter().any(own)
                };
                step.metrics = all.into_iter().filter(|(name, _)| is_wanted(name)).collect();
            }
        }
    }

    /// All metrics by `STEP.METRIC`.
    #[must_use]
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let step_metrics = |step: &StepRecord| {
            let name = step.name.clone();
            step.metrics
                .clone()
                .into_iter()
                .map(move |(metric, value)| (format!("{name}.{metric}"), value))
        };
        self.steps.iter().flat_map(step_metrics).collect()
    }
}

#[cfg(test)]
mod tests;
