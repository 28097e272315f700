//! The processor of a guest: its threads compute in turn, since computing takes no virtual time there and
//! is slept.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// Longest time that a thread computes while another one waits for the processor: near a scheduler's.
const SLICE: Duration = Duration::from_millis(4);

/// Threads that want the processor. Neither taking nor leaving it is a call of the kernel while no other
/// thread wants it.
#[derive(Debug, Default)]
pub(super) struct Processor {
    line: Mutex<Line>,
}

#[derive(Debug, Default)]
struct Line {
    is_taken: bool,
    /// Numbers of the threads that wait, in the order in which they came.
    waiting: VecDeque<(u64, Thread)>,
    last: u64,
    /// The thread that waited last and has got it.
    given: Option<u64>,
}

impl Line {
    /// Takes the processor; the number under which the thread waits if another one has it.
    fn come(&mut self, thread: impl FnOnce() -> Thread) -> Option<u64> {
        if !std::mem::replace(&mut self.is_taken, true) {
            return None;
        }
        self.last += 1;
        self.waiting.push_back((self.last, thread()));
        Some(self.last)
    }

    /// Gives the processor to the thread that waits longest, and returns that.
    fn go(&mut self) -> Option<Thread> {
        let next = self.waiting.pop_front();
        self.is_taken = next.is_some();
        let (number, thread) = next?;
        self.given = Some(number);
        Some(thread)
    }

    /// True once when the thread that waits under this number has got the processor.
    fn has_got(&mut self, number: u64) -> bool {
        let has_got = self.given == Some(number);
        self.given = self.given.filter(|_| !has_got);
        has_got
    }
}

/// A clock, and sleeping by it.
pub(super) trait Clock {
    fn now(&self) -> Instant;
    fn sleep(&self, time: Duration);
}

/// Clock and sleep of this machine.
pub(super) struct Machine;

impl Clock for Machine {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// The processor in the hands of a thread, which leaves it at the end, also by a panic.
struct Taken<'a>(&'a Processor);

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl Processor {
    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the processor; true when it was not free.
    fn take(&self) -> bool {
        let Some(number) = self.line().come(std::thread::current) else { return false };
        while !self.line().has_got(number) {
            std::thread::park();
        }
        true
    }

    fn leave(&self) {
        // Without the lock, which the other one takes next.
        let next = self.line().go();
        if let Some(next) = next {
            next.unpark();
        }
    }

    fn is_wanted(&self) -> bool {
        !self.line().waiting.is_empty()
    }

    /// Computes from `start` on for this long, or until `stopped` says true, in turn with the threads that do so
    /// at the same time. Returns the end.
    pub(super) fn compute(
        &self,
        start: Instant,
        computing: Duration,
        clock: &impl Clock,
        stopped: impl Fn() -> bool,
    ) -> Instant {
        if computing.is_zero() {
            return start;
        }
        let was_taken = self.take();
        let _taken = Taken(self);
        let mut now = if was_taken { clock.now().max(start) } else { start };
        let mut end = now + computing;
        while !stopped() {
            let left = end.saturating_duration_since(now);
            clock.sleep(left.min(SLICE));
            if left <= SLICE {
                // Without a look at the clock, which takes as long as a call in a guest.
                break;
            }
            now = clock.now();
            if self.is_wanted() {
                self.leave();
                self.take();
                let given = clock.now();
                end += given.saturating_duration_since(now);
                now = given;
            }
        }
        end
    }
}

#[cfg(test)]
mod tests;
