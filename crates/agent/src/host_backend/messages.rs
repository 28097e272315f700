//! Hears what an agent says until it ends or its time is over.

use super::link::{LOOK, STOPPED, is_stopped};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use seekwell_model::agent::AgentMessage;
use seekwell_model::record::Record;
use std::io;
use std::time::{Duration, Instant};

/// The messages of one agent, and how it ended.
#[derive(Debug, Default)]
pub struct Heard {
    /// Its record, if it lived to say it.
    pub record: Option<Box<Record>>,
    /// The last step that began.
    pub step: Option<String>,
    /// The end of what it wrote on standard error.
    pub talk: String,
    /// A line that is no message.
    pub garbled: Option<String>,
    /// The time limit, if it was reached.
    pub timed_out: Option<Duration>,
    /// Its process number, if it was stopped and not continued.
    pub stopped: Option<u32>,
}

impl Heard {
    /// Returns the reason why there is no record.
    pub fn why(&self, status: &str) -> String {
        let mut why = match (self.timed_out, &self.garbled) {
            (Some(limit), _) => format!(
                "the trial did not end within {} s; raise [trial] timeout or make the workload smaller",
                limit.as_secs()
            ),
            (None, Some(line)) => format!("the agent sent an unknown message: {line}"),
            (None, None) => match self.stopped {
                Some(pid) => format!("the agent (process {pid}) was stopped, as by SIGSTOP"),
                None => format!("the agent ended without a record ({status})"),
            },
        };
        let talk = self.talk.trim();
        if !talk.is_empty() {
            why.push_str(": ");
            why.push_str(talk);
        }
        why
    }
}

/// Reads both pipes of an agent.
#[derive(Debug)]
pub struct Listener {
    stdout: Option<OwnedFd>,
    stderr: Option<OwnedFd>,
    line: Vec<u8>,
    talk: Vec<u8>,
    keep: usize,
    pid: u32,
}

impl Listener {
    /// Listens to these of the process `pid`, keeping at most `keep` bytes of the talk.
    pub fn new(pid: u32, stdout: OwnedFd, stderr: OwnedFd, keep: usize) -> Self {
        let (stdout, stderr) = (Some(stdout), Some(stderr));
        Self { stdout, stderr, line: vec![], talk: vec![], keep, pid }
    }

    /// Listens until the record came, the agent ended (`agent` is its pidfd) or stays stopped, or the time
    /// is over.
    pub fn listen(
        &mut self,
        agent: BorrowedFd<'_>,
        limit: Duration,
        on_message: &mut dyn FnMut(&AgentMessage),
    ) -> io::Result<Heard> {
        let begun = Instant::now();
        let mut heard = Heard::default();
        let mut ended = false;
        let mut stopped_since = None;
        while heard.record.is_none() && heard.garbled.is_none() {
            let Some(left) = limit.checked_sub(begun.elapsed()) else {
                heard.timed_out = Some(limit);
                break;
            };
            // Once it has ended, one more look: its last words may still be in the pipes.
            let wait = if ended { Duration::ZERO } else { left.min(LOOK) };
            let [out, err, end] = self.ready(agent, wait)?;
            if err {
                self.read_talk()?;
            }
            if out {
                self.read_messages(&mut heard, on_message)?;
            }
            if ended && !out && !err {
                break;
            }
            ended |= end;
            if out || err || end || !is_stopped(self.pid) {
                stopped_since = None;
            } else if stopped_since.get_or_insert_with(Instant::now).elapsed() > STOPPED {
                heard.stopped = Some(self.pid);
                break;
            }
        }
        heard.talk = String::from_utf8_lossy(&self.talk).into_owned();
        Ok(heard)
    }

    /// Returns three flags: standard output, standard error and the agent's end are ready.
    fn ready(&self, agent: BorrowedFd<'_>, wait: Duration) -> io::Result<[bool; 3]> {
        let mut fds = vec![PollFd::from_borrowed_fd(agent, PollFlags::IN)];
        let pipes = self.stdout.iter().chain(&self.stderr);
        fds.extend(pipes.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)));
        let timeout =
            Timespec { tv_sec: wait.as_secs() as i64, tv_nsec: i64::from(wait.subsec_nanos()) };
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => {}
            Err(Errno::INTR) => return Ok([false; 3]),
            Err(error) => return Err(error.into()),
        }
        let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
        let out = self.stdout.is_some() && ready[1];
        let err = self.stderr.is_some() && ready[if self.stdout.is_some() { 2 } else { 1 }];
        Ok([out, err, ready[0]])
    }

    fn read_talk(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        let count = read(&mut self.stderr, &mut buffer)?;
        self.talk.extend_from_slice(&buffer[..count]);
        let excess = self.talk.len().saturating_sub(self.keep);
        self.talk.drain(..excess);
        Ok(())
    }

    fn read_messages(
        &mut self,
        heard: &mut Heard,
        on_message: &mut dyn FnMut(&AgentMessage),
    ) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        let count = read(&mut self.stdout, &mut buffer)?;
        // Only what is new is searched: a record with a million operations comes in many pieces.
        for piece in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if !piece.ends_with(b"\n") {
                break;
            }
            let line = std::mem::take(&mut self.line);
            match serde_json::from_slice::<AgentMessage>(&line) {
                Ok(message) => {
                    on_message(&message);
                    match message {
                        AgentMessage::Step { name } => heard.step = Some(name),
                        // Said to the virtual backend alone.
                        AgentMessage::Found(_) | AgentMessage::Database(_) => {}
                        AgentMessage::Record(record) => heard.record = Some(record),
                    }
                }
                Err(_) => {
                    let text = String::from_utf8_lossy(&line);
                    heard.garbled = Some(text.chars().take(200).collect());
                }
            }
        }
        Ok(())
    }
}

/// Reads what a pipe has; one that has ended is closed.
fn read(pipe: &mut Option<OwnedFd>, buffer: &mut [u8]) -> io::Result<usize> {
    let Some(open) = pipe else { return Ok(0) };
    let count = rustix::io::read(open, buffer)?;
    if count == 0 {
        *pipe = None;
    }
    Ok(count)
}

#[cfg(test)]
mod tests;
