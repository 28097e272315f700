//! Input files: opened without waiting for a writer, refused unless they are regular files, and limited in size.

use rustix::fs::{CWD, Mode, OFlags};
use std::fs::{File, FileType};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Filesystem of anonymous pipes, as `linux/magic.h` writes it.
const PIPEFS: i64 = 0x5049_5045;

/// Opens a regular file of at most this size for reading.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] for a pipe, a device, a socket or a folder, without waiting for it,
/// [`io::ErrorKind::FileTooLarge`], and the system's error for everything that cannot be opened.
pub fn open(path: &Path, most_bytes: u64) -> io::Result<File> {
    let file = checked(path, |_| false)?;
    if file.metadata()?.len() > most_bytes { Err(large(most_bytes)) } else { Ok(file) }
}

/// As [`open`], also for an unnamed pipe of the shell, such as `/dev/stdin` or `<(COMMAND)`: the caller has started
/// its writer. A FIFO with a name stays refused.
///
/// # Errors
/// The same as [`open`].
pub fn open_or_pipe(path: &Path) -> io::Result<File> {
    checked(path, |file| {
        // Named FIFOs are in the filesystem of their name.
        rustix::fs::fstatfs(file).is_ok_and(|found| found.f_type == PIPEFS)
    })
}

/// Reads a regular file of at most this size.
///
/// # Errors
/// The same as [`open`], and [`io::ErrorKind::FileTooLarge`].
pub fn read(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let file = open(path, most_bytes)?;
    let mut bytes = Vec::new();
    // The size is looked at while reading: files of the kernel tell none.
    file.take(most_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most_bytes { Err(large(most_bytes)) } else { Ok(bytes) }
}

/// As [`read`], as text.
///
/// # Errors
/// The same as [`read`], and [`io::ErrorKind::InvalidData`] for bytes that are not UTF-8.
pub fn read_text(path: &Path, most_bytes: u64) -> io::Result<String> {
    String::from_utf8(read(path, most_bytes)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Refuses a path that leads to no regular file, without opening it: for libraries that open files themselves.
///
/// # Errors
/// The same as [`open`].
pub fn check(path: &Path) -> io::Result<()> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_file() { Ok(()) } else { Err(refused(kind)) }
}

fn checked(path: &Path, takes: impl Fn(&File) -> bool) -> io::Result<File> {
    // Opening a device can act on it, so that its kind is looked at first.
    let before = std::fs::metadata(path)?;
    if !before.is_file() && !before.file_type().is_fifo() {
        return Err(refused(before.file_type()));
    }
    // What has the name may be exchanged meanwhile: a FIFO does not block, and a terminal does not become this
    // process's own.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
    let kind = file.metadata()?.file_type();
    let is_taken = kind.is_file() || (kind.is_fifo() && takes(&file));
    if !is_taken {
        return Err(refused(kind));
    }
    // A pipe is read to its end, however slow its writer is.
    rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
    Ok(file)
}

fn refused(kind: FileType) -> io::Error {
    let kind = match kind {
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_block_device() => "a block device",
        kind if kind.is_dir() => "a directory",
        _ => "of another kind",
    };
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {kind}, not a regular file"))
}

fn large(most_bytes: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most_bytes} bytes"))
}

#[cfg(test)]
mod tests;
