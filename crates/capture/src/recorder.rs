//! Rings in, rows out. One thread empties the rings, another makes rows of the records: encoding and
//! the syncs of full segments take longer than a ring has room for.

use crate::error::CaptureError;
use crate::live::Live;
use crate::load::{InProgress, Loaded};
use crate::record;
use crate::resolve::Resolver;
use crate::{Options, output, walk};
use seekwell_trace::TraceWriter;
use seekwell_trace::meta::{Lost, Meta, Mount, Unfinished};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Bytes that may wait between the threads. Beyond them the rings are left to overflow, which the
/// programs count.
const WAITING: usize = 1 << 30;

/// Bytes up to which the thread that makes rows leaves the CPUs to the recorded programs: half a million
/// calls.
const IN_TIME: usize = 64 << 20;
/// Its niceness then.
const NICE: i32 = 15;

/// Resolver and writer of a capture.
pub(crate) struct Recorder {
    pub(crate) resolver: Resolver,
    pub(crate) writer: TraceWriter,
    /// Records whose turn has not come, each with its length before it: another CPU may still have
    /// earlier ones.
    waiting: Vec<u8>,
    /// End of each record at hand and its place: in `waiting`, and after that in the batch.
    order: Vec<(u64, usize)>,
    meta: Meta,
    /// Bytes of the trace, for the thread that empties the rings.
    bytes: Arc<AtomicU64>,
    /// Load of the last second, until it is taken.
    live: Arc<Mutex<Option<Live>>>,
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
    /// Used buffers: memory that is new has to be cleared by the kernel.
    spare: Receiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    bytes: Arc<AtomicU64>,
    live: Arc<Mutex<Option<Live>>>,
    thread: JoinHandle<Result<Recorder, CaptureError>>,
}

/// Priority of a thread: it gives way to others, or takes its share.
struct Priority {
    /// Niceness that it began with; `None` where it could not be had again.
    own: Option<i32>,
    gives_way: bool,
}

impl Priority {
    /// That of this thread.
    fn new() -> Self {
        let own = rustix::process::getpriority_process(None).ok();
        Self { own: own.filter(|own| nice(own + 1) && nice(*own)), gives_way: false }
    }

    fn set(&mut self, gives_way: bool) {
        let Some(own) = self.own.filter(|_| gives_way != self.gives_way) else { return };
        self.gives_way = gives_way;
        nice(if gives_way { own.max(NICE) } else { own });
    }
}

/// Sets the niceness of this thread; false when the kernel refuses.
fn nice(value: i32) -> bool {
    rustix::process::setpriority_process(None, value).is_ok()
}

impl Recorder {
    /// Makes the trace.
    ///
    /// # Errors
    /// When the output cannot be made.
    pub(crate) fn create(
        options: &Options,
        resolver: Resolver,
        meta: Meta,
    ) -> Result<Self, CaptureError> {
        let writer = output::create(options, &meta)?;
        Ok(Self {
            resolver,
            writer,
            waiting: Vec::new(),
            order: Vec::new(),
            meta,
            bytes: Arc::new(AtomicU64::new(0)),
            live: Arc::default(),
        })
    }

    /// Writes the state of these trees, from before the start.
    ///
    /// # Errors
    /// Those of the writer.
    pub(crate) fn walk(
        &mut self,
        roots: &[PathBuf],
        output: &Path,
        stop: &AtomicBool,
    ) -> Result<(), CaptureError> {
        let writer = &mut self.writer;
        let trees = walk::visit(roots, output, stop, &mut |entry| Ok(writer.initial(entry)?))?;
        self.meta.initial = trees;
        Ok(())
    }

    /// Sets the start of the capture: on the clock of the records, and since 1970.
    pub(crate) fn begin(&mut self, origin_ns: u64, since_1970_ns: Option<u64>) {
        self.resolver.origin_ns = origin_ns;
        self.meta.started_unix_ns = since_1970_ns;
    }

    /// Learns how the recorded processes see the directories of the machine.
    pub(crate) fn mounts(&mut self, mounts: Vec<Mount>) {
        if !mounts.is_empty() {
            self.resolver.limit_inside(&mounts);
            let said = "paths are those that the container sees; `mounts` in trace.json has their \
                        places outside. The state before the start, if there is any, has those";
            self.meta.gaps.push(said.to_owned());
        }
        self.meta.mounts = mounts;
    }

    /// Starts the thread that makes rows.
    pub(crate) fn start(self) -> Rows {
        let (batches, receiver) = channel();
        let (used, spare) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (left, bytes) = (Arc::clone(&waiting), Arc::clone(&self.bytes));
        let live = Arc::clone(&self.live);
        let thread = std::thread::spawn(move || self.rows(&receiver, &used, &left));
        Rows { batches, spare, waiting, bytes, live, thread }
    }

    fn rows(
        mut self,
        batches: &Receiver<Batch>,
        used: &Sender<Vec<u8>>,
        left: &AtomicUsize,
    ) -> Result<Self, CaptureError> {
        let mut priority = Priority::new();
        for batch in batches {
            let is_last = batch.until_ns == u64::MAX;
            priority.set(!is_last && left.load(Ordering::Relaxed) < IN_TIME);
            self.add(&batch.bytes, batch.until_ns)?;
            left.fetch_sub(batch.bytes.len(), Ordering::Relaxed);
            // It is not received after the last look.
            let _ = used.send(batch.bytes);
            self.meta.lost = batch.lost;
            self.writer.keep_up(&self.meta)?;
            self.bytes.store(self.writer.bytes(), Ordering::Relaxed);
            self.tell();
        }
        Ok(self)
    }

    /// Shows the load of the last second, if it is over.
    fn tell(&mut self) {
        let due = self.resolver.counting.take_if(|counting| counting.is_due());
        let Some(mut counting) = due else { return };
        let live = Live {
            events: self.writer.events(),
            lost: self.meta.lost_events(),
            bytes: self.bytes.load(Ordering::Relaxed),
            ..counting.take(|file| self.resolver.path(file), |id| self.resolver.process_name(id))
        };
        self.resolver.counting = Some(counting);
        *self.live.lock().unwrap_or_else(PoisonError::into_inner) = Some(live);
    }

    /// Notes the calls on files that are in progress at the end: they are in no row.
    pub(crate) fn leave(&mut self, in_progress: &[InProgress], end_ns: u64) {
        let mut found: BTreeMap<&'static str, Unfinished> = BTreeMap::new();
        for one in in_progress {
            let Some(name) = self.resolver.unfinished(one, &mut self.writer) else { continue };
            let since_ns = end_ns.saturating_sub(one.start_ns);
            let entry = found.entry(name).or_insert_with(|| Unfinished {
                call: name.to_owned(),
                count: 0,
                longest_ns: 0,
            });
            entry.count += 1;
            entry.longest_ns = entry.longest_ns.max(since_ns);
        }
        self.meta.unfinished = found.into_values().collect();
    }

    /// Seals the trace, which ended at `end_ns`. Returns the number of its events.
    ///
    /// # Errors
    /// Those of the writer.
    pub(crate) fn finish(mut self, end_ns: u64) -> Result<u64, CaptureError> {
        self.resolver.write_all_held(None, &mut self.writer)?;
        let events = self.writer.events();
        self.meta.devices = self.resolver.devices();
        self.meta.duration_ns = Some(end_ns.saturating_sub(self.resolver.origin_ns));
        self.writer.finish(&self.meta)?;
        Ok(events)
    }

    /// Writes records that end by `until_ns` in the order of their ends, and keeps the others.
    pub(crate) fn add(&mut self, batch: &[u8], until_ns: u64) -> Result<(), CaptureError> {
        let waiting = std::mem::take(&mut self.waiting);
        let mut order = std::mem::take(&mut self.order);
        for (from, bytes) in [(0, waiting.as_slice()), (waiting.len(), batch)] {
            let mut at = 0;
            while let Some(record) = record_at(bytes, at) {
                order.extend(record::end_ns(record).map(|end_ns| (end_ns, from + at)));
                at += LENGTH + record.len();
            }
        }
        // Stable: a call's paths come before it in its ring and have its time.
        order.sort_by_key(|(end_ns, _)| *end_ns);
        let ready = order.partition_point(|(end_ns, _)| *end_ns <= until_ns);
        let bytes = |at: usize| match at.checked_sub(waiting.len()) {
            Some(at) => record_at(batch, at),
            None => record_at(&waiting, at),
        };
        for (_, at) in &order[..ready] {
            self.resolver.add_bytes(bytes(*at).unwrap_or_default(), &mut self.writer)?;
        }
        for (_, at) in &order[ready..] {
            push(&mut self.waiting, bytes(*at).unwrap_or_default());
        }
        order.clear();
        self.order = order;
        Ok(())
    }
}

/// Bytes of a record's length.
const LENGTH: usize = 4;

/// Adds a record with its length before it.
pub(crate) fn push(bytes: &mut Vec<u8>, record: &[u8]) {
    let length = u32::try_from(record.len()).unwrap_or(0);
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(record);
}

/// The record whose length is at this place; `None` at the end.
fn record_at(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let (length, rest) = bytes.get(at..)?.split_first_chunk::<LENGTH>()?;
    rest.get(..u32::from_ne_bytes(*length) as usize)
}

impl Rows {
    /// Bytes of the trace so far, without the rows that wait in memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Load of the last second, once.
    pub(crate) fn live(&self) -> Option<Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Empties the rings for the other thread; `until_ns` is `u64::MAX` at the last look. False when
    /// that thread has ended, which is an error.
    pub(crate) fn take(&self, loaded: &mut Loaded, until_ns: u64, lost: Vec<Lost>) -> bool {
        let mut bytes = self.spare.try_recv().unwrap_or_default();
        bytes.clear();
        // The last look takes everything.
        let is_last = until_ns == u64::MAX;
        if is_last || self.waiting.load(Ordering::Relaxed) < WAITING {
            for ring in &mut loaded.rings {
                ring.drain(|record| push(&mut bytes, record));
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
