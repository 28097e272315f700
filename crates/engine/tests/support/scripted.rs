//! An engine and a clock that follow a script: known latencies in, exact statistics out.
//!
//! For tests of the loop and of what is built on it; no system call is made and no time passes.

use crate::clock::Clock;
use crate::operation::{Completion, Engine, Operation};
use std::cell::Cell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

/// A clock that advances only when it is read, slept on, or advanced by a [`ScriptedEngine`].
#[derive(Clone, Debug, Default)]
pub struct ScriptedClock {
    now_ns: Rc<Cell<u64>>,
    reading_ns: u64,
}

impl ScriptedClock {
    /// A clock at `now_ns` that every reading advances by `reading_ns` after it was read.
    #[must_use]
    pub fn new(now_ns: u64, reading_ns: u64) -> Self {
        Self { now_ns: Rc::new(Cell::new(now_ns)), reading_ns }
    }

    /// The time, without the cost of a reading.
    #[must_use]
    pub fn peek_ns(&self) -> u64 {
        self.now_ns.get()
    }

    /// Moves the clock forward to `time_ns`; never back.
    pub fn advance_to(&self, time_ns: u64) {
        self.now_ns.set(self.now_ns.get().max(time_ns));
    }
}

impl Clock for ScriptedClock {
    fn now_ns(&self) -> u64 {
        let now = self.now_ns.get();
        self.now_ns.set(now + self.reading_ns);
        now
    }

    fn sleep_until_ns(&self, deadline_ns: u64) {
        self.advance_to(deadline_ns);
    }
}

/// The script's answer for one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scripted {
    /// Time from its submission to its completion.
    pub latency_ns: u64,
    /// Bytes transferred or the negated `errno`; `None` is all of it.
    pub result: Option<i32>,
}

impl From<u64> for Scripted {
    fn from(latency_ns: u64) -> Self {
        Self { latency_ns, result: None }
    }
}

/// One operation as the engine saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The operation.
    pub operation: Operation,
    /// Submission time in ns.
    pub submitted_ns: u64,
    /// Completion time in ns.
    pub completed_ns: u64,
}

/// An engine whose operations run side by side, each as long as the script says.
#[derive(Debug)]
pub struct ScriptedEngine<S> {
    clock: ScriptedClock,
    script: S,
    queued: Vec<(u32, Operation)>,
    pending: VecDeque<(u64, Completion)>,
    /// Every operation in the order of submission.
    pub seen: Vec<Seen>,
}

impl<S: FnMut(&Operation) -> Scripted> ScriptedEngine<S> {
    /// An engine on a clock; the script is asked about every operation once, in order.
    pub fn new(clock: ScriptedClock, script: S) -> Self {
        Self { clock, script, queued: Vec::new(), pending: VecDeque::new(), seen: Vec::new() }
    }
}

impl<S: FnMut(&Operation) -> Scripted> Engine for ScriptedEngine<S> {
    fn queue(&mut self, slot: u32, operation: &Operation) {
        self.queued.push((slot, *operation));
    }

    fn submit(&mut self, timeout_ns: Option<u64>) -> io::Result<()> {
        let submitted_ns = self.clock.peek_ns();
        for (slot, operation) in self.queued.drain(..) {
            let Scripted { latency_ns, result } = (self.script)(&operation);
            let completed_ns = submitted_ns + latency_ns;
            let result = result.unwrap_or(operation.length as i32);
            let at = self.pending.partition_point(|(time, _)| *time <= completed_ns);
            self.pending.insert(at, (completed_ns, Completion { slot, result }));
            self.seen.push(Seen { operation, submitted_ns, completed_ns });
        }
        let complete_ns = self.pending.front().map(|(time, _)| *time);
        let timeout_ns = timeout_ns.map(|timeout| submitted_ns + timeout);
        if let Some(until_ns) = complete_ns.into_iter().chain(timeout_ns).min() {
            self.clock.advance_to(until_ns);
        }
        Ok(())
    }

    fn next_completion(&mut self) -> Option<Completion> {
        let (completed_ns, completion) = *self.pending.front()?;
        if completed_ns > self.clock.peek_ns() {
            return None;
        }
        self.pending.pop_front();
        Some(completion)
    }
}
