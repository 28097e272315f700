//! Notes of plans that a person has seen: a lab that writes a disk whole runs only after its plan was
//! shown. A note counts for [`VALID`]: who runs the same lab later sees the plan again.

use crate::error::{Error, Result};
use crate::guard;
use crate::identity::Identity;
use crate::state;
use crate::sysfs::System;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

#[cfg(test)]
mod tests;

/// Time for which a plan counts as seen: 30 days.
pub const VALID: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Start value of the 128-bit FNV-1a hash.
pub(crate) const FNV_OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
/// Multiplier of the 128-bit FNV-1a hash.
const FNV_PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// Names the disk that a path leads to now, as a line of a note: what was planned for one disk does not
/// count for another one that the path leads to later.
///
/// # Errors
/// When there is no such disk.
pub fn disk(system: &System, path: &Path) -> Result<String> {
    let (_, device) = guard::block_device(system, path)?;
    let identity = Identity::read(system, &device, None);
    let boot = match identity.lasting_serial() {
        Some(_) => String::new(),
        None => format!(" in boot {}", system.boot_id()?),
    };
    Ok(format!("{} is {}{boot}", path.display(), identity.key()))
}

/// Notes that these lines were shown, and removes the notes that no longer count. The note holds the
/// lines in full, so that two plans with one hash are told apart.
///
/// # Errors
/// When the folder is not private or the note cannot be written.
pub fn note(folder: &Path, lines: &[String]) -> Result<()> {
    state::folder(folder)?;
    remove_expired(folder, SystemTime::now())?;
    state::replace(&path(folder, lines), text(lines).as_bytes())
}

/// True if these lines were shown, at most [`VALID`] ago.
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
    read.map_err(Error::io("read", &path))?;
    let about = file.metadata().map_err(Error::io("examine", &path))?;
    Ok(kept == text(lines) && counts(&about, SystemTime::now()))
}

/// True for a note that is not too old. One from the future was written by a clock that was wrong.
fn counts(about: &fs::Metadata, now: SystemTime) -> bool {
    let age = about.modified().ok().and_then(|written| now.duration_since(written).ok());
    age.is_some_and(|age| age <= VALID)
}

/// Removes notes that no longer count, so that the folder does not grow without end.
fn remove_expired(folder: &Path, now: SystemTime) -> Result<()> {
    let entries = fs::read_dir(folder).map_err(Error::io("read the folder", folder))?;
    for entry in entries.flatten() {
        let expired = |about: fs::Metadata| about.is_file() && !counts(&about, now);
        if entry.metadata().is_ok_and(expired) {
            // A note that stays does not count either.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

fn text(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line:?}\n")).collect()
}

/// FNV-1a, 128 bits, of bytes after those that the hash has already.
pub(crate) fn fnv(hash: u128, bytes: &[u8]) -> u128 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(FNV_PRIME))
}

fn path(folder: &Path, lines: &[String]) -> PathBuf {
    let hash = fnv(FNV_OFFSET_BASIS, text(lines).as_bytes());
    folder.join(format!("{hash:032x}"))
}
