//! Errors of workloads.

use seekwell_engine::JobError;
use std::io;
use std::path::PathBuf;

/// Errors of a step.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// A file or directory could not be handled.
    #[error("cannot {action} {}: {source}; {}", .path.display(), remedy(.source))]
    File {
        /// The action that failed, for example `create`.
        action: &'static str,
        /// To what.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// A job of the engine failed.
    #[error("{} on {}: {source}", .step, .target.display())]
    Job {
        /// The step.
        step: String,
        /// File or device.
        target: PathBuf,
        /// The cause.
        source: JobError,
    },
    /// A file was read or written less far than it should.
    #[error(
        "cannot {} {}: {done} of {length} bytes at offset {offset} were transferred; {}",
        if *.write { "write to" } else { "read" }, .path.display(),
        if *.write { "it is full or its size is limited: use less data or a larger device" }
        else { "it ends there: something else changed it" }
    )]
    Short {
        /// The file.
        path: PathBuf,
        /// True for a write.
        write: bool,
        /// Offset in the file in bytes.
        offset: u64,
        /// Bytes that were transferred.
        done: u64,
        /// Bytes that were to be.
        length: u64,
    },
    /// The step cannot run on what it was given.
    #[error("step {step} {problem}; {remedy}")]
    Unfit {
        /// The step.
        step: String,
        /// The problem.
        problem: String,
        /// The fix.
        remedy: String,
    },
    /// A trace cannot be replayed.
    #[error("step {step}: {source}")]
    Replay {
        /// The step.
        step: String,
        /// The cause.
        source: seekwell_replay::ReplayError,
    },
    /// A command did not do what it should.
    #[error("command of step {step} {problem}{}", last_output(.output))]
    Command {
        /// The step.
        step: String,
        /// The problem.
        problem: String,
        /// Last lines of its output; empty when it said nothing.
        output: String,
    },
    /// A metric could not be read from a command's output.
    #[error("pattern '{pattern}' of {step}.{metric} {problem}; {remedy}")]
    Pattern {
        /// The step.
        step: String,
        /// The metric.
        metric: String,
        /// The pattern.
        pattern: String,
        /// The problem.
        problem: String,
        /// The fix.
        remedy: String,
    },
    /// The thread of a background workload panicked: a defect of this program.
    #[error("the background workload panicked; please report this defect")]
    Panicked,
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
        Some(libc::ENOENT) => "check the path and that the previous step ran",
        Some(libc::EMFILE) => "raise the limit of open files (ulimit -n)",
        _ => "see dmesg for what the kernel says about it",
    }
}

fn last_output(output: &str) -> String {
    if output.is_empty() {
        return "; it printed nothing".to_owned();
    }
    format!("; the last it printed:\n{output}")
}

impl WorkloadError {
    /// A step that cannot run on what it was given.
    pub(crate) fn unfit(step: &str, problem: impl Into<String>, remedy: &str) -> Self {
        Self::Unfit { step: step.to_owned(), problem: problem.into(), remedy: remedy.to_owned() }
    }

    /// A command that did not do what it should, with the end of what it printed.
    pub(crate) fn command(step: &str, problem: String, output: &str) -> Self {
        Self::Command { step: step.to_owned(), problem, output: last_lines(output) }
    }

    /// For `map_err`: names what was being done to which path.
    pub(crate) fn file<E: Into<io::Error>>(
        action: &'static str,
        path: &std::path::Path,
    ) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |source| Self::File { action, path, source: source.into() }
    }
}

/// Last lines of the output that an error shows.
const SHOWN_LINES: usize = 10;

fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}
