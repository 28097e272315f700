//! Working set and miss ratios of caches: distances between two accesses to the same block, of all
//! blocks or of a sample.
//!
//! The sample is that of SHARDS (Waldspurger and others, FAST '15) with a fixed number of blocks: a
//! block belongs to it when its hash is below a threshold, which falls whenever there are too many.

use crate::event::FileId;
use crate::fast::FastMap;
use serde::Serialize;
use std::collections::BinaryHeap;

/// Size of a block, bytes.
pub(super) const BLOCK: u64 = 4096;
/// No call of Linux moves more, bytes; a hostile trace may say more.
const LONGEST_BYTES: u64 = 2 << 30;
/// Most blocks that are followed.
const BLOCKS: usize = 1 << 15;
/// Places in the tree until it is packed again.
const PLACES: usize = BLOCKS * 4;
/// Buckets of distances: 0, 1, up to 3, up to 7 and so on.
const BUCKETS: usize = 65;

/// Working set and miss ratios of a cache that keeps what was used last.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reuse {
    /// Accesses to blocks of 4 KiB by calls whose offset is known.
    pub accesses: u64,
    /// Size of the blocks that were accessed, bytes; an estimate when they were sampled.
    pub working_set_bytes: u64,
    /// Part of the blocks that was followed; 1 for all of them.
    pub sampled: f64,
    /// Shares of the accesses that miss in caches that begin empty, by their size.
    pub misses: Vec<Miss>,
    /// Share of the accesses to the tenth of the blocks that is accessed most.
    pub busiest_tenth: f64,
    /// Share of the accesses to the hundredth of the blocks that is accessed most.
    pub busiest_hundredth: f64,
}

/// Miss ratio of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Miss {
    /// Size of the cache: a power of two.
    pub cache_bytes: u64,
    /// Share of the accesses.
    pub share: f64,
}

type Block = (FileId, u64);

/// Follows accesses.
pub(super) struct Distances {
    accesses: u64,
    /// Blocks with a hash up to this are followed.
    threshold: u64,
    limit: usize,
    /// Place of the last access to each block, and their number.
    last: FastMap<Block, (u32, u32)>,
    by_hash: BinaryHeap<(u64, Block)>,
    /// Counts of the last accesses, as a Fenwick tree over places.
    tree: Vec<u32>,
    next: usize,
    /// Accesses by distance, as many as there would be at today's threshold.
    buckets: [f64; BUCKETS],
    /// The same for all of them, first ones included.
    followed: f64,
}

impl Distances {
    pub(super) fn new() -> Self {
        Self::with_limit(BLOCKS)
    }

    fn with_limit(limit: usize) -> Self {
        Self {
            accesses: 0,
            threshold: u64::MAX,
            limit,
            last: FastMap::default(),
            by_hash: BinaryHeap::new(),
            tree: vec![0; PLACES + 1],
            next: 0,
            buckets: [0.0; BUCKETS],
            followed: 0.0,
        }
    }

    /// Adds an access to a part of a file.
    pub(super) fn add(&mut self, file: FileId, offset: u64, bytes: u64) {
        let bytes = bytes.min(LONGEST_BYTES);
        let Some(last) = offset.checked_add(bytes).and_then(|end| end.checked_sub(1)) else {
            return;
        };
        for block in offset / BLOCK..=last / BLOCK {
            self.accesses += 1;
            let hash = hash(file, block);
            if hash <= self.threshold {
                self.access((file, block), hash);
            }
        }
    }

    fn access(&mut self, block: Block, hash: u64) {
        if self.next == PLACES {
            self.pack();
        }
        self.followed += 1.0;
        let place = self.next;
        self.next += 1;
        let held = self.last.entry(block).or_insert((u32::MAX, 0));
        held.1 = held.1.saturating_add(1);
        let before = std::mem::replace(&mut held.0, u32::try_from(place).unwrap_or(u32::MAX));
        if before != u32::MAX {
            let before = before as usize;
            let between = self.upto(place) - self.upto(before + 1);
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a distance"
            )]
            let distance = (f64::from(between) / self.rate()) as u64;
            self.buckets[(u64::BITS - distance.leading_zeros()) as usize] += 1.0;
            self.change(before, u32::MAX);
        } else {
            self.by_hash.push((hash, block));
        }
        self.change(place, 1);
        if self.last.len() > self.limit {
            self.lower();
        }
    }

    /// Part of the blocks that is followed.
    fn rate(&self) -> f64 {
        share(self.threshold, u64::MAX)
    }

    /// Follows fewer blocks: those with the largest hash no more.
    fn lower(&mut self) {
        let before = self.rate();
        let Some((hash, block)) = self.by_hash.pop() else { return };
        self.forget(block);
        self.threshold = hash.saturating_sub(1);
        while self.by_hash.peek().is_some_and(|(next, _)| *next > self.threshold) {
            let Some((_, block)) = self.by_hash.pop() else { break };
            self.forget(block);
        }
        let part = self.rate() / before;
        self.buckets.iter_mut().for_each(|count| *count *= part);
        self.followed *= part;
    }

    fn forget(&mut self, block: Block) {
        if let Some((place, _)) = self.last.remove(&block) {
            self.change(place as usize, u32::MAX);
        }
    }

    /// Adds to the count at a place; `u32::MAX` takes one away.
    fn change(&mut self, place: usize, by: u32) {
        let mut at = place + 1;
        while at < self.tree.len() {
            self.tree[at] = self.tree[at].wrapping_add(by);
            at += at & at.wrapping_neg();
        }
    }

    /// Sum of the counts before a place.
    fn upto(&self, place: usize) -> u32 {
        let (mut at, mut sum) = (place, 0_u32);
        while at > 0 {
            sum = sum.wrapping_add(self.tree[at]);
            at &= at - 1;
        }
        sum
    }

    /// Numbers the places again without gaps.
    fn pack(&mut self) {
        let mut blocks: Vec<&mut u32> = self.last.values_mut().map(|(place, _)| place).collect();
        blocks.sort_unstable();
        self.next = blocks.len();
        for (next, place) in (0..).zip(blocks) {
            *place = next;
        }
        self.tree.fill(0);
        (0..self.next).for_each(|place| self.change(place, 1));
    }

    /// Shares of the accesses to the busiest tenth and hundredth of the blocks. Those that are followed
    /// were from their first access on.
    fn skew(&self) -> (f64, f64) {
        let mut counts: Vec<u32> = self.last.values().map(|(_, count)| *count).collect();
        counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
        let sum = |part: &[u32]| part.iter().map(|count| u64::from(*count)).sum::<u64>();
        let of =
            |part: usize| share(sum(&counts[..counts.len().div_ceil(part)]), sum(&counts).max(1));
        (of(10), of(100))
    }

    /// The result; `None` without accesses.
    pub(super) fn finish(&self) -> Option<Reuse> {
        if self.accesses == 0 {
            return None;
        }
        let rate = self.rate();
        let expected = share(self.accesses, 1) * rate;
        // A sample has too many or too few of the frequent blocks, whose distances are short.
        let mut hits = expected - self.followed;
        let whole = share(self.last.len() as u64, 1) / rate;
        let mut misses = Vec::new();
        for (bits, count) in (0_u32..).zip(&self.buckets[..BUCKETS - 13]) {
            hits += count;
            let cache_bytes = BLOCK << bits;
            misses.push(Miss { cache_bytes, share: (1.0 - hits / expected).clamp(0.0, 1.0) });
            // Larger ones miss as often: the first access to each block.
            if share(1 << bits, 1) >= whole {
                break;
            }
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count")]
        let blocks = whole.round() as u64;
        let working_set_bytes = blocks.saturating_mul(BLOCK);
        let (busiest_tenth, busiest_hundredth) = self.skew();
        Some(Reuse {
            accesses: self.accesses,
            working_set_bytes,
            sampled: rate,
            misses,
            busiest_tenth,
            busiest_hundredth,
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "shares of a sample")]
fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// The same for the same block in every run.
fn hash(file: FileId, block: u64) -> u64 {
    let mixed = (u64::from(file.0) << 40 ^ block).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests;
