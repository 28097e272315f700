//! Blocks that are computed instead of kept: what a stamped file is made of, and what a filesystem of the
//! ext family writes to find the blocks of a large one.

use super::BLOCK_BYTES;

#[cfg(test)]
mod tests;

/// Increment of the engine's stamps from block to block.
const STAMP_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Its inverse modulo 2⁶⁴: it makes the stamps of a file numbers that follow one another.
const STAMP_INVERSE: u64 = inverse(STAMP_STEP);

/// Zeros behind eight bytes; the key is the number of the stamp.
const STAMPED: u32 = 0;

/// Numbers of 32 bits that follow one another, as in the indirect blocks of ext2 and ext3 for a file in
/// one piece; the key is the first.
const COUNTING: u32 = 1;

/// Key of a block that is computed on demand. Blocks that follow one another and have keys of one kind whose numbers
/// do so too cost next to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    kind: u32,
    number: u64,
}

impl Key {
    /// The key of a block from which it can be made again.
    pub(super) fn recognise(block: &[u8]) -> Option<Self> {
        let (words, _) = block.as_chunks::<8>();
        let (first, rest) = words.split_first()?;
        let (next, _) = rest.split_first()?;
        if *next == [0; 8] {
            let stamp = u64::from_le_bytes(*first);
            let number = stamp.wrapping_mul(STAMP_INVERSE);
            return super::is_zero(rest.as_flattened()).then_some(Self { kind: STAMPED, number });
        }
        let (numbers, _) = block.as_chunks::<4>();
        let start = u32::from_le_bytes(*numbers.first()?);
        let follows = |(at, number): (u32, &[u8; 4])| {
            start.checked_add(at).is_some_and(|expected| expected.to_le_bytes() == *number)
        };
        let all = (0..).zip(numbers).all(follows);
        all.then_some(Self { kind: COUNTING, number: u64::from(start) })
    }

    /// The key of the block `by` blocks later in a row.
    pub(super) fn after(self, by: u64) -> Self {
        Self { number: self.number.wrapping_add(by), ..self }
    }

    /// Makes the block.
    pub(super) fn block(self) -> [u8; BLOCK_BYTES] {
        let mut block = [0; BLOCK_BYTES];
        if self.kind == STAMPED {
            block[..8].copy_from_slice(&self.number.wrapping_mul(STAMP_STEP).to_le_bytes());
            return block;
        }
        let (numbers, _) = block.as_chunks_mut::<4>();
        for (number, value) in numbers.iter_mut().zip(self.number as u32..) {
            *number = value.to_le_bytes();
        }
        block
    }
}

const _: () = assert!(BLOCK_BYTES.is_multiple_of(8), "blocks are whole words");

/// Of an odd number; each step of Newton's method doubles the bits that are right.
const fn inverse(odd: u64) -> u64 {
    let mut found = odd;
    let mut step = 0;
    while step < 6 {
        found = found.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(found)));
        step += 1;
    }
    found
}
