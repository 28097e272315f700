//! The runner's end of the guardian.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest wait for an answer. Putting a scheduler back waits until the queue is empty, and that
/// is bounded by the write-back of what is dirty.
const ANSWER: Duration = Duration::from_secs(600);

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
        ours.set_read_timeout(Some(ANSWER))?;
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

    /// Whether it still runs.
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

    /// Ends it; it puts back what is left first.
    pub fn bye(mut self) -> io::Result<()> {
        writeln!(self.socket.get_ref(), "bye")?;
        let status = self.child.wait()?;
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
        if self.socket.read_line(&mut answer)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the guardian is gone"));
        }
        Ok(answer.trim().to_owned())
    }
}
