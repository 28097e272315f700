//! `calls`: short sequences of file system calls, each in a directory of its own.

use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::{self, Step, StepContext};
use rustix::fs::{FallocateFlags, fallocate};
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::workloads::calls::{Call, CallKind};
use seekwell_model::workloads::{CallsParams, StepOutline};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

#[cfg(test)]
mod tests;

/// The step of a `calls` workload.
#[must_use]
pub fn steps(params: &CallsParams) -> Vec<Box<dyn Step>> {
    step::each(params.steps(), |outline| Calls { outline, params: params.clone(), made: 0 })
}

#[derive(Debug)]
struct Calls {
    outline: StepOutline,
    params: CallsParams,
    /// Directories made so far: a step may run twice.
    made: u64,
}

impl Step for Calls {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let top = context.mounted(&self.outline.name)?;
        let begin_ns = MonotonicClock.now_ns();
        let mut outcome = StepOutcome::default();
        for (number, calls) in (1..).zip(&self.params.run) {
            self.made += 1;
            let directory = top.join(format!("calls-{}", self.made));
            fs::create_dir(&directory).map_err(WorkloadError::file("create", &directory))?;
            for call in calls {
                outcome.ops += 1;
                make(call, &directory, outcome.ops)?;
                if call.kind == CallKind::Write {
                    outcome.app_bytes_written += call.bytes;
                }
            }
            context.acknowledged.inspect(|acknowledged| acknowledged.take(number));
        }
        outcome.elapsed_ns = MonotonicClock.now_ns().saturating_sub(begin_ns);
        outcome.compute(&self.outline.metrics);
        Ok(outcome)
    }
}

/// Makes a call below a directory; `number` makes the data of each write unlike those of all others.
fn make(call: &Call, directory: &Path, number: u64) -> Result<(), WorkloadError> {
    let at = |path: &str| directory.join(path);
    let (path, to) = (at(&call.path), call.to.as_deref().map(at).unwrap_or_default());
    let (action, done) = match call.kind {
        CallKind::Mkdir => ("create", fs::create_dir(&path)),
        CallKind::Rmdir => ("remove", fs::remove_dir(&path)),
        CallKind::Creat => ("create", File::create_new(&path).map(drop)),
        CallKind::Link => ("link", fs::hard_link(&path, to)),
        CallKind::Rename => ("rename", fs::rename(&path, to)),
        CallKind::Unlink => ("remove", fs::remove_file(&path)),
        CallKind::Fsync => ("sync", File::open(&path).and_then(|file| file.sync_all())),
        CallKind::Fdatasync => ("sync", File::open(&path).and_then(|file| file.sync_data())),
        CallKind::Sync => {
            rustix::fs::sync();
            ("sync", Ok(()))
        }
        CallKind::Write
        | CallKind::Truncate
        | CallKind::Allocate
        | CallKind::Reserve
        | CallKind::Punch
        | CallKind::Zero => ("change", change(call, &path, number)),
    };
    done.map_err(WorkloadError::file(action, &path))
}

fn change(call: &Call, path: &Path, number: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    let flags = match call.kind {
        CallKind::Truncate => return file.set_len(call.at),
        CallKind::Write => return file.write_all_at(&data(number, call.bytes), call.at),
        CallKind::Reserve => FallocateFlags::KEEP_SIZE,
        CallKind::Punch => FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE,
        CallKind::Zero => FallocateFlags::ZERO_RANGE,
        _ => FallocateFlags::empty(),
    };
    Ok(fallocate(&file, flags, call.at, call.bytes)?)
}

/// Data of a write: its number and a counter, so that each sector is different and none is zero.
fn data(number: u64, bytes: u64) -> Vec<u8> {
    let words = (0..bytes.div_ceil(8)).flat_map(|word| ((number << 32) | word).to_le_bytes());
    words.take(bytes as usize).collect()
}
