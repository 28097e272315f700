//! The server's process: requests of the kernel to the disk, and answers at their time.

use crate::disk::{self, Answer, Disk};
use crate::mount::{FILE_NAME, Mount};
use crate::protocol::{self, Ask, Call, Malformed};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, AsRawFd as _, BorrowedFd};
use rustix::io::Errno;
use rustix::time::Timespec;
use seekwell_engine::{Clock as _, MonotonicClock};
use seekwell_stats::Histogram;
use serde::{Deserialize, Serialize};
use std::io::{self, IoSlice, Write};
use std::num::NonZeroU64;
use std::path::Path;

/// The kernel ends a wait this late; the rest is waited for with a CPU.
const LATE_NS: u64 = 150_000;

/// Time for which the next request is waited for with a CPU after an answer: programs that wait for each
/// request send the next one soon.
const NEXT_NS: u64 = 50_000;

/// Without requests the model is advanced this often, so that what it does by itself is computed then.
const IDLE_NS: u64 = 20_000_000;

/// `ENOENT` and `ENOSYS` of `errno.h`.
const NO_ENTRY: i32 = 2;
const NOT_THERE: i32 = 38;

/// Errors that end a server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// There is no FUSE, or no right to use it.
    #[error("cannot make a FUSE file system on /dev/fuse: {0}; it needs root and CONFIG_FUSE_FS")]
    Mount(Errno),
    /// The kernel's requests cannot be read or answered.
    #[error("the connection to the kernel failed: {0}")]
    Connection(Errno),
    /// A request makes no sense.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// The content cannot be kept.
    #[error(
        "cannot store the content of the device: {0}; free some space in the scratch directory"
    )]
    Content(io::Error),
    /// The command is gone.
    #[error("the command that started the server is gone: {0}")]
    Command(io::Error),
}

/// Work of a server, in times of the real clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Requests that the model answered.
    pub requests: u64,
    /// Time from the model's answer to the real one in nanoseconds, median; `None` without requests.
    pub late_median_ns: Option<u64>,
    /// The same, 99th percentile.
    pub late_p99_ns: Option<u64>,
    /// The same, largest.
    pub late_max_ns: Option<u64>,
}

/// Serves a disk until its file is closed for good: says the number of the directory's descriptor on `output` when the
/// file can be opened, and the [`Report`] at the end, each a line. `command` is a pipe or socket from the command; its end
/// ends the server as long as the file was not opened.
///
/// # Errors
/// [`ServerError`].
pub fn serve(disk: Disk, command: impl AsFd, mut output: impl Write) -> Result<(), ServerError> {
    let mount = Mount::new(Path::new("/dev/fuse")).map_err(ServerError::Mount)?;
    // Neither is needed where the kernel refuses it: answers are later then, which the report shows.
    let _ = rustix::process::setpriority_process(None, PRIORITY);
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    say(&mut output, &mount.directory.as_raw_fd())?;
    let report = Server::new(disk, mount).run(command.as_fd())?;
    // The command may be gone; its report with it.
    let _ = say(&mut output, &report);
    Ok(())
}

/// Byte by which a command says that it puts the settings back itself.
pub(crate) const RESTORES: u8 = b'r';

/// Longest wait for that byte or the end of the command, in seconds. A command that is killed closes the device first,
/// and is not gone yet when the server hears of it.
const LAST_WORD_S: i64 = 5;

/// Returns true when a command is gone that did not say that it puts the settings back itself. `command` is that of
/// [`serve`], after it returned.
pub fn is_left_alone(command: impl AsFd) -> bool {
    let mut word = [0];
    let span = Timespec { tv_sec: LAST_WORD_S, tv_nsec: 0 };
    let mut fds = [PollFd::new(&command, PollFlags::IN)];
    // Neither a word nor an end: the command lives, and sees that its server has ended.
    let is_readable = matches!(poll(&mut fds, Some(&span)), Ok(1..));
    is_readable && matches!(rustix::io::read(&command, &mut word), Ok(0))
}

/// Highest priority of ordinary processes.
const PRIORITY: i32 = -20;

fn say(output: &mut impl Write, what: &impl Serialize) -> Result<(), ServerError> {
    let text = serde_json::to_string(what).map_err(|error| ServerError::Command(error.into()))?;
    writeln!(output, "{text}").and_then(|()| output.flush()).map_err(ServerError::Command)
}

struct Server {
    disk: Disk,
    mount: Mount,
    bytes: u64,
    begun_ns: u64,
    /// The file was opened, and how often it is open.
    opened: bool,
    open: u32,
    ended: bool,
    buffer: Vec<u8>,
    answers: Vec<Answer>,
    late: Histogram,
    answered_ns: u64,
}

impl Server {
    fn new(disk: Disk, mount: Mount) -> Self {
        let geometry = disk.geometry();
        let longest = geometry.max_request_bytes as usize;
        Self {
            disk,
            mount,
            bytes: geometry.sectors_512 * 512,
            begun_ns: MonotonicClock.now_ns(),
            opened: false,
            open: 0,
            ended: false,
            buffer: vec![0; (protocol::BEFORE_DATA + longest).max(protocol::LEAST_BUFFER)],
            answers: Vec::new(),
            late: Histogram::new(),
            answered_ns: 0,
        }
    }

    fn now_ns(&self) -> u64 {
        MonotonicClock.now_ns() - self.begun_ns
    }

    fn run(mut self, command: BorrowedFd<'_>) -> Result<Report, ServerError> {
        while !self.ended {
            while self.take()? {}
            let now_ns = self.now_ns();
            let mut answers = std::mem::take(&mut self.answers);
            self.disk.advance(now_ns, &mut answers);
            for answer in answers.drain(..) {
                self.answer(answer)?;
            }
            self.answers = answers;
            if !self.ended {
                self.wait(command)?;
            }
        }
        let percentile = |q| self.late.percentile_ns(q);
        Ok(Report {
            requests: self.late.count(),
            late_median_ns: percentile(0.5),
            late_p99_ns: percentile(0.99),
            late_max_ns: self.late.max_ns(),
        })
    }

    /// Lets time pass until the next event is near or a request is there.
    fn wait(&mut self, command: BorrowedFd<'_>) -> Result<(), ServerError> {
        let now_ns = self.now_ns();
        let span_ns = match self.disk.next_event_ns() {
            Some(at_ns) => at_ns.saturating_sub(now_ns).saturating_sub(LATE_NS),
            None if now_ns < self.answered_ns + NEXT_NS => 0,
            None => IDLE_NS,
        };
        if span_ns == 0 {
            std::hint::spin_loop();
            return Ok(());
        }
        let span = Timespec {
            tv_sec: (span_ns / 1_000_000_000) as i64,
            tv_nsec: (span_ns % 1_000_000_000) as i64,
        };
        let connection = PollFd::new(&self.mount.connection, PollFlags::IN);
        let mut fds = [connection, PollFd::from_borrowed_fd(command, PollFlags::IN)];
        let count = if self.opened { 1 } else { 2 };
        match poll(&mut fds[..count], Some(&span)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(ServerError::Connection(error)),
        }
        // Nothing is said there: it is readable when the command is gone.
        if !self.opened && !fds[1].revents().is_empty() {
            self.ended = true;
        }
        Ok(())
    }

    /// Takes a request of the kernel; returns false if there is none.
    fn take(&mut self) -> Result<bool, ServerError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let taken = match rustix::io::read(&self.mount.connection, &mut buffer) {
            Ok(length) => {
                let call = protocol::parse(&buffer[..length])?;
                self.handle(call).map(|()| true)
            }
            // The request was taken back before it was read, or a signal came.
            Err(Errno::NOENT | Errno::INTR) => Ok(true),
            Err(Errno::AGAIN) => Ok(false),
            // Unmounted.
            Err(Errno::NODEV) => {
                self.ended = true;
                Ok(false)
            }
            Err(error) => Err(ServerError::Connection(error)),
        };
        self.buffer = buffer;
        taken
    }

    fn handle(&mut self, call: Call<'_>) -> Result<(), ServerError> {
        let Call { unique, ask } = call;
        let answer = match ask {
            Ask::Init => protocol::init_answer(self.disk.geometry().max_request_bytes),
            Ask::Lookup(name) if name == FILE_NAME.as_bytes() => {
                protocol::lookup_answer(self.bytes)
            }
            Ask::Lookup(_) => return self.reply(unique, NO_ENTRY, &[]),
            Ask::Attributes(node) => protocol::attributes_answer(node, self.bytes),
            Ask::Open(protocol::FILE) => {
                self.opened = true;
                self.open += 1;
                protocol::open_answer()
            }
            Ask::Release => {
                self.open = self.open.saturating_sub(1);
                self.ended = self.open == 0;
                Vec::new()
            }
            Ask::Statfs => protocol::statfs_answer(self.bytes),
            Ask::Disk(offset, ask) => return self.submit(unique, offset, ask),
            Ask::Unanswered => return Ok(()),
            Ask::Destroy => {
                self.ended = true;
                Vec::new()
            }
            Ask::Open(_) | Ask::Unknown => return self.reply(unique, NOT_THERE, &[]),
        };
        self.reply(unique, 0, &answer)
    }

    fn submit(&mut self, unique: u64, offset: u64, ask: disk::Ask<'_>) -> Result<(), ServerError> {
        let now_ns = self.now_ns();
        match self.disk.submit(now_ns, unique, offset, ask).map_err(ServerError::Content)? {
            Some(refused) => self.answer(refused),
            None => Ok(()),
        }
    }

    fn answer(&mut self, answer: Answer) -> Result<(), ServerError> {
        let Answer { unique, due_ns, error, data, written } = answer;
        if error != 0 {
            self.reply(unique, error, &[])?;
        } else if written > 0 {
            self.reply(unique, 0, &protocol::write_answer(written))?;
        } else {
            self.reply(unique, 0, &data)?;
        }
        let now_ns = self.now_ns();
        self.answered_ns = now_ns;
        if let Some(due_ns) = due_ns {
            self.late.record(now_ns.saturating_sub(due_ns).max(1));
        }
        self.disk.reuse(data);
        Ok(())
    }

    fn reply(&mut self, unique: u64, error: i32, data: &[u8]) -> Result<(), ServerError> {
        let header = protocol::header(unique, error, data.len());
        let parts = [IoSlice::new(&header), IoSlice::new(data)];
        match rustix::io::writev(&self.mount.connection, &parts) {
            // Nobody waits for it any more.
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(Errno::NODEV | Errno::NOTCONN) => {
                self.ended = true;
                Ok(())
            }
            Err(error) => Err(ServerError::Connection(error)),
        }
    }
}

#[cfg(test)]
mod tests;
