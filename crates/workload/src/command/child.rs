//! Runs a shell command in a process group of its own, and waits for it.

use super::OUTPUT_BYTES;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, kill_process_group, pidfd_open, test_kill_process_group,
    waitpgid,
};
use rustix::time::Timespec;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_host::confine::Confinement;
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{self, PipeReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Limits that end a command early.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// After this time.
    pub timeout: Option<Duration>,
    /// Ends the child when it becomes true.
    pub stop: Option<&'a AtomicBool>,
}

/// End of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Status(u8),
    /// By a signal that did not come from here.
    Signal(i32),
    /// It was ended at its time limit.
    TimedOut,
    /// It was ended because of the stop.
    Stopped,
}

impl Ended {
    /// The problem of one that neither succeeded nor was stopped; `late` names its time limit.
    pub(crate) fn failure(self, late: &str) -> Option<String> {
        match self {
            Self::Status(0) | Self::Stopped => None,
            Self::Status(status) => Some(format!("ended with status {status}")),
            Self::Signal(signal) => Some(format!("was ended by signal {signal}")),
            Self::TimedOut => Some(late.to_owned()),
        }
    }
}

/// The problem of a program of a package that could not be run.
pub(crate) fn not_run(program: &str, package: &str, source: &io::Error) -> String {
    match source.kind() {
        io::ErrorKind::NotFound => {
            format!("needs {program}, which is not installed: install the package {package}")
        }
        _ => format!("could not run {program}: {source}"),
    }
}

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    /// End of the command.
    pub ended: Ended,
    /// From just before its start, when its confinement is made, to its end.
    pub elapsed_ns: u64,
    /// CPU time, user and system, of the shell and all descendants that it waited for.
    pub cpu_ns: u64,
    /// Standard output and standard error as they came.
    pub output: Output,
    /// True when processes of its group were still running at its end.
    pub left_processes: bool,
}

/// The first and the last part of an output.
#[derive(Debug, Default)]
pub struct Output {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Bytes between the two that were not kept.
    pub cut_bytes: u64,
}

impl Output {
    fn push(&mut self, bytes: &[u8]) {
        let room = (OUTPUT_BYTES / 2).saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend(&bytes[room..]);
        let extra = self.tail.len().saturating_sub(OUTPUT_BYTES / 2);
        self.tail.drain(..extra);
        self.cut_bytes += extra as u64;
    }

    /// As text; what was cut is a line of its own.
    #[must_use]
    pub fn text(&self) -> String {
        let mut bytes = self.head.clone();
        if self.cut_bytes > 0 {
            bytes.extend_from_slice(format!("\n[{} bytes cut]\n", self.cut_bytes).as_bytes());
        }
        bytes.extend(&self.tail);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Time between two checks of the stop flag.
const TICK: Duration = Duration::from_millis(20);

/// Time that a command has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);

/// Runs `line` with the shell in `folder`, confined or with all power of this process, and waits until
/// it has ended; then nothing of its process group runs any more.
///
/// # Errors
/// When it could not be started or waited for.
pub fn run(
    line: &OsStr,
    folder: &Path,
    limits: Limits<'_>,
    confinement: Option<Confinement>,
) -> io::Result<Finished> {
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(line);
    run_program(command, folder, limits, confinement)
}

/// Runs a program in `folder` and waits until it has ended, as [`run`] does.
///
/// # Errors
/// When it could not be started or waited for.
pub fn run_program(
    mut command: Command,
    folder: &Path,
    limits: Limits<'_>,
    confinement: Option<Confinement>,
) -> io::Result<Finished> {
    let (reader, writer) = io::pipe()?;
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0);
    let (child, begin_ns) = start(&mut command, confinement)?;
    // The command still holds the writing end, which would keep the pipe open.
    drop(command);
    let pid = Pid::from_child(&child);
    let mut running = Running {
        pid,
        pidfd: pidfd_open(pid, PidfdFlags::empty())?,
        reader,
        open: true,
        output: Output::default(),
    };
    rustix::io::ioctl_fionbio(&running.reader, true)?;
    let early = running.wait(begin_ns, limits)?;
    let (status, cpu_ns) = wait4(pid)?;
    let elapsed_ns = MonotonicClock.now_ns().saturating_sub(begin_ns);
    let left = end_group(pid);
    running.drain()?;
    let left_processes = left && early.is_none();
    let ended = early.unwrap_or(match libc::WIFSIGNALED(status) {
        true => Ended::Signal(libc::WTERMSIG(status)),
        false => Ended::Status(u8::try_from(libc::WEXITSTATUS(status)).unwrap_or(u8::MAX)),
    });
    let output = running.output;
    Ok(Finished { ended, elapsed_ns, cpu_ns, output, left_processes })
}

/// Starts a program, and returns the time when it began: what its confinement takes is not its own.
fn start(
    command: &mut Command,
    confinement: Option<Confinement>,
) -> io::Result<(std::process::Child, u64)> {
    let before_ns = MonotonicClock.now_ns();
    let Some(confinement) = confinement else { return Ok((command.spawn()?, before_ns)) };
    let mut confined = confinement.spawn(command)?;
    let begin_ns = confined.began_ns().unwrap_or(before_ns);
    Ok((confined.child, begin_ns))
}

/// Ends what the command left running in its group; says whether there was anything. Files that
/// such a process had open would keep a filesystem from being unmounted.
fn end_group(group: Pid) -> bool {
    if kill_process_group(group, Signal::KILL).is_err() {
        return false;
    }
    let deadline_ns = MonotonicClock.now_ns().saturating_add(nanoseconds(GRACE));
    while test_kill_process_group(group).is_ok() && MonotonicClock.now_ns() < deadline_ns {
        // Where this process is the first of its namespace, orphans become its children.
        let _ = waitpgid(group, WaitOptions::NOHANG);
        MonotonicClock.sleep_until_ns(MonotonicClock.now_ns() + 1_000_000);
    }
    true
}

struct Running {
    pid: Pid,
    pidfd: OwnedFd,
    reader: PipeReader,
    /// True when the writing end is still open.
    open: bool,
    output: Output,
}

impl Running {
    /// Waits for the end of the shell; says why when it had to be ended.
    fn wait(&mut self, begin_ns: u64, limits: Limits<'_>) -> io::Result<Option<Ended>> {
        let deadline_ns = limits.timeout.map(|time| begin_ns.saturating_add(nanoseconds(time)));
        let mut early: Option<Ended> = None;
        let mut kill_ns: Option<u64> = None;
        loop {
            let watched = deadline_ns.is_some() || limits.stop.is_some();
            if self.poll(watched.then_some(TICK))? {
                return Ok(early);
            }
            let now_ns = MonotonicClock.now_ns();
            if early.is_none() {
                early = ending(now_ns, deadline_ns, limits.stop);
                if early.is_some() {
                    // Already gone is what is wanted.
                    let _ = kill_process_group(self.pid, Signal::TERM);
                    kill_ns = Some(now_ns.saturating_add(nanoseconds(GRACE)));
                }
            }
            if kill_ns.is_some_and(|time| now_ns >= time) {
                let _ = kill_process_group(self.pid, Signal::KILL);
                kill_ns = None;
            }
        }
    }

    /// Takes output until the shell has ended (`true`) or the time is over.
    fn poll(&mut self, time: Option<Duration>) -> io::Result<bool> {
        let time = time.map(|time| Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: i64::from(time.subsec_nanos()),
        });
        let mut watched = vec![PollFd::new(&self.pidfd, PollFlags::IN)];
        if self.open {
            watched.push(PollFd::new(&self.reader, PollFlags::IN));
        }
        match poll(&mut watched, time.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        let ended = !watched[0].revents().is_empty();
        let ready = watched.get(1).is_some_and(|pipe| !pipe.revents().is_empty());
        if ready {
            self.drain()?;
        }
        Ok(ended)
    }

    /// Takes what the pipe has.
    fn drain(&mut self) -> io::Result<()> {
        let mut buffer = [0; 1 << 16];
        while self.open {
            match self.reader.read(&mut buffer) {
                Ok(0) => self.open = false,
                Ok(read) => self.output.push(&buffer[..read]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn ending(now_ns: u64, deadline_ns: Option<u64>, stop: Option<&AtomicBool>) -> Option<Ended> {
    if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
        return Some(Ended::Stopped);
    }
    deadline_ns.is_some_and(|deadline| now_ns >= deadline).then_some(Ended::TimedOut)
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Waits for a child: its status as the kernel gives it, and its CPU time, which the standard
/// library does not give.
pub(crate) fn wait4(pid: Pid) -> io::Result<(i32, u64)> {
    let mut status = 0;
    // SAFETY: rusage is plain data for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are valid for the kernel to write to; the child is ours and
        // no other thread waits for it.
        let waited =
            unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage) };
        if waited >= 0 {
            let ns = |time: libc::timeval| {
                time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000
            };
            return Ok((status, ns(usage.ru_utime) + ns(usage.ru_stime)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests;
