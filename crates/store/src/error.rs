//! Errors of a run file.

use std::path::PathBuf;

/// Errors of making, reading or writing a run file.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A new run would overwrite something.
    #[error(
        "{} exists and is not overwritten; name another file with -o, continue it with --resume, \
         or move it away",
        .0.display()
    )]
    Exists(PathBuf),
    /// There is no such file.
    #[error("run file {} not found; check the path", .0.display())]
    Missing(PathBuf),
    /// The file is empty.
    #[error("{} is empty: no run was ever written to it; remove it and start the run again", .0.display())]
    Empty(PathBuf),
    /// The file is something else.
    #[error("{} is {what}, so it is not a run file; give the path of a file that 'seekwell run' wrote", path.display())]
    NotARun {
        /// Path of the file.
        path: PathBuf,
        /// The kind of file that it is.
        what: &'static str,
    },
    /// The file was written by a later version, or before the first release.
    #[error("{} has format {problem}", path.display())]
    Format {
        /// Path of the run file.
        path: PathBuf,
        /// Its format, why it is not read, and the fix.
        problem: String,
    },
    /// The file is cut off or changed.
    #[error(
        "{} is damaged: {problem}; restore it from a copy, or save its whole trials with: seekwell \
         file repair {}",
        path.display(),
        path.display()
    )]
    Damaged {
        /// Path of the run file.
        path: PathBuf,
        /// The damage.
        problem: String,
    },
    /// Parts of the file are not as they were written.
    #[error("{} was changed after it was written: {}; take another copy", path.display(), parts.join("; "))]
    Changed {
        /// Path of the run file.
        path: PathBuf,
        /// The parts, in words.
        parts: Vec<String>,
    },
    /// Files that are not parts of one run.
    #[error("cannot merge {}: {problem}", path.display())]
    NoParts {
        /// Path of the part.
        path: PathBuf,
        /// The reason.
        problem: String,
    },
    /// Another process writes to the file.
    #[error(
        "{} is being written by {holder}; wait for it, or end it with its own Ctrl-C",
        path.display()
    )]
    Locked {
        /// Path of the run file.
        path: PathBuf,
        /// The other writer, as far as it is known.
        holder: String,
    },
    /// The file was opened for reading.
    #[error("{} was opened for reading only; this is a defect of seekwell, please report it", .0.display())]
    ReadOnly(PathBuf),
    /// No space is left.
    #[error(
        "no space left to write {}: free some space, then run the lab again, with --resume if the \
         file is there; it has every completed trial",
        .0.display()
    )]
    Full(PathBuf),
    /// Something that belongs into the file has no form there.
    #[error("cannot keep {what} in {}: {source}", path.display())]
    Encode {
        /// The thing to keep.
        what: &'static str,
        /// Path of the run file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// Path of the run file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// SQLite refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Sqlite {
        /// The action that failed.
        action: &'static str,
        /// Path of the run file.
        path: PathBuf,
        /// Cause.
        source: rusqlite::Error,
    },
}
