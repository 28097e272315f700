//! Time that a replay takes and its program did not.

use std::time::Duration;

/// Most time of the engine's own before a call that is owed. A thread that lost its processor is later
/// than that, as the program's would be.
const MOST_OWN: Duration = Duration::from_micros(5);

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

    /// Adds the time of a page fault and returns true if no device had a part in it: the recording
    /// counts it with the computing that follows.
    pub(super) fn touched(&mut self, took: Duration) -> bool {
        let in_memory = took < IN_MEMORY;
        if in_memory {
            self.0 += took;
        }
        in_memory
    }

    /// Pays with time of computing, and returns what is left of that.
    pub(super) fn pay(&mut self, computing: Duration) -> Duration {
        let paid = self.0.min(computing);
        self.0 -= paid;
        computing - paid
    }
}

#[cfg(test)]
mod tests;
