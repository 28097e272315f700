//! Times at which operations are due, for jobs with a rate.

const NS_PER_S: u128 = 1_000_000_000;

/// Due times of one thread of an open loop: operation `i` of all is due `i / rate` after the
/// begin, and the threads take turns.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    rate: u64,
    thread: u32,
    threads: u32,
}

impl Schedule {
    /// The share of thread `thread` of `threads` in `rate` operations per second (at least 1).
    #[must_use]
    pub fn new(rate: u64, thread: u32, threads: u32) -> Self {
        Self { rate: rate.max(1), thread, threads: threads.max(1) }
    }

    /// Returns the time at which operation `index` of this thread is due, in ns since the start,
    /// rounded down.
    #[must_use]
    #[inline]
    pub fn due_ns(&self, index: u64) -> u64 {
        let overall = u128::from(index) * u128::from(self.threads) + u128::from(self.thread);
        u64::try_from(overall * NS_PER_S / u128::from(self.rate)).unwrap_or(u64::MAX)
    }

    /// Returns the number of operations of this thread that are due before `elapsed_ns`.
    #[must_use]
    pub fn due_before(&self, elapsed_ns: u64) -> u64 {
        // Operation `overall` is due before `elapsed` when overall * 1e9 / rate, rounded down, is
        // smaller, which is overall * 1e9 < elapsed * rate.
        let overall = (u128::from(elapsed_ns) * u128::from(self.rate)).div_ceil(NS_PER_S);
        let mine = overall.saturating_sub(u128::from(self.thread)).div_ceil(self.threads.into());
        u64::try_from(mine).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests;
