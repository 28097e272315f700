//! Time in which a thread of the recording had a processor: a thread of the replay has one as long, so
//! that it competes with others as the program did.

use std::time::{Duration, Instant};

/// Longest time between two looks at the clock of a thread that runs. After a longer one, others had
/// its processor.
const LONGEST_STEP: Duration = Duration::from_micros(20);

/// Longest time by which a sleep ends late while a processor is free.
const LATE_SLEEP: Duration = Duration::from_micros(100);

/// A thread that computes.
#[derive(Debug)]
pub(super) struct Computing {
    start: Instant,
    end: Instant,
    last: Instant,
}

impl Computing {
    /// Begins to compute for this long, which would end at `due` had the thread begun in time. A thread that got
    /// its processor later than that ends as much later. Without computing, the end stays.
    pub(super) fn begin(due: Instant, computing: Duration, now: Instant) -> Self {
        let start = due.checked_sub(computing).unwrap_or(now);
        let is_late = !computing.is_zero() && now.saturating_duration_since(start) > LATE_SLEEP;
        if is_late {
            return Self { start: now, end: now + computing, last: now };
        }
        Self { start, end: due, last: now }
    }

    /// Notes a look at the clock; true when the thread has computed enough.
    pub(super) fn is_over(&mut self, now: Instant) -> bool {
        let last = self.last.max(self.start);
        self.last = now;
        if now <= last || self.start == self.end {
            return now >= self.end;
        }
        let step = now - last;
        if step > LONGEST_STEP && last < self.end {
            self.end += step;
        }
        now >= self.end
    }

    /// The time at which it ends.
    pub(super) fn end(&self) -> Instant {
        self.end
    }
}

#[cfg(test)]
mod tests;
