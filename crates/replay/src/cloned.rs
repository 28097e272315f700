//! Clones of whole files, which some filesystems make and others do not. Programs that copy try a clone
//! first and copy the data where they cannot have one: what follows depends on the filesystem.

use crate::window::Place;
use rustix::fd::BorrowedFd;
use rustix::fs::copy_file_range;
use rustix::io::Errno;

/// Most bytes of one call.
const LONGEST: usize = 1 << 30;

/// A file and its clone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) from: Place,
    pub(crate) to: Place,
}

/// True for the result of a clone on a filesystem that makes none.
pub(crate) fn is_unable(result: i64) -> bool {
    result == -i64::from(libc::EOPNOTSUPP) || result == -i64::from(libc::ENOTTY)
}

/// True when one of the two filesystems makes clones and the other does not.
pub(crate) fn is_other(recorded: i64, replayed: i64) -> bool {
    (recorded >= 0 && is_unable(replayed)) || (is_unable(recorded) && replayed >= 0)
}

/// Copies the whole data.
pub(crate) fn copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>) -> Result<(), Errno> {
    let (mut read, mut written) = (0, 0);
    while copy_file_range(from, Some(&mut read), to, Some(&mut written), LONGEST)? > 0 {}
    Ok(())
}

#[cfg(test)]
mod tests;
