//! Another tenant of the filesystem, whose small fsyncs the polls disturb.

use crate::error::WorkloadError;
use rustix::fs::{Mode, OFlags};
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::units::Nanos;
use seekwell_stats::Histogram;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

/// Its file: a log or a small database that is written in place.
pub const TENANT_BYTES: u64 = 1 << 20;
/// Bytes it writes at a time.
const RECORD: usize = 4096;

/// The flush in progress, or the last one: from the first update of a poll until all are durable.
#[derive(Debug)]
pub struct Flush {
    from_ns: AtomicU64,
    until_ns: AtomicU64,
}

impl Default for Flush {
    /// Contains no time.
    fn default() -> Self {
        Self { from_ns: AtomicU64::new(u64::MAX), until_ns: AtomicU64::new(u64::MAX) }
    }
}

impl Flush {
    /// Notes that a poll updates its first file at this time.
    pub fn start(&self, now_ns: u64) {
        self.until_ns.store(u64::MAX, Ordering::Relaxed);
        self.from_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Notes that all updates of the poll are durable at this time.
    pub fn end(&self, now_ns: u64) {
        self.until_ns.store(now_ns, Ordering::Relaxed);
    }

    fn contains(&self, at_ns: u64) -> bool {
        let load = |bound: &AtomicU64| bound.load(Ordering::Relaxed);
        (load(&self.from_ns)..load(&self.until_ns)).contains(&at_ns)
    }
}

/// Latencies of a tenant's fsyncs, each from when it was due.
#[derive(Debug, Default)]
pub struct Latencies {
    /// All of them.
    pub all: Histogram,
    /// Latencies of the calls that were due during a flush.
    pub during_flush: Histogram,
}

/// A tenant at work.
#[derive(Debug)]
pub struct Tenant {
    stop: Arc<AtomicBool>,
    flush: Arc<Flush>,
    thread: Option<JoinHandle<Result<Latencies, WorkloadError>>>,
}

/// Makes its file, written in full.
///
/// # Errors
/// The kernel's error.
pub fn prepare(path: &Path) -> Result<(), WorkloadError> {
    let bytes = vec![0x5a; usize::try_from(TENANT_BYTES).unwrap_or(0)];
    std::fs::write(path, bytes).map_err(WorkloadError::file("write", path))
}

impl Tenant {
    /// Starts it: 4 KiB and an fdatasync every `every`.
    ///
    /// # Errors
    /// When its file is not there, or there can be no more threads.
    pub fn start(path: &Path, every: Nanos) -> Result<Self, WorkloadError> {
        let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty())
            .map_err(WorkloadError::file("open", path))?;
        let (stop, flush) = (Arc::new(AtomicBool::new(false)), Arc::new(Flush::default()));
        let (seen, flushing, path) = (Arc::clone(&stop), Arc::clone(&flush), path.to_owned());
        let failed = WorkloadError::file("start a thread for", &path);
        let thread = std::thread::Builder::new()
            .name("tenant".to_owned())
            .spawn(move || work(&file, &path, every, &seen, &flushing))
            .map_err(failed)?;
        Ok(Self { stop, flush, thread: Some(thread) })
    }

    /// The flush that it is told about.
    #[must_use]
    pub fn flush(&self) -> Arc<Flush> {
        Arc::clone(&self.flush)
    }

    /// Ends it and returns the latencies of its fsyncs.
    ///
    /// # Errors
    /// The error of a write or fsync.
    pub fn finish(mut self) -> Result<Latencies, WorkloadError> {
        self.stop.store(true, Ordering::Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(found)) => found,
            _ => Err(WorkloadError::Panicked),
        }
    }
}

impl Drop for Tenant {
    /// A forgotten one would continue writing.
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Who wants to know how it went calls `finish`.
            let _ = thread.join();
        }
    }
}

fn work(
    file: &OwnedFd,
    path: &Path,
    every: Nanos,
    stop: &AtomicBool,
    flush: &Flush,
) -> Result<Latencies, WorkloadError> {
    let mut latencies = Latencies::default();
    let record = [0xa5; RECORD];
    let mut due_ns = MonotonicClock.now_ns();
    let mut offset = 0;
    loop {
        MonotonicClock.sleep_until_ns(due_ns);
        let written = rustix::io::retry_on_intr(|| rustix::io::pwrite(file, &record, offset))
            .map_err(WorkloadError::file("write to", path))?;
        if written < RECORD {
            return Err(WorkloadError::file("write to", path)(rustix::io::Errno::NOSPC));
        }
        rustix::fs::fdatasync(file).map_err(WorkloadError::file("sync", path))?;
        let latency_ns = MonotonicClock.now_ns().saturating_sub(due_ns);
        latencies.all.record(latency_ns);
        if flush.contains(due_ns) {
            latencies.during_flush.record(latency_ns);
        }
        due_ns = due_ns.saturating_add(every.0);
        offset = (offset + RECORD as u64) % TENANT_BYTES;
        // Checked last, so that at least one fsync runs during the polls, however short they are.
        if stop.load(Ordering::Relaxed) {
            return Ok(latencies);
        }
    }
}

#[cfg(test)]
mod tests;
