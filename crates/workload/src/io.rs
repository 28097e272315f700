//! `seek` and `stream`: operations of one size over a file or a raw device.

mod append;
mod measure;
mod populate;
mod verify;

pub use measure::Measure;
pub(crate) use measure::{job as measured_job, rate_warning, seek_time};
pub use populate::Populate;
pub(crate) use verify::check as check_writes;
pub use verify::{LastWrites, Verify};

use crate::error::WorkloadError;
use crate::step::{Step, StepContext};
use seekwell_engine::Span;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{CacheState, IoParams, StepOutline};
use std::path::{Path, PathBuf};

/// Role of a workload in its trial. Two workloads must not use the same file or the same part of a
/// raw device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The workload itself.
    Main,
    /// A background workload, by its index.
    Beside(usize),
}

impl Place {
    /// Name of a file or directory of this workload.
    #[must_use]
    pub fn name(self, stem: &str) -> String {
        match self {
            Self::Main => stem.to_owned(),
            Self::Beside(index) => format!("beside-{index}-{stem}"),
        }
    }
}

/// The steps of an `io` workload.
#[must_use]
pub fn steps(params: &IoParams, place: Place) -> Vec<Box<dyn Step>> {
    populated(params, params.measurements(), place)
}

/// A step that writes the file or the part of the device, then one for each measurement of it, with
/// its check.
#[must_use]
pub fn populated(
    file: &IoParams,
    measurements: Vec<(StepOutline, IoParams)>,
    place: Place,
) -> Vec<Box<dyn Step>> {
    let setting = |params: &IoParams| Setting { params: params.clone(), place };
    let mut steps: Vec<Box<dyn Step>> = Vec::new();
    if !file.durability.append {
        steps.push(Box::new(Populate::new(file.populate(), setting(file))));
    }
    for (outline, params) in measurements {
        let check = params.verification(&outline);
        let measure = Measure::new(outline, setting(&params));
        let writes = measure.writes();
        steps.push(Box::new(measure));
        if let Some(outline) = check {
            steps.push(Box::new(Verify::new(outline, setting(&params), writes)));
        }
    }
    steps
}

/// Settings shared by the steps of an `io` workload.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The parameters.
    pub params: IoParams,
    /// Role of the workload in its trial.
    pub place: Place,
}

impl Setting {
    /// The file in a mounted directory.
    pub(crate) fn path(&self, directory: &Path) -> PathBuf {
        directory.join(self.place.name(&format!("{}.data", self.params.step)))
    }

    pub(crate) fn direct(&self) -> bool {
        self.params.cache == CacheState::Direct
    }

    pub(crate) fn unfit(&self, problem: String, remedy: &str) -> WorkloadError {
        WorkloadError::unfit(&self.params.step, problem, remedy)
    }

    /// The mounted directory.
    pub(crate) fn directory<'a>(
        &self,
        context: &StepContext<'a>,
    ) -> Result<&'a Path, WorkloadError> {
        context.directory.ok_or_else(|| {
            self.unfit(
                "has neither a directory nor a raw device".to_owned(),
                "mount one, or use raw",
            )
        })
    }

    /// Returns the part of a raw device that is used: from its start, or for a background workload
    /// from its end.
    pub(crate) fn raw_span(&self, context: &StepContext<'_>) -> Result<Span, WorkloadError> {
        let unit = u64::from(context.sector_bytes.max(1));
        let device_bytes = context.device_bytes - context.device_bytes % unit;
        let length = self.params.file_size.map_or(device_bytes, |size| size.0 - size.0 % unit);
        if length > device_bytes {
            let problem =
                format!("uses {} of a device of {}", Bytes(length), Bytes(context.device_bytes));
            return Err(self.unfit(problem, "make file_size smaller or the device larger"));
        }
        let offset = match self.place {
            Place::Main => 0,
            Place::Beside(_) => device_bytes - length,
        };
        Ok(Span { offset, length })
    }

    /// Direct operations must be whole sectors.
    fn check_sector(&self, context: &StepContext<'_>) -> Result<(), WorkloadError> {
        let sector = u64::from(context.sector_bytes.max(1));
        if self.direct() && !self.params.size.0.is_multiple_of(sector) {
            let problem = format!(
                "makes direct operations of {} on a device with sectors of {sector} B",
                self.params.size
            );
            return Err(self.unfit(problem, "use a multiple of the sector, or cache = \"cold\""));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
