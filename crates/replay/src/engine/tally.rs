//! Counts of one thread of a replay, and durations of all.
//!
//! A histogram takes 270 KB: each thread keeps its last durations alone, and puts them many at a time into histograms that
//! all threads share.

use crate::fidelity::{Difference, Replayed};
use seekwell_stats::Histogram;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Names of the histograms of calls, in their order.
pub(super) const CLASSES: [&str; 4] = ["read", "write", "fsync", "other"];

/// Histogram of lateness, after those of calls.
const LATENESS: usize = CLASSES.len();

/// Durations that a thread keeps before it looks if the histograms are free, and most that it keeps.
const KEPT: usize = 256;
const MOST_KEPT: usize = 4096;

/// Bits of a kept duration; its histogram is in those above.
const DURATION_BITS: u32 = 61;
const LONGEST_NS: u64 = (1 << DURATION_BITS) - 1;

/// Histograms of all threads.
#[derive(Debug, Default)]
pub(super) struct Durations(Mutex<[Histogram; LATENESS + 1]>);

impl Durations {
    fn lock(&self) -> MutexGuard<'_, [Histogram; LATENESS + 1]> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the histograms into the result.
    pub(super) fn add_to(self, all: &mut Replayed) {
        let mut histograms = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        all.lateness = std::mem::take(&mut histograms[LATENESS]);
        let named = CLASSES.into_iter().zip(histograms);
        all.latencies = named.filter(|(_, durations)| !durations.is_empty()).collect();
    }
}

/// Durations of one thread.
#[derive(Debug)]
pub(super) struct Kept<'a> {
    shared: &'a Durations,
    last: Vec<u64>,
}

impl<'a> Kept<'a> {
    pub(super) fn new(shared: &'a Durations) -> Self {
        Self { shared, last: Vec::with_capacity(KEPT) }
    }

    /// Counts the duration of a call of this class.
    pub(super) fn call(&mut self, class: usize, duration_ns: u64) {
        self.keep(class.min(LATENESS - 1), duration_ns);
    }

    /// Counts a lateness.
    pub(super) fn late(&mut self, late_ns: u64) {
        self.keep(LATENESS, late_ns);
    }

    fn keep(&mut self, histogram: usize, duration_ns: u64) {
        self.last.push((histogram as u64) << DURATION_BITS | duration_ns.min(LONGEST_NS));
        if self.last.len() >= KEPT {
            self.share();
        }
    }

    /// Puts them into the histograms, later when another thread is there: a thread that waited would make its
    /// next call late.
    fn share(&mut self) {
        let histograms = match self.shared.0.try_lock() {
            Ok(histograms) => histograms,
            Err(TryLockError::Poisoned(histograms)) => histograms.into_inner(),
            Err(TryLockError::WouldBlock) if self.last.len() < MOST_KEPT => return,
            Err(TryLockError::WouldBlock) => self.shared.lock(),
        };
        record(&mut self.last, histograms);
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        record(&mut self.last, self.shared.lock());
    }
}

fn record(last: &mut Vec<u64>, mut histograms: MutexGuard<'_, [Histogram; LATENESS + 1]>) {
    for duration in last.drain(..) {
        let histogram = (duration >> DURATION_BITS) as usize;
        histograms[histogram].record(duration & LONGEST_NS);
    }
}

/// Counts of one thread.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) issued: u64,
    pub(super) bytes_read: u64,
    pub(super) bytes_written: u64,
    pub(super) elapsed_ns: u64,
    pub(super) inside_ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) awake_ns: u64,
    pub(super) overhead_ns: u64,
    pub(super) differences: BTreeMap<Difference, u64>,
    pub(super) cloned_otherwise: u64,
    pub(super) spared: u64,
    pub(super) not_open: u64,
    pub(super) stopped: bool,
}

impl Tally {
    /// Adds the counts to those of other threads; the longest of them gives the time.
    pub(super) fn add_to(self, all: &mut Replayed) {
        all.issued += self.issued;
        all.bytes_read += self.bytes_read;
        all.bytes_written += self.bytes_written;
        all.elapsed_ns = all.elapsed_ns.max(self.elapsed_ns);
        all.inside_ns += self.inside_ns;
        all.cpu_ns += self.cpu_ns;
        all.awake_ns += self.awake_ns;
        all.overhead_ns = all.overhead_ns.max(self.overhead_ns);
        all.cloned_otherwise += self.cloned_otherwise;
        all.spared += self.spared;
        all.not_open += self.not_open;
        all.stopped |= self.stopped;
        for (difference, count) in self.differences {
            *all.differences.entry(difference).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests;
