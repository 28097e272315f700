//! Directories in which replays are compared with their recordings.

use std::fs;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Start of their names; random digits follow.
const PREFIX: &str = ".seekwell-check-";

/// The name with these digits.
pub(crate) fn name(digits: &str) -> String {
    format!("{PREFIX}{digits}")
}

/// True for the path of a directory that a check can have made.
pub(super) fn is_check(path: &Path) -> bool {
    let digits = path.file_name().and_then(|name| name.to_str()?.strip_prefix(PREFIX));
    digits.is_some_and(|text| text.len() == 32 && text.bytes().all(|one| one.is_ascii_hexdigit()))
}

/// Removes such a directory with all that is in it. Returns what was done; the error says what to do by hand.
pub(crate) fn remove(path: &Path) -> std::result::Result<Option<String>, String> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    // Follows no symbolic links.
    match fs::remove_dir_all(path) {
        Ok(()) => Ok(Some(format!("removed {}", path.display()))),
        Err(error) => Err(format!("cannot remove {}: {error}; remove it by hand", path.display())),
    }
}
