//! Words and numbers of a line, eight bytes at a time: lines of a trace are many and have many numbers.

/// Most digits of a number.
const DIGITS: usize = 19;
pub(super) const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);
pub(super) const ZEROS: u64 = u64::from_ne_bytes([b'0'; 8]);
/// Above nine it sets the highest bit of a byte.
const ABOVE_NINE: u64 = u64::from_ne_bytes([0x76; 8]);
pub(super) const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
const TENS: [u64; 10] =
    [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000];

/// The words of a line that are left.
#[derive(Clone)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(super) fn of(line: &'a [u8]) -> Self {
        let mut words = Self { rest: line };
        words.skip_spaces();
        words
    }

    /// True when no word is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    fn skip_spaces(&mut self) {
        while let Some(eight) = self.rest.first_chunk::<8>() {
            let others = u64::from_le_bytes(*eight) ^ SPACES;
            self.rest = &self.rest[(others.trailing_zeros() / 8) as usize..];
            if others != 0 {
                break;
            }
        }
        while let Some((first, rest)) = self.rest.split_first()
            && first.is_ascii_whitespace()
        {
            self.rest = rest;
        }
    }

    /// The next word.
    #[inline]
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        let length = self.rest.iter().position(u8::is_ascii_whitespace);
        let (word, rest) = self.rest.split_at(length.unwrap_or(self.rest.len()));
        self.rest = rest;
        self.skip_spaces();
        (!word.is_empty()).then_some(word)
    }

    /// The next word as a whole number; it is taken also when it is none.
    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let number = self.digits();
        if self.ends() {
            self.skip_spaces();
            return number.map(|(value, _)| value);
        }
        self.word();
        None
    }

    /// The next word as two numbers with a byte between them, the second with the number of its digits.
    #[inline]
    pub(super) fn pair(&mut self, between: u8) -> Option<(u64, (u64, usize))> {
        let (first, _) = self.digits()?;
        self.rest = self.rest.strip_prefix(&[between])?;
        let second = self.digits()?;
        if !self.ends() {
            return None;
        }
        self.skip_spaces();
        Some((first, second))
    }

    /// The next word, `0.000123456`, as nanoseconds.
    #[inline]
    pub(super) fn seconds(&mut self) -> Option<u64> {
        let (whole, (fraction, digits)) = self.pair(b'.')?;
        let scale = TENS[9_usize.checked_sub(digits)?];
        whole.checked_mul(1_000_000_000)?.checked_add(fraction * scale)
    }

    /// True at the end of a word.
    #[inline]
    fn ends(&self) -> bool {
        self.rest.first().is_none_or(u8::is_ascii_whitespace)
    }

    /// Takes digits: their value and number; `None` without any, and for more than [`DIGITS`].
    #[inline]
    fn digits(&mut self) -> Option<(u64, usize)> {
        let (mut value, mut digits) = (0_u64, 0);
        while let Some(eight) = self.rest.first_chunk::<8>() {
            let (part, count) = eight_digits(u64::from_le_bytes(*eight));
            self.rest = &self.rest[count..];
            value = value.wrapping_mul(TENS[count]).wrapping_add(part);
            digits += count;
            if count < 8 {
                return (1..=DIGITS).contains(&digits).then_some((value, digits));
            }
        }
        while let Some((first, rest)) = self.rest.split_first()
            && first.is_ascii_digit()
        {
            value = value.wrapping_mul(10).wrapping_add(u64::from(first - b'0'));
            digits += 1;
            self.rest = rest;
        }
        (1..=DIGITS).contains(&digits).then_some((value, digits))
    }
}

/// Value and number of the digits at the beginning of eight bytes, the first byte in the lowest bits.
#[inline]
fn eight_digits(bytes: u64) -> (u64, usize) {
    let values = bytes ^ ZEROS;
    // A carry reaches bytes after the first that is no digit alone.
    let others = (values.wrapping_add(ABOVE_NINE) | values) & HIGHEST;
    let count = others.trailing_zeros() / 8;
    // Digits to the end: those before them are zeros.
    let values = values.checked_shl(u64::BITS - 8 * count).unwrap_or(0);
    (value_of(values), count as usize)
}

/// Number of the digits in these bytes, each a value from 0 to 9, the first one in the lowest bits.
#[inline]
pub(super) fn value_of(values: u64) -> u64 {
    let pairs = (values * 10 + (values >> 8)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_ffff_0000_ffff;
    (fours * 10_000 + (fours >> 32)) & 0xffff_ffff
}

#[cfg(test)]
mod tests;
