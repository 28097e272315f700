//! Errors of this room.

use seekwell_trace::TraceError;
use std::io;
use std::path::{Path, PathBuf};

/// A replay that cannot be planned or run.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The trace asks for more than a replay may take or the target has room for, or lacks the times of pauses; in words.
    #[error("{0}")]
    Unfit(String),
    /// The trace has no call that can be replayed, in the folder that the replay is limited to.
    #[error("the trace has no call on a file{}; record one with `seekwell capture`", below(.0))]
    Empty(Option<String>),
    /// The trace has no block request of the device.
    #[error(
        "the trace has no block request of the device; record them with `seekwell capture`, or import a blktrace with `seekwell trace import`"
    )]
    NoRequests,
    /// A request that no device takes.
    #[error(
        "the trace has a request of {bytes} B at sector {sector}, which no device takes; the trace is damaged"
    )]
    WildRequest {
        /// First sector, of 512 bytes.
        sector: u64,
        /// Size.
        bytes: u64,
    },
    /// The longest request does not fit on the device.
    #[error(
        "the requests of the trace need a device of at least {needed} B, this one has {device_bytes} B; use a larger device"
    )]
    SmallDevice {
        /// Smallest size.
        needed: u64,
        /// Size of the device.
        device_bytes: u64,
    },
    /// The filesystem was nearly full during the replay.
    #[error(
        "the replay was stopped because {} has only {free} bytes free, which other programs need; replay on a filesystem of its own, or free some space",
        .path.display()
    )]
    Filling {
        /// Target.
        path: PathBuf,
        /// Free then, bytes.
        free: u64,
    },
    /// The system refused something outside of the replayed calls.
    #[error("cannot {what} {}: {source}{}", .path.display(), remedy(.source))]
    Io {
        /// Verb.
        what: &'static str,
        /// File.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A thread of the replay panicked: a defect of this program.
    #[error("a thread of the replay panicked; please report this defect")]
    Panicked,
}

fn below(only: &Option<String>) -> String {
    only.as_ref().map(|only| format!(" below {only}")).unwrap_or_default()
}

fn remedy(source: &io::Error) -> &'static str {
    match source.raw_os_error() {
        Some(libc::EPERM) => "; a replay needs root: its threads have the directory as their root",
        Some(libc::ENOSPC) => "; it is full: use a larger device",
        Some(libc::EMFILE) => "; raise the limit of open files (ulimit -n)",
        _ => "",
    }
}

/// Reads the rows of a trace until `each` refuses one.
pub(crate) fn rows<T, R>(
    read: impl FnOnce(&mut dyn FnMut(T) -> Result<(), TraceError>) -> Result<R, TraceError>,
    mut each: impl FnMut(T) -> Result<(), ReplayError>,
) -> Result<R, ReplayError> {
    let mut refused = None;
    let read = read(&mut |row| {
        each(row).map_err(|error| {
            refused = Some(error);
            let source = io::Error::other("the plan ended");
            TraceError::Io { what: "plan", path: PathBuf::new(), source }
        })
    });
    match refused {
        Some(error) => Err(error),
        None => Ok(read?),
    }
}

impl ReplayError {
    /// The trace has more of something than a replay takes.
    pub(crate) fn too_large(what: &str, found: u64, limit: u64) -> Self {
        Self::Unfit(format!(
            "the trace has {found} {what}, a replay takes at most {limit}; cut it with `seekwell trace filter`"
        ))
    }

    /// For `map_err`: names the action and its path.
    pub(crate) fn io<E: Into<io::Error>>(
        what: &'static str,
        path: &Path,
    ) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source: source.into() }
    }
}
