//! Notes of plans that a person has seen: a lab that writes a disk whole runs only after its plan was
//! shown.

use crate::error::Result;
use crate::state;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Bits of the hash in the name of a note.
const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Notes that these lines were shown. The note holds them in full, so that two plans with one hash are
/// told apart.
///
/// # Errors
/// When the folder is not private or the note cannot be written.
pub fn note(folder: &Path, lines: &[String]) -> Result<()> {
    state::folder(folder)?;
    state::replace(&path(folder, lines), text(lines).as_bytes())
}

/// True if these lines were shown.
///
/// # Errors
/// When a note is there and another user could have written it.
pub fn is_noted(folder: &Path, lines: &[String]) -> Result<bool> {
    let path = path(folder, lines);
    if path.symlink_metadata().is_err() {
        return Ok(false);
    }
    let mut file = state::open_own(&path)?;
    let mut kept = String::new();
    let read = std::io::Read::read_to_string(&mut file, &mut kept);
    read.map_err(crate::error::Error::io("read", &path))?;
    Ok(kept == text(lines))
}

fn text(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |mut text, line| {
        // Writing to a text does not fail.
        let _ = writeln!(text, "{line:?}");
        text
    })
}

/// FNV-1a, 128 bits, over the text.
fn path(folder: &Path, lines: &[String]) -> PathBuf {
    let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(PRIME);
    let hash = text(lines).as_bytes().iter().fold(OFFSET, step);
    folder.join(format!("{hash:032x}"))
}
