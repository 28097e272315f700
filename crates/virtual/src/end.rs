//! The end of a guest, classified as far as its traces allow.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

#[cfg(test)]
mod tests;

/// End of a guest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum End {
    /// Its command ended with this status, in a shell's numbering, and the guest powered off.
    #[error("{}", of_status(*status))]
    Finished {
        /// 0 is success; 128 and more is a signal.
        status: i32,
    },
    /// It powered off before its command ended.
    #[error("it powered off before its command ended")]
    PoweredOff,
    /// Its kernel gave up.
    #[error("its kernel panicked: {0}")]
    Panic(String),
    /// Its kernel's process was killed by a signal that it did not send itself.
    #[error("its kernel crashed with signal {0}")]
    Crash(i32),
    /// Its kernel's process ended early, before or without a panic.
    #[error("its kernel ended early with status {0}")]
    Exited(i32),
    /// Deadlock: no timer armed, no I/O outstanding.
    #[error("deadlock: no timer armed, no I/O outstanding")]
    Deadlock,
    /// A program computes without system calls, so no virtual time passes: host CPU time since it last passed, in
    /// hundredths of a second.
    #[error("a program computed for {} s of CPU time without a system call; virtual time advances only in system calls", .0 / 100)]
    ProgramSpins(u64),
    /// Its kernel, or a program that repeats the same system calls, lets no virtual time pass: host CPU time as above.
    #[error("its kernel used {} s of CPU time while virtual time stood still; what is served from memory takes no virtual time: end the step by count instead of time, or write cache = \"direct\"", .0 / 100)]
    KernelSpins(u64),
    /// It hung without yielding the clock.
    #[error("it hung without yielding the clock")]
    Stuck,
    /// It was cancelled.
    #[error("it was cancelled")]
    CalledOff,
    /// A limit of host time.
    #[error("it reached the limit of wall-clock time")]
    WallLimit,
    /// A limit of virtual time.
    #[error("it reached the limit of virtual time; raise [trial] timeout")]
    VirtualLimit,
    /// The guest broke a protocol, or the controller failed.
    #[error("{0}")]
    Fault(String),
}

/// `SIGKILL`.
const KILLED: i32 = 9;

/// `SIGBUS`.
const NO_PAGE: i32 = 7;

impl End {
    /// Ends that the host made and not the trial: it killed the guest, for want of memory or with its job, had no memory for
    /// one of its pages (`SIGBUS`), or gave it too little time.
    pub(crate) const OF_HOST: [Self; 3] =
        [Self::Crash(KILLED), Self::Crash(NO_PAGE), Self::WallLimit];

    /// Returns true if the command ran to its end and succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        *self == Self::Finished { status: 0 }
    }
}

fn of_status(status: i32) -> String {
    match status {
        0 => "finished".to_owned(),
        _ => format!("its command failed with status {status}"),
    }
}

const PANIC_MARK: &str = "Kernel panic - not syncing: ";

/// Classifies the end of a process that exited from its status, the command's and the console.
#[must_use]
pub fn of_exit(exit: ExitStatus, command: Option<i32>, console: &str) -> End {
    let panic = console.lines().find_map(|line| Some(line.split_once(PANIC_MARK)?.1.trim()));
    if let Some(reason) = panic {
        return End::Panic(reason.to_owned());
    }
    match (exit.code(), exit.signal(), command) {
        (Some(0), _, Some(status)) => End::Finished { status },
        (Some(0), _, None) => End::PoweredOff,
        (Some(code), ..) => End::Exited(code),
        (None, Some(signal), _) => End::Crash(signal),
        (None, None, _) => End::Exited(-1),
    }
}

/// The last lines of a console, for a message.
#[must_use]
pub fn last_lines(console: &str, count: usize) -> String {
    let lines: Vec<&str> = console.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
