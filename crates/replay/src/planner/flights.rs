//! Operations of asynchronous I/O, in lanes of their own: as many as were in flight at the same time. Those of an
//! io_uring share the thread that submitted them.

use super::Planner;
use super::calls::Planned;
use super::draft::Draft;
use crate::action::Action;
use crate::plan::Reason;
use seekwell_trace::Event;
use seekwell_trace::calls::DATA_ALONE;
use std::collections::{HashMap, HashSet};

/// Threads that are made for operations. More in flight than that wait for each other.
const MOST: u32 = 256;

/// Numbers of these threads begin here: Linux has none as large.
const FIRST: u32 = 1 << 31;

/// A thread made for operations, and the end of its last one.
#[derive(Clone, Copy, Debug)]
struct Flight {
    thread: u32,
    end_ns: u64,
}

/// The threads of operations by process and thread that submitted them.
#[derive(Debug, Default)]
pub(super) struct Flights {
    of: HashMap<(u32, u32), Vec<Flight>>,
    made: u32,
    /// Processes with operations.
    processes: HashSet<u32>,
}

impl Flights {
    /// The event, of a thread that is free where it is an operation. Each reading of a trace gives the
    /// same threads.
    pub(super) fn of(&mut self, event: Event) -> Event {
        if !event.call.call().is_operation() {
            return event;
        }
        self.processes.insert(event.process);
        let end_ns = event.end_ns();
        let flights = self.of.entry((event.process, event.thread)).or_default();
        // Of those that are free the one that was busy last: then there are as few as possible.
        let free = flights.iter_mut().filter(|one| one.end_ns <= event.start_ns);
        let free = free.max_by_key(|one| one.end_ns);
        let thread = match free {
            Some(one) => {
                one.end_ns = end_ns;
                one.thread
            }
            None if self.made < MOST => {
                let thread = FIRST + self.made;
                self.made += 1;
                flights.push(Flight { thread, end_ns });
                thread
            }
            None => match flights.iter_mut().min_by_key(|one| one.end_ns) {
                Some(one) => {
                    one.end_ns = end_ns;
                    one.thread
                }
                None => event.thread,
            },
        };
        Event { thread, ..event }
    }

    /// True when the trace has operations of this process.
    pub(super) fn has(&self, process: u32) -> bool {
        self.processes.contains(&process)
    }

    /// True for a thread that was made for operations.
    pub(super) fn is_made(thread: u32) -> bool {
        thread >= FIRST
    }
}

impl Planner {
    /// Puts operations of an io_uring into the ring of the thread that submitted them. Those that a thread of the
    /// kernel submitted (`SQPOLL`) stay calls of threads.
    pub(super) fn joins(&mut self, event: &Event, submitter: u32, lane: u32) {
        let is_of_ring = event.call.call().name.starts_with("io_uring_");
        if is_of_ring && Flights::is_made(event.thread) {
            self.lanes[lane as usize].submitter = self.processes.lane_of(event.process, submitter);
        }
    }

    /// Orders operations after the calls of the thread that submitted them, and its later calls after
    /// the operations that were complete.
    pub(super) fn submitted(&self, event: &Event, submitter: u32, draft: &mut Draft) {
        if event.call.call().is_operation() {
            draft.needs.extend(self.history.before(submitter, event.start_ns));
            return;
        }
        if self.flights.of.is_empty() {
            return;
        }
        // A call that awaits operations ends after them.
        let awaits = self.actions[usize::from(event.call.0)] == Action::Asynchronous;
        let until_ns = if awaits { draft.me.end_ns } else { event.start_ns };
        let flights = self.flights.of.get(&(event.process, submitter)).into_iter().flatten();
        draft.needs.extend(flights.filter_map(|one| self.history.before(one.thread, until_ns)));
    }

    /// A call that submits or awaits operations; they are repeated where the trace holds them.
    pub(super) fn asynchronous(&self, event: &Event) -> Reason {
        let has_operations = self.surveyed.has(event.process);
        let is_kind = event.call.call().is_operation();
        if has_operations && !is_kind { Reason::Submission } else { Reason::NotRecorded }
    }

    /// An operation.
    pub(super) fn operation(&mut self, event: &Event, draft: &mut Draft) -> Planned {
        draft.operation.action = match (draft.operation.action, event.offset) {
            (Action::ReadAt, None) => Action::Read,
            (Action::WriteAt, None) => Action::Write,
            (Action::Sync, _) if draft.operation.flags & DATA_ALONE != 0 => Action::SyncData,
            (action, _) => action,
        };
        if event.fd.is_some() {
            self.descriptor(event, draft)?;
        } else {
            // A registered file.
            let found = self.handles.of_file(event.process, event.file);
            let lost = || self.files.path(event.file).err().unwrap_or(Reason::UnknownFile);
            let id = found.ok_or_else(lost)?;
            self.on_handle(event, id, draft);
        }
        self.recorded.asynchronous += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
