//! Number of operations that a lane has done, and waiting for it.

use rustix::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Times that a waiting thread looks before it sleeps: a call on the page cache is over by then.
const LOOKS: u32 = 200;

/// Longest sleep before a look at the caller's stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// Progress of a lane. It has cache lines of its own, so that lanes do not slow each other.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Progress {
    done: AtomicU64,
    /// End of the last operation, nanoseconds from the start of the replay.
    at_ns: AtomicU64,
    /// The smallest number that a sleeping thread waits for. A thread that waits for the last operation
    /// is not woken at each of those before: that would cost more than most calls.
    wanted: AtomicU64,
    /// Wakers of threads that wait for more than this.
    lock: Mutex<Vec<Arc<OwnedFd>>>,
    changed: Condvar,
}

/// No thread waits for this number.
const NONE: u64 = u64::MAX;

impl Default for Progress {
    fn default() -> Self {
        Self {
            done: AtomicU64::new(0),
            at_ns: AtomicU64::new(0),
            wanted: AtomicU64::new(NONE),
            lock: Mutex::default(),
            changed: Condvar::new(),
        }
    }
}

impl Progress {
    /// The lane has done this many operations, the last of which ended then.
    pub(super) fn publish(&self, number: u64, at_ns: u64) {
        self.at_ns.store(at_ns, Ordering::SeqCst);
        self.tell(number);
    }

    /// The lane does no more.
    pub(super) fn end(&self) {
        self.tell(u64::MAX);
    }

    fn tell(&self, number: u64) {
        self.done.store(number, Ordering::SeqCst);
        if self.wanted.load(Ordering::SeqCst) <= number {
            // With the lock, no thread can be between its look and its sleep. Those that go on waiting
            // say again what for.
            let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.wanted.store(NONE, Ordering::SeqCst);
            let wakers = std::mem::take(&mut *guard);
            drop(guard);
            self.changed.notify_all();
            for waker in wakers {
                // It fails only when it was written to 2⁶⁴ times.
                let _ = rustix::io::write(&waker, &1_u64.to_ne_bytes());
            }
        }
    }

    /// The end of the lane's last operation, as [`Self::wait`] returns it, once the lane has reached this number. Until
    /// then `None`, and the waker is written to when it may have.
    pub(super) fn reached(&self, number: u64, waker: Option<&Arc<OwnedFd>>) -> Option<u64> {
        let at = || {
            let is_done = self.done.load(Ordering::SeqCst) >= number;
            is_done.then(|| self.at_ns.load(Ordering::SeqCst))
        };
        let (None, Some(waker)) = (at(), waker) else { return at() };
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        if !guard.iter().any(|one| Arc::ptr_eq(one, waker)) {
            guard.push(Arc::clone(waker));
        }
        // First said, then looked, as below.
        self.wanted.fetch_min(number, Ordering::SeqCst);
        at()
    }

    /// Waits until the lane has done so many operations, or `stopped` says true. Returns the end of the lane's
    /// last operation so far, nanoseconds from the start of the replay: a thread that looks late counts its
    /// pause from then, too late by no more than it is late itself.
    pub(super) fn wait(&self, number: u64, stopped: impl Fn() -> bool) -> u64 {
        if self.done.load(Ordering::SeqCst) < number {
            self.sleep(number, stopped);
        }
        self.at_ns.load(Ordering::SeqCst)
    }

    fn sleep(&self, number: u64, stopped: impl Fn() -> bool) {
        for _ in 0..LOOKS {
            std::hint::spin_loop();
            if self.done.load(Ordering::SeqCst) >= number {
                return;
            }
        }
        let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // First said, then looked: the other thread does it the other way round.
            self.wanted.fetch_min(number, Ordering::SeqCst);
            if self.done.load(Ordering::SeqCst) >= number || stopped() {
                return;
            }
            let woken = self.changed.wait_timeout(guard, PATIENCE);
            guard = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests;
