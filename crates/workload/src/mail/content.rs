//! Contents of the files of a seeded tree: data that does not compress and is cheap to make.

use super::RECORD_BYTES;
use super::tree::Tree;
use crate::error::WorkloadError;
use seekwell_engine::{Clock, DataShape, MonotonicClock};
use seekwell_model::workloads::MailParams;
use seekwell_stats::{Rng, derive_seed, seeded};

/// Random data that files are cut from. Filesystems compress at most 1 MiB at a time.
const POOL_BYTES: usize = 1 << 20;

/// Every so many bytes of a file a stamp makes the block differ from all others: the block that
/// deduplicating storage compares.
const STAMP_EVERY: usize = 4096;

/// Endless content.
#[derive(Debug)]
pub struct Content {
    /// The pool, and its begin once more so that no record ends at its end.
    pool: Vec<u8>,
    rng: Rng,
    position: usize,
    /// Bytes until the next stamp.
    until_stamp: usize,
    repeated_percent: u32,
    /// Files so far, in percent of one that repeats.
    repeated_due: u32,
    /// Source of files that repeat; never changed.
    repeated: Vec<u8>,
    /// Returns true when the file is one of them.
    repeating: bool,
}

/// So many bytes, of which a percentage of each 4 KiB is zeros, and the first ones once more.
fn pool(rng: &mut Rng, zero_percent: u8) -> Vec<u8> {
    let zeros_from = STAMP_EVERY - STAMP_EVERY * usize::from(zero_percent.min(100)) / 100;
    let mut pool = Vec::with_capacity(POOL_BYTES + RECORD_BYTES);
    while pool.len() < POOL_BYTES {
        let word = rng.next_u64();
        let zero = pool.len() % STAMP_EVERY >= zeros_from;
        pool.extend_from_slice(&if zero { 0 } else { word }.to_le_bytes());
    }
    pool.extend_from_within(..RECORD_BYTES);
    pool
}

impl Content {
    /// Content of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::shaped(seed, DataShape::default())
    }

    /// The content of an unpacked copy of this name in a trial of this seed.
    #[must_use]
    pub fn of_copy(params: &MailParams, seed: u64, copy: &str) -> Self {
        let shape = DataShape::of(params.compressible, params.repeated);
        Self::shaped(derive_seed(seed, copy), shape)
    }

    /// The same, compressible and repeated as far as the shape says: a percentage of each 4 KiB is
    /// zeros but for a stamp, and a percentage of the files begins alike.
    #[must_use]
    pub fn shaped(seed: u64, shape: DataShape) -> Self {
        let mut rng = seeded(derive_seed(seed, "mail content"));
        let repeated = match shape.repeated_percent {
            0 => Vec::new(),
            _ => pool(&mut seeded(derive_seed(0, "repeated")), shape.zero_percent),
        };
        Self {
            pool: pool(&mut rng, shape.zero_percent),
            rng,
            position: 0,
            until_stamp: 0,
            repeated_percent: shape.repeated_percent.into(),
            repeated_due: 0,
            repeated,
            repeating: false,
        }
    }

    /// Begins a file: elsewhere in the pool than the last one.
    pub fn begin_file(&mut self) {
        self.position = self.rng.index(POOL_BYTES / 8) * 8;
        self.until_stamp = 0;
        self.repeated_due += self.repeated_percent;
        self.repeating = self.repeated_due >= 100;
        if self.repeating {
            self.repeated_due -= 100;
            self.position = 0;
        }
    }

    /// Returns the time to generate the content of a whole tree, in ns: the speed of the source
    /// itself. Ends early when that is longer than `enough_ns`.
    #[must_use]
    pub fn making_time_ns(&mut self, tree: &Tree, enough_ns: u64) -> u64 {
        let begin_ns = MonotonicClock.now_ns();
        let passed = || MonotonicClock.now_ns().saturating_sub(begin_ns);
        for file in 0..tree.len() {
            self.begin_file();
            let mut left = tree.size(file);
            while left > 0 {
                std::hint::black_box(self.next_bytes(left));
                left -= left.min(RECORD_BYTES as u64);
            }
            if file % 1024 == 0 && passed() > enough_ns {
                break;
            }
        }
        passed()
    }

    /// The next file: gives its bytes to `take`, at most one record at a time.
    pub(crate) fn file(
        &mut self,
        size: u64,
        mut take: impl FnMut(&[u8]) -> Result<(), WorkloadError>,
    ) -> Result<(), WorkloadError> {
        self.begin_file();
        let mut left = size;
        while left > 0 {
            let bytes = self.next_bytes(left);
            left -= bytes.len() as u64;
            take(bytes)?;
        }
        Ok(())
    }

    /// The next bytes of the file, at most one record.
    pub fn next_bytes(&mut self, wanted: u64) -> &[u8] {
        let length = usize::try_from(wanted).unwrap_or(RECORD_BYTES).min(RECORD_BYTES);
        let start = self.position;
        if self.repeating {
            self.position = (start + length) % POOL_BYTES;
            return &self.repeated[start..start + length];
        }
        let mut stamp = self.until_stamp;
        while stamp < length {
            let end = (stamp + 8).min(length);
            let bytes = self.rng.next_u64().to_le_bytes();
            self.pool[start + stamp..start + end].copy_from_slice(&bytes[..end - stamp]);
            stamp += STAMP_EVERY;
        }
        self.until_stamp = stamp - length;
        self.position = (start + length) % POOL_BYTES;
        &self.pool[start..start + length]
    }
}

#[cfg(test)]
mod tests;
