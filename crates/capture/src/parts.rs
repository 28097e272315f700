//! Parts of a long trace: each is a whole trace, the oldest ones are removed.

use crate::error::CaptureError;
use crate::resolve::Resolver;
use crate::{Options, Rotate};
use seekwell_trace::meta::{Lost, Meta};
use seekwell_trace::{Anonymizer, Limits, TraceError, TraceWriter};
use seekwell_trust::Folder;
use std::collections::VecDeque;
use std::path::PathBuf;

/// The parts of a trace, or the only one.
pub(crate) struct Parts {
    output: PathBuf,
    /// The folder of the parts, as it was opened.
    held: Option<Folder>,
    rotate: Option<Rotate>,
    limits: Limits,
    anonymizer: Option<Anonymizer>,
    /// Number of the part that is written, from 1.
    number: u32,
    /// Start of the capture and of this part, `CLOCK_MONOTONIC`.
    first_ns: u64,
    origin_ns: u64,
    /// Losses before this part.
    lost_before: Vec<Lost>,
    /// Complete parts that are kept, with their bytes; the oldest first.
    complete: VecDeque<(PathBuf, u64)>,
    /// Events of the complete parts.
    events: u64,
}

impl Parts {
    /// Makes the trace, or the first part of it.
    ///
    /// # Errors
    /// When the output cannot be made.
    pub(crate) fn create(
        options: &Options,
        origin_ns: u64,
        meta: &Meta,
    ) -> Result<(Self, TraceWriter), CaptureError> {
        let anonymizer = if options.anonymize {
            let failed = |source| CaptureError::Target { path: "/dev/urandom".into(), source };
            Some(Anonymizer::new().map_err(failed)?)
        } else {
            None
        };
        let is_empty =
            std::fs::read_dir(&options.output).map_or(true, |mut entries| entries.next().is_none());
        if !is_empty {
            return Err(TraceError::Exists { path: options.output.clone() }.into());
        }
        let held = options.rotate.map(|_| Folder::make_own(&options.output)).transpose();
        let held = held.map_err(|source| {
            let path = options.output.clone();
            CaptureError::from(TraceError::Io { what: "create", path, source })
        })?;
        let parts = Self {
            output: options.output.clone(),
            held,
            rotate: options.rotate,
            limits: limits(options),
            anonymizer,
            number: 1,
            first_ns: origin_ns,
            origin_ns,
            lost_before: Vec::new(),
            complete: VecDeque::new(),
            events: 0,
        };
        let writer = parts.writer(meta)?;
        Ok((parts, writer))
    }

    /// Sets the start of the capture.
    pub(crate) fn begin(&mut self, origin_ns: u64) {
        self.first_ns = origin_ns;
        self.origin_ns = origin_ns;
    }

    /// Folder of the part that is written.
    fn folder(&self) -> PathBuf {
        match &self.held {
            Some(held) => held.at(&format!("part-{:06}", self.number)),
            None => self.output.clone(),
        }
    }

    fn writer(&self, meta: &Meta) -> Result<TraceWriter, TraceError> {
        let meta = self.description(meta, None);
        TraceWriter::create_anonymous(&self.folder(), &meta, self.limits, self.anonymizer.clone())
    }

    /// Bytes of the complete parts that are kept.
    pub(crate) fn kept(&self) -> u64 {
        self.complete.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Events of the complete parts, also of those that were removed.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Description of this part; `end_ns` is its end, `None` while it grows.
    pub(crate) fn description(&self, meta: &Meta, end_ns: Option<u64>) -> Meta {
        let since_first_ns = self.origin_ns.saturating_sub(self.first_ns);
        Meta {
            started_unix_ns: meta.started_unix_ns.map(|start| start.saturating_add(since_first_ns)),
            duration_ns: end_ns.map(|end_ns| end_ns.saturating_sub(self.origin_ns)),
            lost: since(&meta.lost, &self.lost_before),
            // The first part alone has the state before the start.
            initial: if self.number == 1 { meta.initial.clone() } else { Vec::new() },
            ..meta.clone()
        }
    }

    /// Begins the next part at `now_ns` when this one is large enough.
    ///
    /// # Errors
    /// When a part cannot be written or removed.
    pub(crate) fn turn(
        &mut self,
        now_ns: u64,
        meta: &Meta,
        writer: &mut TraceWriter,
        resolver: &mut Resolver,
    ) -> Result<(), CaptureError> {
        let Some(rotate) = self.rotate.filter(|rotate| writer.bytes() >= rotate.bytes) else {
            return Ok(());
        };
        if now_ns <= self.origin_ns {
            return Ok(());
        }
        resolver.write_all_held(None, writer)?;
        let (folder, ended) = (self.folder(), self.description(meta, Some(now_ns)));
        self.number += 1;
        self.origin_ns = now_ns;
        self.lost_before.clone_from(&meta.lost);
        let full = std::mem::replace(writer, self.writer(meta)?);
        resolver.next_part(now_ns, writer);
        self.events += full.events();
        let bytes = full.finish(&ended)?;
        self.complete.push_back((folder, bytes));
        // The one that is written counts.
        while self.complete.len() >= rotate.keep.max(1) {
            let Some((oldest, _)) = self.complete.pop_front() else { break };
            let failed =
                |source| CaptureError::Target { path: seekwell_trust::shown(&oldest), source };
            std::fs::remove_dir_all(&oldest).map_err(failed)?;
        }
        Ok(())
    }
}

/// Limits of a writer: little of a trace of limited size is in memory, where its bytes are not counted.
fn limits(options: &Options) -> Limits {
    /// Bytes of the trace for each row in memory, of which a row takes about ten.
    const PER_ROW: u64 = 256;
    const LEAST_ROWS: usize = 256;
    /// Files are written when segments are sealed.
    const SEGMENTS: u64 = 8;
    const LEAST_SEGMENT: u64 = 64 << 10;
    let usual = Limits::default();
    let Some(most) = options.max_bytes else { return usual };
    let rows = usize::try_from(most / PER_ROW).unwrap_or(usize::MAX).max(LEAST_ROWS);
    let bytes = (most / SEGMENTS).max(LEAST_SEGMENT);
    Limits { bytes: usual.bytes.min(bytes), rows: usual.rows.min(rows), ..usual }
}

/// Losses since an earlier count.
fn since(lost: &[Lost], before: &[Lost]) -> Vec<Lost> {
    let earlier = |now: &Lost| {
        let same = |then: &&Lost| then.cpu == now.cpu && then.kind == now.kind;
        before.iter().find(same).map_or(0, |then| then.count)
    };
    let new = lost
        .iter()
        .map(|now| Lost { count: now.count - earlier(now).min(now.count), ..now.clone() });
    new.filter(|lost| lost.count > 0).collect()
}

#[cfg(test)]
mod tests;
