//! Counters that another thread may read while a job runs.

use std::sync::atomic::{AtomicU64, Ordering};

/// Keeps what one thread writes apart from what others touch: two cache lines, because processors
/// fetch lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Separated<T>(pub T);

#[derive(Debug, Default)]
struct Counters {
    ops: AtomicU64,
    bytes: AtomicU64,
}

/// Operations and bytes completed so far, per thread of a job.
#[derive(Debug)]
pub struct Progress {
    threads: Box<[Separated<Counters>]>,
}

impl Progress {
    /// Counters for so many threads, all 0.
    #[must_use]
    pub fn new(threads: u32) -> Self {
        Self { threads: (0..threads).map(|_| Separated::default()).collect() }
    }

    /// Returns the number of threads that it has counters for.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// Reads and writes that thread `thread` completed, and their bytes; `None` when there is no
    /// such thread. The two numbers may be one operation apart.
    #[must_use]
    pub fn of_thread(&self, thread: usize) -> Option<(u64, u64)> {
        let Separated(counters) = self.threads.get(thread)?;
        Some((counters.ops.load(Ordering::Relaxed), counters.bytes.load(Ordering::Relaxed)))
    }

    /// Reads and writes that all threads completed, and their bytes.
    #[must_use]
    pub fn total(&self) -> (u64, u64) {
        (0..self.threads.len())
            .filter_map(|thread| self.of_thread(thread))
            .fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    }

    /// Sets all counters to 0, before a job that counts from there.
    pub fn clear(&self) {
        for Separated(counters) in &self.threads {
            counters.ops.store(0, Ordering::Relaxed);
            counters.bytes.store(0, Ordering::Relaxed);
        }
    }

    /// Stores the totals of thread `thread`. Only that thread itself may, so that a plain store is
    /// enough.
    #[inline]
    pub fn store(&self, thread: u32, ops: u64, bytes: u64) {
        if let Some(Separated(counters)) = self.threads.get(thread as usize) {
            counters.ops.store(ops, Ordering::Relaxed);
            counters.bytes.store(bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests;
