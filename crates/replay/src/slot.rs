//! Places in the table of descriptors.

use rustix::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// A place in the table of descriptors, which several threads use.
#[derive(Debug)]
pub(crate) struct Slot {
    /// The descriptor; -1 is none.
    fd: AtomicI32,
    /// Descriptors that were put here so far, modulo 2³².
    kept: AtomicU32,
}

impl Slot {
    /// A place that holds this descriptor; -1 is none.
    pub(crate) const fn new(fd: i32) -> Self {
        Self { fd: AtomicI32::new(fd), kept: AtomicU32::new(0) }
    }

    /// The descriptor; -1 when there is none.
    pub(crate) fn fd(&self) -> i32 {
        self.fd.load(Ordering::Acquire)
    }

    /// A number that changes when another descriptor takes the place.
    pub(crate) fn kept(&self) -> u32 {
        self.kept.load(Ordering::Acquire)
    }

    /// Puts a descriptor here, and closes the one that was here.
    pub(crate) fn keep(&self, fd: i32) {
        self.kept.fetch_add(1, Ordering::AcqRel);
        close(self.fd.swap(fd, Ordering::AcqRel));
    }

    /// Takes the descriptor away; -1 when there is none.
    pub(crate) fn take(&self) -> i32 {
        self.fd.swap(-1, Ordering::AcqRel)
    }
}

/// Closes a descriptor that a slot held.
pub(crate) fn close(fd: i32) {
    if fd >= 0 {
        // SAFETY: the descriptor was taken from its slot, which was its only owner.
        drop(unsafe { OwnedFd::from_raw_fd(fd) });
    }
}
