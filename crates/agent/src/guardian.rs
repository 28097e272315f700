//! The guardian: a process in a session of its own that outlives runner and agent and puts back
//! what a namespace does not: schedulers, queue settings, sysctls, cgroups.
//!
//! The runner holds the other end of its standard input, a socket. Words, one per line:
//! `watch PID` → `watching`, `done` → `clear` or `trouble TEXT`, `bye` → the guardian ends. When
//! the runner dies, with or without closing the socket, the guardian ends the agent's PID
//! namespace, waits until it is gone, and restores.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use seekwell_host::namespace;
use seekwell_host::sysfs::System;
use seekwell_host::undo::{self, Restored, Undo};
use seekwell_observe::block_events;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait of the guardian until a killed agent's namespace is gone; unmounting a filesystem with
/// much dirty data takes as long as its write-back.
const NAMESPACE_END: Duration = Duration::from_secs(600);

/// Errors of a guardian.
#[derive(Debug, thiserror::Error)]
pub enum GuardianError {
    /// The runner could not be watched.
    #[error("the guardian cannot watch process {pid}")]
    Watch {
        /// Process id.
        pid: u32,
        /// Cause.
        source: seekwell_host::error::Error,
    },
    /// Waiting failed.
    #[error("the guardian cannot wait for its runner")]
    Wait(#[source] io::Error),
    /// The undo list could not be read or written.
    #[error("the undo list could not be used")]
    Undo(#[source] seekwell_host::error::Error),
    /// Something could not be put back.
    #[error("not every setting could be restored: {0}")]
    Problems(String),
}

struct Guardian {
    system: System,
    undo: PathBuf,
    agent: Option<OwnedFd>,
}

/// Runs the guardian until its runner says `bye` or dies.
///
/// # Errors
/// [`GuardianError`] when something could not be put back.
pub fn run(undo: &Path, runner_pid: u32, socket: UnixStream) -> Result<(), GuardianError> {
    let runner = namespace::pidfd_open(runner_pid)
        .map_err(|source| GuardianError::Watch { pid: runner_pid, source })?;
    let mut guardian = Guardian { system: System::host(), undo: undo.to_owned(), agent: None };
    let mut reader = BufReader::new(&socket);
    while runner_speaks(&runner, &socket)? {
        let mut line = String::new();
        // A torn or unreadable line means that the runner is gone.
        if !matches!(reader.read_line(&mut line), Ok(count) if count > 0) {
            break;
        }
        let Some(answer) = guardian.answer(line.trim()) else { break };
        if writeln!(&socket, "{answer}").is_err() {
            break;
        }
    }
    guardian.end_agent();
    remove_tracing_instances();
    guardian.put_back_and_end()
}

/// Removes the tracing instances that a killed agent left in the kernel. Without tracing there are
/// none.
pub fn remove_tracing_instances() {
    let _ = block_events::remove_unused_instances();
}

/// Waits until the runner says something (`true`) or is gone (`false`).
fn runner_speaks(runner: &OwnedFd, socket: &UnixStream) -> Result<bool, GuardianError> {
    loop {
        let mut fds = [PollFd::new(socket, PollFlags::IN), PollFd::new(runner, PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(GuardianError::Wait(error.into())),
        }
        if !fds[1].revents().is_empty() {
            return Ok(false);
        }
        if !fds[0].revents().is_empty() {
            return Ok(true);
        }
    }
}

impl Guardian {
    /// The answer to a word of the runner; `None` to `bye`.
    fn answer(&mut self, line: &str) -> Option<String> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("watch", pid) => Some(self.watch(pid)),
            ("done", _) => {
                self.agent = None;
                Some(match self.put_back() {
                    Ok(()) => "clear".to_owned(),
                    Err(error) => format!("trouble {error}"),
                })
            }
            ("bye", _) => None,
            (word, _) => Some(format!("trouble unknown word '{word}'")),
        }
    }

    fn watch(&mut self, pid: &str) -> String {
        let Ok(number) = pid.parse() else { return format!("trouble '{pid}' is not a process") };
        match namespace::pidfd_open(number) {
            Ok(agent) => {
                self.agent = Some(agent);
                "watching".to_owned()
            }
            Err(error) => format!("trouble cannot watch process {pid}: {error}"),
        }
    }

    /// Ends the agent, which is the init process of its PID namespace, and with it all of it.
    fn end_agent(&mut self) {
        if let Some(agent) = self.agent.take() {
            // It may be gone already, which is just as well.
            let _ = namespace::send_signal(&agent, Signal::KILL);
            let _ = namespace::ended(&agent, NAMESPACE_END);
        }
    }

    /// Puts back what the trial left; the list stays for the next trial.
    fn put_back(&self) -> Result<(), GuardianError> {
        let mut undo = Undo::open(&self.system, &self.undo).map_err(GuardianError::Undo)?;
        check(&undo.restore_where(|_| true).map_err(GuardianError::Undo)?)
    }

    /// Puts back everything and removes the list.
    fn put_back_and_end(&self) -> Result<(), GuardianError> {
        check(&undo::restore(&self.system, &self.undo).map_err(GuardianError::Undo)?)
    }
}

fn check(restored: &Restored) -> Result<(), GuardianError> {
    if restored.problems.is_empty() {
        return Ok(());
    }
    Err(GuardianError::Problems(restored.problems.join("; ")))
}
