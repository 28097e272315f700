//! `bonnie`: the twelve tests of bonnie++, with the system calls of its version 2.
//!
//! Per-character tests make one system call per byte, as version 2 does since its `putc` went past
//! the buffers of the C library. Creating, and deleting, end with all data synced; looking does not.

mod files;
mod stream;

use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::StepOutcome;
use crate::step::{self, Step, StepContext};
use files::Names;
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use seekwell_engine::buffer::{Arena, ArenaShape};
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::{Clock, DataShape, MonotonicClock};
use seekwell_model::workloads::{BonnieParams, StepOutline};
use seekwell_stats::{Histogram, derive_seed};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use stream::Stream;

/// The steps of a `bonnie` workload.
#[must_use]
pub fn steps(params: &BonnieParams, place: Place) -> Vec<Box<dyn Step>> {
    let names = Arc::new(Mutex::new(None));
    step::each(params.steps(), |outline| {
        let (params, names) = (params.clone(), Arc::clone(&names));
        Test { outline, params, place, names }
    })
}

/// One of the tests.
#[derive(Debug)]
struct Test {
    outline: StepOutline,
    params: BonnieParams,
    place: Place,
    /// Names of the files that the last creating test made.
    names: Arc<Mutex<Option<Names>>>,
}

/// Result of a test.
#[derive(Debug, Default)]
struct Found {
    ops: u64,
    read: u64,
    written: u64,
    latencies: Histogram,
    /// CPU time of threads other than the one that runs the step.
    other_cpu_ns: u64,
    stopped: bool,
}

impl Found {
    /// Makes an operation and counts it and its time.
    #[inline]
    fn time<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let begin_ns = MonotonicClock.now_ns();
        let result = call();
        self.latencies.record(MonotonicClock.now_ns().saturating_sub(begin_ns));
        self.ops += 1;
        result
    }
}

/// The kind that a step's latencies are kept as, by which reports know what they are.
fn kind(step: &str) -> &'static str {
    match step {
        "getc" | "get_block" | "seeks" => "read",
        "seq_create" | "ran_create" => "create",
        "seq_stat" | "ran_stat" => "stat",
        "seq_del" | "ran_del" => "unlink",
        _ => "write",
    }
}

impl Test {
    fn mounted<'a>(&self, context: &StepContext<'a>) -> Result<&'a Path, WorkloadError> {
        context.directory.ok_or_else(|| self.unfit("needs a filesystem", "use one other than raw"))
    }

    fn unfit(&self, problem: &str, remedy: &str) -> WorkloadError {
        WorkloadError::unfit(&self.outline.name, problem, remedy)
    }

    fn path(&self, mounted: &Path, stem: &str) -> PathBuf {
        mounted.join(self.place.name(stem))
    }

    fn test(&self, context: &StepContext<'_>) -> Result<Found, WorkloadError> {
        let mounted = self.mounted(context)?;
        let file = |stem: &str| self.path(mounted, stem);
        let params = &self.params;
        let missing =
            || self.unfit("has no files to work on", "run seq_create or ran_create first");
        let shared = || self.names.lock().map_err(|_| WorkloadError::Panicked);
        let names = || shared()?.take().ok_or_else(missing);
        let root = file("bonnie.files");
        match self.outline.name.as_str() {
            "putc" => Stream { path: &file("bonnie.char"), params, context }.put_characters(),
            "getc" => Stream { path: &file("bonnie.char"), params, context }.get_characters(),
            "put_block" => Stream { path: &file("bonnie.data"), params, context }.put_blocks(),
            "rewrite" => Stream { path: &file("bonnie.data"), params, context }.rewrite(),
            "get_block" => Stream { path: &file("bonnie.data"), params, context }.get_blocks(),
            "seeks" => Stream { path: &file("bonnie.data"), params, context }.seeks(),
            "seq_create" | "ran_create" => {
                let sequential = self.outline.name == "seq_create";
                let names = Names::new(params, sequential, context.seed);
                let found = files::create(&root, &names, params, context);
                *shared()? = Some(names);
                found
            }
            "seq_stat" | "ran_stat" => {
                let names = names()?;
                let found = files::look(&root, &names, params, context);
                *shared()? = Some(names);
                found
            }
            _ => files::delete(&root, &names()?, context),
        }
    }
}

impl Step for Test {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let (begin_ns, cpu_before_ns) = (MonotonicClock.now_ns(), thread_cpu_ns());
        let found = self.test(context)?;
        let mut outcome = StepOutcome {
            ops: found.ops,
            app_bytes_read: found.read,
            app_bytes_written: found.written,
            elapsed_ns: MonotonicClock.now_ns().saturating_sub(begin_ns),
            cpu_ns: thread_cpu_ns().saturating_sub(cpu_before_ns) + found.other_cpu_ns,
            stopped: found.stopped,
            ..StepOutcome::default()
        };
        let latencies = &found.latencies;
        let cpu_share =
            (outcome.elapsed_ns > 0).then(|| outcome.cpu_ns as f64 / outcome.elapsed_ns as f64);
        outcome.compute(&self.outline.metrics);
        outcome.set([
            ("latency_mean", latencies.mean_ns()),
            ("latency_p99", latencies.percentile_ns(0.99).map(|ns| ns as f64)),
            ("latency_max", latencies.max_ns().map(|ns| ns as f64)),
            ("cpu_share", cpu_share),
        ]);
        outcome.keep(kind(&self.outline.name), found.latencies);
        if self.outline.name == "getc" {
            remove(&self.path(self.mounted(context)?, "bonnie.char"))?;
        }
        // The block file is in the way of the small files no longer than it is needed.
        let last = self.params.steps().into_iter().rev().find(|step| {
            ["put_block", "rewrite", "get_block", "seeks"].contains(&step.name.as_str())
        });
        if last.is_some_and(|last| last.name == self.outline.name) {
            remove(&self.path(self.mounted(context)?, "bonnie.data"))?;
        }
        Ok(outcome)
    }
}

/// Memory to write so many bytes at a time from. By default no compressor makes it smaller;
/// bonnie++ writes mostly zeros, which `compressible = 100` does.
fn arena(
    bytes: u64,
    params: &BonnieParams,
    seed: u64,
    path: &Path,
) -> Result<Arena, WorkloadError> {
    let data = DataShape::of(params.compressible, params.repeated);
    let block_bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
    let shape = ArenaShape { block_bytes, depth: 1, reads: false, writes: true, data };
    Arena::new(shape, derive_seed(seed, "bonnie"))
        .map_err(WorkloadError::file("map the buffers for", path))
}

fn remove(path: &Path) -> Result<(), WorkloadError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(WorkloadError::file("remove", path)(source))
        }
        _ => Ok(()),
    }
}

/// Opens a file; creating it, one that is there is in the way.
fn open(path: &Path, flags: OFlags) -> Result<OwnedFd, WorkloadError> {
    let action = if flags.contains(OFlags::CREATE) { "create" } else { "open" };
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::from_raw_mode(0o600))
        .map_err(WorkloadError::file(action, path))
}

#[cfg(test)]
mod tests;
