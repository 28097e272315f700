//! A bench in a directory: the steps of a lab, without the stack around them.

use super::device;
use super::steps::{self, Surroundings};
use crate::error::WorkloadError;
use crate::step::StepContext;
use crate::target;
use rustix::fs::{Mode, OFlags};
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_host::caches;
use seekwell_host::sysfs::System;
use seekwell_model::bench::{BenchResult, BenchStep};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::{StepOutline, WorkloadParams};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A folder that is removed, with all that is in it, when this is dropped.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Makes a folder that did not exist.
    pub(super) fn make(directory: &Path) -> Result<Self, WorkloadError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("seekwell-bench-{}-{number}", std::process::id()));
        std::fs::create_dir(&path).map_err(WorkloadError::file("create", &path))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Whoever cannot remove it has said why in an error before: the device is gone or
        // read-only.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn run(
    params: &WorkloadParams,
    directory: &Path,
    seed: u64,
    stop: Option<Arc<AtomicBool>>,
) -> Result<BenchResult, WorkloadError> {
    fits(params, directory)?;
    let folder = Folder::make(directory)?;
    let below = device::below(directory);
    let node = below.as_deref().map_or_else(|| directory.to_owned(), device::node);
    let context = StepContext {
        directory: Some(&folder.0),
        device: &node,
        device_file: None,
        raw: false,
        seed,
        stop,
        device_bytes: target::free_bytes(directory)
            .map_err(WorkloadError::file("find the free space of", directory))?,
        sector_bytes: below.as_deref().and_then(device::sector_bytes).unwrap_or(512),
        scratch: None,
        acknowledged: None,
    };
    steps::run(params, &context, &folder)
}

impl Surroundings for Folder {
    /// Drops what is cached of the folder's files; names and inodes too where the kernel lets us.
    fn make_cold(&self) -> Result<Option<Warning>, WorkloadError> {
        flush_ns(&self.0)?;
        drop_files(&self.0)?;
        if caches::drop_caches(&System::host()).is_ok() {
            return Ok(None);
        }
        Ok(Some(Warning::new(
            WarningCode::MetadataCached,
            "file data was dropped from the cache before a cold step; names and inodes were not",
        )))
    }

    fn flush_ns(&self, outline: &StepOutline) -> Result<Option<u64>, WorkloadError> {
        outline.writes.then(|| flush_ns(&self.0)).transpose()
    }

    fn complete(&self, outline: &StepOutline, step: &mut BenchStep, flush_ns: Option<u64>) {
        let (metrics, seconds) = (&mut step.metrics, step.elapsed_ns as f64 / 1e9);
        metrics.insert("elapsed".to_owned(), seconds);
        let Some(flush_ns) = flush_ns else { return };
        let durable = seconds + flush_ns as f64 / 1e9;
        metrics.insert("elapsed_durable".to_owned(), durable);
        let bytes = metrics.get("app_bytes").filter(|_| outline.reports("mb_per_s_durable"));
        if let Some(rate) = bytes.map(|bytes| bytes / 1e6 / durable) {
            metrics.insert("mb_per_s_durable".to_owned(), rate);
        }
    }
}

/// Checks that the workload's data fits on the device, if the workload states its size.
fn fits(params: &WorkloadParams, directory: &Path) -> Result<(), WorkloadError> {
    let free = target::free_bytes(directory)
        .map_err(WorkloadError::file("find the free space of", directory))?;
    match params.data_set() {
        Some(needed) if needed.0 > free => {
            let (needed, shown) = (needed.0, directory.display());
            let problem = format!("needs {needed} bytes and {shown} has {free} free");
            let remedy = "use less data or a larger device";
            Err(WorkloadError::unfit(params.kind_name(), problem, remedy))
        }
        _ => Ok(()),
    }
}

/// Brings the filesystem of a directory onto its device; gives how long that took.
fn flush_ns(directory: &Path) -> Result<u64, WorkloadError> {
    let begin_ns = MonotonicClock.now_ns();
    let failed = "bring to the device what was written to";
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(directory, flags, Mode::empty())
        .map_err(WorkloadError::file(failed, directory))?;
    rustix::fs::syncfs(&opened).map_err(WorkloadError::file(failed, directory))?;
    Ok(MonotonicClock.now_ns() - begin_ns)
}

fn drop_files(folder: &Path) -> Result<(), WorkloadError> {
    let entries = std::fs::read_dir(folder).map_err(WorkloadError::file("list", folder))?;
    for entry in entries {
        let entry = entry.map_err(WorkloadError::file("list", folder))?;
        let (path, kind) = (entry.path(), entry.file_type());
        let kind = kind.map_err(WorkloadError::file("look at", &path))?;
        if kind.is_dir() {
            drop_files(&path)?;
        } else if kind.is_file() {
            let file = File::open(&path).map_err(WorkloadError::file("open", &path))?;
            target::drop_cached(&file).map_err(WorkloadError::file("drop the cache of", &path))?;
        }
    }
    Ok(())
}
