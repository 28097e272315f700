//! The loop of one thread: takes operations from the source, hands them to an engine, times and
//! counts the completions.

use crate::buffer::Arena;
use crate::clock::Clock;
use crate::error::JobError;
use crate::job::Job;
use crate::operation::{Completion, Engine, Operation, OperationKind};
use crate::progress::{Progress, Separated};
use crate::source::{Next, Source};
use seekwell_model::workloads::SyncMethod;
use seekwell_stats::Histogram;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Sleeps and waits end at least this often, so that a stop is seen in time.
const LONGEST_NAP_NS: u64 = 20_000_000;

/// Signals between the threads of a job and its caller.
#[derive(Clone, Copy, Debug)]
pub struct Signals<'a> {
    /// The caller's wish to stop.
    pub stop: Option<&'a AtomicBool>,
    /// Set by a thread that failed, so that the others stop.
    pub failed: &'a Separated<AtomicBool>,
    /// Counters to watch the job by.
    pub progress: Option<&'a Progress>,
}

impl Signals<'_> {
    #[inline]
    fn stopped(&self) -> bool {
        self.failed.0.load(Ordering::Relaxed)
            || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }
}

/// One operation that was kept singly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingleOperation {
    /// Start in ns on the clock; with a rate, the time at which it was due.
    pub begun_ns: u64,
    /// Latency.
    pub latency_ns: u64,
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Offset in the target in bytes.
    pub offset: u64,
}

/// Counts of one thread.
#[derive(Debug, Default)]
pub struct Tally {
    /// Latencies of reads in ns.
    pub read: Histogram,
    /// Latencies of writes in ns.
    pub write: Histogram,
    /// Latencies of fsyncs in ns.
    pub fsync: Histogram,
    /// From the start of each write until it was durable, in ns; empty where nothing made it so.
    pub commit: Histogram,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Reads and writes completed.
    pub ops: u64,
    /// Operations that were due by the end and never issued.
    pub owed: u64,
    /// Begin of the loop on the clock.
    pub started_ns: u64,
    /// Last completion on the clock; the start when nothing completed.
    pub ended_ns: u64,
    /// True when the caller's stop ended it.
    pub stopped: bool,
    /// The first operations singly, as many as were asked for.
    pub samples: Vec<SingleOperation>,
    /// Reason if it ended early; it does not know what other threads completed.
    pub failure: Option<JobError>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    operation: Operation,
    begun_ns: u64,
    due: bool,
}

/// The loop and its state. Everything is allocated when it is made.
#[derive(Debug)]
pub struct Driver<'a> {
    source: Source,
    arena: &'a mut Arena,
    block_bytes: u32,
    slots: Box<[Slot]>,
    /// Numbers of free slots: the first `free` entries.
    free_slots: Box<[u32]>,
    free: usize,
    /// Starts of the writes that no sync has made durable yet.
    unsynced: Vec<u64>,
    fsync_every: u32,
    /// Each write is durable when it completes.
    durable_writes: bool,
    tally: Tally,
}

/// Result of a refill.
enum Refill {
    /// Slots are full or the source is empty for now.
    Wait,
    /// Nothing before this time, in ns since the start.
    Until(u64),
    /// The source has finished.
    Finished,
}

impl<'a> Driver<'a> {
    /// Allocates the state of a thread of a job.
    #[must_use]
    pub fn new(source: Source, arena: &'a mut Arena, job: &Job<'_>) -> Self {
        let depth = job.depth as usize;
        let idle = Operation { kind: OperationKind::Read, offset: 0, length: 0, buffer: 0 };
        Self {
            source,
            arena,
            block_bytes: job.block_bytes,
            slots: vec![Slot { operation: idle, begun_ns: 0, due: false }; depth].into(),
            free_slots: (0..job.depth).rev().collect(),
            free: depth,
            unsynced: Vec::with_capacity(job.fsync_every as usize),
            fsync_every: job.fsync_every,
            durable_writes: matches!(job.sync, Some(SyncMethod::ODsync | SyncMethod::RwfDsync)),
            tally: Tally { samples: Vec::with_capacity(job.keep_samples), ..Tally::default() },
        }
    }

    /// Runs the loop to its end.
    pub fn drive<C: Clock, E: Engine>(
        mut self,
        clock: &C,
        engine: &mut E,
        signals: Signals<'_>,
        thread: u32,
    ) -> Tally {
        let start_ns = clock.now_ns();
        self.tally.started_ns = start_ns;
        self.tally.ended_ns = start_ns;
        let mut now_ns = start_ns;
        loop {
            if self.source.is_over(now_ns - start_ns) || signals.stopped() {
                self.tally.stopped |= !self.source.is_over(now_ns - start_ns);
                self.source.finish();
            }
            let before = self.free;
            let refill = self.refill(engine, start_ns, now_ns);
            if self.in_flight() == 0 {
                match refill {
                    Refill::Until(due_ns) => {
                        let nap = (start_ns + due_ns).min(now_ns + LONGEST_NAP_NS);
                        clock.sleep_until_ns(nap);
                        now_ns = clock.now_ns();
                        continue;
                    }
                    Refill::Wait | Refill::Finished => break,
                }
            }
            if self.free < before {
                self.begin(self.free..before, clock.now_ns());
            }
            let timeout_ns = match refill {
                Refill::Until(due_ns) => {
                    Some((start_ns + due_ns).saturating_sub(now_ns).min(LONGEST_NAP_NS))
                }
                Refill::Wait | Refill::Finished => None,
            };
            if let Err(source) = engine.submit(timeout_ns) {
                self.fail(JobError::Submit { completed: 0, source });
                break;
            }
            now_ns = clock.now_ns();
            while let Some(completion) = engine.next_completion() {
                self.complete(completion, now_ns);
            }
            if let Some(progress) = signals.progress {
                let bytes = self.tally.bytes_read + self.tally.bytes_written;
                progress.store(thread, self.tally.ops, bytes);
            }
        }
        self.tally.owed = self.source.owed(now_ns - start_ns);
        self.tally
    }

    #[inline]
    fn in_flight(&self) -> usize {
        self.slots.len() - self.free
    }

    /// Queues operations until the slots are full or there is nothing to do.
    #[inline]
    fn refill<E: Engine>(&mut self, engine: &mut E, start_ns: u64, now_ns: u64) -> Refill {
        if self.tally.failure.is_some() {
            return Refill::Finished;
        }
        while self.free > 0 {
            match self.source.next(now_ns - start_ns, self.in_flight() > 0) {
                Next::Issue { kind, offset, due_ns } => {
                    self.free -= 1;
                    let number = self.free_slots[self.free];
                    let operation = self.operation(kind, offset, number);
                    let slot = &mut self.slots[number as usize];
                    slot.operation = operation;
                    slot.due = due_ns.is_some();
                    slot.begun_ns = start_ns + due_ns.unwrap_or(0);
                    engine.queue(number, &operation);
                    if kind == OperationKind::Fsync {
                        return Refill::Wait;
                    }
                }
                Next::NotBefore(due_ns) => return Refill::Until(due_ns),
                Next::Drain => return Refill::Wait,
                Next::Finished => return Refill::Finished,
            }
        }
        Refill::Wait
    }

    #[inline]
    fn operation(&mut self, kind: OperationKind, offset: u64, slot: u32) -> Operation {
        let (length, buffer) = match kind {
            OperationKind::Read => (self.block_bytes, self.arena.read_buffer(slot)),
            OperationKind::Write => (self.block_bytes, self.arena.write_buffer_at(slot, offset)),
            OperationKind::Fsync => (0, 0),
        };
        Operation { kind, offset, length, buffer }
    }

    /// The slots just taken are still stored above the free ones: they begin now, unless each has its
    /// own due time.
    #[inline]
    fn begin(&mut self, taken: std::ops::Range<usize>, now_ns: u64) {
        for index in taken {
            let slot = &mut self.slots[self.free_slots[index] as usize];
            if !slot.due {
                slot.begun_ns = now_ns;
            }
        }
    }

    #[inline]
    fn complete(&mut self, completion: Completion, now_ns: u64) {
        let slot = self.slots[completion.slot as usize];
        self.free_slots[self.free] = completion.slot;
        self.free += 1;
        let Operation { kind, offset, length, .. } = slot.operation;
        if completion.result != length as i32 {
            self.fail(failure(slot.operation, completion.result));
            return;
        }
        let latency_ns = now_ns.saturating_sub(slot.begun_ns);
        self.tally.ended_ns = now_ns;
        match kind {
            OperationKind::Read => {
                self.tally.read.record(latency_ns);
                self.tally.bytes_read += u64::from(length);
                self.tally.ops += 1;
            }
            OperationKind::Write => {
                self.tally.write.record(latency_ns);
                self.tally.bytes_written += u64::from(length);
                self.tally.ops += 1;
                if self.fsync_every > 0 {
                    // The source asks for a sync after so many writes: this never grows.
                    self.unsynced.push(slot.begun_ns);
                } else if self.durable_writes {
                    self.tally.commit.record(latency_ns);
                }
            }
            OperationKind::Fsync => {
                self.tally.fsync.record(latency_ns);
                for begun_ns in self.unsynced.drain(..) {
                    self.tally.commit.record(now_ns.saturating_sub(begun_ns));
                }
            }
        }
        if self.tally.samples.len() < self.tally.samples.capacity() {
            let begun_ns = slot.begun_ns;
            self.tally.samples.push(SingleOperation { begun_ns, latency_ns, kind, offset });
        }
    }

    /// Keeps the first failure: later ones are often its consequence.
    #[cold]
    fn fail(&mut self, failure: JobError) {
        self.source.finish();
        self.tally.failure.get_or_insert(failure);
    }
}

#[cold]
fn failure(operation: Operation, result: i32) -> JobError {
    let completed = 0;
    match u32::try_from(result) {
        Ok(transferred) => JobError::Short { operation, transferred, completed },
        Err(_) => {
            let source = io::Error::from_raw_os_error(-result);
            JobError::Operation { operation, completed, source }
        }
    }
}

#[cfg(test)]
mod tests;
