//! Files for the user: written by one writer, with its refusals as messages.

use crate::failure::Failure;
use crate::terminal;
use seekwell_host::output::{self, Content, Kind, Replace};
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

/// As [`write`], piece by piece and without a word.
///
/// # Errors
/// As [`write`], and the error of the content.
pub fn piecewise(
    path: &Path,
    kind: Kind,
    content: &Content<'_>,
    force: bool,
) -> Result<(), Failure> {
    Ok(output::write_piecewise(path, kind, content, replace(force))?)
}

fn replace(force: bool) -> Replace {
    if force { Replace::AnyFile } else { Replace::SameKind }
}

/// The same without a word, for one of several files.
///
/// # Errors
/// As [`write`].
pub fn silently(path: &Path, kind: Kind, bytes: &[u8], force: bool) -> Result<(), Failure> {
    Ok(output::write(path, kind, bytes, replace(force))?)
}

/// Writes a file that does not exist yet, whole or not at all, and says so.
///
/// # Errors
/// As [`write`], and when a file or a link has this name.
pub fn create(path: &Path, kind: Kind, bytes: &[u8]) -> Result<(), Failure> {
    new(path, kind, bytes)?;
    terminal::talk(&format!("wrote {}", path.display()));
    Ok(())
}

/// The same without a word.
///
/// # Errors
/// As [`create`].
pub fn new(path: &Path, kind: Kind, bytes: &[u8]) -> Result<(), Failure> {
    Ok(output::write(path, kind, bytes, Replace::Nothing)?)
}

/// Refuses the name of an existing file for [`create`], before the work whose result it is to hold.
///
/// # Errors
/// When a file has this name, or its folder is not there.
pub fn refuse_existing(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(seekwell_host::Error::NoFolder { folder: folder.to_owned() }.into());
    }
    if path.symlink_metadata().is_ok() {
        return Err(Failure::Error(format!(
            "{} exists and is not overwritten; name another file, or remove it",
            path.display()
        )));
    }
    Ok(())
}
