//! Clones of whole files, which some filesystems make and others do not. Programs that copy try a clone
//! first and copy the data where they cannot have one: what follows depends on the filesystem.

use crate::action::Action;
use crate::encode::Operation;
use crate::window::Place;
use rustix::fd::BorrowedFd;
use rustix::fs::{SeekFrom, copy_file_range, ftruncate, seek};
use rustix::io::Errno;

/// Most bytes of one call, after which the caller's stop is looked at.
const LONGEST: u64 = 16 << 20;

/// A file and its clone, which the recorded filesystem could not make: the program copied the data then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) from: Place,
    pub(crate) to: Place,
    /// Bytes that the program has not read yet of its copy, and not written.
    to_read: u64,
    to_write: u64,
}

impl Pair {
    pub(crate) fn new(from: Place, to: Place, bytes: u64) -> Self {
        Self { from, to, to_read: bytes, to_write: bytes }
    }

    /// True for a call of the copy, which the program would not make after the clone. `place` and
    /// `to_place` are those of the operation's files.
    pub(crate) fn takes(&mut self, operation: &Operation, place: Place, to_place: Place) -> bool {
        let Some(moved) = u64::try_from(operation.expected).ok().filter(|moved| *moved > 0) else {
            return false;
        };
        let (reads, writes) = match operation.action {
            Action::Read | Action::ReadAt if place == self.from => (true, false),
            Action::Write | Action::WriteAt if place == self.to => (false, true),
            Action::Send if place == self.from && to_place == self.to => (true, true),
            _ => return false,
        };
        // What comes behind the copy is no part of it.
        if (reads && self.to_read == 0) || (writes && self.to_write == 0) {
            return false;
        }
        if reads {
            self.to_read = self.to_read.saturating_sub(moved);
        }
        if writes {
            self.to_write = self.to_write.saturating_sub(moved);
        }
        true
    }
}

/// Moves the position of a file past what a call that is not made would have moved.
pub(crate) fn pass(file: BorrowedFd<'_>, moved: i64) {
    // Files without a position have none to keep.
    let _ = seek(file, SeekFrom::Current(moved));
}

/// True for the result of a clone on a filesystem that makes none.
pub(crate) fn is_unable(result: i64) -> bool {
    result == -i64::from(libc::EOPNOTSUPP) || result == -i64::from(libc::ENOTTY)
}

/// True when one of the two filesystems makes clones and the other does not.
pub(crate) fn is_other(recorded: i64, replayed: i64) -> bool {
    (recorded >= 0 && is_unable(replayed)) || (is_unable(recorded) && replayed >= 0)
}

/// Copies the data and leaves the holes, as programs that copy do. Returns the bytes copied; fewer
/// when `stopped` says so.
pub(crate) fn copy(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    stopped: impl Fn() -> bool,
) -> Result<u64, Errno> {
    let position = seek(from, SeekFrom::Current(0))?;
    let end = seek(from, SeekFrom::End(0))?;
    let (mut at, mut copied) = (0, 0);
    while at < end {
        // Behind the last data there is none.
        let Ok(data) = seek(from, SeekFrom::Data(at)) else { break };
        let hole = seek(from, SeekFrom::Hole(data))?;
        let (mut read, mut written) = (data, data);
        while read < hole && !stopped() {
            let length = usize::try_from((hole - read).min(LONGEST)).unwrap_or(0);
            let moved = copy_file_range(from, Some(&mut read), to, Some(&mut written), length)?;
            if moved == 0 {
                break;
            }
            copied += moved as u64;
        }
        at = hole;
        if stopped() {
            break;
        }
    }
    seek(from, SeekFrom::Start(position))?;
    if rustix::fs::fstat(to)?.st_size.cast_unsigned() < end {
        ftruncate(to, end)?;
    }
    Ok(copied)
}

#[cfg(test)]
mod tests;
