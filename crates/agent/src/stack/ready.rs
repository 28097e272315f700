//! A stack on which a workload can run: a mounted filesystem or a raw device.

use super::attached::Attached;
use crate::context::Trial;
use crate::error::Fault;
use crate::measure::Observer;
use crate::mount::Mount;
use crate::strays::end_strays;
use crate::survey::Rows;
use rustix::fs::Timespec;
use rustix::thread::{ClockId, clock_nanosleep_absolute};
use seekwell_host::caches;
use seekwell_model::agent::TrialRequest;
use seekwell_model::workloads::{CacheState, StepOutline};
use seekwell_observe::clock::monotonic_ns;
use seekwell_workload::{Acknowledged, StepContext};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Steps of virtual trials begin at a multiple of this time. What comes before takes a few microseconds more or less
/// from build to build.
const TICK_NS: u64 = 10_000_000;

/// Sleeps until the next tick.
fn sleep_until_tick() {
    let next_ns = monotonic_ns().next_multiple_of(TICK_NS);
    let at = Duration::from_nanos(next_ns);
    // A signal that ends the sleep early ends the trial too.
    let _ = Timespec::try_from(at).map(|at| clock_nanosleep_absolute(ClockId::Monotonic, &at));
}

/// The target of the workload's operations.
#[derive(Debug)]
pub(crate) enum Target<'s> {
    Filesystem(&'s mut Mount),
    Raw(File),
}

/// A stack on which a workload can run.
#[derive(Debug)]
pub struct Ready<'s> {
    request: &'s TrialRequest,
    devices: &'s Attached,
    target: Target<'s>,
    sector_bytes: u32,
    origin_ns: u64,
    /// Takes the numbers of acknowledged transactions.
    pub(crate) acknowledged: Option<Rows>,
}

impl<'s> Ready<'s> {
    /// A stack without a filesystem.
    ///
    /// # Errors
    /// When the device cannot be opened for writing.
    pub fn raw(
        trial: &Trial<'s, '_>,
        devices: &'s Attached,
        sector_bytes: u32,
    ) -> Result<Self, Fault> {
        let file = devices.data.as_ref().ok_or(Fault::NoDevice)?.token().open(false)?;
        Ok(Self::new(trial, devices, Target::Raw(file), sector_bytes))
    }

    /// A stack whose target is ready.
    pub(crate) fn new(
        trial: &Trial<'s, '_>,
        devices: &'s Attached,
        target: Target<'s>,
        sector_bytes: u32,
    ) -> Self {
        Self {
            request: trial.request,
            devices,
            target,
            sector_bytes,
            origin_ns: trial.origin_ns,
            acknowledged: None,
        }
    }

    /// The counters that are read around every step.
    #[must_use]
    pub fn observer(&self) -> Observer {
        self.devices.observer(self.origin_ns)
    }

    /// Puts the cache into the state that a step starts from.
    ///
    /// # Errors
    /// When the filesystem cannot be remounted or the caches cannot be dropped.
    pub fn prepare(&mut self, outline: &StepOutline) -> Result<(), Fault> {
        // Past the page cache the filesystem still keeps its metadata in memory: a step that counts
        // reads of metadata begins without.
        // O_DIRECT passes the cache of an NFS client, and not that of the server.
        let is_served = self.request.stack.filesystem.nfs.is_some();
        let needs_cold = match outline.cache {
            CacheState::Cold => true,
            CacheState::Direct => is_served || outline.reports("metadata_reads"),
            CacheState::Warm => outline.reports("metadata_reads"),
        };
        if needs_cold {
            end_strays(&self.request.stack);
            match &mut self.target {
                Target::Filesystem(mount) => mount.make_cold()?,
                Target::Raw(file) => caches::drop_device_buffers(file)?,
            }
        }
        if self.request.on_tick {
            sleep_until_tick();
        }
        Ok(())
    }

    /// The directory of the workload; `None` on a raw device.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        match &self.target {
            Target::Filesystem(mount) => Some(mount.directory()),
            Target::Raw(_) => None,
        }
    }

    /// The context of a step that runs in [`Self::directory`].
    #[must_use]
    pub fn context<'c>(&'c self, directory: Option<&'c Path>) -> StepContext<'c> {
        let device_file = match &self.target {
            Target::Filesystem(_) => None,
            Target::Raw(file) => Some(file),
        };
        StepContext {
            directory,
            device: self.devices.path(),
            device_file,
            raw: device_file.is_some(),
            seed: self.request.seed,
            stop: None,
            device_bytes: self.devices.size.unwrap_or_default().0,
            sector_bytes: self.sector_bytes,
            scratch: None,
            acknowledged: self.acknowledged.as_ref().map(|rows| rows as &dyn Acknowledged),
        }
    }

    /// Brings everything onto the devices: syncfs, then a flush of each device.
    ///
    /// # Errors
    /// When a write-back or a flush fails: data was lost.
    pub fn make_durable(&self) -> Result<(), Fault> {
        if let Target::Filesystem(mount) = &self.target {
            mount.sync()?;
        }
        self.devices.flush()
    }
}
