//! Threads that write one file together: the end of a growing file, and a sync that serves all who
//! wait for one.

use rustix::io::Errno;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The end of a file that all threads of a job append to.
#[derive(Debug, Default)]
pub struct AppendEnd(AtomicU64);

impl AppendEnd {
    /// An end at `offset` bytes.
    #[must_use]
    pub fn new(offset: u64) -> Self {
        Self(AtomicU64::new(offset))
    }

    /// Claims the next `length` bytes; returns their offset.
    #[inline]
    pub fn claim(&self, length: u64) -> u64 {
        self.0.fetch_add(length, Ordering::Relaxed)
    }
}

/// Group commit: one thread syncs for all whose writes were complete when its sync began; the
/// others wait for the next sync.
#[derive(Debug, Default)]
pub struct GroupCommit {
    state: Mutex<State>,
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Syncs that have begun. At most one is in progress.
    begun: u64,
    /// Syncs that have ended.
    ended: u64,
    /// Threads that are waiting for a sync.
    waiting: u64,
    /// The first failure: what was written before it may never become durable.
    failed: Option<Errno>,
}

impl GroupCommit {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns when a sync that began after this call has ended. `sync` is called by one of the
    /// waiting threads.
    ///
    /// # Errors
    /// The failure of that sync or of an earlier one.
    pub fn wait(&self, sync: impl Fn() -> Result<(), Errno>) -> Result<(), Errno> {
        let mut state = self.lock();
        let mine = state.begun + 1;
        state.waiting += 1;
        while state.ended < mine {
            if state.begun > state.ended {
                state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.begun = mine;
            drop(state);
            let result = sync();
            state = self.lock();
            state.ended = mine;
            if let Err(error) = result {
                state.failed.get_or_insert(error);
            }
            self.ended.notify_all();
        }
        state.waiting -= 1;
        state.failed.map_or(Ok(()), Err)
    }

    /// Syncs that have ended.
    #[must_use]
    pub fn syncs(&self) -> u64 {
        self.lock().ended
    }

    /// Threads that are waiting for a sync, the one that performs it included.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.lock().waiting
    }
}

#[cfg(test)]
mod tests;
