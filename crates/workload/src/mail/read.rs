//! Reads every file, in the order of the archive or of the directories.

use super::{Meter, RECORD_BYTES, Root, Shared, Totals, directory, walk};
use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use rustix::fs::{Mode, OFlags};
use seekwell_model::workloads::StepOutline;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Kinds of calls, and their indices in [`KINDS`].
const KINDS: &[&str] = &["open", "read", "close"];
const OPEN: usize = 0;
const READ: usize = 1;
const CLOSE: usize = 2;

/// Reads files to their end, and counts and times every call.
struct Reader {
    meter: Meter,
    totals: Totals,
    buffer: Vec<u8>,
}

/// Which call failed.
struct Failed(&'static str, rustix::io::Errno);

impl Reader {
    fn start() -> Self {
        let buffer = vec![0; RECORD_BYTES];
        Self { meter: Meter::start(KINDS), totals: Totals::default(), buffer }
    }

    fn read<P: rustix::path::Arg>(&mut self, at: BorrowedFd<'_>, path: P) -> Result<(), Failed> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = self.meter.time(OPEN, || rustix::fs::openat(at, path, flags, Mode::empty()));
        let file: OwnedFd = opened.map_err(|errno| Failed("open", errno))?;
        loop {
            let buffer = &mut self.buffer;
            let read = self
                .meter
                .time(READ, || rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut *buffer)))
                .map_err(|errno| Failed("read", errno))?;
            // What is read must be used, or it could be left out.
            std::hint::black_box(&self.buffer[..read]);
            self.totals.bytes += read as u64;
            // A short read of a regular file is its end.
            if read < RECORD_BYTES {
                break;
            }
        }
        self.meter.time(CLOSE, || drop(file));
        self.totals.files += 1;
        Ok(())
    }

    fn finish(
        self,
        outline: &StepOutline,
        shared: &Shared,
        context: &StepContext<'_>,
    ) -> Result<StepOutcome, WorkloadError> {
        let mut outcome = self.meter.finish();
        outcome.ops = self.totals.files;
        outcome.app_bytes_read = self.totals.bytes;
        outcome.stopped = context.is_stopped();
        if !outcome.stopped {
            self.totals.check(&outline.name, shared.tree(context.seed)?.totals())?;
        }
        outcome.compute(&outline.metrics);
        Ok(outcome)
    }
}

/// Reads every file in the order in which it was unpacked.
#[derive(Debug)]
pub struct ReadArchive {
    outline: StepOutline,
    shared: Shared,
}

impl ReadArchive {
    /// The step with its outline.
    #[must_use]
    pub fn new(outline: StepOutline, shared: Shared) -> Self {
        Self { outline, shared }
    }
}

impl Step for ReadArchive {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let name = &self.outline.name;
        let mounted = directory(name, context)?;
        let tree = self.shared.tree(context.seed)?;
        let root = Root::open(mounted.join(self.shared.newest_copy(name)?))?;
        let mut buffer = String::with_capacity(64);
        let mut reader = Reader::start();
        for file in 0..tree.len() {
            if context.is_stopped() {
                break;
            }
            let path = tree.path(file, &mut buffer);
            reader
                .read(root.directory.as_fd(), path)
                .map_err(|Failed(action, errno)| root.failed(action, path)(errno))?;
        }
        reader.finish(&self.outline, &self.shared, context)
    }
}

/// Reads every file in the order in which the directories list them.
#[derive(Debug)]
pub struct ReadDirectory {
    outline: StepOutline,
    shared: Shared,
}

impl ReadDirectory {
    /// The step with its outline.
    #[must_use]
    pub fn new(outline: StepOutline, shared: Shared) -> Self {
        Self { outline, shared }
    }
}

impl Step for ReadDirectory {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let name = &self.outline.name;
        let mounted = directory(name, context)?;
        // Made before the clock starts, where this is the first step to ask.
        self.shared.tree(context.seed)?;
        let root = Root::open(mounted.join(self.shared.newest_copy(name)?))?;
        let mut reader = Reader::start();
        walk::files(&root, |at, file| {
            reader.read(at, file).map_err(|Failed(action, errno)| {
                root.failed(action, &file.to_string_lossy())(errno)
            })?;
            Ok(!context.is_stopped())
        })?;
        reader.finish(&self.outline, &self.shared, context)
    }
}
