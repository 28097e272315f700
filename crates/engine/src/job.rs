//! Description of a job.

use crate::buffer::{ArenaShape, DataShape, LARGEST_BYTES};
use crate::commit::{AppendEnd, GroupCommit};
use crate::error::JobError;
use crate::progress::Progress;
use seekwell_model::workloads::SyncMethod;
use seekwell_model::workloads::io::{EngineKind, Pattern};
use seekwell_stats::derive_seed;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The part of the target that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub offset: u64,
    /// Bytes. A rest smaller than a block at the end is not used.
    pub length: u64,
}

/// Engines that perform operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineChoice {
    /// `pread` and `pwrite`.
    Psync,
    /// io_uring with registered buffers and a registered file.
    IoUring,
    /// Nothing is called: what remains is the cost of the loop.
    Null,
}

impl From<EngineKind> for EngineChoice {
    fn from(kind: EngineKind) -> Self {
        match kind {
            EngineKind::Psync => Self::Psync,
            EngineKind::IoUring => Self::IoUring,
        }
    }
}

/// A job: what to do with a target, for how long.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// An open file or block device. Opened with `O_DIRECT` exactly when `direct`.
    pub target: BorrowedFd<'a>,
    /// The part of it that is used.
    pub span: Span,
    /// Bytes per operation.
    pub block_bytes: u32,
    /// Order of the offsets.
    pub pattern: Pattern,
    /// Percentage of reads, 0 to 100.
    pub read_percent: u8,
    /// Threads.
    pub threads: u32,
    /// Operations in flight per thread; 1 with psync.
    pub depth: u32,
    /// Engine.
    pub engine: EngineChoice,
    /// Past the page cache.
    pub direct: bool,
    /// Operations per second over all threads (open loop): an operation's latency then counts
    /// from the time it was due. `None` is as fast as it goes.
    pub rate: Option<u64>,
    /// Reads and writes over all threads.
    pub count: Option<u64>,
    /// Time bound in ns. Operations in flight then are awaited and counted.
    pub time_ns: Option<u64>,
    /// A sync after every so many writes of a thread, when those are complete; 0 is never.
    pub fsync_every: u32,
    /// Method that makes writes durable. A sync that `fsync_every` asks for is an `fsync` where this says
    /// so and an `fdatasync` otherwise; the target is opened with `O_DSYNC` exactly when this says
    /// so.
    pub sync: Option<SyncMethod>,
    /// One sync serves all threads that wait for one; psync alone.
    pub group_commit: Option<Arc<GroupCommit>>,
    /// Sequential operations begin at this end, which all threads share, instead of each in a part
    /// of the span of its own. `count` must fit into the span.
    pub append: Option<Arc<AppendEnd>>,
    /// Compressibility and repetition of written data; by default neither.
    pub data: DataShape,
    /// Offsets, mix and data derive from it.
    pub seed: u64,
    /// Ends the job soon after it becomes true.
    pub stop: Option<Arc<AtomicBool>>,
    /// Counters to watch the job by.
    pub progress: Option<Arc<Progress>>,
    /// Keep so many single operations per thread, the first ones.
    pub keep_samples: usize,
}

impl<'a> Job<'a> {
    /// Random direct reads by one psync thread, not bound: set `count`, `time_ns` or `stop`.
    #[must_use]
    pub fn new(target: BorrowedFd<'a>, span: Span, block_bytes: u32) -> Self {
        Self {
            target,
            span,
            block_bytes,
            pattern: Pattern::Random,
            read_percent: 100,
            threads: 1,
            depth: 1,
            engine: EngineChoice::Psync,
            direct: true,
            rate: None,
            count: None,
            time_ns: None,
            fsync_every: 0,
            sync: None,
            group_commit: None,
            append: None,
            data: DataShape::default(),
            seed: 0,
            stop: None,
            progress: None,
            keep_samples: 0,
        }
    }

    /// Seed of the data of a thread: the same for all where the data follows from the offset.
    pub(crate) fn data_seed(&self, thread: u32) -> u64 {
        if self.data.by_offset {
            return derive_seed(self.seed, "data by offset");
        }
        derive_seed(self.seed, &format!("data {thread}"))
    }

    /// Memory that each thread needs.
    #[must_use]
    pub fn arena_shape(&self) -> ArenaShape {
        ArenaShape {
            block_bytes: self.block_bytes,
            depth: self.depth,
            reads: self.read_percent > 0,
            writes: self.read_percent < 100,
            data: self.data,
        }
    }

    /// Checks what can be checked before anything runs.
    ///
    /// # Errors
    /// [`JobError::Invalid`], saying what to change.
    pub fn check(&self) -> Result<(), JobError> {
        let invalid = |problem: String, remedy: &str| Err(JobError::invalid(problem, remedy));
        if self.block_bytes == 0 || self.threads == 0 || self.depth == 0 || self.read_percent > 100
        {
            let problem = format!(
                "size {} B, {} threads, depth {}, {} % reads",
                self.block_bytes, self.threads, self.depth, self.read_percent
            );
            return invalid(problem, "size, threads and depth start at 1, reads end at 100 %");
        }
        if self.engine == EngineChoice::Psync && self.depth > 1 {
            let problem = format!("depth {} with psync, which has no queue", self.depth);
            return invalid(problem, "use io_uring, or threads instead of depth");
        }
        if self.count.is_none() && self.time_ns.is_none() && self.stop.is_none() {
            return invalid("nothing ends the job".to_owned(), "set a count or a time");
        }
        if self.group_commit.is_some() && self.engine == EngineChoice::IoUring {
            return invalid("group commit with io_uring".to_owned(), "use psync and threads");
        }
        self.check_span()?;
        if self.arena_shape().bytes() > LARGEST_BYTES {
            let problem = format!(
                "depth {} of {} B needs {} MiB of memory per thread",
                self.depth,
                self.block_bytes,
                self.arena_shape().bytes() >> 20
            );
            return invalid(problem, "keep it below 1 GiB with a smaller depth or size");
        }
        self.check_direct()
    }

    fn check_span(&self) -> Result<(), JobError> {
        let Span { offset, length } = self.span;
        let block = u64::from(self.block_bytes);
        let needed = match self.pattern {
            Pattern::Random => block,
            Pattern::Sequential => block.saturating_mul(self.threads.into()),
        };
        if length < needed {
            let what = match needed == block {
                true => format!("one operation of {block} bytes"),
                false => format!("the {needed} of one operation of {block} bytes per thread"),
            };
            let problem = format!("the target has {length} bytes, less than {what}");
            let remedy = "use a larger target, a smaller size or fewer threads";
            return Err(JobError::invalid(problem, remedy));
        }
        if self.append.is_some() && self.count.is_none_or(|count| count > length / block) {
            let problem =
                format!("appends that are not limited to the {length} bytes of the target");
            return Err(JobError::invalid(problem, "set a count that fits"));
        }
        // The kernel's offsets are signed.
        if offset.checked_add(length).is_none_or(|end| i64::try_from(end).is_err()) {
            let problem = format!("{length} bytes from offset {offset} end beyond 2^63");
            return Err(JobError::invalid(problem, "use a smaller part of the target"));
        }
        Ok(())
    }

    fn check_direct(&self) -> Result<(), JobError> {
        if self.engine == EngineChoice::Null {
            return Ok(());
        }
        let aligned = self.block_bytes.is_multiple_of(512) && self.span.offset.is_multiple_of(512);
        if self.direct && !aligned {
            let (bytes, offset) = (self.block_bytes, self.span.offset);
            let problem = format!("direct I/O of {bytes} B from offset {offset}");
            let remedy = "use multiples of the device's logical sector, 512 B or 4 KiB";
            return Err(JobError::invalid(problem, remedy));
        }
        let flags = rustix::fs::fcntl_getfl(self.target)
            .map_err(JobError::setup("read the flags of the target", "give an open file"))?;
        if flags.contains(rustix::fs::OFlags::DIRECT) != self.direct {
            let problem = format!(
                "the job {} direct I/O and the target was opened {} O_DIRECT",
                if self.direct { "wants" } else { "does not want" },
                if self.direct { "without" } else { "with" }
            );
            return Err(JobError::invalid(problem, "open the target accordingly"));
        }
        let dsync = self.sync == Some(SyncMethod::ODsync);
        // The constant of the same name in rustix is `O_SYNC`, of which this is a part.
        if dsync && flags.bits() & libc::O_DSYNC as u32 == 0 {
            let problem = "the job wants O_DSYNC and the target was opened without";
            return Err(JobError::invalid(problem, "open the target accordingly"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
