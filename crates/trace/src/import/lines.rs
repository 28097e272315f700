//! Lines of foreign text in bounded memory.

use crate::error::TraceError;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek};
use std::path::Path;

/// Longest line that is read, bytes.
pub(super) const LONGEST: u64 = 64 << 10;

/// Beginnings of compressed files, and the program that unpacks each.
const COMPRESSED: [(&[u8], &str); 4] = [
    (&[0x1f, 0x8b], "gunzip"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "unxz"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"),
    (b"BZh", "bunzip2"),
];

/// Opens a file of text.
///
/// # Errors
/// When it cannot be read, and for one that is compressed.
pub(super) fn open(input: &Path) -> Result<File, TraceError> {
    let refused = || TraceError::io("read", input);
    let mut file = seekwell_trust::open(input, super::LARGEST_BYTES).map_err(refused())?;
    let mut head = Vec::new();
    file.by_ref().take(8).read_to_end(&mut head).map_err(refused())?;
    if let Some((_, program)) = COMPRESSED.iter().find(|(magic, _)| head.starts_with(magic)) {
        let problem = format!("the file is compressed; unpack it first ({program})");
        return Err(TraceError::Import { path: input.to_owned(), line: 1, problem });
    }
    if !head.is_empty() {
        file.rewind().map_err(refused())?;
    }
    Ok(file)
}

/// Reads the next line without its end into `line`; `None` after the last one, `Some(false)` for a
/// line longer than [`LONGEST`], which is skipped.
pub(super) fn next(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    line.clear();
    let read = reader.by_ref().take(LONGEST).read_until(b'\n', line)?;
    if read == 0 {
        return Ok(None);
    }
    let is_whole = line.last() == Some(&b'\n') || (read as u64) < LONGEST;
    if !is_whole {
        skip(reader)?;
    }
    while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        line.pop();
    }
    Ok(Some(is_whole))
}

/// Hands each line without its end to `each`, and `None` for one longer than [`LONGEST`]. Lines that are
/// in the reader's buffer as a whole are not copied.
///
/// # Errors
/// When `input` cannot be read, and those of `each`.
pub(super) fn each(
    reader: &mut impl BufRead,
    input: &Path,
    mut each: impl FnMut(Option<&[u8]>) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let mut cut = Vec::new();
    loop {
        let buffer = reader.fill_buf().map_err(TraceError::io("read", input))?;
        let mut rest = buffer;
        while let Some(line) = first(&mut rest) {
            each((line.len() as u64 <= LONGEST).then(|| without_end(line)))?;
        }
        let taken = buffer.len() - rest.len();
        reader.consume(taken);
        match next(reader, &mut cut).map_err(TraceError::io("read", input))? {
            Some(is_whole) => each(is_whole.then_some(&cut))?,
            None => return Ok(()),
        }
    }
}

/// Takes the first line with its end; `None` when it has none.
fn first<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = end_of_line(rest)?;
    let (line, after) = rest.split_at(end + 1);
    *rest = after;
    Some(line)
}

/// Place of the first end of a line. Lines are short: this is sooner there than a search that is made for
/// long texts.
#[cfg(target_arch = "x86_64")]
#[inline]
fn end_of_line(bytes: &[u8]) -> Option<usize> {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8};
    let (parts, tail) = bytes.as_chunks::<16>();
    for (nth, part) in parts.iter().enumerate() {
        // SAFETY: the instructions are SSE2, a part of x86-64; all 16 bytes are read.
        let ends = unsafe {
            let part = _mm_loadu_si128(part.as_ptr().cast());
            _mm_movemask_epi8(_mm_cmpeq_epi8(part, _mm_set1_epi8(b'\n'.cast_signed())))
        };
        if ends != 0 {
            return Some(16 * nth + ends.trailing_zeros() as usize);
        }
    }
    let at = tail.iter().position(|byte| *byte == b'\n')?;
    Some(16 * parts.len() + at)
}

#[cfg(not(target_arch = "x86_64"))]
fn end_of_line(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}

fn without_end(line: &[u8]) -> &[u8] {
    let last = line.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'));
    &line[..last.map_or(0, |last| last + 1)]
}

fn skip(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let part = reader.fill_buf()?;
        let end = part.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(part.len(), |end| end + 1);
        reader.consume(taken);
        if end.is_some() || taken == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
