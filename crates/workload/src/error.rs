//! What can go wrong in a workload.

use seekwell_engine::JobError;
use std::io;
use std::path::PathBuf;

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A file or directory could not be handled.
    #[error("cannot {action} {}: {source}; {}", .path.display(), remedy(.source))]
    File {
        /// What was being done, for example `create`.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A job of the engine failed.
    #[error("{} on {}: {source}", .step, .target.display())]
    Job {
        /// The step.
        step: String,
        /// File or device.
        target: PathBuf,
        /// Why.
        source: JobError,
    },
    /// The step cannot run on what it was given.
    #[error("step {step} {problem}; {remedy}")]
    Unfit {
        /// The step.
        step: String,
        /// Why not.
        problem: String,
        /// What to change.
        remedy: String,
    },
    /// The caller's stop ended a step whose result is only of use when complete.
    #[error("step {step} was stopped before its end")]
    Stopped {
        /// The step.
        step: String,
    },
}

fn remedy(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::ENOSPC) => "it is full: use less data or a larger device",
        Some(libc::EDQUOT) => "the quota is used up: use less data or raise the quota",
        Some(libc::EIO) => "the device could not do it: see dmesg and smartctl",
        Some(libc::EROFS) => "it is mounted read-only, perhaps after an error: see dmesg",
        Some(libc::EACCES | libc::EPERM) => "run as a user who may, or as root",
        Some(libc::ENOENT) => "check the path, and that the step before ran",
        Some(libc::EMFILE) => "raise the limit of open files (ulimit -n)",
        _ => "see dmesg for what the kernel says about it",
    }
}

impl WorkloadError {
    /// For `map_err`: names what was being done to which path.
    pub(crate) fn file<E: Into<io::Error>>(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source: source.into() }
    }
}
