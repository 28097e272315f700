//! One step under observation: device counters before and after, time until the data is durable,
//! and the marks that follow from comparing the two.

use crate::error::Fault;
use crate::others;
use seekwell_model::lab::ALONE;
use seekwell_model::record::{DeviceTotals, StepRecord};
use seekwell_model::workloads::{CacheState, StepOutline};
use seekwell_observe::clock::monotonic_ns;
use seekwell_observe::counters::{DeviceCounters, totals_between};
use seekwell_observe::machine::MemoryState;
use seekwell_observe::marks::{self, StepBytes};
use seekwell_workload::{BesideStep, StepOutcome};
use std::path::Path;

/// The counters that are read before and after every step.
#[derive(Clone, Debug)]
pub struct Observer {
    /// Kernel name of the data device; `None` if the filesystem is in memory or on another machine.
    pub device: Option<String>,
    /// Kernel name of the external journal device.
    pub journal: Option<String>,
    /// Kernel names of the devices below the layers; empty without layers.
    pub members: Vec<String>,
    /// `CLOCK_MONOTONIC` when the trial began.
    pub origin_ns: u64,
}

struct Counters {
    device: Option<DeviceCounters>,
    journal: Option<DeviceCounters>,
    members: Vec<Option<DeviceCounters>>,
}

/// Brings what a step wrote onto the device.
pub type MakeDurable<'a> = dyn FnMut() -> Result<(), Fault> + 'a;

impl Observer {
    fn counters(&self) -> Counters {
        let read = |name: &String| DeviceCounters::read(Path::new("/"), name).ok();
        Counters {
            device: self.device.as_ref().and_then(read),
            journal: self.journal.as_ref().and_then(read),
            members: self.members.iter().map(read).collect(),
        }
    }

    fn now(&self) -> u64 {
        monotonic_ns().saturating_sub(self.origin_ns)
    }

    /// Runs a step of the stack itself, such as mkfs; gives what `body` gives besides.
    ///
    /// # Errors
    /// The fault of `body` or `make_durable`.
    pub fn housekeeping<T>(
        &self,
        name: &str,
        body: impl FnOnce() -> Result<T, Fault>,
        make_durable: Option<&mut MakeDurable<'_>>,
    ) -> Result<(StepRecord, T), Fault> {
        self.around(name, body, |_| None, make_durable)
    }

    /// Runs a step of a workload. Gives what reading the clock costs besides, where the engine ran.
    ///
    /// # Errors
    /// The fault of `body` or `make_durable`.
    pub fn workload(
        &self,
        outline: &StepOutline,
        body: impl FnOnce() -> Result<StepOutcome, Fault>,
        make_durable: &mut MakeDurable<'_>,
    ) -> Result<(StepRecord, Option<f64>), Fault> {
        let durable = outline.writes.then_some(make_durable);
        let elapsed = |outcome: &StepOutcome| Some(outcome.elapsed_ns);
        let (mut record, outcome) = self.around(&outline.name, body, elapsed, durable)?;
        if self.device.is_some() {
            add_marks(&mut record, outline, &outcome);
        }
        let clock_cost = outcome.clock_cost_ns;
        add_outcome(&mut record, outcome);
        Ok((record, clock_cost))
    }

    /// Runs a step with background workloads. The device's counters in the record cover all of them, so
    /// no ratio and no mark of this step is computed from them, and its CPU time is the one that the
    /// step reports. The time until its data is durable includes data that the background has written
    /// by then.
    ///
    /// # Errors
    /// The fault of `body` or `make_durable`.
    pub fn accompanied(
        &self,
        outline: &StepOutline,
        body: impl FnOnce() -> Result<StepOutcome, Fault>,
        make_durable: &mut MakeDurable<'_>,
    ) -> Result<StepRecord, Fault> {
        let durable = outline.writes.then_some(make_durable);
        let elapsed = |outcome: &StepOutcome| Some(outcome.elapsed_ns);
        let (mut record, outcome) = self.around(&outline.name, body, elapsed, durable)?;
        for shared in ["device_read_bytes", "device_written_bytes", "undurable_bytes"] {
            record.metrics.remove(shared);
        }
        record.metrics.insert("cpu".to_owned(), outcome.cpu_ns as f64 / 1e9);
        add_outcome(&mut record, outcome);
        Ok(record)
    }

    /// Runs `body` and then, for a writing step, `make_durable`; reads counters around both.
    /// `own_elapsed` is the body's own account of its time, where it has one.
    fn around<T>(
        &self,
        name: &str,
        body: impl FnOnce() -> Result<T, Fault>,
        own_elapsed: impl FnOnce(&T) -> Option<u64>,
        make_durable: Option<&mut MakeDurable<'_>>,
    ) -> Result<(StepRecord, T), Fault> {
        let before = self.counters();
        let dirty_before = dirty_bytes();
        let cpu_before = cpu_ns();
        let started_ns = self.now();
        let done = body()?;
        let ended_ns = self.now();
        let mut record =
            StepRecord { name: name.to_owned(), started_ns, ended_ns, ..StepRecord::default() };
        let elapsed_ns = own_elapsed(&done).unwrap_or(ended_ns - started_ns);
        record.metrics.insert("elapsed".to_owned(), elapsed_ns as f64 / 1e9);
        if let Some(make_durable) = make_durable {
            // What the step left behind; both readings include other writers of the machine.
            let undurable =
                dirty_bytes().zip(dirty_before).map(|(now, then)| now.saturating_sub(then));
            make_durable()?;
            let durable_ns = elapsed_ns + (self.now() - ended_ns);
            record.metrics.insert("elapsed_durable".to_owned(), durable_ns as f64 / 1e9);
            insert_some(&mut record, "undurable_bytes", undurable.map(|bytes| bytes as f64));
        }
        let cpu = cpu_before.and_then(|before| Some(cpu_ns()?.saturating_sub(before) as f64 / 1e9));
        insert_some(&mut record, "cpu", cpu);
        self.add_totals(&mut record, &before);
        Ok((record, done))
    }

    fn add_totals(&self, record: &mut StepRecord, before: &Counters) {
        let after = self.counters();
        let between = |before: &Option<DeviceCounters>, after: &Option<DeviceCounters>| {
            totals_between(before.as_ref()?, after.as_ref()?)
        };
        record.device = between(&before.device, &after.device);
        record.journal = between(&before.journal, &after.journal);
        let pairs = before.members.iter().zip(&after.members);
        record.members = pairs.filter_map(|(before, after)| between(before, after)).collect();
        let known = record.members.len() == self.members.len();
        let sum = |bytes: fn(&DeviceTotals) -> u64| match (&self.members[..], &record.device) {
            ([], device) => device.as_ref().map(bytes),
            _ => known.then(|| record.members.iter().map(bytes).sum()),
        };
        let read = sum(|totals| totals.read_bytes).map(|bytes| bytes as f64);
        let written = sum(|totals| totals.written_bytes).map(|bytes| {
            let journal = record.journal.as_ref().map_or(0, |journal| journal.written_bytes);
            (bytes + journal) as f64
        });
        insert_some(record, "device_read_bytes", read);
        insert_some(record, "device_written_bytes", written);
    }
}

/// Adds what the two accounts of a step's bytes say, the application's and the device's: ratios,
/// and marks on a measured step.
fn add_marks(record: &mut StepRecord, outline: &StepOutline, outcome: &StepOutcome) {
    let (app_read, app_written) = (outcome.app_bytes_read, outcome.app_bytes_written);
    let bytes = StepBytes {
        step: &outline.name,
        cache: if outline.rereads() { CacheState::Warm } else { outline.cache },
        app_read: Some(app_read),
        app_reread: outcome.app_bytes_reread,
        app_written: Some(app_written),
        device: record.device,
        journal: record.journal,
    };
    // With layers the disks are below the device that the filesystem is on.
    let below = |metric: &str, app: u64| {
        record.metrics.get(metric).filter(|_| app > 0).map(|bytes| bytes / app as f64)
    };
    let (read, written) = if record.members.is_empty() {
        (marks::read_per_byte(&bytes), marks::written_per_byte(&bytes))
    } else {
        (below("device_read_bytes", app_read), below("device_written_bytes", app_written))
    };
    if outline.measured {
        record.warnings.extend(marks::step_warnings(&bytes));
    }
    insert_some(record, "read_per_byte", read);
    insert_some(record, "written_per_byte", written);
}

fn add_outcome(record: &mut StepRecord, outcome: StepOutcome) {
    record.metrics.extend(outcome.metrics);
    record.settings.extend(outcome.settings);
    for (kind, histogram) in outcome.histograms {
        if !histogram.is_empty() {
            record.histograms.insert(kind, histogram.to_bytes());
        }
    }
    record.warnings.extend(outcome.warnings);
    let app_bytes = outcome.app_bytes_read + outcome.app_bytes_written;
    let durable = record.metrics.get("elapsed_durable").copied();
    if let (Some(seconds), true) = (durable, outcome.app_bytes_written > 0) {
        let rate = app_bytes as f64 / 1e6 / seconds;
        record.metrics.insert("mb_per_s_durable".to_owned(), rate);
    }
}

fn insert_some(record: &mut StepRecord, name: &str, value: Option<f64>) {
    if let Some(value) = value {
        record.metrics.insert(name.to_owned(), value);
    }
}

/// Dirty and write-back bytes of the machine; `None` when the kernel does not say.
fn dirty_bytes() -> Option<u64> {
    let state = MemoryState::parse(&std::fs::read("/proc/meminfo").ok()?);
    Some(state.dirty_bytes? + state.writeback_bytes?)
}

/// CPU time of this process and of its children that were waited for.
fn cpu_ns() -> Option<u64> {
    others::cpu_ns().map(|[user, system]| user + system)
}

/// A step that ran beside others: its own account alone, because the device's counters hold both.
#[must_use]
pub fn beside_record(step: BesideStep) -> StepRecord {
    let BesideStep { outline, outcome } = step;
    let mut record = StepRecord { name: outline.name, ..StepRecord::default() };
    record.metrics.insert("elapsed".to_owned(), outcome.elapsed_ns as f64 / 1e9);
    record.metrics.insert("cpu".to_owned(), outcome.cpu_ns as f64 / 1e9);
    add_outcome(&mut record, outcome);
    record
}

/// Mean latency together over alone, for the step `NAME` after `NAME-alone`; `None` when either is
/// missing.
#[must_use]
pub fn latency_ratio(steps: &[StepRecord], name: &str) -> Option<f64> {
    let alone = format!("{name}{ALONE}");
    let mean = |name: &str| {
        let step = steps.iter().find(|step| step.name == name)?;
        step.metrics.get("latency_mean").or_else(|| step.metrics.get("elapsed")).copied()
    };
    let (together, alone) = (mean(name)?, mean(&alone)?);
    (alone > 0.0).then(|| together / alone)
}
