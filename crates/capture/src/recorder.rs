//! Rings in, rows out. One thread empties the rings, another makes rows of the records: encoding and
//! the syncs of full segments take longer than a ring has room for.

use crate::error::CaptureError;
use crate::load::Loaded;
use crate::record::Record;
use crate::resolve::Resolver;
use seekwell_trace::TraceWriter;
use seekwell_trace::meta::{Lost, Meta};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

/// Bytes that may wait between the threads. Beyond them the rings are left to overflow, which the
/// programs count.
const WAITING: usize = 1 << 30;

/// Resolver and writer of a capture.
pub(crate) struct Recorder {
    pub(crate) resolver: Resolver,
    pub(crate) writer: TraceWriter,
    /// Records whose turn has not come: another CPU may still have earlier ones.
    waiting: Vec<Record>,
}

/// Records of all rings at one look.
struct Batch {
    /// Each with its length before it.
    bytes: Vec<u8>,
    /// No record that ends before this is missing.
    until_ns: u64,
    lost: Vec<Lost>,
}

/// The thread that makes rows, seen from the one that empties the rings.
pub(crate) struct Rows {
    batches: Sender<Batch>,
    waiting: Arc<AtomicUsize>,
    thread: JoinHandle<Result<Recorder, CaptureError>>,
}

impl Recorder {
    pub(crate) fn new(resolver: Resolver, writer: TraceWriter) -> Self {
        Self { resolver, writer, waiting: Vec::new() }
    }

    /// Starts the thread that makes rows.
    pub(crate) fn start(self, meta: Meta) -> Rows {
        let (batches, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let left = Arc::clone(&waiting);
        let thread = std::thread::spawn(move || self.rows(meta, &receiver, &left));
        Rows { batches, waiting, thread }
    }

    fn rows(
        mut self,
        mut meta: Meta,
        batches: &Receiver<Batch>,
        left: &AtomicUsize,
    ) -> Result<Self, CaptureError> {
        for batch in batches {
            let mut bytes = batch.bytes.as_slice();
            while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
                let length = u32::from_ne_bytes(*length) as usize;
                let (record, rest) = rest.split_at(length.min(rest.len()));
                self.waiting.extend(Record::parse(record));
                bytes = rest;
            }
            left.fetch_sub(batch.bytes.len(), Ordering::Relaxed);
            self.write_until(batch.until_ns)?;
            meta.lost = batch.lost;
            self.writer.keep_up(&meta)?;
        }
        Ok(self)
    }

    fn write_until(&mut self, until_ns: u64) -> Result<(), CaptureError> {
        // Stable: a call's paths come before it in its ring and have its time.
        self.waiting.sort_by_key(Record::end_ns);
        let ready = self.waiting.partition_point(|record| record.end_ns() <= until_ns);
        for record in self.waiting.drain(..ready) {
            self.resolver.add(record, &mut self.writer)?;
        }
        Ok(())
    }
}

impl Rows {
    /// Empties the rings for the other thread; `until_ns` is `u64::MAX` at the last look. False when that thread has ended, which is an error.
    pub(crate) fn take(&self, loaded: &mut Loaded, until_ns: u64, lost: Vec<Lost>) -> bool {
        let mut bytes = Vec::new();
        // The last look takes everything.
        let is_last = until_ns == u64::MAX;
        if is_last || self.waiting.load(Ordering::Relaxed) < WAITING {
            for ring in &mut loaded.rings {
                ring.drain(|record| {
                    let length = u32::try_from(record.len()).unwrap_or(0);
                    bytes.extend_from_slice(&length.to_ne_bytes());
                    bytes.extend_from_slice(record);
                });
            }
        }
        // What is still in the rings may be earlier than this look.
        let until_ns = if is_last || !bytes.is_empty() { until_ns } else { 0 };
        self.waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        self.batches.send(Batch { bytes, until_ns, lost }).is_ok()
    }

    /// Waits until every record is a row.
    ///
    /// # Errors
    /// Those of the writer.
    pub(crate) fn finish(self, lost: Vec<Lost>) -> Result<Recorder, CaptureError> {
        let last = Batch { bytes: Vec::new(), until_ns: u64::MAX, lost };
        // It is not received after an error, which the thread returns.
        let _ = self.batches.send(last);
        drop(self.batches);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
