//! One workload now, on an existing file, device or directory, without a lab.

mod device;
mod directory;
mod raw;
mod steps;

use crate::error::WorkloadError;
use crate::io::{check_writes, measured_job, seek_time};
use crate::outcome::StepOutcome;
use crate::target::{self, Access, OpenTarget};
use rustix::fs::{FileType, SeekFrom};
use seekwell_engine::{JobResult, Span, Written, run};
use seekwell_model::bench::{BenchResult, BenchStep, LatencySummary};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::{CacheState, IoParams, StepOutline, WorkloadParams};
use seekwell_stats::{Histogram, derive_seed};
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Target of a bench.
#[derive(Clone, Copy, Debug)]
pub struct BenchTarget<'a> {
    /// An existing regular file or a block device, opened for reading only; or a directory, in
    /// which a folder is made and removed again.
    pub path: &'a Path,
    /// The same opened for writing by whoever checked that it may be written; needed for
    /// workloads that write.
    pub writable: Option<&'a File>,
    /// Length of the used part, from the start; `None` is all of it.
    pub length: Option<Bytes>,
}

/// Shorter than this, a result is mostly chance.
const SHORTEST: Nanos = Nanos(500_000_000);

/// Fewer operations than this, and a 99th percentile is one single operation.
const FEWEST_OPS: u64 = 100;

/// Reads are served from a cache when less than this part of them reached a device.
const FROM_DEVICE: f64 = 0.9;

/// Places of a file that are looked at for holes; one with more is fragmented, not sparse.
const MOST_HOLES: usize = 10_000;

/// Runs a workload on a target: on a directory in a folder of its own, which is removed after it;
/// `seek`, `stream`, `sweep` and `seekrw` also on an existing file or a device, `fio`, `capacity` and
/// `requests` on a device.
///
/// # Errors
/// [`WorkloadError`]: the kind needs a directory, the target is unfit or too small, was not opened
/// it for a workload that writes, or an operation failed.
pub fn bench(
    params: &WorkloadParams,
    target: BenchTarget<'_>,
    seed: u64,
    stop: Option<Arc<AtomicBool>>,
) -> Result<BenchResult, WorkloadError> {
    let mut result = if target.path.is_dir() {
        directory::run(params, target.path, seed, stop)?
    } else if knows_devices(params) && is_device(target.path) {
        raw::run(params, target, seed, stop)?
    } else {
        on_file(params, target, seed, stop)?
    };
    result.workload = params.kind_name().to_owned();
    result.target = target.path.display().to_string();
    Ok(result)
}

/// True for kinds whose steps know raw devices themselves.
fn knows_devices(params: &WorkloadParams) -> bool {
    use WorkloadParams::{Capacity, Fio, Requests};
    matches!(params, Fio(_) | Capacity(_) | Requests(_))
}

fn is_device(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_block_device())
}

/// Operations on an existing file or a device: nothing is written before them.
fn on_file(
    params: &WorkloadParams,
    target: BenchTarget<'_>,
    seed: u64,
    stop: Option<Arc<AtomicBool>>,
) -> Result<BenchResult, WorkloadError> {
    let measurements = match params {
        WorkloadParams::Io(io) => io.measurements(),
        WorkloadParams::Sweep(sweep) => sweep.measurements(),
        WorkloadParams::SeekRw(seekrw) => seekrw.measurements(),
        _ => {
            let problem = "cannot be run on a single file or device";
            let remedy = "name a directory of the filesystem instead";
            return Err(WorkloadError::unfit(params.kind_name(), problem, remedy));
        }
    };
    let mut result = BenchResult::default();
    for (outline, io) in measurements {
        if stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            break;
        }
        let seed = derive_seed(seed, &outline.name);
        let (steps, warnings) = measure(&outline, &io, target, seed, stop.clone())?;
        result.steps.extend(steps);
        result.warnings.extend(warnings);
    }
    steps::keep_one_of_each(&mut result.warnings);
    Ok(result)
}

fn measure(
    outline: &StepOutline,
    io: &IoParams,
    target: BenchTarget<'_>,
    seed: u64,
    stop: Option<Arc<AtomicBool>>,
) -> Result<(Vec<BenchStep>, Vec<Warning>), WorkloadError> {
    let open = open(io, target)?;
    let mut warnings: Vec<Warning> = sparse(&open, io).into_iter().collect();
    if io.cache == CacheState::Cold {
        target::drop_cached(&open.file)
            .map_err(WorkloadError::file("drop the cache of", &open.path))?;
    }
    let looks_up = outline.reports("metadata_reads");
    if looks_up {
        open.advise_random()?;
    }
    let device = if looks_up { device::below(target.path) } else { None };
    let counters = || crate::seekrw::counters(device.as_deref());
    let (before, counters_before) = (device_read_bytes(), counters());
    let job = measured_job(io, &open, io.cache == CacheState::Direct, seed, stop.clone());
    let result = run(&job).map_err(|source| WorkloadError::Job {
        step: outline.name.clone(),
        target: open.path.clone(),
        source,
    })?;
    let written = Written::of(&job, &result);
    let from_device =
        before.zip(device_read_bytes()).map(|(before, after)| after.saturating_sub(before));
    if looks_up && io.read_percent < 100 {
        open.file.sync_data().map_err(WorkloadError::file("sync", &open.path))?;
    }
    let counters_after = counters();
    warnings.extend(doubts(io, &result, from_device));
    let mut step = step(outline, io, result);
    if looks_up {
        let raw = !open.file.metadata().is_ok_and(|facts| facts.is_file());
        let found = crate::seekrw::Found { params: io, target: &open, seed, raw };
        step.metrics.extend(found.metrics(counters_before.zip(counters_after), step.ops));
    }
    let mut steps = vec![step];
    if let Some((check, written)) = io.verification(outline).zip(written) {
        let mut outcome = verify(&written, io.verify, &open, &check.name, stop)?;
        warnings.append(&mut outcome.warnings);
        steps.push(step_of(&check.name, outcome));
    }
    Ok((steps, warnings))
}

/// Checks a share of the writes, read again from the device.
fn verify(
    written: &Written,
    percent: u8,
    open: &OpenTarget,
    step: &str,
    stop: Option<Arc<AtomicBool>>,
) -> Result<StepOutcome, WorkloadError> {
    open.file.sync_all().map_err(WorkloadError::file("sync", &open.path))?;
    let access = Access { write: false, direct: false, durable: false };
    let file = target::reopen(&open.file, access)
        .map_err(WorkloadError::file("open again", &open.path))?;
    target::drop_cached(&file).map_err(WorkloadError::file("drop the cache of", &open.path))?;
    let stopped = || stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
    check_writes(written, percent, (&file, &open.path), step, &stopped)
}

fn open(io: &IoParams, target: BenchTarget<'_>) -> Result<OpenTarget, WorkloadError> {
    let unfit = |problem: String, remedy: &str| WorkloadError::unfit(&io.step, problem, remedy);
    let path = target.path;
    // Looked at before it is opened: opening a pipe or a tape does something.
    if io.durability.append {
        let problem = "appends to a new file".to_owned();
        return Err(unfit(problem, "name a directory of the filesystem instead"));
    }
    let kind = std::fs::metadata(path).map_err(WorkloadError::file("find", path))?.file_type();
    if !kind.is_file() && !kind.is_block_device() {
        let problem =
            format!("needs a regular file or a block device, and {} is neither", path.display());
        return Err(unfit(problem, "name a file or a device"));
    }
    let access = Access::of(io);
    let opened = match (access.write, target.writable) {
        (false, _) => target::open(path, access),
        (true, Some(checked)) => target::reopen(checked, access),
        (true, None) => {
            let problem = format!("writes, and {} was not opened for writing", path.display());
            return Err(unfit(problem, "say --write, and claim a device before"));
        }
    };
    let file = opened.map_err(|source| {
        if access.direct && source.raw_os_error() == Some(libc::EINVAL) {
            let problem = format!("cannot open {} for direct I/O", path.display());
            return unfit(problem, "use cache = \"cold\" there");
        }
        WorkloadError::file("open", path)(source)
    })?;
    let length = rustix::fs::seek(&file, SeekFrom::End(0))
        .map_err(WorkloadError::file("find the size of", path))?;
    let length = target.length.map_or(length, |wanted| wanted.0.min(length));
    Ok(OpenTarget { file, path: path.to_owned(), span: Span { offset: 0, length } })
}

fn step(outline: &StepOutline, io: &IoParams, result: JobResult) -> BenchStep {
    let mut outcome = StepOutcome::from(result);
    outcome.compute(&outline.metrics);
    if outline.reports("seek_time") {
        outcome.metrics.extend(seek_time(io, outcome.elapsed_ns, outcome.ops));
    }
    step_of(&outline.name, outcome)
}

/// A step in the form of a bench.
fn step_of(name: &str, outcome: StepOutcome) -> BenchStep {
    let mut latencies = outcome.latencies();
    if latencies.is_empty() {
        outcome.histograms.values().for_each(|histogram| latencies.merge(histogram));
    }
    let bytes = (outcome.app_bytes_read + outcome.app_bytes_written) as f64;
    let elapsed = outcome.elapsed_ns as f64;
    let timed = outcome.elapsed_ns > 0;
    let mb_per_s = (timed && bytes > 0.0).then(|| bytes * 1e3 / elapsed);
    BenchStep {
        name: name.to_owned(),
        ops: outcome.ops,
        elapsed_ns: outcome.elapsed_ns,
        iops: if timed { outcome.ops as f64 * 1e9 / elapsed } else { 0.0 },
        mb_per_s: outcome.metrics.get("mb_per_s").copied().or(mb_per_s),
        cpu_ns_per_op: (outcome.ops > 0).then(|| outcome.cpu_ns as f64 / outcome.ops as f64),
        latency_ns: summary(&latencies),
        metrics: outcome.metrics,
    }
}

/// A histogram in five numbers; `None` when it is empty.
#[must_use]
pub fn summary(latencies: &Histogram) -> Option<LatencySummary> {
    Some(LatencySummary {
        mean: latencies.mean_ns()?,
        p50: latencies.percentile_ns(0.5)?,
        p99: latencies.percentile_ns(0.99)?,
        p999: latencies.percentile_ns(0.999)?,
        max: latencies.max_ns()?,
    })
}

fn doubts(io: &IoParams, result: &JobResult, from_device: Option<u64>) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if result.elapsed_ns < SHORTEST.0 || result.ops < FEWEST_OPS {
        warnings.push(Warning::new(
            WarningCode::TooShort,
            format!("{} operations in {}", result.ops, Nanos(result.elapsed_ns)),
        ));
    }
    if let Some(bytes) = from_device.filter(|_| io.cache != CacheState::Warm)
        && (bytes as f64) < FROM_DEVICE * result.bytes_read as f64
    {
        warnings.push(
            Warning::new(
                WarningCode::ServedFromCache,
                format!("of {} bytes read, {bytes} came from a device", result.bytes_read),
            )
            .with_remedy("use --direct, or a target at least twice as large as the memory"),
        );
    }
    if result.bytes_written > 0 && io.cache != CacheState::Direct && !io.syncs() {
        warnings.push(
            Warning::new(
                WarningCode::NotDurable,
                "written data may still be in memory when the clock stops",
            )
            .with_remedy("use --direct, or a lab, which reports elapsed_durable"),
        );
    }
    warnings.extend(result.rate.and_then(crate::io::rate_warning));
    warnings
}

/// Bytes that this process caused to be read from storage; `None` where the kernel does not count
/// them.
fn device_read_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok())
}

/// The doubt about reading a file with holes: a filesystem answers those without its device.
fn sparse(open: &OpenTarget, io: &IoParams) -> Option<Warning> {
    let facts = open.file.metadata().ok()?;
    if io.read_percent == 0 || FileType::from_raw_mode(facts.mode()) != FileType::RegularFile {
        return None;
    }
    let holes = hole_bytes(&open.file, open.span.length)?;
    (holes > 0).then(|| {
        Warning::new(
            WarningCode::SparseFile,
            format!(
                "{holes} of the {} bytes used are holes or were never written; reading them gives \
                 zeros without the device",
                open.span.length
            ),
        )
    })
}

/// Bytes of holes and unwritten extents below `end`; `None` when the filesystem does not tell.
fn hole_bytes(file: &File, end: u64) -> Option<u64> {
    let (mut position, mut holes) = (0, 0);
    for _ in 0..MOST_HOLES {
        let hole = rustix::fs::seek(file, SeekFrom::Hole(position)).ok()?;
        if hole >= end {
            break;
        }
        position = match rustix::fs::seek(file, SeekFrom::Data(hole)) {
            Ok(data) => data.min(end),
            // No data after the hole.
            Err(rustix::io::Errno::NXIO) => end,
            Err(_) => return None,
        };
        holes += position - hole;
        if position >= end {
            break;
        }
    }
    Some(holes)
}

#[cfg(test)]
mod tests;
