//! Errors of observation.

use std::path::PathBuf;

/// Errors of an observation.
#[derive(Debug, thiserror::Error)]
pub enum ObserveError {
    /// A kernel file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The attempt: "open", "read", "write", "create", "remove".
        action: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// A name that cannot be a block device of the kernel.
    #[error(
        "'{0}' is not the kernel name of a block device; write it as in /proc/partitions, for example 'sda' or 'loop3'"
    )]
    DeviceName(String),
    /// The kernel knows no such device, or does not count for it.
    #[error(
        "the kernel has no counters for block device '{name}' under {}; \
         is it attached, and are /sys and /proc mounted?",
        root.display()
    )]
    NoCounters {
        /// Kernel name of the device.
        name: String,
        /// Root of the tree that was searched.
        root: PathBuf,
    },
    /// A kernel file does not hold what its documentation says.
    #[error("{} holds '{text}', expected {expected}", path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Its content, shortened.
        text: String,
        /// The expected content.
        expected: &'static str,
    },
    /// The tracing filesystem is not available.
    #[error(
        "cannot reach tracefs: {source}; the block event stream needs root and a kernel with \
         CONFIG_BLK_DEV_IO_TRACE or CONFIG_FTRACE, leave it off elsewhere"
    )]
    NoTracefs {
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// A name for a tracing instance that this program would not have made.
    #[error(
        "'{0}' is not a tracing instance of this program; its names begin with 'seekwell-' and hold no '/'"
    )]
    InstanceName(String),
    /// A thread could not be started.
    #[error("cannot start the {what} thread: {source}")]
    Thread {
        /// Name of the thread.
        what: &'static str,
        /// The kernel's answer.
        source: std::io::Error,
    },
    /// A program ran and gave nothing usable.
    #[error("{program} {problem}")]
    Program {
        /// Its path.
        program: String,
        /// The problem and the fix.
        problem: String,
    },
}

impl ObserveError {
    pub(crate) fn io<E: Into<std::io::Error>>(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source: source.into() }
    }
}
