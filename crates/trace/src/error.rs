//! Errors of this room.

use std::path::{Path, PathBuf};

/// A trace that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The system refused a file operation.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// Verb.
        what: &'static str,
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A segment is damaged or not of this format.
    #[error("cannot {what} {}: {source}; remove this segment to use the others", path.display())]
    Segment {
        /// Verb.
        what: &'static str,
        /// Segment.
        path: PathBuf,
        /// Cause.
        source: parquet::errors::ParquetError,
    },
    /// The description of a trace is damaged.
    #[error("{} is not the description of a trace: {source}", path.display())]
    Description {
        /// File.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The folder has no description.
    #[error("{} is not a trace: trace.json not found; give the folder that capture or import wrote", .0.display())]
    NotATrace(PathBuf),
    /// The folder holds the parts of a recording, each a trace, or a filter keeps nothing of the trace.
    #[error("{} {problem}", path.display())]
    Unfit {
        /// Folder or trace.
        path: PathBuf,
        /// Its content or lack, and the fix.
        problem: String,
    },
    /// The description is too long for one.
    #[error("{} is longer than {} MiB: it is not the description of a trace", .0.display(), crate::meta::LONGEST_BYTES >> 20)]
    Long(PathBuf),
    /// The trace has a newer format.
    #[error("{} has trace format {found}, this program reads up to {}; use a newer Seekwell", path.display(), crate::meta::FORMAT)]
    Newer {
        /// Folder.
        path: PathBuf,
        /// Format of the trace.
        found: String,
    },
    /// A column is missing, has another type, or lacks a value that every row has.
    #[error("{}: column {column} not found, of another type or incomplete; the segment is not from a trace", path.display())]
    Column {
        /// Segment.
        path: PathBuf,
        /// Column.
        column: &'static str,
    },
    /// The output exists.
    #[error("{} exists and is not empty; choose another name or remove it", .0.display())]
    Exists(PathBuf),
    /// The imported file has no call on a file and no request.
    #[error("{} has no call on files and no request: {other} records of other kinds, {damaged} unreadable; check that it was recorded with the options that the how-to names, and that the format is right", path.display())]
    Nothing {
        /// Imported file.
        path: PathBuf,
        /// Records of other kinds.
        other: u64,
        /// Records that could not be read.
        damaged: u64,
    },
    /// The imported text is not what it should be.
    #[error("{}, line {line}: {problem}", path.display())]
    Import {
        /// Imported file.
        path: PathBuf,
        /// Line, from 1.
        line: u64,
        /// Problem and fix.
        problem: String,
    },
}

impl TraceError {
    /// An error of a file operation, `what` its verb.
    pub fn io(what: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = seekwell_trust::shown(path);
        move |source| Self::Io { what, path, source }
    }

    pub(crate) fn segment(
        what: &'static str,
        path: &Path,
    ) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        let path = seekwell_trust::shown(path);
        move |source| Self::Segment { what, path, source }
    }
}
