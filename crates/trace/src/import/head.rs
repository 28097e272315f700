//! The beginning of a line of blkparse, read at one go: device, CPU, sequence, time, process, action.
//!
//! Which of its first 64 bytes are blanks and which are digits is one bit for each byte, so that words
//! and numbers are found without looking at bytes one by one. What is not as blkparse itself writes
//! it is left to [`Words`](super::words::Words).

use super::words::{ZEROS, value_of};

/// Bytes that are looked at; a process's number and the action end before.
const LOOKED_AT: usize = 64;
/// Most digits of a number, and of one that is read.
const DIGITS: u32 = 19;
const READ_DIGITS: u32 = 8;
/// Digits of a second's fraction.
const FRACTION: u32 = 9;

/// Numbers of a line that are wanted, once its device and action are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Nothing,
    Time,
    TimeAndProcess,
}

/// The beginning of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head<'a> {
    pub(super) wish: Wish,
    /// 0 when it is not wanted, as the process.
    pub(super) time_ns: u64,
    pub(super) process: u32,
    /// All after the action.
    pub(super) rest: &'a [u8],
}

/// Bytes of a line by their kind: the lowest bit is the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marks {
    others: u64,
    digits: u64,
}

impl Marks {
    #[inline]
    fn of(bytes: &[u8; LOOKED_AT]) -> Self {
        #[cfg(target_arch = "x86_64")]
        return Self::by_sixteen(bytes);
        #[cfg(not(target_arch = "x86_64"))]
        return Self::by_eight(bytes);
    }

    /// The same with the instructions that every 64-bit processor of this kind has.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn by_sixteen(bytes: &[u8; LOOKED_AT]) -> Self {
        use std::arch::x86_64::{
            _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_set1_epi8,
            _mm_sub_epi8,
        };
        let mut marks = Self { others: 0, digits: 0 };
        for (nth, sixteen) in bytes.as_chunks::<16>().0.iter().enumerate() {
            // SAFETY: the instructions are SSE2, a part of x86-64; all 16 bytes are read.
            let (blanks, digits) = unsafe {
                let sixteen = _mm_loadu_si128(sixteen.as_ptr().cast());
                let blanks = _mm_cmpeq_epi8(sixteen, _mm_set1_epi8(b' '.cast_signed()));
                let values = _mm_sub_epi8(sixteen, _mm_set1_epi8(b'0'.cast_signed()));
                let digits = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
                (_mm_movemask_epi8(blanks), _mm_movemask_epi8(digits))
            };
            marks.others |= u64::from(!blanks.cast_unsigned() & 0xffff) << (16 * nth);
            marks.digits |= u64::from(digits.cast_unsigned()) << (16 * nth);
        }
        marks
    }

    /// The same for every processor.
    #[cfg(any(test, not(target_arch = "x86_64")))]
    fn by_eight(bytes: &[u8; LOOKED_AT]) -> Self {
        use super::words::{HIGHEST, SPACES};
        /// Puts the highest bits of eight bytes next to each other.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        /// All bits of a byte but the highest.
        const LOW: u64 = !HIGHEST;
        /// Above nine it sets the highest bit of a byte without it.
        const ABOVE_NINE: u64 = u64::from_ne_bytes([0x76; 8]);
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

    /// Its digits as a number, at most eight of them that end after the eighth byte.
    #[allow(clippy::inline_always, reason = "it is a part of every line")]
    #[inline(always)]
    fn number(self, bytes: &[u8; LOOKED_AT]) -> u64 {
        let eight =
            bytes[..self.to as usize].last_chunk().map_or(0, |eight| u64::from_le_bytes(*eight));
        // What is before the number becomes leading zeros.
        let before = 8 * (READ_DIGITS - self.length());
        value_of((eight ^ ZEROS) >> before << before)
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

/// Reads the beginning of a line; `None` when it has not the form that blkparse gives it. `wish` is told
/// the word of the device, at most eight bytes with the first one in the lowest bits, and the letter of
/// the action.
#[inline]
pub(super) fn head(line: &[u8], wish: impl FnOnce(u64, u8) -> Wish) -> Option<Head<'_>> {
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
    let comma = device.bits() & !marks.digits;
    let is_device = comma.is_power_of_two() && bytes[comma.trailing_zeros() as usize] == b',';
    let are_numbers = marks.is_number(cpu) && marks.is_number(sequence) && marks.is_number(process);
    let are_short = device.length() <= 8 && process.length() <= READ_DIGITS && action.length() == 1;
    let letter = bytes[action.from as usize];
    let point = time.to.checked_sub(FRACTION + 1)?;
    let seconds = Word { from: time.from, to: point };
    let is_time = point > time.from
        && seconds.length() <= READ_DIGITS
        && point >= READ_DIGITS
        && bytes[point as usize] == b'.'
        && marks.digits & time.bits() == time.bits() ^ 1 << point;
    if !are_numbers || !is_device || !are_short || !is_time || letter.is_ascii_whitespace() {
        return None;
    }
    let named = *bytes.get(device.from as usize..)?.first_chunk()?;
    let named = u64::from_le_bytes(named) & (u64::MAX >> (64 - 8 * device.length()));
    let wish = wish(named, letter);
    let mut head = Head { wish, time_ns: 0, process: 0, rest: line.get(action.to as usize..)? };
    if wish != Wish::Nothing {
        let tens = Word { from: point + 1, to: time.to - 1 }.number(bytes);
        let last = u64::from(bytes[time.to as usize - 1] - b'0');
        head.time_ns = seconds.number(bytes) * 1_000_000_000 + tens * 10 + last;
    }
    if wish == Wish::TimeAndProcess {
        head.process = u32::try_from(process.number(bytes)).ok()?;
    }
    Some(head)
}

#[cfg(test)]
mod tests;
