//! Reads a share of what a measured step has written, after a remount, and compares it with the
//! data that the seed gives again.

use super::Setting;
use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use crate::target::{self, Access};
use crate::verify::Checked;
use seekwell_engine::{Clock, MonotonicClock, Written};
use seekwell_model::workloads::StepOutline;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// The writes of the last run of a measured step, for the step that checks them.
#[derive(Clone, Debug, Default)]
pub struct LastWrites(Arc<Mutex<Option<Written>>>);

impl LastWrites {
    pub(super) fn keep(&self, written: Option<Written>) {
        // One assignment: a panic elsewhere leaves it whole.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = written;
    }

    fn get(&self) -> Option<Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The step.
#[derive(Debug)]
pub struct Verify {
    outline: StepOutline,
    setting: Setting,
    writes: LastWrites,
}

impl Verify {
    /// The step with its outline; `writes` is that of the measured step.
    #[must_use]
    pub fn new(outline: StepOutline, setting: Setting, writes: LastWrites) -> Self {
        Self { outline, setting, writes }
    }
}

impl Step for Verify {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let access = Access { write: false, direct: false, durable: false };
        let (file, path) = if context.raw {
            let file = target::open_device(context, access, &self.outline.name)?;
            (file, context.device.to_owned())
        } else {
            let path = self.setting.path(self.setting.directory(context)?);
            let file = target::open(&path, access).map_err(WorkloadError::file("open", &path))?;
            (file, path)
        };
        let Some(written) = self.writes.get() else {
            let problem = "has no writes to check".to_owned();
            return Err(self.setting.unfit(problem, "run the step that writes before it"));
        };
        let stopped = || context.is_stopped();
        check(&written, self.setting.params.verify, (&file, &path), &self.outline.name, &stopped)
    }
}

/// Compares a share of the writes with the content of the file or device.
///
/// # Errors
/// When there is no memory for the expected data.
pub(crate) fn check(
    written: &Written,
    percent: u8,
    (file, path): (&File, &Path),
    step: &str,
    stopped: &dyn Fn() -> bool,
) -> Result<StepOutcome, WorkloadError> {
    let begin_ns = MonotonicClock.now_ns();
    let mut data = written.data().map_err(WorkloadError::file("map the data to check", path))?;
    let mut found = vec![0; written.block_bytes() as usize];
    let mut checked = Checked::default();
    let mut ops = 0;
    let is_stopped = written.chosen(percent).into_iter().any(|offset| {
        if stopped() {
            return true;
        }
        ops += 1;
        match read(file, &mut found, offset) {
            Ok(length) => checked.compare(data.at(offset), &found[..length], |at| {
                format!("at offset {} of {}", offset + at as u64, path.display())
            }),
            Err(error) => checked.lose(found.len() as u64, || {
                format!("at offset {offset} of {}, which cannot be read: {error}", path.display())
            }),
        }
        false
    });
    let elapsed_ns = MonotonicClock.now_ns().saturating_sub(begin_ns);
    Ok(StepOutcome { ops, elapsed_ns, stopped: is_stopped, ..checked.outcome(step) })
}

/// Reads until the buffer is full or the file ends.
fn read(file: &File, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}
