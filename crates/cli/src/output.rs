//! Files for the user: written by one writer, with its refusals as messages.

use crate::failure::Failure;
use crate::terminal;
use seekwell_host::output::{self, Kind, Replace};
use std::io::Write as _;
use std::path::Path;

/// Writes a file whole or not at all and says so. `force` replaces files that are something else.
///
/// # Errors
/// When the path is a link, a file that is something else, or cannot be written.
pub fn write(path: &Path, kind: Kind, bytes: &[u8], force: bool) -> Result<(), Failure> {
    silently(path, kind, bytes, force)?;
    terminal::talk(&format!("wrote {}", path.display()));
    Ok(())
}

/// The same without a word, for one of several files.
///
/// # Errors
/// As [`write`].
pub fn silently(path: &Path, kind: Kind, bytes: &[u8], force: bool) -> Result<(), Failure> {
    let replace = if force { Replace::AnyFile } else { Replace::SameKind };
    output::write(path, kind, bytes, replace).map_err(|error| Failure::from_error(&error))
}

/// Writes a file that does not exist yet, whole or not at all, and says so.
///
/// # Errors
/// When the path exists or cannot be written.
pub fn create(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let wrong = |what: &str, error: &std::io::Error| {
        Failure::Error(format!("cannot {what} {}: {error}", path.display()))
    };
    let mut file = match std::fs::File::options().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::Error(format!(
                "{} exists and is not overwritten; name another file, or remove it",
                path.display()
            )));
        }
        Err(error) => return Err(wrong("create", &error)),
    };
    if let Err(error) = file.write_all(bytes).and_then(|()| file.sync_all()) {
        // Half a file is of no use; the first error is the one to tell.
        let _ = std::fs::remove_file(path);
        return Err(wrong("write", &error));
    }
    terminal::talk(&format!("wrote {}", path.display()));
    Ok(())
}
