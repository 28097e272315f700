//! The processes that update the files of a poll. They are processes and not threads because locks
//! are a process's own, and so is its memory map; and because a page of a mapped file that cannot
//! be had (a full device, an error of it) ends the process that touches it.

use super::access::{self, AccessError, Action};
use super::{UpdateText, file_name};
use crate::command::child::wait4;
use crate::error::WorkloadError;
use rustix::fd::OwnedFd;
use rustix::process::Pid;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_host::confine;
use seekwell_model::workloads::rrd::RrdAccess;
use seekwell_stats::Histogram;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::ops::Range;
use std::panic::AssertUnwindSafe;
use std::path::Path;

/// Files that a process updates.
#[derive(Debug)]
pub struct Share<'a> {
    /// The directory of the files.
    pub directory: &'a OwnedFd,
    /// Its path, for messages.
    pub path: &'a Path,
    /// Its files, by number.
    pub files: Range<u64>,
    /// Data sources in each.
    pub sources: u64,
    /// Access method.
    pub access: RrdAccess,
}

/// A process that waits for polls.
#[derive(Debug)]
pub struct Poller {
    pid: Option<Pid>,
    commands: PipeWriter,
    answers: PipeReader,
}

/// Totals of a process.
#[derive(Debug)]
pub struct Done {
    /// Time of each update, from opening the file to closing it.
    pub updates: Histogram,
    /// CPU time, user and system.
    pub cpu_ns: u64,
}

/// Instead of the number of a poll: there is none any more.
const END: u64 = u64::MAX;

/// Report of a process that its poll succeeded.
const FINE: u64 = u64::MAX;

impl Poller {
    /// Starts a process.
    ///
    /// # Errors
    /// When there can be no more processes.
    pub fn start(share: &Share<'_>) -> Result<Self, WorkloadError> {
        let failed =
            |source: io::Error| WorkloadError::file("start a process for", share.path)(source);
        let (mut inner_commands, commands) = io::pipe().map_err(failed)?;
        let (answers, mut inner_answers) = io::pipe().map_err(failed)?;
        // SAFETY: the child only runs the closure below and then ends by `_exit`, which neither
        // unwinds nor runs anything that belongs to the parent. It allocates, which the C library
        // allows after a fork; it takes no lock that another thread of the parent could hold.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let work = || serve(share, &mut inner_commands, &mut inner_answers);
            let ended = std::panic::catch_unwind(AssertUnwindSafe(work));
            let status = match ended {
                Ok(Ok(())) => 0,
                Ok(Err(_)) => 1,
                Err(_) => 2,
            };
            // SAFETY: ends this process at once.
            unsafe { libc::_exit(status) };
        }
        let Some(pid) = Pid::from_raw(pid).filter(|pid| pid.as_raw_nonzero().get() > 0) else {
            return Err(failed(io::Error::last_os_error()));
        };
        Ok(Self { pid: Some(pid), commands, answers })
    }

    /// Tells it to begin a poll.
    ///
    /// # Errors
    /// When it has ended.
    pub fn begin(&mut self, poll: u64) -> Result<(), WorkloadError> {
        match self.commands.write_all(&poll.to_le_bytes()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.lost()),
        }
    }

    /// Waits until the poll is done.
    ///
    /// # Errors
    /// The error of an update, or the way the process ended.
    pub fn wait(&mut self, share: &Share<'_>) -> Result<(), WorkloadError> {
        let mut answer = [0; 24];
        if self.answers.read_exact(&mut answer).is_err() {
            return Err(self.lost());
        }
        let number = |index: usize| super::format::get_u64(&answer, 8 * index);
        if number(0) == FINE {
            return Ok(());
        }
        let action = Action::ALL.get(number(1) as usize).copied().unwrap_or(Action::Update);
        let errno = i32::try_from(number(2)).unwrap_or(libc::EIO);
        let path = share.path.join(file_name(number(0)));
        Err(WorkloadError::file(action.word(), &path)(io::Error::from_raw_os_error(errno)))
    }

    /// Ends it and takes what it found.
    ///
    /// # Errors
    /// When it did not end by itself as it should.
    pub fn finish(mut self) -> Result<Done, WorkloadError> {
        let mut histogram = Vec::new();
        let told = self.commands.write_all(&END.to_le_bytes());
        if told.is_err() || self.answers.read_to_end(&mut histogram).is_err() {
            return Err(self.lost());
        }
        let Ok(updates) = Histogram::from_bytes(&histogram) else { return Err(self.lost()) };
        let Some(pid) = self.pid.take() else { return Err(self.lost()) };
        let (_, cpu_ns) = wait4(pid).map_err(WorkloadError::file("wait for", Path::new("rrd")))?;
        Ok(Done { updates, cpu_ns })
    }

    /// Returns the error of a poller that does not answer.
    fn lost(&mut self) -> WorkloadError {
        let ended = self.pid.take().and_then(|pid| wait4(pid).ok()).map(|(status, _)| status);
        let (problem, remedy) = match ended {
            Some(status) if libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGBUS => {
                (
                    "a page of a mapped file could not be read or allocated (SIGBUS)".to_owned(),
                    "the filesystem is full or its device failed: use fewer files or a larger \
                 device, and see dmesg",
                )
            }
            Some(status) if libc::WIFSIGNALED(status) => (
                format!("a polling process was ended by signal {}", libc::WTERMSIG(status)),
                "see dmesg; the memory may have run out",
            ),
            _ => ("a polling process ended early".to_owned(), "see dmesg"),
        };
        WorkloadError::Unfit { step: "poll".to_owned(), problem, remedy: remedy.to_owned() }
    }
}

impl Drop for Poller {
    /// One that was forgotten must not continue.
    fn drop(&mut self) {
        if let Some(pid) = self.pid.take() {
            // Already gone is what is wanted.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            let _ = wait4(pid);
        }
    }
}

/// The process: polls until told to end, then gives its histogram.
fn serve(share: &Share<'_>, commands: &mut PipeReader, answers: &mut PipeWriter) -> io::Result<()> {
    // Ends with the thread that started it, so that nothing is left of a killed trial.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    confine::keep_only(confine::WORKLOAD).map_err(io::Error::other)?;
    let mut updates = Histogram::new();
    let mut text = UpdateText::new(share.sources);
    loop {
        let mut command = [0; 8];
        commands.read_exact(&mut command)?;
        let poll = u64::from_le_bytes(command);
        if poll == END {
            return answers.write_all(&updates.to_bytes());
        }
        let mut answer = [FINE, 0, 0];
        for file in share.files.clone() {
            let name = file_name(file);
            let values = text.values(file, poll);
            let begin_ns = MonotonicClock.now_ns();
            let done =
                access::update(share.directory, &name, share.access, super::time_s(poll), &values);
            updates.record(MonotonicClock.now_ns().saturating_sub(begin_ns));
            if let Err(AccessError { action, errno }) = done {
                answer = [file, action as u64, errno.raw_os_error() as u64];
                break;
            }
        }
        let bytes: Vec<u8> = answer.iter().flat_map(|number| number.to_le_bytes()).collect();
        answers.write_all(&bytes)?;
    }
}
