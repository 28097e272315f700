//! Programs in folders that only root and this user can change.

use crate::folder::changeable;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The first executable of that name in these folders that no other user can exchange or change: neither the file
/// nor a folder above it, also behind links. Relative folders are left out.
#[must_use]
pub fn program(folders: &[PathBuf], name: &str) -> Option<PathBuf> {
    let paths = folders.iter().filter(|folder| folder.is_absolute()).map(|one| one.join(name));
    paths.into_iter().find(|path| is_safe(path))
}

fn is_safe(path: &Path) -> bool {
    let is_program = path
        .metadata()
        .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0);
    is_program && matches!(changeable(path), Ok(None))
}

#[cfg(test)]
mod tests;
