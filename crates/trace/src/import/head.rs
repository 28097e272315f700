//! The beginning of a line of blkparse, read at one go: device, CPU, sequence, time, process, action.
//!
//! Which of its first 64 bytes are blanks and which are digits is one bit for each byte, so that words
//! and numbers are found without looking at bytes one by one. What is not as blkparse itself writes
//! it is left to [`Words`](super::words::Words).

use super::words::{HIGHEST, SPACES, ZEROS, value_of};

/// Bytes that are looked at; a process's number and the action end before.
const LOOKED_AT: usize = 64;
/// Most digits of a number, and of one that is read.
const DIGITS: u32 = 19;
const READ_DIGITS: u32 = 8;
/// Digits of a second's fraction.
const FRACTION: u32 = 9;
/// Puts the highest bits of eight bytes next to each other.
const GATHER: u64 = 0x0102_0408_1020_4080;
/// All bits of a byte but the highest.
const LOW: u64 = !HIGHEST;
/// Above nine it sets the highest bit of a byte without it.
const ABOVE_NINE: u64 = u64::from_ne_bytes([0x76; 8]);

/// The beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    /// The word of the device, at most eight bytes, the first one in the lowest bits.
    pub(super) device: u64,
    pub(super) time_ns: u64,
    pub(super) process: u32,
    /// The letter of the action.
    pub(super) action: u8,
    /// All after the action.
    pub(super) rest: &'a [u8],
}

/// Bytes of a line by their kind: the lowest bit is the first byte.
#[derive(Clone, Copy)]
struct Marks {
    others: u64,
    digits: u64,
}

impl Marks {
    #[inline]
    fn of(bytes: &[u8; LOOKED_AT]) -> Self {
        let mut marks = Self { others: 0, digits: 0 };
        for (nth, eight) in bytes.as_chunks::<8>().0.iter().enumerate() {
            let eight = u64::from_le_bytes(*eight);
            let (blank, value) = (eight ^ SPACES, eight ^ ZEROS);
            let others = (((blank & LOW) + LOW) | blank) & HIGHEST;
            let digits = !(((value & LOW) + ABOVE_NINE) | value) & HIGHEST;
            let gathered = |high: u64| ((high >> 7).wrapping_mul(GATHER) >> 56) << (8 * nth);
            marks.others |= gathered(others);
            marks.digits |= gathered(digits);
        }
        marks
    }

    /// True when all bytes of a word are digits, and not too many.
    #[inline]
    fn is_number(self, word: Word) -> bool {
        self.digits & word.bits() == word.bits() && word.length() <= DIGITS
    }
}

/// A word from its first byte to the one after its last.
#[derive(Clone, Copy)]
struct Word {
    from: u32,
    to: u32,
}

impl Word {
    #[inline]
    fn length(self) -> u32 {
        self.to - self.from
    }

    /// Its bytes as marks; it ends inside.
    #[inline]
    fn bits(self) -> u64 {
        (1 << self.to) - (1 << self.from)
    }

    /// Its digits as a number; `None` for more than eight, and at the very beginning of a line.
    #[inline]
    fn number(self, bytes: &[u8; LOOKED_AT]) -> Option<u64> {
        if self.length() > READ_DIGITS {
            return None;
        }
        let eight = bytes.get((self.to as usize).checked_sub(8)?..)?.first_chunk()?;
        // What is before the number becomes leading zeros.
        let (before, values) =
            (8 * (READ_DIGITS - self.length()), u64::from_le_bytes(*eight) ^ ZEROS);
        Some(value_of(values >> before << before))
    }
}

/// The words one after the other.
struct Words {
    starts: u64,
    ends: u64,
}

impl Words {
    #[inline]
    fn next(&mut self) -> Option<Word> {
        if self.starts == 0 || self.ends == 0 {
            return None;
        }
        let word = Word { from: self.starts.trailing_zeros(), to: self.ends.trailing_zeros() };
        self.starts &= self.starts - 1;
        self.ends &= self.ends - 1;
        Some(word)
    }
}

/// Reads the beginning of a line; `None` when it has not the form that blkparse gives it.
#[inline]
pub(super) fn head(line: &[u8]) -> Option<Head<'_>> {
    let mut short = [b' '; LOOKED_AT];
    let bytes = match line.first_chunk() {
        Some(bytes) => bytes,
        None => {
            short[..line.len()].copy_from_slice(line);
            &short
        }
    };
    let marks = Marks::of(bytes);
    let after = marks.others << 1;
    let mut words = Words { starts: marks.others & !after, ends: !marks.others & after };
    let (device, cpu, sequence) = (words.next()?, words.next()?, words.next()?);
    let (time, process, action) = (words.next()?, words.next()?, words.next()?);
    let are_numbers = [cpu, sequence, process].into_iter().all(|word| marks.is_number(word));
    let comma = device.bits() & !marks.digits;
    let is_device = comma.is_power_of_two() && bytes[comma.trailing_zeros() as usize] == b',';
    if !are_numbers || !is_device || device.length() > 8 || action.length() != 1 {
        return None;
    }
    let letter = bytes[action.from as usize];
    if letter.is_ascii_whitespace() {
        return None;
    }
    let named = bytes.get(device.from as usize..)?.first_chunk().copied().map(u64::from_le_bytes);
    Some(Head {
        device: named? & (u64::MAX >> (64 - 8 * device.length())),
        time_ns: time_ns(bytes, marks, time)?,
        process: u32::try_from(process.number(bytes)?).ok()?,
        action: letter,
        rest: line.get(action.to as usize..)?,
    })
}

/// Seconds with a fraction of nine digits, as nanoseconds.
#[inline]
fn time_ns(bytes: &[u8; LOOKED_AT], marks: Marks, time: Word) -> Option<u64> {
    let point = time.to.checked_sub(FRACTION + 1).filter(|point| *point > time.from)?;
    if bytes[point as usize] != b'.' || marks.digits & time.bits() != time.bits() ^ 1 << point {
        return None;
    }
    let seconds = Word { from: time.from, to: point }.number(bytes)?;
    let tens = Word { from: point + 1, to: time.to - 1 }.number(bytes)?;
    let last = bytes[time.to as usize - 1] - b'0';
    Some(seconds * 1_000_000_000 + tens * 10 + u64::from(last))
}

#[cfg(test)]
mod tests;
