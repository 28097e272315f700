//! Errors of the host: operation, place, cause and remedy.

use seekwell_model::units::Bytes;
use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Result of this room.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation on the host that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, a directory or a node could not be used.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// Operation, as an infinitive.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A system call that concerns no path failed.
    #[error("cannot {action}: {source}; {remedy}")]
    Call {
        /// Operation, as an infinitive.
        action: String,
        /// The cause.
        source: io::Error,
        /// Remedy.
        remedy: &'static str,
    },
    /// A file of the kernel has a content that was not expected.
    #[error("{} holds '{content}', expected {expected}", path.display())]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Its content, shortened.
        content: String,
        /// Expected content.
        expected: &'static str,
    },
    /// An image does not fit.
    #[error(
        "an image of {needed} does not fit into {place}: it can have {available} there; \
         free some space, make the device smaller or name another directory"
    )]
    NoSpace {
        /// Bytes to be written.
        needed: Bytes,
        /// Bytes that may be used.
        available: Bytes,
        /// Directory, or memory.
        place: String,
    },
    /// Something did not come to an end in time.
    #[error("{what} after {:.1} s; {remedy}", waited.as_secs_f64())]
    Timeout {
        /// State that did not end.
        what: String,
        /// Time waited.
        waited: Duration,
        /// Remedy.
        remedy: String,
    },
    /// The folder of an output does not exist.
    #[error("there is no folder {} for the output; make it with mkdir -p, or name another", folder.display())]
    NoFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// A program of the system is not installed.
    #[error("{program} is not installed; install it with: {install}")]
    MissingProgram {
        /// Its name.
        program: String,
        /// A command that brings it.
        install: String,
    },
    /// A program of the system failed.
    #[error("'{command}' failed ({status}){}", said(stderr))]
    Program {
        /// The command line.
        command: String,
        /// Exit status or signal in words.
        status: String,
        /// The first and last lines that it printed; may be empty.
        stderr: String,
    },
    /// A file of our own that another user could have written.
    #[error(
        "{} {why}, so it is not trusted; check it, then remove it or restore its owner (chown \
         root, chmod 600)", path.display()
    )]
    Untrusted {
        /// Path of the file or folder.
        path: PathBuf,
        /// Problem, as the rest of a sentence.
        why: String,
    },
    /// Something that was asked for and is not possible here, in words.
    #[error("{}", .0)]
    Argument(String),
    /// The guard refused.
    #[error(transparent)]
    Refused(#[from] crate::refusal::Refusal),
}

impl Error {
    /// Wraps an error of I/O or of a system call with what was attempted on which path.
    pub(crate) fn io<E: Into<io::Error>>(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(E) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source: source.into() }
    }

    /// A setting that a device does not have or does not take.
    pub(crate) fn setting(device: &str, what: impl Display, remedy: impl Display) -> Self {
        Self::Argument(format!("{device}: {what}; {remedy}"))
    }

    /// For errors of system calls that concern no path.
    pub(crate) fn call<E: Into<io::Error>>(
        action: impl Into<String>,
        remedy: &'static str,
    ) -> impl FnOnce(E) -> Self {
        move |source| Self::Call { action: action.into(), source: source.into(), remedy }
    }
}

fn said(stderr: &str) -> String {
    let text = stderr.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}
