//! Reads every file, in the order of the archive or of the directories.

use super::{Mail, Meter, RECORD_BYTES, Root, Totals, walk};
use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::StepContext;
use rustix::fs::{Mode, OFlags};
use seekwell_engine::buffer::Aligned;
use seekwell_engine::clock::thread_cpu_ns;
use std::io::{self, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread::JoinHandle;

/// Kinds of calls, and their indices in [`KINDS`].
const KINDS: &[&str] = &["open", "read", "close"];
const OPEN: usize = 0;
const READ: usize = 1;
const CLOSE: usize = 2;

/// Reads files to their end, and counts and times every call.
struct Reader {
    meter: Meter,
    totals: Totals,
    buffer: Aligned,
    counter: Option<Counter>,
}

/// Counts the bytes that come through a pipe, like `wc -c`.
struct Counter {
    pipe: PipeWriter,
    /// Gives the bytes that came, and its CPU time.
    thread: JoinHandle<io::Result<(u64, u64)>>,
}

/// Bytes that the counter takes at a time: what the `wc` of GNU coreutils does.
const COUNTED_BYTES: usize = 16 * 1024;

impl Counter {
    fn start() -> io::Result<Self> {
        let (mut reader, pipe) = io::pipe()?;
        let count = move || {
            let (mut buffer, mut counted) = (Aligned::zeroed(COUNTED_BYTES as u64), 0);
            loop {
                match reader.read(&mut buffer)? {
                    0 => return Ok((counted, thread_cpu_ns())),
                    read => counted += read as u64,
                }
            }
        };
        let thread = std::thread::Builder::new().name("counter".to_owned()).spawn(count)?;
        Ok(Self { pipe, thread })
    }

    /// Waits until all is counted.
    fn finish(self) -> io::Result<(u64, u64)> {
        drop(self.pipe);
        self.thread.join().map_err(|_| io::Error::other("the counter panicked"))?
    }
}

/// Name of the call that failed, and its error.
struct Failed(&'static str, rustix::io::Errno);

impl Reader {
    fn start(step: &Mail, root: &Root) -> Result<Self, WorkloadError> {
        let buffer = Aligned::zeroed(RECORD_BYTES as u64);
        let counter = step.shared.params.pipe.then(Counter::start).transpose();
        let counter = counter.map_err(WorkloadError::file("make a pipe for", &root.path))?;
        Ok(Self { meter: Meter::start(KINDS), totals: Totals::default(), buffer, counter })
    }

    fn read<P: rustix::path::Arg>(&mut self, at: BorrowedFd<'_>, path: P) -> Result<(), Failed> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let opened = self.meter.time(OPEN, || rustix::fs::openat(at, path, flags, Mode::empty()));
        let file: OwnedFd = opened.map_err(|errno| Failed("open", errno))?;
        loop {
            let buffer = &mut self.buffer;
            let read = self
                .meter
                .time(READ, || rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut **buffer)))
                .map_err(|errno| Failed("read", errno))?;
            // What is read must be used, or it could be left out.
            std::hint::black_box(&self.buffer[..read]);
            if let Some(counter) = &mut self.counter {
                let passed = counter.pipe.write_all(&self.buffer[..read]);
                passed.map_err(|_| Failed("count", rustix::io::Errno::PIPE))?;
            }
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
        step: &Mail,
        context: &StepContext<'_>,
        root: &Root,
    ) -> Result<StepOutcome, WorkloadError> {
        let counted = self.counter.map(Counter::finish).transpose();
        let counted = counted.map_err(WorkloadError::file("count what was read of", &root.path))?;
        let mut outcome = self.meter.finish();
        if let Some((bytes, cpu_ns)) = counted {
            outcome.cpu_ns += cpu_ns;
            Totals { bytes, ..self.totals }.check(&step.outline.name, self.totals)?;
        }
        outcome.ops = self.totals.files;
        outcome.app_bytes_read = self.totals.bytes;
        outcome.stopped = context.is_stopped();
        if !outcome.stopped {
            let tree = step.shared.tree(context.seed);
            self.totals.check(&step.outline.name, tree.totals())?;
        }
        Ok(outcome)
    }
}

impl Mail {
    /// Reads every file in the order in which it was unpacked.
    pub(super) fn read_archive(
        &self,
        mounted: &Path,
        context: &StepContext<'_>,
    ) -> Result<StepOutcome, WorkloadError> {
        let tree = self.shared.tree(context.seed);
        let root = Root::open(mounted.join(self.shared.newest_copy(&self.outline.name)?))?;
        let mut buffer = String::with_capacity(64);
        let mut reader = Reader::start(self, &root)?;
        for file in 0..tree.len() {
            if context.is_stopped() {
                break;
            }
            let path = tree.path(file, &mut buffer);
            reader
                .read(root.directory.as_fd(), path)
                .map_err(|Failed(action, errno)| root.failed(action, path)(errno))?;
        }
        reader.finish(self, context, &root)
    }

    /// Reads every file in the order in which the directories list them.
    pub(super) fn read_directory(
        &self,
        mounted: &Path,
        context: &StepContext<'_>,
    ) -> Result<StepOutcome, WorkloadError> {
        // Made before the clock starts, where this is the first step to ask.
        self.shared.tree(context.seed);
        let root = Root::open(mounted.join(self.shared.newest_copy(&self.outline.name)?))?;
        let mut reader = Reader::start(self, &root)?;
        walk::files(&root, |at, file| {
            reader.read(at, file).map_err(|Failed(action, errno)| {
                root.failed(action, &file.to_string_lossy())(errno)
            })?;
            Ok(!context.is_stopped())
        })?;
        reader.finish(self, context, &root)
    }
}
