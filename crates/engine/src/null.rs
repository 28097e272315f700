//! No call at all: what the loop itself costs, with offsets, clock and histogram.

use crate::operation::{Completion, Engine, Operation};
use std::io;

/// Completes every operation at once. Its depth is bound by the memory it is made with.
#[derive(Debug)]
pub struct Null {
    queued: Vec<Completion>,
}

impl Null {
    /// An engine for so many operations in flight.
    #[must_use]
    pub fn new(depth: u32) -> Self {
        Self { queued: Vec::with_capacity(depth as usize) }
    }
}

impl Engine for Null {
    #[inline]
    fn queue(&mut self, slot: u32, operation: &Operation) {
        // The offset must stay in the loop, or the compiler would leave its computation out.
        std::hint::black_box(operation.offset);
        self.queued.push(Completion { slot, result: operation.length as i32 });
    }

    #[inline]
    fn submit(&mut self, _timeout_ns: Option<u64>) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn next_completion(&mut self) -> Option<Completion> {
        self.queued.pop()
    }
}
