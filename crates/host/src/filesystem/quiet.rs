//! Keeps mkfs from zeroing and discarding through the block layer.
//!
//! On a loop device the kernel turns both into changes of the image's extents: after a plain
//! mkfs.ext4 or mkfs.xfs the journal is in extents that the host's filesystem counts as unwritten,
//! and each first write to it pays for the conversion, while btrfs pays nothing. No option of these
//! programs avoids it, so a seccomp filter answers "not supported", and they write zeros instead, as
//! they would on a disk without such commands.

use crate::seccomp::{
    self, ARCH, ARCHITECTURE, NUMBER, SECOND_ARGUMENT, answer, jump_if_equal, load,
};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `BLKDISCARD`, `BLKSECDISCARD`, `BLKZEROOUT` of `linux/fs.h`.
const REQUESTS: [u32; 3] = [0x1277, 0x127D, 0x127F];

const ALLOW: libc::sock_filter = answer(libc::SECCOMP_RET_ALLOW);
const NOT_SUPPORTED: libc::sock_filter = answer(libc::SECCOMP_RET_ERRNO | libc::EOPNOTSUPP as u32);

/// fallocate on a block device is the same as `BLKZEROOUT` and `BLKDISCARD`.
const FILTER: [libc::sock_filter; 11] = [
    // A program of another architecture runs without the filter.
    load(ARCH),
    jump_if_equal(ARCHITECTURE, 0, 7),
    load(NUMBER),
    jump_if_equal(libc::SYS_fallocate as u32, 6, 0),
    jump_if_equal(libc::SYS_ioctl as u32, 0, 4),
    load(SECOND_ARGUMENT),
    jump_if_equal(REQUESTS[0], 3, 0),
    jump_if_equal(REQUESTS[1], 2, 0),
    jump_if_equal(REQUESTS[2], 1, 0),
    ALLOW,
    NOT_SUPPORTED,
];

/// Makes a command end with the thread that runs it and, when `filtered`, run with the filter.
/// A kernel without seccomp runs it without; the layout check of the image then tells.
pub(super) fn restrict(command: &mut Command, filtered: bool) {
    // SAFETY: the closure runs between fork and exec and makes only system calls on constants.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            if filtered {
                install()?;
            }
            Ok(())
        });
    }
}

fn install() -> io::Result<()> {
    // SAFETY: PR_SET_NO_NEW_PRIVS takes numbers only.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let mut filter = FILTER;
    match seccomp::install(&mut filter) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        done => done,
    }
}
