//! The writes of a finished job, generated again from its seed: their offsets and their data.

use crate::buffer::{Arena, ArenaShape, mixed};
use crate::job::Job;
use crate::operation::OperationKind;
use crate::run::JobResult;
use crate::source::{Next, Source};
use std::io;

/// Offsets that are kept before the first search for those that occur twice.
const FIRST_SORT: usize = 1 << 16;

/// The writes of a finished job whose data follows from their offsets
/// ([`crate::DataShape::by_offset`]).
#[derive(Clone, Debug)]
pub struct Written {
    writers: Writers,
    block_bytes: u32,
    seed: u64,
    shape: ArenaShape,
    data_seed: u64,
}

#[derive(Clone, Debug)]
enum Writers {
    /// Operations of each thread from its start, and their number.
    Threads(Vec<(Source, u64)>),
    /// Appends without a gap: the first offset and their number.
    Appends(u64, u64),
}

impl Written {
    /// The writes of a job that has ended with this result; `None` if the job only reads, or if its
    /// data does not follow from the offsets.
    #[must_use]
    pub fn of(job: &Job<'_>, result: &JobResult) -> Option<Self> {
        if !job.data.by_offset || job.read_percent >= 100 {
            return None;
        }
        let writers = if job.append.is_some() {
            Writers::Appends(job.span.offset, result.ops)
        } else {
            let threads = (0_u32..).zip(&result.threads);
            let source = |(thread, ops): (u32, &u64)| Some((Source::new(job, thread)?, *ops));
            Writers::Threads(threads.map(source).collect::<Option<_>>()?)
        };
        Some(Self {
            writers,
            block_bytes: job.block_bytes,
            seed: job.seed,
            shape: ArenaShape { depth: 1, reads: false, ..job.arena_shape() },
            data_seed: job.data_seed(0),
        })
    }

    /// Bytes per write.
    #[must_use]
    pub fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    /// Offsets of a percentage of the writes, chosen by the seed, ascending and each once; at least
    /// one, if anything was written.
    #[must_use]
    pub fn chosen(&self, percent: u8) -> Vec<u64> {
        let mut chosen = Chosen { first: None, offsets: Vec::new(), sort_at: FIRST_SORT };
        let seed = self.seed ^ u64::from_be_bytes(*b"chosen..");
        let mut take = |offset: u64| {
            chosen.add(offset, mixed(seed, offset) % 100 < u64::from(percent));
        };
        match &self.writers {
            Writers::Appends(first, count) => {
                (0..*count).for_each(|index| take(first + index * u64::from(self.block_bytes)));
            }
            Writers::Threads(threads) => {
                for (source, ops) in threads {
                    writes_of(source.clone(), *ops, &mut take);
                }
            }
        }
        chosen.finish()
    }

    /// The data that the writes had.
    ///
    /// # Errors
    /// When the kernel gives no memory.
    pub fn data(&self) -> io::Result<WrittenData> {
        Ok(WrittenData(Arena::new(self.shape, self.data_seed)?))
    }
}

/// Data of writes, generated again.
#[derive(Debug)]
pub struct WrittenData(Arena);

impl WrittenData {
    /// The data of a write at an offset.
    pub fn at(&mut self, offset: u64) -> &[u8] {
        self.0.block_at(offset)
    }
}

/// The offsets of the writes among the first `ops` operations of a thread.
fn writes_of(mut source: Source, ops: u64, take: &mut impl FnMut(u64)) {
    let mut left = ops;
    while left > 0 {
        // Late enough for every operation of an open loop to be due.
        match source.next(u64::MAX, false) {
            Next::Issue { kind: OperationKind::Fsync, .. } => {}
            Next::Issue { kind, offset, .. } => {
                left -= 1;
                if kind == OperationKind::Write {
                    take(offset);
                }
            }
            Next::NotBefore(_) | Next::Drain | Next::Finished => return,
        }
    }
}

struct Chosen {
    /// The first write, in case chance chooses none.
    first: Option<u64>,
    offsets: Vec<u64>,
    /// Number of offsets from which repetitions are searched for.
    sort_at: usize,
}

impl Chosen {
    fn add(&mut self, offset: u64, is_chosen: bool) {
        self.first.get_or_insert(offset);
        if !is_chosen {
            return;
        }
        self.offsets.push(offset);
        if self.offsets.len() >= self.sort_at {
            self.sort();
            self.sort_at = (2 * self.offsets.len()).max(FIRST_SORT);
        }
    }

    fn sort(&mut self) {
        self.offsets.sort_unstable();
        self.offsets.dedup();
    }

    fn finish(mut self) -> Vec<u64> {
        if self.offsets.is_empty() {
            self.offsets.extend(self.first);
        }
        self.sort();
        self.offsets
    }
}

#[cfg(test)]
mod tests;
