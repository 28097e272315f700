//! The lock of a loop device, which the mount namespaces and containers of a machine share.

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Node whose bytes are the locks.
const NODE: &str = "loop-control";

/// The right of one Seekwell to attach a loop device and to change and restore its settings.
///
/// It is a lock of byte N of the node `loop-control` for `loopN`. That node is the one of the machine's only devtmpfs,
/// whatever a container has in `/dev`. The lock ends with the last copy of its descriptor. It is one of an open file
/// description: programs that lock device nodes, as udev and mkfs do, use `flock`, which is independent of it.
#[derive(Clone, Debug)]
pub struct LoopLock {
    _control: Option<Arc<OwnedFd>>,
}

impl LoopLock {
    /// Locks a loop device; `None` when another process, or another part of this one, has it.
    pub(crate) fn take(dev: &Path, kernel_name: &str) -> io::Result<Option<Self>> {
        let control = open_shared(dev)?;
        let mut lock = byte_of(kernel_name)?;
        match fcntl(&control, libc::F_OFD_SETLK, &mut lock) {
            Ok(()) => Ok(Some(Self { _control: Some(Arc::new(control)) })),
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the loop devices that another process has locked; empty if the node cannot be opened.
    pub(crate) fn taken(dev: &Path, kernel_names: &[String]) -> BTreeSet<String> {
        let Ok(control) = open_shared(dev) else { return BTreeSet::new() };
        let is_taken = |name: &&String| {
            let Ok(mut lock) = byte_of(name) else { return false };
            let asked = fcntl(&control, libc::F_OFD_GETLK, &mut lock);
            asked.is_ok() && i32::from(lock.l_type) != libc::F_UNLCK
        };
        kernel_names.iter().filter(is_taken).cloned().collect()
    }

    /// A lock of nothing, for a tree of files in the place of the kernel's.
    #[cfg(test)]
    pub(crate) fn of_nothing() -> Self {
        Self { _control: None }
    }
}

fn fcntl(control: &OwnedFd, command: i32, lock: &mut libc::flock) -> io::Result<()> {
    // SAFETY: both commands that are used, F_OFD_SETLK and F_OFD_GETLK, read and write one struct flock, which
    // outlives the call.
    match unsafe { libc::fcntl(control.as_raw_fd(), command, std::ptr::from_mut(lock)) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn byte_of(kernel_name: &str) -> io::Result<libc::flock> {
    let number = kernel_name.strip_prefix("loop").and_then(|number| number.parse().ok());
    let number = number.ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{kernel_name} is not a loop device"))
    })?;
    Ok(libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: number,
        l_len: 1,
        l_pid: 0,
    })
}

/// Opens the node of the machine's devtmpfs, or that in `/dev` where it must not be mounted.
fn open_shared(dev: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let shared = || {
        let context = fsopen("devtmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&context)?;
        let mount = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
        openat(&mount, NODE, flags, Mode::empty())
    };
    Ok(shared().or_else(|_: rustix::io::Errno| open(dev.join(NODE), flags, Mode::empty()))?)
}
