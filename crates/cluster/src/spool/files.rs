//! Files of the shared folder: written whole, read while others rename them, and removed while others write.

use super::Sheet;
use crate::error::ClusterError;
use rustix::fs::{Mode, OFlags, open};
use seekwell_trust::shown;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Largest file that is read: the work of a large plan, or a round with its records.
const LARGEST_BYTES: u64 = 4 << 30;

/// Attempts to read a file whose server answers with an error that passes.
const READS: u32 = 5;

/// Time between two of them.
const UNTIL_NEXT_READ: Duration = Duration::from_millis(200);

/// Time within which a folder has to be empty in which others still write, or have files open on NFS.
const EMPTYING: Duration = Duration::from_secs(10);

/// Time between two attempts.
const UNTIL_NEXT_EMPTYING: Duration = Duration::from_millis(100);

/// The error of an action on a file or folder.
pub(super) fn failed(action: &'static str, path: &Path) -> impl Fn(io::Error) -> ClusterError {
    let path = path.to_owned();
    move |source| ClusterError::Spool { action, path: shown(&path), source }
}

/// Name of a file until it is whole. Two writers have different process numbers, or are on different nodes, whose names
/// may have dots.
pub(super) fn unfinished(host: &str, process: u32, thread: &str) -> String {
    format!(".{host}-{process}-{thread}")
}

/// True for such a name.
pub(super) fn is_unfinished(name: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = name.rsplitn(3, '-');
    let numbers = [parts.next(), parts.next()].into_iter().all(|part| part.is_some_and(is_number));
    numbers && parts.next().is_some_and(|host| host.starts_with('.'))
}

/// Writes a file under a name of this writer alone, and then gives it its own.
pub(super) fn write(
    path: &Path,
    unfinished: &Path,
    text: &[u8],
    is_kept: bool,
) -> Result<(), ClusterError> {
    let written = || -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(open(unfinished, flags | OFlags::NOFOLLOW, mode)?);
        file.write_all(text)?;
        if is_kept {
            file.sync_all()?;
        }
        fs::rename(unfinished, path)
    };
    written().map_err(|error| {
        // What is half written is of no use, and its name is ours alone.
        let _ = fs::remove_file(unfinished);
        failed("write", path)(error)
    })
}

/// Moves a file; false if it is not there.
pub(super) fn moved(action: &'static str, from: &Path, to: &Path) -> Result<bool, ClusterError> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        moved => moved.map(|()| true).map_err(failed(action, from)),
    }
}

/// Names in a folder, sorted.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, ClusterError> {
    let list = || -> io::Result<Vec<String>> {
        let names = fs::read_dir(folder)?;
        names.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    };
    let mut names = patiently(&list, UNTIL_NEXT_READ).map_err(failed("read", folder))?;
    names.sort();
    Ok(names)
}

/// Removes all files of a folder, which may not be there.
pub(super) fn empty(folder: &Path) -> Result<(), ClusterError> {
    if !folder.exists() {
        return Ok(());
    }
    names(folder)?.iter().try_for_each(|name| remove(&folder.join(name)))
}

/// Reads a file; `None` if there is none.
pub(super) fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, ClusterError> {
    read_as(path, |text| serde_json::from_slice(text))
}

/// Reads the file of a share; `None` if there is none.
pub(super) fn read_sheet(path: &Path) -> Result<Option<Sheet>, ClusterError> {
    read_as(path, Sheet::read)
}

/// The same without files that a power cut has left torn.
pub(super) fn unless_torn<T>(
    read: Result<Option<T>, ClusterError>,
) -> Result<Option<T>, ClusterError> {
    match read {
        Err(ClusterError::Damaged { .. }) => Ok(None),
        read => read,
    }
}

fn read_as<T>(
    path: &Path,
    parse: impl FnOnce(&[u8]) -> serde_json::Result<T>,
) -> Result<Option<T>, ClusterError> {
    let text = match patiently(&|| seekwell_trust::read(path, LARGEST_BYTES), UNTIL_NEXT_READ) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("read", path)(error)),
    };
    let damaged = |source| ClusterError::Damaged { path: shown(path), source };
    parse(&text).map(Some).map_err(damaged)
}

/// Repeats what a server of NFS refuses for a moment: another node has just replaced the file (`ESTALE`), or the server
/// starts again.
fn patiently<T>(read: &dyn Fn() -> io::Result<T>, pause: Duration) -> io::Result<T> {
    let passes = [rustix::io::Errno::STALE, rustix::io::Errno::IO, rustix::io::Errno::TIMEDOUT];
    let passes = passes.map(rustix::io::Errno::raw_os_error);
    for _ in 1..READS {
        match read() {
            Err(error) if error.raw_os_error().is_some_and(|code| passes.contains(&code)) => {
                std::thread::sleep(pause);
            }
            done => return done,
        }
    }
    read()
}

/// Removes a file or a folder, which may be gone already.
pub(super) fn remove(path: &Path) -> Result<(), ClusterError> {
    remove_within(path, EMPTYING)
}

/// A worker may write its heartbeat into a folder while it is emptied, and NFS keeps a file that a process has open under
/// another name until that is closed; the folder is then emptied again.
fn remove_within(path: &Path, longest: Duration) -> Result<(), ClusterError> {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir());
    if !is_folder {
        return unless_gone(path, fs::remove_file(path));
    }
    // Under another name no worker finds it to write into it.
    let mut name = path.as_os_str().to_owned();
    name.push(".removed");
    let aside = PathBuf::from(name);
    // Of a time when it could not be emptied.
    let _ = fs::remove_dir_all(&aside);
    let path = if fs::rename(path, &aside).is_ok() { &*aside } else { path };
    let begun = Instant::now();
    loop {
        let removed = fs::remove_dir_all(path);
        let is_filled = removed.as_ref().is_err_and(|error| {
            matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::ResourceBusy)
        });
        if !is_filled || begun.elapsed() >= longest {
            return unless_gone(path, removed);
        }
        std::thread::sleep(UNTIL_NEXT_EMPTYING);
    }
}

fn unless_gone(path: &Path, removed: io::Result<()>) -> Result<(), ClusterError> {
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}
