//! Lines of foreign text in bounded memory.

use std::io::{self, BufRead, Read};

/// Longest line that is read, bytes.
pub(super) const LONGEST: u64 = 64 << 10;

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
