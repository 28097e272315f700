//! Requests in the order of their issue, each with those that were complete before it.

use crate::error::{ReplayError, rows};
use seekwell_trace::{Operation, Request, RequestFlags, Trace, TraceError};
use std::collections::BTreeMap;

/// Choice of requests, and bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestChoice {
    /// Recorded device (major number << 20 | minor number); `None` for that with the most requests.
    pub device: Option<u32>,
    /// Most requests.
    pub most: u64,
}

impl Default for RequestChoice {
    /// The busiest device, 6 million requests: some 360 MiB.
    fn default() -> Self {
        Self { device: None, most: 6_000_000 }
    }
}

/// Longest request with data: longer ones come from damaged traces.
const LONGEST: u64 = 64 << 20;
const SECTOR: u64 = 512;

/// A request to issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Time from the first issue, nanoseconds.
    pub(crate) start_ns: u64,
    /// Time from the completion that it waits for to its issue; without one, `start_ns`.
    pub(crate) think_ns: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Number of completions, in recorded order, that were before it.
    pub(crate) after: u32,
    /// Its number in the recorded order of completions; `u32::MAX` when none was recorded.
    pub(crate) completes: u32,
    pub(crate) operation: Operation,
    pub(crate) flags: RequestFlags,
}

/// Counts of the recorded requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedRequests {
    /// Requests of a purpose that the trace does not tell.
    pub left_out: u64,
    /// Requests, or steps of them, that the recording lost: of all devices, since it cannot tell.
    pub lost: u64,
    /// Time from the first issue to the last.
    pub span_ns: u64,
    /// Time from the first issue to the last completion.
    pub elapsed_ns: u64,
    /// Sum of the durations; `None` when a completion is missing.
    pub inside_ns: Option<u64>,
    /// End of the furthest request, bytes.
    pub reach_bytes: u64,
    /// Longest read or write, bytes.
    pub longest_bytes: u64,
    /// True when it writes or discards.
    pub writes: bool,
    /// Discards.
    pub discards: u64,
}

/// Block requests, ready to be issued.
#[derive(Clone, Debug)]
pub struct RequestPlan {
    pub(crate) all: Vec<Planned>,
    recorded: RecordedRequests,
}

impl RequestPlan {
    /// Counts of the trace.
    #[must_use]
    pub fn recorded(&self) -> &RecordedRequests {
        &self.recorded
    }
}

/// Makes the plan of a trace's block requests.
///
/// # Errors
/// When the trace cannot be read, has no request of the device, or more than `most`.
pub fn plan_requests(trace: &Trace, choice: &RequestChoice) -> Result<RequestPlan, ReplayError> {
    let device = match choice.device {
        Some(device) => device,
        None => busiest(trace)?,
    };
    let mut kept = Kept::new();
    let add = |request: Request| {
        if request.device != device {
            return Ok(());
        }
        if request.operation == Operation::Other {
            kept.recorded.left_out += 1;
            return Ok(());
        }
        check(&request, kept.all.len() as u64, choice.most)?;
        kept.add(&request);
        Ok(())
    };
    rows(|each| trace.requests(each), add)?;
    if kept.all.is_empty() {
        return Err(ReplayError::NoRequests);
    }
    let mut plan = kept.ordered();
    plan.recorded.lost = trace.meta().lost_requests();
    Ok(plan)
}

fn busiest(trace: &Trace) -> Result<u32, TraceError> {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    trace.requests(|request| {
        *counts.entry(request.device).or_default() += 1;
        Ok(())
    })?;
    // Of equals the smallest number, so that the choice is the same each time.
    let most = counts.iter().max_by_key(|(device, count)| (**count, u32::MAX - **device));
    Ok(most.map_or(0, |(device, _)| *device))
}

fn check(request: &Request, kept: u64, most: u64) -> Result<(), ReplayError> {
    let end = request.sector.checked_mul(SECTOR).and_then(|at| at.checked_add(request.bytes));
    let has_data = matches!(request.operation, Operation::Read | Operation::Write);
    if end.is_none_or(|end| end > 1 << 62) || (has_data && request.bytes > LONGEST) {
        return Err(ReplayError::WildRequest { sector: request.sector, bytes: request.bytes });
    }
    if kept >= most {
        return Err(ReplayError::too_large("block requests", kept + 1, most));
    }
    Ok(())
}

/// A completion comes after its issue: times of no length would make a request wait for itself.
fn end_ns(request: &Request) -> Option<u64> {
    request.duration_ns.map(|duration| request.start_ns.saturating_add(duration.max(1)))
}

/// No completion was recorded.
const NO_END: u64 = u64::MAX;

/// The plan while the trace is read. Requests are turned into the plan where they are, since a second copy of
/// millions would not fit.
struct Kept {
    /// In the order of the trace: times from the start of the trace, in the place of the thinking the
    /// time of completion or [`NO_END`], and in that of the completion's number the request's own.
    all: Vec<Planned>,
    recorded: RecordedRequests,
    last_start_ns: u64,
    last_end_ns: u64,
}

impl Kept {
    fn new() -> Self {
        let recorded = RecordedRequests { inside_ns: Some(0), ..RecordedRequests::default() };
        Self { all: Vec::new(), recorded, last_start_ns: 0, last_end_ns: 0 }
    }

    fn add(&mut self, request: &Request) {
        let end = end_ns(request);
        self.last_start_ns = self.last_start_ns.max(request.start_ns);
        self.last_end_ns = self.last_end_ns.max(end.unwrap_or(request.start_ns));
        self.recorded.add(request);
        self.all.push(Planned {
            start_ns: request.start_ns,
            think_ns: end.unwrap_or(NO_END),
            offset: request.sector * SECTOR,
            bytes: request.bytes,
            after: 0,
            completes: self.all.len() as u32,
            operation: request.operation,
            flags: request.flags,
        });
    }

    fn ordered(mut self) -> RequestPlan {
        // Those at the same time keep the order of the trace.
        self.all.sort_unstable_by_key(|request| (request.start_ns, request.completes));
        let first_ns = self.all.first().map_or(0, |request| request.start_ns);
        let ends = self.number_completions();
        let mut after = 0;
        for request in &mut self.all {
            while ends.get(after).is_some_and(|end_ns| *end_ns <= request.start_ns) {
                after += 1;
            }
            let ready_ns = after.checked_sub(1).map_or(first_ns, |last| ends[last]);
            request.think_ns = request.start_ns - ready_ns;
            request.start_ns -= first_ns;
            request.after = after as u32;
        }
        self.recorded.span_ns = self.last_start_ns - first_ns;
        self.recorded.elapsed_ns = self.last_end_ns - first_ns;
        RequestPlan { all: self.all, recorded: self.recorded }
    }

    /// Gives each request the number of its completion; returns the times of completion in order.
    fn number_completions(&mut self) -> Vec<u64> {
        let numbers = 0..self.all.len() as u32;
        let mut order: Vec<u32> = numbers.collect();
        order.retain(|at| self.all[*at as usize].think_ns != NO_END);
        order.sort_unstable_by_key(|at| (self.all[*at as usize].think_ns, *at));
        for request in &mut self.all {
            request.completes = u32::MAX;
        }
        for (number, at) in (0_u32..).zip(&order) {
            self.all[*at as usize].completes = number;
        }
        order.iter().map(|at| self.all[*at as usize].think_ns).collect()
    }
}

impl RecordedRequests {
    /// Adds what does not depend on the first request.
    fn add(&mut self, request: &Request) {
        self.inside_ns = self.inside_ns.zip(request.duration_ns).map(|(sum, one)| sum + one);
        self.discards += u64::from(request.operation == Operation::Discard);
        self.writes |= matches!(request.operation, Operation::Write | Operation::Discard);
        if matches!(request.operation, Operation::Read | Operation::Write) {
            self.reach_bytes = self.reach_bytes.max(request.sector * SECTOR + request.bytes);
            self.longest_bytes = self.longest_bytes.max(request.bytes);
        }
    }
}

#[cfg(test)]
mod tests;
