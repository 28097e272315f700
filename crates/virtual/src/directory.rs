//! The directory of a guest while it runs: sockets and links to what it starts from. It goes with its owner; what
//! a killed owner left behind is removed when the next guest of the same user is made.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use tempfile::TempDir;

#[cfg(test)]
mod tests;

const PREFIX: &str = "seekwell-guest-";

/// Age from which a directory without a lock is abandoned: its maker locks it long before.
const SETTLED: Duration = Duration::from_secs(60);

/// A guest's directory, removed with all that is in it when dropped.
#[derive(Debug)]
pub(crate) struct GuestDirectory {
    directory: TempDir,
    /// Locked as long as the owner lives.
    _lock: File,
}

impl GuestDirectory {
    /// Makes one in `scratch`, and removes those whose owners were killed.
    pub(crate) fn make_in(scratch: &Path) -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix(PREFIX).tempdir_in(scratch)?;
        let lock = File::open(directory.path())?;
        flock(&lock, FlockOperation::LockExclusive)?;
        remove_abandoned(scratch, SETTLED);
        Ok(Self { directory, _lock: lock })
    }

    /// Path of the directory.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

/// Removes this user's directories of guests that are at least so old and have no lock. One that cannot be removed
/// stays.
fn remove_abandoned(scratch: &Path, age: Duration) {
    let Ok(entries) = fs::read_dir(scratch) else { return };
    let named = entries
        .flatten()
        .filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes()));
    for entry in named {
        if is_abandoned(&entry.path(), age) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(path: &Path, age: Duration) -> bool {
    let Ok(about) = path.symlink_metadata() else { return false };
    let is_old = || about.modified().is_ok_and(|made| made.elapsed().is_ok_and(|old| old >= age));
    let is_free = || {
        File::open(path)
            .is_ok_and(|folder| flock(folder, FlockOperation::NonBlockingLockExclusive).is_ok())
    };
    about.is_dir() && about.uid() == geteuid().as_raw() && is_old() && is_free()
}
