//! Time that a replay takes and its program did not.

use crate::action::Action;
use crate::encode::Operation;
use crate::perform::{Buffer, Performer};
use crate::slot::Slot;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::AsRawFd as _;
use rustix::io::fcntl_getfd;
use seekwell_trace::calls::CallId;
use std::time::{Duration, Instant};

/// Most time of the engine's own before a call that is owed. A thread that lost its processor is later
/// than that, as the program's would be.
const MOST_OWN: Duration = Duration::from_micros(5);

/// Most time of the engine's own in a call. A measurement that was disturbed tells more.
const MOST_IN_CALL: Duration = Duration::from_nanos(500);

/// A page that was touched sooner was in memory: no device answers in that time.
const IN_MEMORY: Duration = Duration::from_micros(20);

/// Time that a thread took beyond the recording, by which its next computing is shorter.
#[derive(Debug, Default)]
pub(super) struct Debt(Duration);

impl Debt {
    /// Adds the time by which the engine was late with a call.
    pub(super) fn late(&mut self, late: Duration) {
        self.0 += late.min(MOST_OWN);
    }

    /// Adds time that is part of each call and the engine's own.
    pub(super) fn own(&mut self, own: Duration) {
        self.0 += own;
    }

    /// Adds the time of a page fault and returns true if no device had a part in it: the recording
    /// counts it with the computing that follows.
    pub(super) fn touched(&mut self, took: Duration) -> bool {
        let in_memory = took < IN_MEMORY;
        if in_memory {
            self.0 += took;
        }
        in_memory
    }

    /// The rest, which no computing paid for.
    pub(super) fn left(&self) -> Duration {
        self.0
    }

    /// Pays with time of computing, and returns what is left of that.
    pub(super) fn pay(&mut self, computing: Duration) -> Duration {
        let paid = self.0.min(computing);
        self.0 -= paid;
        computing - paid
    }
}

/// Calls by which the engine's own time is measured.
const CALLS: usize = 1000;

/// Time of each call that is the engine's own: between its two looks at the clock, a call that does
/// nothing takes that much longer than in a plain loop.
pub(super) fn own_time(data: &Buffer) -> Duration {
    let Ok(file) = eventfd(0, EventfdFlags::CLOEXEC) else { return Duration::ZERO };
    let slots = [Slot::new(-1), Slot::new(file.as_raw_fd())];
    let mut performer = Performer::new(&slots, &[], data);
    let operation = Operation { slot: 1, ..Operation::new(Action::Control, CallId(0)) };
    let mut timed = [Duration::ZERO; CALLS];
    for timed in &mut timed {
        let start = Instant::now();
        // It cannot fail.
        let _ = performer.perform(&operation);
        *timed = start.elapsed();
    }
    timed.sort_unstable();
    let start = Instant::now();
    for _ in 0..CALLS {
        let _ = fcntl_getfd(&file);
    }
    let plain = start.elapsed() / CALLS as u32;
    timed[CALLS / 2].saturating_sub(plain).min(MOST_IN_CALL)
}

/// Time of each call that is the engine's own in a guest: of one look at the clock.
pub(super) fn own_time_in_guest() -> Duration {
    let start = Instant::now();
    let mut last = start;
    for _ in 0..CALLS {
        last = Instant::now();
    }
    ((last - start) / CALLS as u32).min(MOST_IN_CALL)
}

#[cfg(test)]
mod tests;
