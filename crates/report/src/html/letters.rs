//! Letters that mean nothing in markup as bytes: two of 91 letters are 13 bits, 8 % less text than base64.

use std::io::{self, BufWriter, Write};

/// Printable ASCII without the blank, `&`, `-` and `<`.
fn letter(value: u16) -> u8 {
    // 0x21 to 0x7e are 94 letters; three of them are stepped over.
    let mut byte = 0x21 + value as u8;
    for skipped in *b"&-<" {
        if byte >= skipped {
            byte += 1;
        }
    }
    byte
}

const LETTERS: u16 = 91;
const BITS: u32 = 13;

/// Last letter of a text whose last byte is no content: bits of padding filled a byte.
const PADDED: u8 = b'-';

/// Writes bytes as letters.
pub(super) struct LetterWriter<W: Write> {
    out: BufWriter<W>,
    held: u32,
    count: u32,
}

impl<W: Write> LetterWriter<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out: BufWriter::new(out), held: 0, count: 0 }
    }

    fn group(&mut self) -> io::Result<()> {
        let value = self.held & ((1 << BITS) - 1);
        self.held >>= BITS;
        // Below 2^13, so both are below 91.
        let pair = [
            letter((value % u32::from(LETTERS)) as u16),
            letter((value / u32::from(LETTERS)) as u16),
        ];
        self.out.write_all(&pair)
    }

    /// Writes what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.count > 0 {
            let padding = BITS - self.count;
            self.group()?;
            if padding >= 8 {
                self.out.write_all(&[PADDED])?;
            }
        }
        self.out.flush()
    }
}

impl<W: Write> Write for LetterWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.held |= u32::from(*byte) << self.count;
            self.count += 8;
            if self.count >= BITS {
                self.group()?;
                self.count -= BITS;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// The bytes that a [`LetterWriter`] was given; `None` when a letter does not belong.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let (text, is_padded) = match text.strip_suffix(char::from(PADDED)) {
        Some(text) => (text, true),
        None => (text, false),
    };
    let mut bytes = with_padding(text)?;
    if is_padded {
        bytes.pop();
    }
    Some(bytes)
}

/// The bytes, with up to one byte of zeros behind them; `None` when a letter does not belong.
fn with_padding(text: &str) -> Option<Vec<u8>> {
    let mut values = [u16::MAX; 256];
    for value in 0..LETTERS {
        values[usize::from(letter(value))] = value;
    }
    let mut out = Vec::with_capacity(text.len() * 13 / 16 + 1);
    let (mut held, mut count) = (0_u32, 0);
    for pair in text.as_bytes().chunks(2) {
        let [low, high] = *pair else { return None };
        let (low, high) = (values[usize::from(low)], values[usize::from(high)]);
        if low == u16::MAX || high == u16::MAX {
            return None;
        }
        let group = u32::from(low) + u32::from(high) * u32::from(LETTERS);
        if group >= 1 << BITS {
            return None;
        }
        held |= group << count;
        count += BITS;
        while count >= 8 {
            out.push(held as u8);
            held >>= 8;
            count -= 8;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests;
