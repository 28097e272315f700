//! Power cuts afterwards: what a disk would hold, had the power failed at any event of a trial.
//!
//! A trial runs once and its disk [records](Recording) every request with its data. A model is a
//! pure function of requests and times, so a fresh one that is given the same does the same; it is
//! stopped at the event in question and asked what is lost. A thousand cuts cost one guest.

pub(crate) mod changes;
pub mod program;
pub(crate) mod promised;
pub mod space;

use std::io;

use seekwell_device::{Completion, LostWrites, Model, Operation, Refused, Request};

use crate::content::Content;

#[cfg(test)]
mod tests;

/// Events without time passing or an answer, after which a model is stuck.
const MOST_IDLE_EVENTS: u32 = 1_000_000;

const SECTOR_BYTES: usize = 512;

/// Data of a recording that are kept in memory.
const MAX_DATA_BYTES: u64 = 2 << 30;

/// Errors of a power cut.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// The recording has fewer completions.
    #[error("the power cannot fail after request {after}: the recording has {count}")]
    Beyond {
        /// The completion that was asked for, counted from 1.
        after: u64,
        /// Number of them.
        count: u64,
    },
    /// A model took a request before and does not now.
    #[error(
        "the model rejects a request that it accepted during the recording: {0}; use the same device and seed"
    )]
    Refused(#[from] Refused),
    /// A model answered at another time than before.
    #[error(
        "the model completed {found:?}, but {recorded:?} during the recording; use the same device and seed"
    )]
    Otherwise {
        /// Completion that was recorded.
        recorded: Option<Completion>,
        /// Now.
        found: Completion,
    },
    /// The recording stopped.
    #[error("the workload writes more than {MAX_DATA_BYTES} bytes")]
    TooMuch,
    /// A model wants to be advanced without end.
    #[error("the model makes no progress at {0} ns")]
    Stuck(u64),
    /// The content could not be kept.
    #[error(
        "cannot store the content after the power cut: {0}; free some space in the scratch directory"
    )]
    Content(#[from] io::Error),
}

/// A request and its data.
#[derive(Clone, Debug)]
struct Recorded {
    at_ns: u64,
    request: Request,
    /// Data written; `None` for zeroes and for requests that write nothing.
    data: Option<Box<[u8]>>,
}

/// Every request that a disk took, with the data of writes, and every completion.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    requests: Vec<Recorded>,
    completions: Vec<Completion>,
    data_bytes: u64,
}

/// State of a disk after a power cut.
#[derive(Debug)]
pub struct Cut {
    /// The disk's content: all writes submitted before, less what was lost.
    pub content: Content,
    /// Lost writes, and sectors that can no longer be read.
    pub lost: LostWrites,
    /// Time of the power cut, in nanoseconds of the disk's life.
    pub at_ns: u64,
    /// Requests submitted before.
    pub submitted: usize,
}

impl Recording {
    /// Takes a request that the model took at `at_ns`; `data` is what a write brings.
    pub(crate) fn submitted(&mut self, at_ns: u64, request: &Request, data: &[u8]) {
        let is_data = request.operation == Operation::Write && data.iter().any(|byte| *byte != 0);
        self.data_bytes += data.len() as u64;
        let data = (is_data && self.data_bytes <= MAX_DATA_BYTES).then(|| data.into());
        self.requests.push(Recorded { at_ns, request: *request, data });
    }

    /// Takes a completion.
    pub(crate) fn completed(&mut self, completion: Completion) {
        self.completions.push(completion);
    }

    /// Returns the completions in their order, with times in nanoseconds of the disk's life.
    #[must_use]
    pub fn completions(&self) -> &[Completion] {
        &self.completions
    }

    /// Returns the content after a power cut at completion number `after`, counted from 1; 0 is a cut before
    /// anything was submitted. `content` and `model` are those from before the recording.
    ///
    /// All that the device completes at that same instant is complete.
    ///
    /// # Errors
    ///
    /// [`CutError`].
    pub fn cut(
        &self,
        mut model: Box<dyn Model>,
        mut content: Content,
        after: u64,
    ) -> Result<Cut, CutError> {
        if self.data_bytes > MAX_DATA_BYTES {
            return Err(CutError::TooMuch);
        }
        if after == 0 {
            return Ok(Cut { content, lost: LostWrites::default(), at_ns: 0, submitted: 0 });
        }
        let (at_ns, submitted) = self.play(&mut *model, after)?;
        let lost = model.power_cut(at_ns);
        for recorded in &self.requests[..submitted] {
            recorded.put(&lost, &mut content)?;
        }
        Ok(Cut { content, lost, at_ns, submitted })
    }

    /// Gives the model what it was given until so many requests are complete; when that was, and how
    /// many were submitted before.
    fn play(&self, model: &mut dyn Model, after: u64) -> Result<(u64, usize), CutError> {
        let mut stage = Stage { recording: self, model, done: 0, found: Vec::new() };
        for (index, Recorded { at_ns, request, .. }) in self.requests.iter().enumerate() {
            if let Some(cut_ns) = stage.pass_to(*at_ns, after)? {
                return Ok((cut_ns, index));
            }
            stage.model.submit(*at_ns, *request)?;
        }
        let cut_ns = stage.pass_to(u64::MAX, after)?;
        let count = stage.done as u64;
        Ok((cut_ns.ok_or(CutError::Beyond { after, count })?, self.requests.len()))
    }
}

impl Recorded {
    /// Writes what of it was not lost.
    fn put(&self, lost: &LostWrites, content: &mut Content) -> io::Result<()> {
        let Request { id, lba, sectors, operation, .. } = self.request;
        if !operation.writes() {
            return Ok(());
        }
        let end = lba.0 + u64::from(sectors);
        let mut at = lba.0;
        // Lost ranges are sorted by id, then address.
        let first = lost.lost.partition_point(|range| range.id < id);
        for gone in lost.lost[first..].iter().take_while(|range| range.id == id) {
            self.put_range(at, gone.range.lba.0.clamp(at, end), content)?;
            at = (gone.range.lba.0 + gone.range.sectors).clamp(at, end);
        }
        self.put_range(at, end, content)
    }

    fn put_range(&self, from: u64, to: u64, content: &mut Content) -> io::Result<()> {
        if from >= to {
            return Ok(());
        }
        let Some(data) = &self.data else { return content.zero(from, to - from) };
        let within = |sector: u64| (sector - self.request.lba.0) as usize * SECTOR_BYTES;
        content.write(from, &data[within(from)..within(to)])
    }
}

/// A model on its way through a recording.
struct Stage<'a> {
    recording: &'a Recording,
    model: &'a mut dyn Model,
    done: usize,
    found: Vec<Completion>,
}

impl Stage<'_> {
    /// Lets time pass to `at_ns`, or to the instant at which `after` requests are complete.
    fn pass_to(&mut self, at_ns: u64, after: u64) -> Result<Option<u64>, CutError> {
        let (mut last_ns, mut idle) = (0, 0);
        while let Some(due_ns) = self.model.next_event_ns().filter(|due_ns| *due_ns <= at_ns) {
            self.model.advance(due_ns, &mut self.found);
            idle = if due_ns > last_ns || !self.found.is_empty() { 0 } else { idle + 1 };
            last_ns = due_ns;
            if idle > MOST_IDLE_EVENTS {
                return Err(CutError::Stuck(due_ns));
            }
            self.compare()?;
            if self.done as u64 >= after {
                return Ok(Some(due_ns));
            }
        }
        Ok(None)
    }

    fn compare(&mut self) -> Result<(), CutError> {
        for found in self.found.drain(..) {
            let recorded = self.recording.completions.get(self.done).copied();
            if recorded != Some(found) {
                return Err(CutError::Otherwise { recorded, found });
            }
            self.done += 1;
        }
        Ok(())
    }
}
