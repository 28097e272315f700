//! The guest's process: started alone in its group, measured, and ended with all it started.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

#[cfg(test)]
mod tests;

/// The guest's programs run in copies of its kernel's process whose memory is then replaced. A
/// restartable sequence that the C library had registered there would be gone, and the host's kernel
/// answers that with a segmentation fault at the next signal.
const NO_RSEQ: &str = "glibc.pthread.rseq=0";

/// End and resource use of a guest's process.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    /// As the kernel reports it.
    pub status: ExitStatus,
    /// CPU time of the guest's kernel and of all its programs.
    pub cpu: Duration,
}

/// CPU time of kernel and programs, in clock ticks of `/proc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// The guest's kernel.
    pub kernel: u64,
    /// The guest's programs.
    pub programs: u64,
}

/// A running guest. Dropping it ends it.
#[derive(Debug)]
pub struct GuestProcess {
    pid: Pid,
    exit: Option<Exit>,
}

impl GuestProcess {
    /// Starts a guest in a directory, which holds a link `linux` to its kernel and a link `memory` to where its memory
    /// goes, so that its command line and environment are alike on every machine. `console` takes what it prints.
    ///
    /// # Errors
    ///
    /// The system's error when the program cannot be started.
    pub fn start(directory: &Path, arguments: &[String], console: File) -> io::Result<Self> {
        let mut command = Command::new("./linux");
        command
            .arg0("linux")
            .args(arguments)
            .current_dir(directory)
            .env_clear()
            .env("TMPDIR", "memory")
            .env("PATH", "")
            .env("GLIBC_TUNABLES", NO_RSEQ)
            .stdin(Stdio::null())
            .stdout(console.try_clone()?)
            .stderr(console)
            .process_group(0);
        // SAFETY: the closure runs between fork and exec and makes system calls only; it allocates
        // nothing and takes no lock.
        unsafe { command.pre_exec(prepare) };
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("the guest has no process id"))?;
        Ok(Self { pid, exit: None })
    }

    /// Returns the end of the process, or `None` while it runs.
    ///
    /// # Errors
    ///
    /// The system's error when waiting fails.
    pub fn poll_exit(&mut self) -> io::Result<Option<Exit>> {
        if self.exit.is_none() {
            self.exit = wait(self.pid, libc::WNOHANG)?;
        }
        Ok(self.exit)
    }

    /// Waits until it ends by itself, at most for `limit`; then ends it.
    ///
    /// # Errors
    ///
    /// The system's error when waiting fails.
    pub fn wait_or_end(&mut self, limit: Duration) -> io::Result<Exit> {
        let step = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        while waited < limit {
            if let Some(exit) = self.poll_exit()? {
                return Ok(exit);
            }
            std::thread::sleep(step);
            waited += step;
        }
        self.end()
    }

    /// Ends it now, with every process it started.
    ///
    /// # Errors
    ///
    /// The system's error when waiting fails.
    pub fn end(&mut self) -> io::Result<Exit> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        // The leader is not reaped yet, so its number still names this group and no other.
        kill_process_group(self.pid, Signal::KILL)?;
        let exit = wait(self.pid, 0)?;
        self.exit = exit;
        exit.ok_or_else(|| io::Error::other("the guest did not end when killed"))
    }

    /// CPU time used so far.
    #[must_use]
    pub fn cpu_ticks(&self) -> CpuTicks {
        let leader = self.pid.as_raw_nonzero().get();
        let mut ticks = CpuTicks::default();
        let Ok(entries) = fs::read_dir("/proc") else { return ticks };
        for entry in entries.flatten() {
            let Some(pid) = number(&entry.file_name()) else { continue };
            match process_ticks(pid) {
                Some((_, used)) if pid == leader => ticks.kernel += used,
                Some((group, used)) if group == leader => ticks.programs += used,
                _ => {}
            }
        }
        ticks
    }
}

impl Drop for GuestProcess {
    fn drop(&mut self) {
        // Nothing is left to do about a guest that cannot be waited for.
        let _ = self.end();
    }
}

fn number(name: &OsStr) -> Option<i32> {
    name.to_str()?.parse().ok()
}

/// Process group and CPU time of a process from `/proc/PID/stat`.
fn process_ticks(pid: i32) -> Option<(i32, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_stat(&stat)
}

/// The fields after the name, which may itself hold blanks and parentheses.
fn parse_stat(stat: &str) -> Option<(i32, u64)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let group = fields.get(2)?.parse().ok()?;
    let user: u64 = fields.get(11)?.parse().ok()?;
    let system: u64 = fields.get(12)?.parse().ok()?;
    Some((group, user + system))
}

/// Between fork and exec: no core file, end with the parent, no address randomisation.
fn prepare() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, set_parent_process_death_signal, setrlimit};
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // SAFETY: personality takes a number and changes how the next program is loaded.
    let before = unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) };
    if before == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn wait(pid: Pid, options: i32) -> io::Result<Option<Exit>> {
    let mut status = 0;
    // SAFETY: a structure of plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to variables that outlive the call.
        let found = unsafe {
            libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, options, &raw mut usage)
        };
        match found {
            0 => return Ok(None),
            -1 => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            _ => {
                let cpu = duration(usage.ru_utime) + duration(usage.ru_stime);
                return Ok(Some(Exit { status: ExitStatus::from_raw(status), cpu }));
            }
        }
    }
}

fn duration(time: libc::timeval) -> Duration {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}

/// Keeps this thread, and what it starts, on one CPU until dropped.
#[derive(Debug)]
pub struct Pinned {
    before: CpuSet,
}

impl Pinned {
    /// Pins the calling thread.
    ///
    /// # Errors
    ///
    /// The system's error, for example that there is no such CPU.
    pub fn to(cpu: usize) -> io::Result<Self> {
        let before = sched_getaffinity(None)?;
        if cpu >= CpuSet::MAX_CPU {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("no CPU {cpu}")));
        }
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(None, &set)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The set was in force before, so the kernel takes it again unless CPUs have gone.
        let _ = sched_setaffinity(None, &self.before);
    }
}
