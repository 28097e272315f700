//! Processes in namespaces of their own, watched by pidfd; affinity.
//!
//! A new PID namespace ends with its first process: killing that one process ends everything that it
//! started, and the mounts and loop devices go with the last of them.

use crate::error::{Error, Result};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use rustix::thread::CpuSet;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

mod launch;

#[cfg(test)]
mod tests;

/// Options for the start of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Its own PID namespace, of which it is process 1: it must reap its orphans, and signals
    /// without a handler do not reach it from inside.
    pub pid_namespace: bool,
    /// Its own mount namespace, private before anything runs in it. `/proc` stays the host's: the guard must see the
    /// mounts of process 1 of the host.
    pub mount_namespace: bool,
    /// Its own network namespace, with a loopback device that is down.
    pub network_namespace: bool,
    /// `SIGKILL` when the *thread* that starts it ends; start it from a thread that lives long.
    pub die_with_parent: bool,
    /// Its own session, so that signals of the terminal and of the parent's group do not reach it.
    pub new_session: bool,
}

/// A started process.
#[derive(Debug)]
pub struct Child {
    /// Number in the starter's PID namespace.
    pub pid: u32,
    /// Names the process beyond doubt, also after its end.
    pub pidfd: OwnedFd,
}

/// End of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
}

/// Starts a program.
///
/// `arguments` begins with the program, a path. `environment` is all it gets. `descriptors` are the
/// only ones that it inherits beside 0, 1 and 2, each under the number given.
///
/// Safe from a process with several threads: the new process makes only system calls until it
/// becomes the program.
///
/// # Errors
/// With the step that failed, also when that was in the new process.
pub fn spawn(
    arguments: &[OsString],
    environment: &[(OsString, OsString)],
    descriptors: &[(RawFd, BorrowedFd<'_>)],
    options: &Options,
) -> Result<Child> {
    let plan = launch::Plan::new(arguments, environment, descriptors, options)?;
    launch::launch(&plan)
}

/// Keeps all descriptors but 0, 1 and 2 that this process has now from the programs that it starts:
/// those that it was given, and those that its caller left open.
///
/// # Errors
/// The kernel's; before Linux 5.11 it cannot.
pub fn close_on_exec() -> Result<()> {
    if close_range_on_exec() {
        return Ok(());
    }
    let action = "keep open files from the programs that are started";
    Err(Error::call(action, "this needs Linux 5.11")(io::Error::last_os_error()))
}

/// Marks every descriptor from 3 on; `errno` tells why that failed.
fn close_range_on_exec() -> bool {
    // SAFETY: CLOSE_RANGE_CLOEXEC closes none of them now; no memory is involved.
    unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC) == 0 }
}

fn c_string(text: &OsStr) -> Result<CString> {
    CString::new(text.as_bytes())
        .map_err(|_| Error::Argument(format!("'{}' holds a NUL byte", text.to_string_lossy())))
}

/// A descriptor for a process by number.
///
/// # Errors
/// When there is no such process.
pub fn pidfd_open(pid: u32) -> Result<OwnedFd> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let number = number.ok_or_else(|| Error::Argument(format!("{pid} is not a process id")))?;
    rustix::process::pidfd_open(number, PidfdFlags::empty())
        .map_err(Error::call(format!("watch process {pid}"), "it has already ended"))
}

/// Sends a signal. A process that has ended already is fine.
///
/// # Errors
/// Without the right to.
pub fn send_signal(pidfd: impl AsFd, signal: Signal) -> Result<()> {
    match rustix::process::pidfd_send_signal(pidfd, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(source) => {
            let action = format!("send signal {}", signal.as_raw());
            Err(Error::call(action, "run as the user who started the process")(source))
        }
    }
}

/// Waits for a child's end and reaps it.
///
/// # Errors
/// When it is not a child of this process, or reaped already.
pub fn wait(pidfd: impl AsFd) -> Result<Ended> {
    loop {
        match rustix::process::waitid(WaitId::PidFd(pidfd.as_fd()), WaitIdOptions::EXITED) {
            Ok(Some(status)) => {
                let killed = status.terminating_signal().map(Ended::Killed);
                return Ok(killed.unwrap_or(Ended::Exited(status.exit_status().unwrap_or(-1))));
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(source) => {
                return Err(Error::call("wait for a child", "only its parent can, once")(source));
            }
        }
    }
}

/// Waits at most so long for the end of a process; true when it has ended. It need not be a child, and
/// is not reaped.
///
/// # Errors
/// The kernel's.
pub fn ended(pidfd: impl AsFd, timeout: Duration) -> Result<bool> {
    let begin = Instant::now();
    loop {
        let left = timeout.saturating_sub(begin.elapsed());
        let mut polled = [PollFd::new(&pidfd, PollFlags::IN)];
        match poll(&mut polled, Timespec::try_from(left).ok().as_ref()) {
            Ok(count) => return Ok(count > 0),
            // A signal to this process says nothing about the other one.
            Err(rustix::io::Errno::INTR) => {}
            Err(source) => {
                return Err(Error::call("watch a process", "this needs Linux 5.3")(source));
            }
        }
    }
}

/// Pins the calling thread, and threads and processes that it starts later, to CPUs.
///
/// # Errors
/// When none of them is online and allowed.
pub fn set_affinity(cpus: &[u32]) -> Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        let number = *cpu as usize;
        if number >= CpuSet::MAX_CPU {
            return Err(Error::Argument(format!("CPU {cpu} does not exist")));
        }
        set.set(number);
    }
    let remedy = "name CPUs that are online and allowed to this process";
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(Error::call(format!("pin to the CPUs {cpus:?}"), remedy))
}

/// CPUs that this thread may run on, in order.
///
/// # Errors
/// The kernel's.
pub fn allowed_cpus() -> Result<Vec<u32>> {
    let remedy = "this machine has more CPUs than the system call can report";
    let set = rustix::thread::sched_getaffinity(None)
        .map_err(Error::call("read the CPUs allowed", remedy))?;
    let numbers = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
    Ok(numbers.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}

/// CPUs that agent and workload are pinned to when the lab names none: the last half of those
/// allowed, at least one; the first ones take most interrupts.
///
/// # Errors
/// The kernel's.
pub fn default_cpus() -> Result<Vec<u32>> {
    let allowed = allowed_cpus()?;
    Ok(allowed[allowed.len() / 2..].to_vec())
}
