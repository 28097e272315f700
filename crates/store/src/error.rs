//! Errors of a run file.

use seekwell_model::FormatVersion;
use std::path::PathBuf;

/// Why a run file could not be made, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A new run would overwrite something.
    #[error(
        "{} exists and is not overwritten; name another file with -o, continue it with --resume, \
         or move it away",
        path.display()
    )]
    Exists {
        /// Which file.
        path: PathBuf,
    },
    /// There is no such file.
    #[error("there is no run file {}; check the path", path.display())]
    Missing {
        /// Which file.
        path: PathBuf,
    },
    /// The file is empty.
    #[error("{} is empty: no run was ever written to it; remove it and begin the run anew", path.display())]
    Empty {
        /// Which file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("{} is not a run file of seekwell but {what}; give the path of a file that 'seekwell run' wrote", path.display())]
    NotARun {
        /// Which file.
        path: PathBuf,
        /// The kind of file that it is.
        what: &'static str,
    },
    /// The file was written by a later version.
    #[error(
        "{} has format {found} (written by {tool}), and this program reads up to {supported}; \
         update seekwell to read it",
        path.display()
    )]
    NewerFormat {
        /// Which file.
        path: PathBuf,
        /// Its format.
        found: FormatVersion,
        /// Newest format that can be read.
        supported: FormatVersion,
        /// Program that wrote it.
        tool: String,
    },
    /// The file is cut off or changed.
    #[error(
        "{} is damaged: {problem}; restore it from a copy, or see what is left with \
         'sqlite3 FILE .recover'",
        path.display()
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// The damage.
        problem: String,
    },
    /// Another process writes to the file.
    #[error(
        "{} is being written by {holder}; wait for it, or end it with its own Ctrl-C",
        path.display()
    )]
    Locked {
        /// Which file.
        path: PathBuf,
        /// The other writer, as far as it is known.
        holder: String,
    },
    /// The file was opened for reading.
    #[error("{} was opened for reading only; this is a defect of seekwell, please report it", path.display())]
    ReadOnly {
        /// Which file.
        path: PathBuf,
    },
    /// No space is left.
    #[error(
        "no space is left for {}; trials that were written before are kept: make room and go on \
         with --resume",
        path.display()
    )]
    Full {
        /// Which file.
        path: PathBuf,
    },
    /// Something that belongs into the file has no form there.
    #[error("cannot keep {what} in {}: {source}", path.display())]
    Encode {
        /// The thing to keep.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// SQLite refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Sqlite {
        /// The action that failed.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// Cause.
        source: rusqlite::Error,
    },
}
