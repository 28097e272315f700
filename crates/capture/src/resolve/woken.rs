//! Sleeps of threads that other threads ended.

use super::Resolver;
use crate::record::{CallRecord, WakeRecord};

/// Sleeps of a thread that others ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Woken {
    /// The thread that ended the last one.
    pub(super) waker: u32,
    /// Time of that wake-up, `CLOCK_MONOTONIC`.
    pub(super) at_ns: u64,
    /// Time asleep in all of them.
    pub(super) slept_ns: u64,
}

impl Resolver {
    /// A thread that woke another may itself have been woken since its last call: the other then waits
    /// for that one's calls.
    pub(super) fn wake(&mut self, wake: &WakeRecord) {
        let first = self.woken.get(&wake.waker).filter(|woken| woken.waker != wake.thread).copied();
        let (waker, at_ns) =
            first.map_or((wake.waker, wake.end_ns), |woken| (woken.waker, woken.at_ns));
        let before_ns = self.woken.get(&wake.thread).map_or(0, |woken| woken.slept_ns);
        let slept_ns = before_ns.saturating_add(wake.slept_ns);
        self.woken.insert(wake.thread, Woken { waker, at_ns, slept_ns });
    }

    /// The sleep of a thread that another ended before this call. One that ended in the call, as of a read from a
    /// socket, is part of the pause before the next call.
    pub(super) fn take_woken(&mut self, record: &CallRecord) -> Option<Woken> {
        let woken = self.woken.get(&record.thread)?;
        let is_before = woken.at_ns <= record.start_ns;
        if is_before { self.woken.remove(&record.thread) } else { None }
    }

    /// A process polled until its child had ended. In a PID namespace of its own it has other numbers for its
    /// children.
    pub(super) fn reaped(&mut self, process: u32, wake: &WakeRecord) {
        if self.ended.remove(&wake.waker) == Some(process) {
            self.wake(wake);
        }
    }
}
