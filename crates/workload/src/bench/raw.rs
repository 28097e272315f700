//! A bench of steps that know raw devices themselves, as fio's jobs do.

use super::directory::Folder;
use super::steps::{self, Surroundings};
use super::{BenchTarget, device};
use crate::error::WorkloadError;
use crate::step::StepContext;
use crate::target::{self, Access};
use rustix::fs::SeekFrom;
use seekwell_host::caches;
use seekwell_model::bench::BenchResult;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::WorkloadParams;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Current directory, in memory, of programs that work on the device.
const MEMORY: &str = "/dev/shm";

pub(super) fn run(
    params: &WorkloadParams,
    target: BenchTarget<'_>,
    seed: u64,
    stop: Option<Arc<AtomicBool>>,
) -> Result<BenchResult, WorkloadError> {
    let folder = Folder::make(Path::new(MEMORY))?;
    let file = target::open(target.path, Access { write: false, direct: false, durable: false })
        .map_err(WorkloadError::file("open", target.path))?;
    let name = device::below(target.path);
    let context = StepContext {
        directory: None,
        device: target.path,
        device_file: target.writable,
        raw: true,
        seed,
        stop,
        device_bytes: rustix::fs::seek(&file, SeekFrom::End(0))
            .map_err(WorkloadError::file("find the size of", target.path))?,
        sector_bytes: name.as_deref().and_then(device::sector_bytes).unwrap_or(512),
        scratch: Some(folder.path()),
        acknowledged: None,
    };
    steps::run(params, &context, &Device { file: &file, path: target.path })
}

/// The device of a bench, opened for reading.
struct Device<'a> {
    file: &'a File,
    path: &'a Path,
}

impl Surroundings for Device<'_> {
    /// Drops what is cached of the device; its clean pages alone where the kernel lets us no more.
    fn make_cold(&self) -> Result<Option<Warning>, WorkloadError> {
        if caches::drop_device_buffers(self.file).is_ok() {
            return Ok(None);
        }
        let failed = WorkloadError::file("drop the cache of", self.path);
        target::drop_cached(self.file).map_err(failed)?;
        Ok(Some(Warning::new(
            WarningCode::PartlyCached,
            "pages of the device that another process uses may have stayed in the cache before a cold step",
        )))
    }
}
