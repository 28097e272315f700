//! A simulated crash: the filesystem ends during writes, as in a power cut with a disk that keeps
//! everything it was sent. Its kernel driver sends nothing more, not even the rest of its log.

use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

/// Files that are written before the crash.
const FILES: u32 = 1_000;
const FILE_BYTES: usize = 8 * 1024;

/// Of so many files one is synced: the log then has entries to replay, and what comes after them is
/// lost.
const FILES_PER_SYNC: u32 = 10;

/// `EXT4_IOC_SHUTDOWN` of fs/ext4/ext4.h; `XFS_IOC_GOINGDOWN` and `F2FS_IOC_SHUTDOWN` are the same.
const SHUTDOWN: libc::c_ulong = 0x8004_587D;

/// Not even the log is written.
const WITHOUT_LOG: u32 = 2;

/// The result of a simulated crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// It is down, and must be unmounted.
    Down,
    /// There was no room for files that could be lost.
    Full,
    /// It has no journal: what its driver does not send is written when it is unmounted.
    NoJournal,
    /// The filesystem's driver cannot be ended so.
    Unknown,
}

/// Writes small files into the root of a mounted filesystem and ends it before they are all on the
/// device.
///
/// # Errors
/// The kernel's.
pub fn crash(root: &Path) -> io::Result<Crash> {
    if write_files(&root.join("torn"))? == 0 {
        return Ok(Crash::Full);
    }
    let directory = File::open(root)?;
    let how: u32 = WITHOUT_LOG;
    // SAFETY: the call reads one number, which lives as long as it takes.
    let result = unsafe { libc::ioctl(directory.as_raw_fd(), SHUTDOWN, &raw const how) };
    if result == 0 {
        return Ok(Crash::Down);
    }
    match io::Error::last_os_error() {
        error if Errno::from_io_error(&error) == Some(Errno::NOTTY) => Ok(Crash::Unknown),
        error => Err(error),
    }
}

/// Gives how many were synced.
fn write_files(folder: &Path) -> io::Result<u32> {
    let content = vec![0x5a; FILE_BYTES];
    let mut synced = 0;
    let written = fs::create_dir(folder).and_then(|()| {
        for number in 0..FILES {
            let mut file = File::create_new(folder.join(format!("{number:04}")))?;
            file.write_all(&content)?;
            if number % FILES_PER_SYNC == 0 {
                file.sync_all()?;
                synced += 1;
            }
        }
        Ok(())
    });
    match written {
        Err(error) if error.kind() != io::ErrorKind::StorageFull => Err(error),
        _ => Ok(synced),
    }
}
