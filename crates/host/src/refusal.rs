//! Reasons for which a write is refused.

use std::path::{Path, PathBuf};

/// Kind of reason to refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalKind {
    /// There is nothing at the path, or it vanished.
    Missing,
    /// It is not a block device, or its image does not belong to this run.
    NotOurs,
    /// It, or a part of it, is mounted in some namespace.
    Mounted,
    /// It, or a part of it, is swapped to.
    Swap,
    /// Another layer of the kernel holds it: device mapper, RAID, bcache, a loop device.
    Held,
    /// It carries the mark of a layer that is not running now: LVM, RAID, LUKS, ZFS, bcache.
    Member,
    /// The running system lives on it.
    System,
    /// The kernel refuses to open it exclusively, or a process has it open for writing.
    Busy,
    /// It is read-only.
    ReadOnly,
    /// No claim names it.
    NotClaimed,
    /// It is not the device that was checked or claimed.
    Changed,
    /// A fact that the guard needs could not be read.
    Unreadable,
}

/// The guard's answer when something is not written. There is no way around it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is not written: {reason}; {remedy}", target.display())]
pub struct Refusal {
    /// Device or file that was to be written.
    pub target: PathBuf,
    /// Kind of the reason.
    pub kind: RefusalKind,
    /// The reason, with where it was seen.
    pub reason: String,
    /// Remedy.
    pub remedy: String,
}

impl Refusal {
    pub(crate) fn new(
        target: &Path,
        kind: RefusalKind,
        reason: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { target: target.to_owned(), kind, reason: reason.into(), remedy: remedy.into() }
    }

    /// For what has to be known and cannot be read.
    pub(crate) fn unreadable(target: &Path, error: &dyn std::fmt::Display) -> Self {
        Self::new(
            target,
            RefusalKind::Unreadable,
            format!("it may be in use: {error}"),
            "run as root, outside a container",
        )
    }
}
