//! The loop that issues requests, on any clock and device.

use super::place::Place;
use super::plan::{Planned, RequestPlan};
use crate::engine::Speed;
use seekwell_stats::Histogram;
use seekwell_trace::{Operation, RequestFlags};
use std::collections::BTreeMap;
use std::io;

/// Requests in flight at the same time; those beyond it wait and are late.
pub(crate) const MOST_IN_FLIGHT: usize = 1024;

/// Longest time by which a wait is ended early, since it takes time to return from it.
const MOST_EARLY_NS: u64 = 10_000;

/// A device with its clock.
pub(crate) trait Device {
    /// The time, nanoseconds.
    fn now_ns(&mut self) -> u64;
    /// Prepares a request under a number below [`MOST_IN_FLIGHT`].
    fn queue(&mut self, number: u32, request: &Placed);
    /// Issues those prepared.
    fn submit(&mut self) -> io::Result<()>;
    /// Waits for a completion, at most until the given time.
    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()>;
    /// The next completion that was not asked for yet: number and result.
    fn completion(&mut self) -> Option<(u32, i32)>;
}

/// A request with its place on the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) operation: Operation,
    pub(crate) flags: RequestFlags,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// Requests that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Failure {
    /// Operation.
    pub operation: Operation,
    /// Error number; 0 for fewer bytes than asked for.
    pub errno: i32,
}

/// Result of a replay of block requests.
#[derive(Clone, Debug, Default)]
pub struct RequestsReplayed {
    /// Requests that were issued.
    pub issued: u64,
    /// Bytes that were read.
    pub bytes_read: u64,
    /// Bytes that were written.
    pub bytes_written: u64,
    /// From the moment the first request was due to the last completion.
    pub elapsed_ns: u64,
    /// Time from the first issue to the last.
    pub span_ns: u64,
    /// Sum of the requests' durations.
    pub inside_ns: u64,
    /// CPU time of the thread.
    pub cpu_ns: u64,
    /// Durations by name of the operation.
    pub latencies: BTreeMap<&'static str, Histogram>,
    /// Time from the moment a request was due to its issue.
    pub lateness: Histogram,
    /// Requests that failed.
    pub failures: BTreeMap<Failure, u64>,
    /// Discards that the device was asked for as writes of zeroes, since it or its kernel takes none through io_uring.
    pub zeroed: u64,
    /// True when the caller ended it early.
    pub stopped: bool,
}

impl RequestsReplayed {
    /// Number of requests that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.values().sum()
    }
}

/// A request in flight.
#[derive(Clone, Copy, Debug)]
struct Flying {
    at: usize,
    bytes: u64,
    issued_ns: u64,
}

/// Completions in their recorded order: how many from the first are over, and since when each and all
/// before it are.
#[derive(Debug)]
struct Over {
    done: Vec<bool>,
    since_ns: Vec<u64>,
}

impl Over {
    fn add(&mut self, number: u32, now_ns: u64) {
        if let Some(done) = self.done.get_mut(number as usize) {
            *done = true;
        }
        while self.done.get(self.since_ns.len()).copied().unwrap_or(false) {
            self.since_ns.push(now_ns);
        }
    }
}

/// State of the loop.
pub(super) struct Issue<'a, D: Device> {
    plan: &'a RequestPlan,
    place: &'a Place,
    speed: Speed,
    device: &'a mut D,
    flying: Vec<Option<Flying>>,
    free: Vec<u32>,
    over: Over,
    began_ns: u64,
    first_issue_ns: Option<u64>,
    last_issue_ns: u64,
    /// End of the last wait, if that was for a time; and the least time that it took to return from
    /// such waits.
    awaited_ns: Option<u64>,
    returns_ns: Option<u64>,
    /// The time when the loop looked last.
    seen_ns: u64,
    result: RequestsReplayed,
}

/// The time of a request.
enum Due {
    /// At this time, nanoseconds.
    At(u64),
    /// At once.
    Now,
    /// Not before a request in flight is complete.
    Later,
}

impl<'a, D: Device> Issue<'a, D> {
    pub(super) fn new(
        plan: &'a RequestPlan,
        place: &'a Place,
        speed: Speed,
        device: &'a mut D,
    ) -> Self {
        let numbers = 0..MOST_IN_FLIGHT as u32;
        let over = Over { done: vec![false; plan.all.len()], since_ns: Vec::new() };
        Self {
            plan,
            place,
            speed,
            device,
            flying: vec![None; MOST_IN_FLIGHT],
            free: numbers.rev().collect(),
            over,
            began_ns: 0,
            first_issue_ns: None,
            last_issue_ns: 0,
            awaited_ns: None,
            returns_ns: None,
            seen_ns: 0,
            result: RequestsReplayed::default(),
        }
    }

    /// Issues every request and waits for the last completion. `stopped` ends it early.
    pub(super) fn run(mut self, stopped: impl Fn() -> bool) -> io::Result<RequestsReplayed> {
        self.began_ns = self.device.now_ns();
        let mut next = 0;
        loop {
            self.reap();
            self.result.stopped |= stopped();
            let more = next < self.plan.all.len() && !self.result.stopped;
            if !more && self.free.len() == MOST_IN_FLIGHT {
                break;
            }
            let issued = if more { self.issue(next) } else { 0 };
            if issued > 0 {
                next += issued;
                self.device.submit()?;
                continue;
            }
            let until_ns = match self.plan.all.get(next).filter(|_| more) {
                Some(request) => match self.due(request) {
                    Due::At(due_ns) if !self.free.is_empty() => {
                        Some(due_ns.saturating_sub(self.returns_ns.unwrap_or(0)))
                    }
                    _ => None,
                },
                None => None,
            };
            self.awaited_ns = until_ns.filter(|until_ns| *until_ns > self.seen_ns);
            self.device.wait(until_ns)?;
        }
        if let Some(first_ns) = self.first_issue_ns {
            self.result.span_ns = self.last_issue_ns - first_ns;
        }
        Ok(self.result)
    }

    /// Prepares those that are due from the `next` one on; returns their number.
    fn issue(&mut self, next: usize) -> usize {
        let mut count = 0;
        let now_ns = self.device.now_ns();
        self.seen_ns = now_ns;
        self.learn(now_ns);
        while let Some(request) = self.plan.all.get(next + count) {
            let due_ns = match self.due(request) {
                Due::At(due_ns) if due_ns <= now_ns => Some(due_ns),
                Due::Now => None,
                _ => break,
            };
            let Some(number) = self.free.pop() else { break };
            if let Some(due_ns) = due_ns {
                self.result.lateness.record(now_ns - due_ns);
            }
            let placed = self.placed(request);
            self.device.queue(number, &placed);
            let flying = Flying { at: next + count, bytes: placed.bytes, issued_ns: now_ns };
            self.flying[number as usize] = Some(flying);
            self.first_issue_ns.get_or_insert(now_ns);
            self.last_issue_ns = now_ns;
            count += 1;
        }
        self.result.issued += count as u64;
        count
    }

    /// Learns how long it takes to return from a wait. One that a completion ended says nothing.
    fn learn(&mut self, now_ns: u64) {
        let took_ns = self.awaited_ns.take().and_then(|until_ns| now_ns.checked_sub(until_ns));
        if let Some(took_ns) = took_ns {
            let least_ns = self.returns_ns.map_or(took_ns, |least_ns| least_ns.min(took_ns));
            self.returns_ns = Some(least_ns.min(MOST_EARLY_NS));
        }
    }

    fn placed(&self, request: &Planned) -> Placed {
        let (operation, flags) = (request.operation, request.flags);
        let (offset, bytes) = match operation {
            Operation::Flush => (0, 0),
            _ => self.place.of(request.offset, request.bytes),
        };
        Placed { operation, flags, offset, bytes }
    }

    fn due(&self, request: &Planned) -> Due {
        let scaled = |ns: u64, factor: f64| (ns as f64 * factor).max(0.0).round() as u64;
        if let Speed::Open(factor) = self.speed {
            return Due::At(self.began_ns + scaled(request.start_ns, factor));
        }
        let ready_ns = match request.after.checked_sub(1) {
            None => self.began_ns,
            Some(last) => match self.over.since_ns.get(last as usize) {
                Some(since_ns) => *since_ns,
                None => return Due::Later,
            },
        };
        match self.speed {
            Speed::Recorded(factor) => Due::At(ready_ns + scaled(request.think_ns, factor)),
            _ => Due::Now,
        }
    }

    fn reap(&mut self) {
        while let Some((number, result)) = self.device.completion() {
            let now_ns = self.device.now_ns();
            let Some(flying) = self.flying.get_mut(number as usize).and_then(Option::take) else {
                continue;
            };
            self.free.push(number);
            let request = &self.plan.all[flying.at];
            self.over.add(request.completes, now_ns);
            let duration_ns = now_ns.saturating_sub(flying.issued_ns);
            self.result.inside_ns += duration_ns;
            self.result.elapsed_ns = now_ns.saturating_sub(self.began_ns);
            let operation = request.operation;
            let name = if operation == Operation::Flush { "fsync" } else { operation.name() };
            self.result.latencies.entry(name).or_default().record(duration_ns);
            self.count(operation, flying.bytes, result);
        }
    }

    fn count(&mut self, operation: Operation, bytes: u64, result: i32) {
        let moved = u64::try_from(result).unwrap_or(0);
        let is_data = matches!(operation, Operation::Read | Operation::Write);
        match operation {
            Operation::Read => self.result.bytes_read += moved,
            Operation::Write => self.result.bytes_written += moved,
            _ => {}
        }
        if result < 0 || (is_data && moved != bytes) {
            let errno = result.min(0).saturating_neg();
            *self.result.failures.entry(Failure { operation, errno }).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests;
