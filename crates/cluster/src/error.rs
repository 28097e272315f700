//! Errors of the backend and of workers.

use std::io;
use std::path::PathBuf;

/// Errors of the backend and of workers.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The shared folder cannot be used.
    #[error("cannot {action} {}: {source}", path.display())]
    Spool {
        /// Attempted action, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A file in the shared folder is not what a session or a worker writes.
    #[error("{} is damaged: {source}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Cause.
        source: serde_json::Error,
    },
    /// The shared folder belongs to another user, or others may write it.
    #[error("{} is not a folder of this user alone; its files could be anybody's", .0.display())]
    Foreign(PathBuf),
    /// A folder at the place of the shared one that no run made.
    #[error(
        "{} is needed for the workers, and it exists with files of others; move it, or give the run file another name",
        .0.display()
    )]
    Taken(PathBuf),
    /// Another user can put another folder in the place of the shared one.
    #[error(
        "other users can rename in {}, and so put a folder of their own in the place of {}; write the run file where only you can (chmod go-w, or the sticky bit for a folder that all share)",
        parent.display(),
        path.display()
    )]
    Exchangeable {
        /// The shared folder.
        path: PathBuf,
        /// The folder above it.
        parent: PathBuf,
    },
    /// A run with the same name was started anew, with another plan.
    #[error("{} has the work of another run now; workers of the one before end", .0.display())]
    OtherWork(PathBuf),
    /// A command of the scheduler cannot be run, or failed.
    #[error("{command} failed: {words}")]
    Command {
        /// Its name.
        command: &'static str,
        /// Its message, or the reason why it was not started.
        words: String,
    },
    /// Workers end or vanish without a result each time, or one's backend or node is broken; in words.
    #[error("{0}")]
    Workers(String),
    /// The user wishes to end the run.
    #[error("stopped while the cluster had the trial")]
    Stopped,
}
