//! Steps of a workload, and the context they run in.

use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use seekwell_engine::Progress;
use seekwell_model::workloads::StepOutline;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// One step of a workload. Steps of one workload share what they must know of each other; they
/// run in order, and a step may run twice in a row (alone, and with a background workload).
pub trait Step: Send {
    /// Outline of the step.
    fn outline(&self) -> &StepOutline;

    /// Counters to watch it by while it runs, where it has some.
    fn progress(&self) -> Option<Arc<Progress>> {
        None
    }

    /// Runs it. No file of the mounted filesystem is open when it returns, so that the caller can
    /// unmount.
    ///
    /// # Errors
    /// [`WorkloadError`], saying what failed, where, and what to do.
    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError>;
}

/// Context of a step.
#[derive(Clone, Debug)]
pub struct StepContext<'a> {
    /// Root of the mounted filesystem; `None` on a raw device.
    pub directory: Option<&'a Path>,
    /// The block device; empty if the directory is in memory or on another machine.
    pub device: &'a Path,
    /// The block device opened for writing, its identity checked by whoever opened it. Steps
    /// write to a raw device through this alone.
    pub device_file: Option<&'a File>,
    /// True when the device is used without a filesystem.
    pub raw: bool,
    /// Everything random in the workload derives from this.
    pub seed: u64,
    /// Ends the step early when it becomes true.
    pub stop: Option<Arc<AtomicBool>>,
    /// Size of the device.
    pub device_bytes: u64,
    /// Logical sector of the device.
    pub sector_bytes: u32,
    /// An empty directory in memory, for what must not touch the device.
    pub scratch: Option<&'a Path>,
    /// Takes the number of acknowledged transactions after each; `None` where none wants it.
    pub acknowledged: Option<&'a dyn Acknowledged>,
}

/// A step for each outline.
pub(crate) fn each<S: Step + 'static>(
    outlines: Vec<StepOutline>,
    step: impl Fn(StepOutline) -> S,
) -> Vec<Box<dyn Step>> {
    outlines.into_iter().map(|outline| Box::new(step(outline)) as Box<dyn Step>).collect()
}

/// Takes numbers of acknowledged transactions.
pub trait Acknowledged: std::fmt::Debug + Sync {
    /// Takes the rows that all transactions together have acknowledged so far.
    fn take(&self, rows: u64);
}

impl<'a> StepContext<'a> {
    /// The mounted directory of a step that needs one.
    ///
    /// # Errors
    /// [`WorkloadError::Unfit`] on a raw device.
    pub(crate) fn mounted(&self, step: &str) -> Result<&'a Path, WorkloadError> {
        self.directory
            .ok_or_else(|| WorkloadError::unfit(step, "needs a directory", "mount a filesystem"))
    }

    /// The mounted directory of a step that a lab may run on a raw device.
    pub(crate) fn filesystem(&self, step: &str) -> Result<&'a Path, WorkloadError> {
        let remedy = "use a filesystem other than raw";
        self.directory.ok_or_else(|| WorkloadError::unfit(step, "needs a filesystem", remedy))
    }

    /// Returns true when the caller wants the step to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}
