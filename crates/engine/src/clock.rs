//! The engine's clock, and what reading it costs.

use rustix::time::{ClockId, Timespec};

/// A clock that never goes back, and that can wait.
pub trait Clock {
    /// Nanoseconds since an arbitrary moment that stays the same for the life of the process.
    fn now_ns(&self) -> u64;

    /// Returns at `deadline_ns` or later.
    fn sleep_until_ns(&self, deadline_ns: u64);
}

/// The kernel's `CLOCK_MONOTONIC`.
///
/// Not the processor's cycle counter, though that is cheaper to read: where a trial runs in
/// virtual time only the kernel's clock shows that time.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonotonicClock;

const NS_PER_S: u64 = 1_000_000_000;

fn nanoseconds(time: Timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(NS_PER_S).wrapping_add(time.tv_nsec as u64)
}

impl Clock for MonotonicClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        nanoseconds(rustix::time::clock_gettime(ClockId::Monotonic))
    }

    fn sleep_until_ns(&self, deadline_ns: u64) {
        let deadline = Timespec {
            tv_sec: (deadline_ns / NS_PER_S) as i64,
            tv_nsec: (deadline_ns % NS_PER_S) as i64,
        };
        // A signal ends the sleep early; the time asked for has then not come yet.
        while rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &deadline).is_err()
            && self.now_ns() < deadline_ns
        {}
    }
}

/// CPU time, user and system, that the calling thread has used, in ns.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(rustix::time::clock_gettime(ClockId::ThreadCPUTime))
}

const BATCHES: usize = 31;
const READINGS_PER_BATCH: u64 = 64;

/// Cost of one reading of a clock in ns: the median over batches, about 2,000 readings in all. A
/// latency holds about one of them (half of the reading before and half of the one after).
pub fn clock_cost_ns<C: Clock>(clock: &C) -> f64 {
    let mut batch_ns = [0_u64; BATCHES];
    for batch in &mut batch_ns {
        let start = clock.now_ns();
        let mut last = start;
        for _ in 0..READINGS_PER_BATCH {
            last = clock.now_ns();
        }
        *batch = last.saturating_sub(start);
    }
    batch_ns.sort_unstable();
    let median_ns = batch_ns[BATCHES / 2];
    median_ns as f64 / READINGS_PER_BATCH as f64
}

#[cfg(test)]
mod tests;
