//! Decides what a thread does next, and when.

use crate::commit::AppendEnd;
use crate::job::Job;
use crate::offsets::Offsets;
use crate::operation::OperationKind;
use crate::schedule::Schedule;
use seekwell_stats::{Rng, derive_seed, seeded};
use std::sync::Arc;

/// Next action of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// This.
    Issue {
        /// Read, write or fsync.
        kind: OperationKind,
        /// Offset in bytes; 0 for an fsync.
        offset: u64,
        /// Time at which it was due, in ns since the start; `None` without a rate.
        due_ns: Option<u64>,
    },
    /// Nothing before this time, in ns since the start.
    NotBefore(u64),
    /// Nothing before all operations in flight are complete: an fsync is next.
    Drain,
    /// Nothing any more.
    Finished,
}

/// The operations of one thread in order.
#[derive(Clone, Debug)]
pub struct Source {
    offsets: Offsets,
    append: Option<(Arc<AppendEnd>, u64)>,
    mix: Rng,
    read_percent: u8,
    /// Reads and writes left; `u64::MAX` when not bound by count.
    left: u64,
    issued: u64,
    schedule: Option<Schedule>,
    time_ns: Option<u64>,
    fsync_every: u32,
    writes_since_fsync: u32,
    finished: bool,
}

impl Source {
    /// The operations of thread `thread` of a job; `None` when its share of the span is empty.
    #[must_use]
    pub fn new(job: &Job<'_>, thread: u32) -> Option<Self> {
        let of = (thread, job.threads);
        let left = job.count.map_or(u64::MAX, |count| {
            let threads = u64::from(job.threads);
            count / threads + u64::from(u64::from(thread) < count % threads)
        });
        Some(Self {
            offsets: Offsets::new(job.pattern, job.span, job.block_bytes, of, job.seed)?,
            append: job.append.clone().map(|end| (end, job.block_bytes.into())),
            mix: seeded(derive_seed(job.seed, &format!("mix {thread}"))),
            read_percent: job.read_percent,
            left,
            issued: 0,
            schedule: job.rate.map(|rate| Schedule::new(rate, thread, job.threads)),
            time_ns: job.time_ns,
            fsync_every: job.fsync_every,
            writes_since_fsync: 0,
            finished: false,
        })
    }

    /// Returns the next operation, given the time since the start and if operations are in flight.
    #[inline]
    pub fn next(&mut self, elapsed_ns: u64, in_flight: bool) -> Next {
        if self.fsync_every > 0 && self.writes_since_fsync >= self.fsync_every {
            if in_flight {
                return Next::Drain;
            }
            self.writes_since_fsync = 0;
            return Next::Issue { kind: OperationKind::Fsync, offset: 0, due_ns: None };
        }
        if self.finished || self.left == 0 {
            return Next::Finished;
        }
        let mut due_ns = None;
        if let Some(schedule) = &self.schedule {
            let due = schedule.due_ns(self.issued);
            if self.time_ns.is_some_and(|time| due >= time) {
                return Next::Finished;
            }
            if due > elapsed_ns {
                return Next::NotBefore(due);
            }
            due_ns = Some(due);
        }
        self.left -= 1;
        self.issued += 1;
        let kind = self.kind();
        let offset = match &self.append {
            Some((end, block_bytes)) => end.claim(*block_bytes),
            None => self.offsets.next_offset(),
        };
        Next::Issue { kind, offset, due_ns }
    }

    #[inline]
    fn kind(&mut self) -> OperationKind {
        let read = match self.read_percent {
            0 => false,
            100 => true,
            percent => self.mix.below(100) < u64::from(percent),
        };
        if read {
            return OperationKind::Read;
        }
        self.writes_since_fsync = self.writes_since_fsync.saturating_add(1);
        OperationKind::Write
    }

    /// Nothing is issued any more, except an fsync that is already due.
    pub fn finish(&mut self) {
        self.finished = true;
    }

    /// Returns true when the time bound is reached.
    #[inline]
    #[must_use]
    pub fn is_over(&self, elapsed_ns: u64) -> bool {
        self.time_ns.is_some_and(|time| elapsed_ns >= time)
    }

    /// Operations that were due in `elapsed_ns` and were not issued: what the open loop owes.
    #[must_use]
    pub fn owed(&self, elapsed_ns: u64) -> u64 {
        let Some(schedule) = &self.schedule else { return 0 };
        let bound_ns = self.time_ns.map_or(elapsed_ns, |time| time.min(elapsed_ns));
        let due = schedule.due_before(bound_ns).min(self.issued.saturating_add(self.left));
        due.saturating_sub(self.issued)
    }
}

#[cfg(test)]
mod tests;
