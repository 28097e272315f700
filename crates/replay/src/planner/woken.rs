//! Threads that waited for each other outside of calls on files, by locks and condition variables.

use super::Planner;
use super::draft::Draft;
use super::processes::Pause;
use crate::action::Action;
use crate::error::ReplayError;
use crate::order::Stamp;
use seekwell_trace::Event;
use std::collections::{HashMap, VecDeque};

/// Operations of a thread that are kept: one that it woke makes its next call soon.
const KEPT: usize = 64;

/// The last operations of each thread.
#[derive(Debug, Default)]
pub(super) struct History {
    threads: HashMap<u32, VecDeque<Stamp>>,
}

impl History {
    /// Notes the last operation of a thread.
    pub(super) fn add(&mut self, thread: u32, me: Stamp) {
        let kept = self.threads.entry(thread).or_default();
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(me);
    }

    /// The last operation of a thread that was over at this time; `None` when it is not kept.
    pub(super) fn before(&self, thread: u32, at_ns: u64) -> Option<Stamp> {
        let kept = self.threads.get(&thread)?;
        kept.iter().rev().find(|one| one.end_ns <= at_ns && one.number > 0).copied()
    }

    /// Forgets all but the last operation of a thread that has ended: it may still be joined.
    pub(super) fn end(&mut self, thread: u32) {
        if let Some(kept) = self.threads.get_mut(&thread) {
            kept.drain(..kept.len().saturating_sub(1));
            kept.shrink_to_fit();
        }
    }
}

impl Planner {
    /// Lets a thread that was woken by another one wait for that one's last operation, instead of
    /// sleeping as long as it slept in the recording. All operations that are in the plan come before
    /// those that are added, so that threads cannot wait for each other.
    pub(super) fn woken(&mut self, event: &Event, lane: u32) -> Result<(), ReplayError> {
        let (Some(waker), Some(woken_ns)) = (event.waker, event.woken_ns) else { return Ok(()) };
        let at_ns = event.start_ns.saturating_sub(woken_ns);
        let Some(other) = self.history.before(waker, at_ns) else { return Ok(()) };
        let mut draft = self.draft(event, lane);
        let begin_ns = self.processes.ready_ns(event.process, event.thread).unwrap_or(at_ns);
        let mut pause = self.processes.take_pause(event.process, event.thread);
        let awaited_ns = event.awaited_ns.unwrap_or(0).min(pause.waited_ns);
        // Up to the sleep that the other one ended, the time is the thread's own.
        let own_ns = at_ns.saturating_sub(begin_ns).saturating_sub(awaited_ns);
        pause.waited_ns -= awaited_ns;
        let later_ns = pause.waited_ns.min(woken_ns);
        let stalled_ns = pause.stalled_ns.min(own_ns);
        let mut slept_ns = (pause.waited_ns - later_ns).min(own_ns - stalled_ns);
        let think_ns = own_ns - stalled_ns - slept_ns;
        if self.processes.sleeps_at_intervals(event) {
            // A helper that does something at intervals until it is told to end: the load does not wait for those.
            slept_ns = 0;
        }
        let own_ns = think_ns + stalled_ns + slept_ns;
        let operation = &mut draft.operation;
        operation.wait_ns = slept_ns;
        operation.think_ns = think_ns;
        operation.pauses_first = own_ns > 0;
        draft.adds(Action::Order, at_ns);
        draft.needs.push(other);
        // From here on the thread had all that it waited for; the rest is work of either of them.
        draft.me.end_ns = other.end_ns.max(begin_ns.saturating_add(own_ns)).min(at_ns);
        let beside_ns = at_ns.saturating_sub(draft.me.end_ns);
        let rest = Pause { stalled_ns: 0, waited_ns: later_ns, beside_ns };
        self.put_before(draft, rest)
    }

    /// Puts an order, whose pauses are known, before a call of its thread. Of the pause, this is left for the call.
    pub(super) fn put_before(&mut self, mut draft: Draft, rest: Pause) -> Result<(), ReplayError> {
        draft.operation.after = self.known.missing(draft.me.lane, &draft.needs);
        self.put(&mut draft)?;
        self.processes.pauses(draft.process, draft.thread, rest);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
