//! One writer at a time.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;

/// The byte that writers lock: beyond the 510 bytes from 0x4000_0000 on that SQLite locks itself
/// (`PENDING_BYTE` and the following in its file format), so that the two never meet.
const LOCKED_BYTE: i64 = 0x4000_0000 + 4096;

/// The lock, held as long as this lives. The kernel frees it however the process ends.
///
/// It is an open file description lock (fcntl(2), `F_OFD_SETLK`): unlike `flock` it is the same
/// kind of lock on network filesystems, and unlike a plain record lock it does not vanish when
/// another descriptor of the file is closed.
#[derive(Debug)]
pub(crate) struct WriterLock {
    _file: File,
}

impl WriterLock {
    /// Takes the lock on a file opened for writing. `None` when another holds it.
    pub(crate) fn take(file: File) -> io::Result<Option<Self>> {
        let request = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: LOCKED_BYTE,
            l_len: 1,
            l_pid: 0,
        };
        // SAFETY: the descriptor is open as long as `file` lives, and `request` is a complete
        // `flock` structure that the kernel only reads.
        let result =
            unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const request) };
        if result == 0 {
            return Ok(Some(Self { _file: file }));
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EACCES) => Ok(None),
            _ => Err(error),
        }
    }

    /// Opens the file and takes the lock.
    pub(crate) fn open(path: &Path) -> io::Result<Option<Self>> {
        Self::take(File::options().read(true).write(true).open(path)?)
    }
}
