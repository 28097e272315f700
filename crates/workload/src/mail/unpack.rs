//! Unpacks the tree: makes directories, creates, fills and closes files in archive order.

use super::content::Content;
use super::tree::Tree;
use super::{Mail, Meter, Root, Totals};
use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::StepContext;
use rustix::fs::{Mode, OFlags, Timespec, Timestamps};
use seekwell_model::warning::{Warning, WarningCode};
use std::os::fd::OwnedFd;
use std::path::Path;

/// Kinds of calls, and their indices in [`KINDS`].
const KINDS: &[&str] = &["mkdir", "create", "write", "utimens", "close"];
const MKDIR: usize = 0;
const CREATE: usize = 1;
const WRITE: usize = 2;
const UTIMENS: usize = 3;
const CLOSE: usize = 4;

/// A step is bound by its source when the source alone takes this part of its time.
const SOURCE_BOUND: f64 = 0.8;

/// Time that files get, in seconds since 1970: like tar, unpacking sets it.
const FILE_TIME_S: i64 = 1_262_304_000;

/// Writes into a copy, and counts and times every call.
#[derive(Debug)]
struct Unpacker {
    root: Root,
    meter: Meter,
    totals: Totals,
    written: u64,
}

impl Unpacker {
    fn new(root: Root) -> Self {
        let meter = Meter::start(KINDS);
        Self { root, meter, totals: Totals::default(), written: 0 }
    }

    fn make_directory(&mut self, path: &str) -> Result<(), WorkloadError> {
        let root = &self.root;
        self.meter
            .time(MKDIR, || rustix::fs::mkdirat(&root.directory, path, Mode::from_raw_mode(0o755)))
            .map_err(root.failed("make the directory", path))
    }

    fn create(&mut self, path: &str) -> Result<OwnedFd, WorkloadError> {
        let flags = OFlags::WRONLY
            | OFlags::CREATE
            | OFlags::EXCL
            | OFlags::NOFOLLOW
            | OFlags::NOCTTY
            | OFlags::CLOEXEC;
        let root = &self.root;
        self.meter
            .time(CREATE, || {
                rustix::fs::openat(&root.directory, path, flags, Mode::from_raw_mode(0o600))
            })
            .map_err(root.failed("create", path))
    }

    /// Writes all bytes; each call is counted.
    fn write(&mut self, file: &OwnedFd, path: &str, mut bytes: &[u8]) -> Result<(), WorkloadError> {
        while !bytes.is_empty() {
            let root = &self.root;
            let written = self
                .meter
                .time(WRITE, || rustix::io::retry_on_intr(|| rustix::io::write(file, bytes)))
                .map_err(root.failed("write to", path))?;
            if written == 0 {
                return Err(root.failed("write to", path)(rustix::io::Errno::NOSPC));
            }
            self.written += written as u64;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    /// Sets the file's time and closes it; it counts as a file of the tree.
    fn close(&mut self, file: OwnedFd, path: &str, size: u64) -> Result<(), WorkloadError> {
        let time = Timespec { tv_sec: FILE_TIME_S, tv_nsec: 0 };
        let times = Timestamps { last_access: time, last_modification: time };
        let root = &self.root;
        self.meter
            .time(UTIMENS, || rustix::fs::futimens(&file, &times))
            .map_err(root.failed("set the time of", path))?;
        self.meter.time(CLOSE, || drop(file));
        self.totals.files += 1;
        self.totals.bytes += size;
        Ok(())
    }

    fn finish(self) -> (StepOutcome, Totals) {
        let mut outcome = self.meter.finish();
        outcome.ops = self.totals.files;
        outcome.app_bytes_written = self.written;
        (outcome, self.totals)
    }
}

fn unpack_seeded(
    tree: &Tree,
    content: &mut Content,
    unpacker: &mut Unpacker,
    context: &StepContext<'_>,
) -> Result<(), WorkloadError> {
    let mut buffer = String::with_capacity(64);
    for file in 0..tree.len() {
        if context.is_stopped() {
            return Ok(());
        }
        if let Some(directory) = tree.new_directory(file, &mut buffer) {
            unpacker.make_directory(directory)?;
        }
        let path = tree.path(file, &mut buffer);
        let size = tree.size(file);
        let descriptor = unpacker.create(path)?;
        content.file(size, |bytes| unpacker.write(&descriptor, path, bytes))?;
        unpacker.close(descriptor, path, size)?;
    }
    Ok(())
}

impl Mail {
    pub(super) fn unpack(
        &self,
        mounted: &Path,
        context: &StepContext<'_>,
    ) -> Result<StepOutcome, WorkloadError> {
        let name = &self.outline.name;
        let tree = self.shared.tree(context.seed);
        let copy = self.shared.new_copy();
        let path = mounted.join(&copy);
        std::fs::create_dir(&path).map_err(WorkloadError::file("make the directory", &path))?;
        let root = Root::open(path)?;
        let mut content = Content::of_copy(&self.shared.params, context.seed, &copy);
        let mut unpacker = Unpacker::new(root);
        unpack_seeded(&tree, &mut content, &mut unpacker, context)?;
        let (mut outcome, totals) = unpacker.finish();
        let source_ns = content.making_time_ns(&tree, outcome.elapsed_ns);
        outcome.stopped = context.is_stopped();
        if !outcome.stopped {
            totals.check(name, tree.totals())?;
            self.shared.complete_copy();
        }
        outcome.warnings.extend(source_bound(name, source_ns, outcome.elapsed_ns));
        Ok(outcome)
    }
}

/// The doubt about an unpacking that hardly took longer than making what it writes.
fn source_bound(step: &str, source_ns: u64, elapsed_ns: u64) -> Option<Warning> {
    if (source_ns as f64) < SOURCE_BOUND * elapsed_ns as f64 {
        return None;
    }
    Some(Warning::new(
        WarningCode::SourceBound,
        format!(
            "{step} took {:.3} s and its source alone {:.3} s",
            elapsed_ns as f64 / 1e9,
            source_ns as f64 / 1e9
        ),
    ))
}

#[cfg(test)]
mod tests;
