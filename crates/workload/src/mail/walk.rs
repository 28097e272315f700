//! Goes through the directories of a copy in the order in which the filesystem lists them.

use super::Root;
use crate::error::WorkloadError;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir};
use rustix::io::Errno;
use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Buffer for directory entries: what the C library of GNU uses.
pub const LISTING_BYTES: usize = 32 * 1024;

/// A buffer for directory entries.
#[must_use]
pub fn listing_buffer() -> Vec<u8> {
    Vec::with_capacity(LISTING_BYTES)
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Its name.
    pub name: &'a CStr,
    /// Inode number.
    pub inode: u64,
    /// Kind of the entry.
    pub kind: FileType,
}

/// Opens a directory below another.
///
/// # Errors
/// The kernel's error.
pub fn open_directory(at: BorrowedFd<'_>, name: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, name, flags, Mode::empty())
}

/// Calls `visit` with every entry of an open directory except `.` and `..`, in its order, until it
/// says `false`. `path` is for messages. Returns `false` when it did.
///
/// # Errors
/// When the directory cannot be read, or what `visit` fails with.
pub fn list(
    directory: BorrowedFd<'_>,
    path: &Path,
    buffer: &mut [MaybeUninit<u8>],
    mut visit: impl FnMut(Entry<'_>) -> Result<bool, WorkloadError>,
) -> Result<bool, WorkloadError> {
    let failed = |errno: Errno| WorkloadError::file("list", path)(errno);
    let mut entries = RawDir::new(directory, buffer);
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let kind = match entry.file_type() {
            // Some filesystems do not keep the type in the directory.
            FileType::Unknown => {
                let facts = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
                FileType::from_raw_mode(facts.map_err(failed)?.st_mode)
            }
            known => known,
        };
        if !visit(Entry { name, inode: entry.ino(), kind })? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Calls `visit` with every file of a copy and its open directory: a directory's files in its
/// order, then its subdirectories in theirs. Stops early when `visit` says `false`.
///
/// # Errors
/// When a directory cannot be read, or what `visit` fails with.
pub fn files(
    root: &Root,
    mut visit: impl FnMut(BorrowedFd<'_>, &CStr) -> Result<bool, WorkloadError>,
) -> Result<(), WorkloadError> {
    let mut buffer = listing_buffer();
    let mut waiting: Vec<CString> = vec![c".".to_owned()];
    while let Some(path) = waiting.pop() {
        let shown = root.path.join(path.to_string_lossy().as_ref());
        let open = open_directory(root.directory.as_fd(), &path)
            .map_err(WorkloadError::file("open", &shown))?;
        let mut below: Vec<CString> = Vec::new();
        let listed = list(open.as_fd(), &shown, buffer.spare_capacity_mut(), |entry| {
            match entry.kind {
                FileType::Directory => below.push(joined(&path, entry.name)),
                FileType::RegularFile => return visit(open.as_fd(), entry.name),
                _ => {}
            }
            Ok(true)
        });
        if !listed? {
            return Ok(());
        }
        waiting.extend(below.into_iter().rev());
    }
    Ok(())
}

fn joined(directory: &CStr, name: &CStr) -> CString {
    let mut path = directory.to_bytes().to_vec();
    path.push(b'/');
    path.extend_from_slice(name.to_bytes());
    // Neither part holds a zero byte, since both are C strings.
    CString::new(path).unwrap_or_default()
}
