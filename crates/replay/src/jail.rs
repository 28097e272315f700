//! Limits of a thread that issues recorded calls: the target is its root, and it may handle files of
//! any owner and nothing else.

use crate::error::ReplayError;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use std::path::Path;

/// Capabilities that recorded calls have.
const KEPT: CapabilitySet =
    CapabilitySet::CHOWN.union(CapabilitySet::FOWNER).union(CapabilitySet::DAC_OVERRIDE);

/// Does the work in a thread that has the target as its root, and so do the threads that it makes. When
/// the work is over, none of them keeps the target's filesystem busy, even if it takes a moment to end.
pub(crate) fn within<T: Send>(
    target: &Path,
    work: impl FnOnce() -> Result<T, ReplayError> + Send,
) -> Result<T, ReplayError> {
    let inside = || {
        let outside = enter(target).map_err(ReplayError::io("enter", target))?;
        let done = work();
        change_root(&outside).map_err(ReplayError::io("leave", target))?;
        done
    };
    std::thread::scope(|scope| scope.spawn(inside).join().map_err(|_| ReplayError::Panicked)?)
}

/// Makes the directory the root of the calling thread; returns the root that it had.
fn enter(target: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let outside = rustix::fs::open("/", flags, Mode::empty())?;
    let directory = rustix::fs::open(target, flags, Mode::empty())?;
    // SAFETY: root, working directory and umask become this thread's own; no other code of the thread
    // keeps one of them.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS)? };
    change_root(&directory)?;
    rustix::process::umask(Mode::empty());
    Ok(outside)
}

fn change_root(directory: &OwnedFd) -> Result<(), Errno> {
    rustix::process::fchdir(directory.as_fd())?;
    rustix::process::chroot(c".")
}

/// Gives up the calling thread's capabilities but those on files, for good: then it cannot leave.
pub(crate) fn give_up_rights() -> Result<(), Errno> {
    let own = rustix::thread::capabilities(None)?;
    let kept = CapabilitySets {
        effective: own.effective & KEPT,
        permitted: own.permitted & KEPT,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::clear_ambient_capability_set()?;
    rustix::thread::set_capabilities(None, kept)
}
