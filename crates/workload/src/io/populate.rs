//! Writes the file or the part of the device in full, so that what is measured is no hole.

use super::Setting;
use super::measure::data_shape;
use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use crate::target::{self, Access, OpenTarget};
use seekwell_engine::{DataShape, Job, Span, run};
use seekwell_model::workloads::StepOutline;
use seekwell_model::workloads::io::{FileContent, Pattern};
use seekwell_stats::derive_seed;
use std::os::fd::AsFd;

/// Bytes per write: large enough that no device is slowed by the number of them.
const WRITE_BYTES: u32 = 1 << 20;

/// The step.
#[derive(Debug)]
pub struct Populate {
    outline: StepOutline,
    setting: Setting,
}

impl Populate {
    /// The step with its outline.
    #[must_use]
    pub fn new(outline: StepOutline, setting: Setting) -> Self {
        Self { outline, setting }
    }

    fn target(&self, context: &StepContext<'_>) -> Result<(OpenTarget, bool), WorkloadError> {
        // It may be far larger than the cache.
        let stamped = self.setting.params.content == FileContent::Stamped;
        if context.raw {
            let span = self.setting.raw_span(context)?;
            let sector = context.sector_bytes.max(1);
            // Whole sectors from start to end: only the last write may be shorter.
            let whole = span.length.is_multiple_of(sector.into());
            let direct = (stamped || self.setting.direct()) && whole;
            let access = Access { write: true, direct, durable: false };
            let file = target::open_device(context, access, &self.outline.name)?;
            return Ok((OpenTarget { file, path: context.device.to_owned(), span }, direct));
        }
        let directory = self.setting.directory(context)?;
        let path = self.setting.path(directory);
        // Through the page cache even when the measured step is direct: the filesystem then lays
        // the file out as it does for programs.
        let direct = stamped;
        let file = target::create(&path, Access { write: true, direct, durable: false })?;
        let length = match self.setting.params.file_size {
            Some(size) => size.0,
            None => {
                let free = target::free_bytes(directory)
                    .map_err(WorkloadError::file("find the free space of", directory))?;
                free / 2
            }
        };
        let length = length - length % 512;
        let sector = u64::from(context.sector_bytes.max(1));
        let length = if direct { length - length % sector } else { length };
        Ok((OpenTarget { file, path, span: Span { offset: 0, length } }, direct))
    }
}

impl Step for Populate {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let (target, direct) = self.target(context)?;
        let size = self.setting.params.size;
        if target.span.length < size.0 {
            let problem = format!("has {} bytes for operations of {size}", target.span.length);
            return Err(self.setting.unfit(problem, "make file_size larger or size smaller"));
        }
        let name = self.setting.place.name(&self.outline.name);
        let failed = |source| WorkloadError::Job {
            step: self.outline.name.clone(),
            target: target.path.clone(),
            source,
        };
        let Span { offset, length } = target.span;
        let rest = length % u64::from(WRITE_BYTES);
        let parts = [
            (Span { offset, length: length - rest }, WRITE_BYTES),
            (Span { offset: offset + length - rest, length: rest }, rest as u32),
        ];
        let data = match self.setting.params.content {
            FileContent::Random => data_shape(&self.setting.params),
            FileContent::Stamped => DataShape::of(100, 0),
        };
        let mut outcome = StepOutcome::default();
        for (span, block_bytes) in parts.into_iter().filter(|(span, _)| span.length > 0) {
            let mut job = Job::new(target.file.as_fd(), span, block_bytes);
            job.data = data;
            job.pattern = Pattern::Sequential;
            job.read_percent = 0;
            job.direct = direct;
            job.count = Some(span.length / u64::from(block_bytes));
            job.seed = derive_seed(context.seed, &name);
            job.stop.clone_from(&context.stop);
            outcome.add(run(&job).map_err(failed)?.into());
        }
        if outcome.app_bytes_written != length {
            return Err(WorkloadError::Stopped { step: self.outline.name.clone() });
        }
        outcome.compute(&self.outline.metrics);
        Ok(outcome)
    }
}
