//! Lines of foreign text in bounded memory.

use seekwell_trace::TraceError;
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
