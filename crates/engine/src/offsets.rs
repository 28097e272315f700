//! Offsets of operations.

use crate::job::Span;
use seekwell_model::workloads::io::Pattern;
use seekwell_stats::{Rng, derive_seed, seeded};

/// Endless offsets of one thread, each a whole number of blocks after the start of the span.
#[derive(Clone, Debug)]
pub enum Offsets {
    /// Uniform over the blocks of the span, with repetition.
    Random {
        /// Source of chance.
        rng: Rng,
        /// First byte of the span.
        base: u64,
        /// Bytes per block.
        block_bytes: u64,
        /// Blocks in the span.
        blocks: u64,
    },
    /// One block after the other through this thread's share of the span, wrapping at its end.
    Sequential {
        /// Next offset in bytes.
        next: u64,
        /// First offset of the share.
        first: u64,
        /// End of the share.
        end: u64,
        /// Bytes per block.
        block_bytes: u64,
    },
}

impl Offsets {
    /// Offsets of thread `thread` of `threads`.
    ///
    /// Random: every thread has the whole span and numbers of its own. Sequential: the span is
    /// cut into one share per thread, as equal as whole blocks allow, without gap or overlap.
    ///
    /// `None` when no whole block is left for this thread.
    #[must_use]
    pub fn new(
        pattern: Pattern,
        span: Span,
        block_bytes: u32,
        (thread, threads): (u32, u32),
        seed: u64,
    ) -> Option<Self> {
        let block_bytes = u64::from(block_bytes);
        let blocks = span.length.checked_div(block_bytes)?;
        match pattern {
            Pattern::Random => (blocks > 0).then(|| Self::Random {
                rng: seeded(derive_seed(seed, &format!("offsets {thread}"))),
                base: span.offset,
                block_bytes,
                blocks,
            }),
            Pattern::Sequential => {
                let share = |index: u32| {
                    let block = u128::from(blocks) * u128::from(index) / u128::from(threads);
                    span.offset + block as u64 * block_bytes
                };
                let (first, end) = (share(thread), share(thread + 1));
                (first < end).then_some(Self::Sequential { next: first, first, end, block_bytes })
            }
        }
    }

    /// The next offset in bytes.
    #[inline]
    pub fn next_offset(&mut self) -> u64 {
        match self {
            Self::Random { rng, base, block_bytes, blocks } => {
                *base + rng.below(*blocks) * *block_bytes
            }
            Self::Sequential { next, first, end, block_bytes } => {
                let offset = *next;
                let following = offset + *block_bytes;
                *next = if following < *end { following } else { *first };
                offset
            }
        }
    }
}

#[cfg(test)]
mod tests;
