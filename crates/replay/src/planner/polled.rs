//! Threads that poll for a lock: they ask for it without waiting, sleep, and ask again.

use super::Planner;
use super::processes::Pause;
use crate::action::Action;
use crate::error::ReplayError;
use crate::order::Stamp;
use seekwell_trace::{Event, FileId};
use std::collections::HashMap;

/// Shortest sleep between two attempts, nanoseconds.
const MIN_SLEEP_NS: u64 = 200_000;

/// Threads that are remembered to lock a file.
const MAX_LOCKERS: usize = 64;

/// True for `fcntl` commands that ask for a lock: `F_GETLK` and the like for a process, and for an open file.
pub(super) const fn is_lock_command(command: u64) -> bool {
    matches!(command, 5..=7 | 36..=38)
}

/// The file that a call asks to lock.
fn locked(event: &Event) -> Option<FileId> {
    let is_lock = match event.call.call().name {
        "flock" => true,
        "fcntl" => event.flags.is_some_and(is_lock_command),
        _ => false,
    };
    event.file.filter(|_| is_lock)
}

/// True when another one had the lock.
fn is_refused(event: &Event) -> bool {
    let refused = [-i64::from(libc::EAGAIN), -i64::from(libc::EACCES)];
    event.result.is_some_and(|result| refused.contains(&result))
}

/// Sleep before a call that no thread of the trace ended, nanoseconds.
fn slept_ns(event: &Event) -> u64 {
    match event.waker {
        Some(_) => 0,
        None => event.waited_ns.unwrap_or(0),
    }
}

/// The calls from one sleep of a poller to its next.
#[derive(Clone, Copy, Debug)]
struct Attempt {
    start_ns: u64,
    file: FileId,
    /// `None` until the lock is asked for.
    refused: Option<bool>,
}

#[derive(Debug, Default)]
struct Poller {
    refused: Option<FileId>,
    attempt: Option<Attempt>,
}

/// Attempts of threads that poll, from the first reading of a trace, and the threads that lock files, from the
/// second.
#[derive(Debug, Default)]
pub(super) struct Polls {
    threads: HashMap<u32, Poller>,
    /// By thread and start of the first call after the sleep.
    attempts: HashMap<(u32, u64), Attempt>,
    lockers: HashMap<FileId, Vec<u32>>,
}

impl Polls {
    /// First reading: finds the attempts.
    pub(super) fn survey(&mut self, event: &Event) {
        let file = locked(event);
        let refused = file.filter(|_| is_refused(event));
        if refused.is_some() {
            self.threads.entry(event.thread).or_default();
        }
        let Some(poller) = self.threads.get_mut(&event.thread) else { return };
        if slept_ns(event) >= MIN_SLEEP_NS {
            let next = poller.refused.take();
            let next = next.map(|file| Attempt { start_ns: event.start_ns, file, refused: None });
            let over = std::mem::replace(&mut poller.attempt, next);
            self.attempts.extend(over.and_then(|one| keyed(event.thread, one)));
        }
        if let Some(attempt) = poller.attempt.as_mut().filter(|one| Some(one.file) == file) {
            // One may ask for several locks of a file: all of them are needed.
            attempt.refused = Some(attempt.refused == Some(true) || refused.is_some());
        }
        poller.refused = refused.or(poller.refused);
    }

    /// Ends the first reading.
    pub(super) fn surveyed(mut self) -> Self {
        for (thread, poller) in self.threads.drain() {
            self.attempts.extend(poller.attempt.and_then(|one| keyed(thread, one)));
        }
        self
    }

    fn attempt(&self, event: &Event) -> Option<Attempt> {
        self.attempts.get(&(event.thread, event.start_ns)).copied()
    }

    /// Second reading: notes a thread that locks.
    fn note(&mut self, event: &Event) {
        let Some(file) = locked(event).filter(|_| !event.failed()) else { return };
        let lockers = self.lockers.entry(file).or_default();
        if !lockers.contains(&event.thread) && lockers.len() < MAX_LOCKERS {
            lockers.push(event.thread);
        }
    }
}

/// An attempt that asked for the lock, with its key.
fn keyed(thread: u32, attempt: Attempt) -> Option<((u32, u64), Attempt)> {
    attempt.refused.map(|_| ((thread, attempt.start_ns), attempt))
}

impl Planner {
    /// Lets a thread that slept between two attempts to lock a file come as far after the other threads that lock
    /// it, instead of sleeping as long. An attempt that was refused needs no more sleep: the lock was held. One that
    /// got the lock sleeps from their last operation on, as it did when the lock was free already.
    pub(super) fn polled(&mut self, event: &Event, lane: u32) -> Result<(), ReplayError> {
        if let Some(attempt) = self.polls.attempt(event) {
            let lockers = self.polls.lockers.get(&attempt.file).into_iter().flatten();
            let others = lockers.filter(|thread| **thread != event.thread);
            let others: Vec<Stamp> =
                others.filter_map(|thread| self.history.before(*thread, event.start_ns)).collect();
            if let Some(last_ns) = others.iter().map(|other| other.end_ns).max() {
                let slept_ns = slept_ns(event);
                let left_ns = match attempt.refused {
                    Some(true) => 0,
                    _ => event.start_ns.saturating_sub(last_ns).min(slept_ns),
                };
                self.after_others(event, lane, &others, (slept_ns, left_ns))?;
            }
        }
        self.polls.note(event);
        Ok(())
    }

    /// Puts the order in place of the sleep, of which the last part is left.
    fn after_others(
        &mut self,
        event: &Event,
        lane: u32,
        others: &[Stamp],
        (slept_ns, left_ns): (u64, u64),
    ) -> Result<(), ReplayError> {
        let mut draft = self.draft(event, lane);
        let at_ns = event.start_ns.saturating_sub(left_ns);
        let begin_ns = self.processes.ready_ns(event.process, event.thread).unwrap_or(at_ns);
        let pause = self.processes.take_pause(event.process, event.thread);
        let own_ns = event.start_ns.saturating_sub(begin_ns).saturating_sub(slept_ns);
        let stalled_ns = pause.stalled_ns.min(own_ns);
        let operation = &mut draft.operation;
        operation.wait_ns = pause.waited_ns.saturating_sub(slept_ns).min(own_ns - stalled_ns);
        operation.think_ns = own_ns - stalled_ns - operation.wait_ns;
        operation.pauses_first = own_ns > 0;
        draft.adds(Action::Order, at_ns);
        draft.needs.extend_from_slice(others);
        draft.me.end_ns = at_ns;
        let rest = Pause { stalled_ns: 0, waited_ns: left_ns, beside_ns: 0 };
        self.put_before(draft, rest)
    }
}

#[cfg(test)]
mod tests;
