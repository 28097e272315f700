//! The runner's end of the guardian.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait for an answer. Putting a scheduler back waits until the queue is empty, and that
/// is bounded by the write-back of what is dirty.
const ANSWER: Duration = Duration::from_secs(600);
/// A guardian or agent that was stopped, as by SIGSTOP, answers only when it is continued: no wait for that.
pub(super) const STOPPED: Duration = Duration::from_secs(3);
/// Time between two checks for a stopped process during a wait.
pub(super) const LOOK: Duration = Duration::from_millis(250);

/// A guardian and the socket to it.
#[derive(Debug)]
pub struct GuardianLink {
    child: Child,
    socket: BufReader<UnixStream>,
}

impl GuardianLink {
    /// Starts a guardian for this process.
    ///
    /// It inherits the lock of the machine and holds it until everything is put back.
    pub fn start(program: &Path, undo: &Path, lock: &File) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_read_timeout(Some(LOOK))?;
        let child = Command::new(program)
            .arg("guardian")
            .arg("--undo")
            .arg(undo)
            .arg("--runner")
            .arg(std::process::id().to_string())
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            // It prints nothing there; the descriptor is what it is to hold.
            .stdout(Stdio::from(lock.try_clone()?))
            // From the first moment out of reach of Ctrl-C; it makes a session of its own besides.
            .process_group(0)
            .spawn()?;
        Ok(Self { child, socket: BufReader::new(ours) })
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns true while it runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Tells it which agent to watch; returns when it does.
    pub fn watch(&mut self, pid: u32) -> io::Result<()> {
        let answer = self.ask(&format!("watch {pid}"))?;
        if answer == "watching" { Ok(()) } else { Err(io::Error::other(answer)) }
    }

    /// Tells it that the agent is gone; its answer when everything is put back.
    pub fn done(&mut self) -> io::Result<String> {
        self.ask("done")
    }

    /// Ends it; it puts back what is left first. One that hangs or is stopped is killed.
    pub fn bye(mut self) -> io::Result<()> {
        writeln!(self.socket.get_ref(), "bye")?;
        let mut patience = Patience::new(self.pid());
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if let Err(error) = patience.check() {
                self.end();
                return Err(error);
            }
            sleep(BYE_POLL);
        };
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("the guardian ended with {status}")))
        }
    }

    /// Ends it at once and waits until it is gone.
    pub fn end(mut self) {
        // It may be gone already, which is just as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn ask(&mut self, word: &str) -> io::Result<String> {
        writeln!(self.socket.get_ref(), "{word}")?;
        let mut answer = String::new();
        let mut patience = Patience::new(self.pid());
        loop {
            match self.socket.read_line(&mut answer) {
                Ok(0) => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "the guardian is gone",
                    ));
                }
                Ok(_) => return Ok(answer.trim().to_owned()),
                Err(error) if is_pause(error.kind()) => patience.check()?,
                Err(error) => return Err(error),
            }
        }
    }
}

fn is_pause(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(kind, Interrupted | TimedOut | WouldBlock)
}

/// Time between two checks for the end of a guardian.
const BYE_POLL: Duration = Duration::from_millis(5);

/// A wait for the guardian that ends when it is stopped or takes too long.
struct Patience {
    pid: u32,
    begin: Instant,
    stopped_since: Option<Instant>,
}

impl Patience {
    fn new(pid: u32) -> Self {
        Self { pid, begin: Instant::now(), stopped_since: None }
    }

    fn check(&mut self) -> io::Result<()> {
        let pid = self.pid;
        let late = |what: &str| {
            Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("the guardian (process {pid}) {what}"),
            ))
        };
        if self.begin.elapsed() > ANSWER {
            return late("does not answer: a device may hang");
        }
        if !is_stopped(pid) {
            self.stopped_since = None;
            return Ok(());
        }
        if self.stopped_since.get_or_insert_with(Instant::now).elapsed() > STOPPED {
            return late("was stopped, as by SIGSTOP");
        }
        Ok(())
    }
}

/// Returns true if a process is in state T of `proc_pid_stat(5)`.
pub(super) fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
    matches!(state, Some("T" | "t"))
}

#[cfg(test)]
mod tests;
