//! Errors of a job.

use crate::operation::{Operation, OperationKind};
use std::io;

/// Errors of a job that has no result.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The job cannot be run as described.
    #[error("{problem}; {remedy}")]
    Invalid {
        /// The problem.
        problem: String,
        /// The fix.
        remedy: String,
    },
    /// Memory, threads or a ring could not be set up.
    #[error("cannot {action}: {source}; {remedy}")]
    Setup {
        /// The action that failed.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
        /// The fix.
        remedy: &'static str,
    },
    /// The kernel would not take operations.
    #[error("cannot submit operations after {completed} completed: {source}")]
    Submit {
        /// Reads and writes that completed before, over all threads.
        completed: u64,
        /// The kernel's error.
        source: io::Error,
    },
    /// An operation failed.
    #[error(
        "{} of {} bytes at offset {} failed after {completed} operations: {source}; {}",
        .operation.kind, .operation.length, .operation.offset, remedy(.operation.kind, .source)
    )]
    Operation {
        /// The operation.
        operation: Operation,
        /// Reads and writes that completed before, over all threads.
        completed: u64,
        /// The kernel's error.
        source: io::Error,
    },
    /// An operation transferred less than it should.
    #[error(
        "{} at offset {} transferred {transferred} of {} bytes after {completed} operations; {}",
        .operation.kind, .operation.offset, .operation.length, short_remedy(.operation.kind)
    )]
    Short {
        /// The operation.
        operation: Operation,
        /// Bytes that were transferred.
        transferred: u32,
        /// Reads and writes that completed before, over all threads.
        completed: u64,
    },
    /// A thread of the job panicked: a defect of this program.
    #[error("a thread of the job panicked; please report this defect")]
    Panicked,
}

fn remedy(operation: OperationKind, source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EIO) => {
            "the device could not do it: see dmesg and smartctl, and replace the device or the cable"
        }
        Some(libc::ENOSPC) => "it is full: use less data or a larger device",
        Some(libc::EDQUOT) => "the quota is used up: use less data or raise the quota",
        Some(libc::EINVAL) => {
            "size and offset must be multiples of the device's logical sector for direct I/O, and \
             the filesystem must support it"
        }
        Some(libc::EBADF | libc::EPERM | libc::EROFS) if operation != OperationKind::Read => {
            "the target is read-only or was opened for reading"
        }
        Some(libc::ENXIO | libc::ENODEV) => "the device is gone: see dmesg",
        _ => "see dmesg for what the kernel says about it",
    }
}

fn short_remedy(operation: OperationKind) -> &'static str {
    match operation {
        OperationKind::Read => {
            "the target ends there: it is smaller than stated, or was truncated meanwhile"
        }
        OperationKind::Write | OperationKind::Fsync => "the target is full or ends there",
    }
}

impl JobError {
    /// The failure, with the reads and writes that completed before over all threads.
    pub(crate) fn after(mut self, ops: u64) -> Self {
        match &mut self {
            Self::Submit { completed, .. }
            | Self::Operation { completed, .. }
            | Self::Short { completed, .. } => *completed = ops,
            Self::Invalid { .. } | Self::Setup { .. } | Self::Panicked => {}
        }
        self
    }

    pub(crate) fn invalid(problem: impl Into<String>, remedy: &str) -> Self {
        Self::Invalid { problem: problem.into(), remedy: remedy.to_owned() }
    }

    /// For `map_err`: names the action that failed.
    pub(crate) fn setup<E: Into<io::Error>>(
        action: &'static str,
        remedy: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Setup { action, source: source.into(), remedy }
    }
}
