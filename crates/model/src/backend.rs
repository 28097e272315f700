//! The backend of a run: what runs the trials of a plan.
//!
//! A backend is chosen, and what it needs is resolved, before there is a plan; see the crate
//! `session`. From then on the runner knows it by this trait alone.

use crate::plan::{Plan, PlannedTrial};
use crate::record::Record;
use crate::units::Bytes;
use std::error::Error;
use std::fmt;

/// Error after which a backend cannot continue; contains the backend's own typed error.
pub type BackendError = Box<dyn Error + Send + Sync>;

/// Runs trials, one at a time as the runner sees it.
pub trait Backend {
    /// Runs one trial. `progress` is called with the name of each step that begins. A trial that
    /// fails is a record with [`Status::Failed`](crate::record::Status::Failed), not an error.
    ///
    /// # Errors
    /// When the backend itself is broken, so that no further trial makes sense.
    fn run(
        &mut self,
        plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError>;

    /// Tells which trials will be asked for next, in that order. A backend that can run more than
    /// one at once may begin with them.
    fn announce(&mut self, _trials: &[PlannedTrial]) {}

    /// True if the record that [`Self::run`] returned last is safe until [`Self::settled`], also if this process dies: it
    /// may be kept together with the next one. A backend that has to be asked for a record which is not there yet says
    /// false, so that nothing waits with it.
    fn holds_last(&self) -> bool {
        false
    }

    /// Tells that every record which [`Self::run`] returned is kept durably.
    ///
    /// # Errors
    /// When the backend cannot let go of them.
    fn settled(&mut self) -> Result<(), BackendError> {
        Ok(())
    }

    /// Cost of a trial in nanoseconds of the budget: the time that the user waited, which is the
    /// duration of [`Self::run`], or the record's own where that is more.
    fn cost_ns(&self, record: &Record, wall_ns: u64) -> u64 {
        record.elapsed_ns.max(wall_ns)
    }

    /// Puts back what the backend changed on this machine. Called once, after the last trial.
    ///
    /// # Errors
    /// When something could not be put back.
    fn finish(self: Box<Self>) -> Result<(), BackendError> {
        Ok(())
    }
}

/// Progress of an image that is written in full before the first trial on it; a backend gives it as the
/// name of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageProgress {
    /// Name of the device.
    pub name: String,
    /// Bytes written so far.
    pub written: Bytes,
    /// Size of the image.
    pub size: Bytes,
}

const WRITING: &str = "writing the image of ";
const UNITS: [(&str, u64); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl fmt::Display for ImageProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = UNITS.into_iter().find(|(_, unit)| self.size.0 >= *unit);
        let (unit, bytes) = unit.unwrap_or(("B", 1));
        let number = |value: Bytes| {
            let text = format!("{:.1}", value.0 as f64 / bytes as f64);
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        let (written, size) = (number(self.written), number(self.size));
        write!(f, "{WRITING}{}: {written} of {size} {unit}", self.name)
    }
}

impl ImageProgress {
    /// The progress that is the name of a step, to a tenth of its unit; `None` for any other step.
    #[must_use]
    pub fn from_step(step: &str) -> Option<Self> {
        let (name, progress) = step.strip_prefix(WRITING)?.rsplit_once(": ")?;
        let (written, size) = progress.split_once(" of ")?;
        let (size, unit) = size.split_once(' ')?;
        let bytes = UNITS.into_iter().find(|(name, _)| *name == unit).map_or(1, |(_, bytes)| bytes);
        let number = |text: &str| {
            let value: f64 = text.parse().ok()?;
            Some(Bytes((value * bytes as f64) as u64))
        };
        Some(Self { name: name.to_owned(), written: number(written)?, size: number(size)? })
    }
}

#[cfg(test)]
mod tests;
