//! Block requests from the events of blktrace: issue and completion, joined.

use super::Imported;
use seekwell_trace::fast::FastMap;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Operation, Request, RequestFlags, TraceError, TraceWriter};
use std::hash::{Hash, Hasher};
use std::path::Path;

/// Steps that are kept until the first issue shows that a device has issues.
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
    /// `R`: given back by the driver, which gets it again later.
    Requeue,
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

/// A request is found again by these.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    device: u32,
    sector: Option<u64>,
    operation: Operation,
}

impl Key {
    fn of(step: &Step) -> Self {
        let Step { device, sector, operation, .. } = *step;
        Self { device, sector, operation }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.sector.unwrap_or(u64::MAX));
        state.write_u64(u64::from(self.device) << 8 | self.operation as u64);
    }
}

/// A request that is under way.
#[derive(Clone, Copy)]
struct Started {
    step: Step,
    depth: u32,
}

/// A device of the trace.
struct Device {
    number: u32,
    source: Source,
    /// Requests under way.
    depth: u32,
}

/// The beginning of a device's requests.
enum Source {
    /// Not known yet: the steps so far.
    Unknown(Vec<Step>),
    /// Issues (D).
    Issues,
    /// Queueing (Q): the source has no issues of this device, as of stacked ones.
    Queueing,
}

/// Joins steps to requests: from issue to completion, or from queueing if nothing was issued.
#[derive(Default)]
pub(super) struct Joiner {
    first_ns: Option<u64>,
    last_ns: u64,
    /// In the order of their first step.
    devices: Vec<Device>,
    places: FastMap<u32, usize>,
    /// Place of the device of the last step: the next one has most likely the same.
    current: usize,
    /// Steps that wait in all sources.
    waiting: usize,
    started: FastMap<Key, Started>,
    /// Requests without a completion.
    pub(super) open: u64,
    pub(super) counts: Imported,
}

impl Joiner {
    /// Adds a step; steps come in the order of time.
    ///
    /// # Errors
    /// Those of the writer.
    pub(super) fn add(&mut self, step: Step, writer: &mut TraceWriter) -> Result<(), TraceError> {
        let first_ns = *self.first_ns.get_or_insert(step.time_ns);
        let step = Step { time_ns: step.time_ns.saturating_sub(first_ns), ..step };
        self.last_ns = self.last_ns.max(step.time_ns);
        let at = self.place(step.device);
        match step.action {
            Action::Issue => {
                let source = &mut self.devices[at].source;
                if !matches!(source, Source::Issues)
                    && let Source::Unknown(steps) = std::mem::replace(source, Source::Issues)
                {
                    // Of requests that were issued before the trace began.
                    self.waiting -= steps.len();
                    self.counts.other += steps.len() as u64;
                }
                self.start(at, step, writer)
            }
            Action::Queue | Action::Complete => self.wait(at, step, writer),
            Action::Requeue => {
                self.give_back(at, &step);
                Ok(())
            }
        }
    }

    /// Place of a device among all.
    #[inline]
    fn place(&mut self, number: u32) -> usize {
        let is_it = |device: &Device| device.number == number;
        if !self.devices.get(self.current).is_some_and(is_it) {
            self.current = *self.places.entry(number).or_insert_with(|| {
                let source = Source::Unknown(Vec::new());
                self.devices.push(Device { number, source, depth: 0 });
                self.devices.len() - 1
            });
        }
        self.current
    }

    /// A queueing or completion: kept until an issue shows that the device has issues.
    fn wait(&mut self, at: usize, step: Step, writer: &mut TraceWriter) -> Result<(), TraceError> {
        if let Source::Unknown(steps) = &mut self.devices[at].source {
            steps.push(step);
            self.waiting += 1;
            return if self.waiting < QUEUED { Ok(()) } else { self.settle(writer) };
        }
        self.later(at, step, writer)
    }

    /// Takes devices that are still without an issue for ones that have none.
    fn settle(&mut self, writer: &mut TraceWriter) -> Result<(), TraceError> {
        let some_issue = self.devices.iter().any(|of| matches!(of.source, Source::Issues));
        let mut steps = Vec::new();
        for (at, device) in self.devices.iter_mut().enumerate() {
            let Source::Unknown(waiting) = &mut device.source else { continue };
            // A partition beside its disk queues, and the disk completes.
            let completes = waiting.iter().any(|step| step.action == Action::Complete);
            if some_issue && !completes {
                self.counts.other += waiting.len() as u64;
                waiting.clear();
                continue;
            }
            steps.extend(waiting.drain(..).map(|step| (at, step)));
            device.source = Source::Queueing;
        }
        self.waiting = 0;
        steps.sort_by_key(|(_, step)| step.time_ns);
        steps.into_iter().try_for_each(|(at, step)| self.later(at, step, writer))
    }

    /// A queueing or completion, once it is known whether the device has issues.
    fn later(&mut self, at: usize, step: Step, writer: &mut TraceWriter) -> Result<(), TraceError> {
        let is_queueing = matches!(self.devices[at].source, Source::Queueing);
        match step.action {
            Action::Queue if is_queueing => self.start(at, step, writer),
            Action::Complete => self.complete(at, step, writer),
            _ => {
                self.counts.other += 1;
                Ok(())
            }
        }
    }

    fn give_back(&mut self, at: usize, step: &Step) {
        self.counts.other += 1;
        if self.started.remove(&Key::of(step)).is_some() {
            let depth = &mut self.devices[at].depth;
            *depth = depth.saturating_sub(1);
        }
    }

    fn start(&mut self, at: usize, step: Step, writer: &mut TraceWriter) -> Result<(), TraceError> {
        if self.started.len() >= UNDER_WAY {
            self.write_open(writer)?;
        }
        let depth = self.devices[at].depth.saturating_add(1);
        self.devices[at].depth = depth;
        let key = Key::of(&step);
        let Some(before) = self.started.insert(key, Started { step, depth }) else { return Ok(()) };
        // The completion of the one before was lost: this one takes its place.
        self.devices[at].depth -= 1;
        if let Some(started) = self.started.get_mut(&key) {
            started.depth -= 1;
        }
        self.open += 1;
        writer.request(request(&before, None))
    }

    fn complete(
        &mut self,
        at: usize,
        step: Step,
        writer: &mut TraceWriter,
    ) -> Result<(), TraceError> {
        // The kernel ends a write with a flush a second time, without bytes.
        if step.bytes == 0 && matches!(step.operation, Operation::Read | Operation::Write) {
            self.counts.other += 1;
            return Ok(());
        }
        let Some(started) = self.started.remove(&Key::of(&step)) else {
            // It was issued before the trace began.
            self.counts.other += 1;
            return Ok(());
        };
        let depth = &mut self.devices[at].depth;
        *depth = depth.saturating_sub(1);
        let duration_ns = step.time_ns.saturating_sub(started.step.time_ns);
        writer.request(request(&started, Some(duration_ns)))
    }

    /// Writes the requests without completion, in the order of their start.
    fn write_open(&mut self, writer: &mut TraceWriter) -> Result<(), TraceError> {
        let mut open: Vec<Started> = self.started.drain().map(|(_, started)| started).collect();
        open.sort_by_key(|started| (started.step.time_ns, started.step.sector));
        self.devices.iter_mut().for_each(|device| device.depth = 0);
        self.open += open.len() as u64;
        open.iter().try_for_each(|started| writer.request(request(started, None)))
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Those of the writer.
    pub(super) fn finish(&mut self, writer: &mut TraceWriter) -> Result<(), TraceError> {
        self.settle(writer)?;
        self.write_open(writer)?;
        self.counts.events = writer.events();
        Ok(())
    }

    /// Ends the trace of what was read from `input`; without a request in it `remedy` says what to
    /// give instead.
    pub(super) fn write(
        self,
        writer: TraceWriter,
        mut meta: Meta,
        input: &Path,
        remedy: &str,
    ) -> Result<Imported, TraceError> {
        if writer.events() == 0 {
            writer.abandon();
            let problem = format!("no request in it; {remedy}");
            return Err(TraceError::Import { path: input.to_owned(), line: 1, problem });
        }
        meta.duration_ns = Some(self.last_ns);
        meta.gaps = [self.gaps(), meta.gaps].concat();
        writer.finish(&meta)?;
        Ok(self.counts)
    }

    /// Kinds of load that these events cannot show.
    fn gaps(&self) -> Vec<String> {
        let mut gaps = vec![
            "block requests alone: files, calls and think time of programs are not in it"
                .to_owned(),
        ];
        let is_queueing = |device: &Device| {
            let name = format!("{}:{}", device.number >> 20, device.number & 0xf_ffff);
            matches!(device.source, Source::Queueing).then_some(name)
        };
        let mut queueing: Vec<String> = self.devices.iter().filter_map(is_queueing).collect();
        queueing.sort();
        if !queueing.is_empty() {
            gaps.push(format!(
                "times of {} count from queueing (Q), as issues (D) are missing: they contain the \
                 wait in the scheduler, and requests that were merged count one by one",
                queueing.join(", ")
            ));
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
