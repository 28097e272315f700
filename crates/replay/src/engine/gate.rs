//! Start of the threads of a replay: all at the same time, or none.

use std::sync::{Condvar, Mutex, PoisonError};

/// A gate that opens when all threads have come.
#[derive(Debug)]
pub(super) struct Gate {
    /// Threads that have not come; `None` when one will never come.
    missing: Mutex<Option<usize>>,
    changed: Condvar,
}

impl Gate {
    pub(super) fn new(threads: usize) -> Self {
        Self { missing: Mutex::new(Some(threads)), changed: Condvar::new() }
    }

    /// Waits for the others; false when one of them will never come.
    pub(super) fn pass(&self) -> bool {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        *missing = missing.map(|missing| missing.saturating_sub(1));
        self.changed.notify_all();
        let waits = |missing: &mut Option<usize>| missing.is_some_and(|missing| missing > 0);
        let missing = self.changed.wait_while(missing, waits);
        missing.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// A thread will never come.
    pub(super) fn give_up(&self) {
        *self.missing.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.changed.notify_all();
    }
}

#[cfg(test)]
mod tests;
