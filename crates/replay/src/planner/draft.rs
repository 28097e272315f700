//! An operation that is being planned.

use crate::action::Action;
use crate::encode::Operation;
use crate::order::{Resource, Stamp, Use};
use crate::plan::Reason;
use seekwell_trace::Event;

/// An operation with the operations that it must come after.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) operation: Operation,
    pub(super) me: Stamp,
    pub(super) needs: Vec<Stamp>,
    /// Start of the recorded call.
    pub(super) start_ns: u64,
    pub(super) process: u32,
    pub(super) thread: u32,
    /// True once a resource knows this operation: then it must be in the plan.
    pub(super) used: bool,
}

impl Draft {
    pub(super) fn new(event: &Event, action: Action, lane: u32, number: u64) -> Self {
        let mut operation = Operation::new(action, event.call);
        operation.start_ns = event.start_ns;
        operation.expected = event.result.unwrap_or(0);
        let end_ns = event.end_ns();
        Self {
            operation,
            me: Stamp { lane, number, end_ns },
            needs: Vec::new(),
            start_ns: event.start_ns,
            process: event.process,
            thread: event.thread,
            used: false,
        }
    }

    /// Takes the place of an operation that was to come before it: resources know that one's number.
    pub(super) fn instead_of(&mut self, other: Self, reason: Reason) -> Reason {
        self.needs.extend(other.needs);
        self.used |= other.used;
        reason
    }

    /// Makes it one that no call made, at this time of the recording.
    pub(super) fn adds(&mut self, action: Action, at_ns: u64) {
        let operation = &mut self.operation;
        (operation.action, operation.added, operation.expected) = (action, true, 0);
        operation.start_ns = at_ns;
    }

    pub(super) fn uses(&mut self, resource: &mut Resource, kind: Use) {
        self.used = true;
        resource.add(self.me, kind, &mut self.needs);
    }

    /// A use that overlaps those which it overlapped in the recording.
    pub(super) fn uses_as_recorded(&mut self, resource: &mut Resource, kind: Use) {
        self.used = true;
        resource.add_as_recorded(self.me, self.start_ns, kind, &mut self.needs);
    }
}
