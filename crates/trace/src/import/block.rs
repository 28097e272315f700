//! Block requests from the events of blktrace: issue and completion, joined.

use super::Imported;
use crate::error::TraceError;
use crate::event::{Operation, Request, RequestFlags};
use crate::write::TraceWriter;
use std::collections::HashMap;

/// Queued requests that are kept until the first issue shows that the trace has issues.
const QUEUED: usize = 1 << 20;
/// Requests under way; a device has at most some thousand. Beyond that completions are missing.
const UNDER_WAY: usize = 1 << 20;

/// Step of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// `Q`: a bio came to the block layer.
    Queue,
    /// `D`: given to the driver.
    Issue,
    /// `C`: completed.
    Complete,
}

/// An event of blktrace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) time_ns: u64,
    pub(super) action: Action,
    pub(super) device: u32,
    pub(super) process: Option<u32>,
    pub(super) operation: Operation,
    pub(super) flags: RequestFlags,
    /// `None` for flushes without data.
    pub(super) sector: Option<u64>,
    pub(super) bytes: u64,
}

type Key = (u32, Option<u64>, Operation);

/// A request that is under way.
#[derive(Clone, Copy)]
struct Started {
    step: Step,
    depth: u32,
}

/// Joins steps to requests: from issue to completion, or from queueing if nothing was issued.
pub(super) struct Joiner {
    first_ns: Option<u64>,
    last_ns: u64,
    /// Queued ones while there is no issue; `None` once there is.
    queued: Option<Vec<Step>>,
    started: HashMap<Key, Started>,
    depths: HashMap<u32, u32>,
    /// Requests without a completion.
    pub(super) open: u64,
    pub(super) counts: Imported,
}

impl Joiner {
    pub(super) fn new() -> Self {
        Self {
            first_ns: None,
            last_ns: 0,
            queued: Some(Vec::new()),
            started: HashMap::new(),
            depths: HashMap::new(),
            open: 0,
            counts: Imported::default(),
        }
    }

    /// Time from the first step to the last one.
    pub(super) fn duration_ns(&self) -> u64 {
        self.last_ns
    }

    /// True when requests begin with queueing: the source has no issues.
    pub(super) fn has_no_issue(&self) -> bool {
        self.queued.is_some()
    }

    /// Adds a step; steps come in the order of time.
    ///
    /// # Errors
    /// Those of the writer.
    pub(super) fn add(&mut self, step: Step, writer: &mut TraceWriter) -> Result<(), TraceError> {
        let first_ns = *self.first_ns.get_or_insert(step.time_ns);
        let step = Step { time_ns: step.time_ns.saturating_sub(first_ns), ..step };
        self.last_ns = self.last_ns.max(step.time_ns);
        match step.action {
            Action::Issue => {
                self.queued = None;
                self.start(step, writer)
            }
            Action::Queue | Action::Complete => match &mut self.queued {
                Some(queued) if queued.len() < QUEUED => {
                    queued.push(step);
                    Ok(())
                }
                Some(queued) => {
                    let steps = std::mem::take(queued);
                    self.replay(steps, writer)?;
                    self.later(step, writer)
                }
                None => self.later(step, writer),
            },
        }
    }

    /// A queueing or completion, once it is known whether there are issues.
    fn later(&mut self, step: Step, writer: &mut TraceWriter) -> Result<(), TraceError> {
        match step.action {
            Action::Queue if self.has_no_issue() => self.start(step, writer),
            Action::Queue => {
                self.counts.other += 1;
                Ok(())
            }
            _ => self.complete(step, writer),
        }
    }

    fn replay(&mut self, steps: Vec<Step>, writer: &mut TraceWriter) -> Result<(), TraceError> {
        steps.into_iter().try_for_each(|step| self.later(step, writer))
    }

    fn start(&mut self, step: Step, writer: &mut TraceWriter) -> Result<(), TraceError> {
        let key = (step.device, step.sector, step.operation);
        // A request that the driver gave back is issued again.
        if self.started.contains_key(&key) {
            self.counts.other += 1;
            return Ok(());
        }
        if self.started.len() >= UNDER_WAY {
            self.write_open(writer)?;
        }
        let depth = self.depths.entry(step.device).or_default();
        *depth = depth.saturating_add(1);
        self.started.insert(key, Started { step, depth: *depth });
        Ok(())
    }

    fn complete(&mut self, step: Step, writer: &mut TraceWriter) -> Result<(), TraceError> {
        let Some(started) = self.started.remove(&(step.device, step.sector, step.operation)) else {
            // It was issued before the trace began.
            self.counts.other += 1;
            return Ok(());
        };
        if let Some(depth) = self.depths.get_mut(&step.device) {
            *depth = depth.saturating_sub(1);
        }
        let duration_ns = step.time_ns.saturating_sub(started.step.time_ns);
        writer.request(request(&started, Some(duration_ns)))
    }

    /// Writes the requests without completion, in the order of their start.
    fn write_open(&mut self, writer: &mut TraceWriter) -> Result<(), TraceError> {
        let mut open: Vec<Started> = self.started.drain().map(|(_, started)| started).collect();
        open.sort_by_key(|started| (started.step.time_ns, started.step.sector));
        self.depths.clear();
        self.open += open.len() as u64;
        open.iter().try_for_each(|started| writer.request(request(started, None)))
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Those of the writer.
    pub(super) fn finish(&mut self, writer: &mut TraceWriter) -> Result<(), TraceError> {
        if let Some(steps) = self.queued.as_mut().map(std::mem::take) {
            self.replay(steps, writer)?;
        }
        self.write_open(writer)?;
        self.counts.events = writer.events();
        Ok(())
    }

    /// Kinds of load that these events cannot show.
    pub(super) fn gaps(&self) -> Vec<String> {
        let mut gaps = vec![
            "block requests alone: files, calls and think time of programs are not in it"
                .to_owned(),
        ];
        if self.has_no_issue() {
            gaps.push(
                "times count from queueing (Q), as issues (D) are missing: they contain the wait in \
                 the scheduler, and requests that were merged count one by one"
                    .to_owned(),
            );
        }
        if self.open > 0 {
            gaps.push(format!(
                "{} requests have no completion: their times are unknown",
                self.open
            ));
        }
        gaps
    }
}

fn request(started: &Started, duration_ns: Option<u64>) -> Request {
    let step = &started.step;
    Request {
        start_ns: step.time_ns,
        duration_ns,
        process: step.process,
        device: step.device,
        operation: step.operation,
        flags: step.flags,
        sector: step.sector.unwrap_or(0),
        bytes: step.bytes,
        depth: Some(started.depth),
    }
}
