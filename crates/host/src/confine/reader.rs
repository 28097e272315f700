//! A process that only reads foreign files: no capability, no new program, no network, limited memory
//! and time, and no file but those that it was started for.

use super::landlock::{self, Reach};
use super::{enter, own_capabilities};
use crate::error::{Error, Result};
use crate::seccomp::{self, ARCH, ARCHITECTURE, NUMBER, answer, jump_from, jump_if_equal, load};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::CapabilitySet;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Limits of such a process. The kernel refuses memory beyond the first, which ends the process with `SIGABRT`, and
/// sends `SIGXCPU` after the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Address space. A machine with less memory limits it to that, but never below 4 GiB.
    pub memory_bytes: u64,
    /// CPU time.
    pub cpu_s: u64,
}

impl Limits {
    /// Far more than the largest run file or trace needs, far less than an endless loop takes.
    pub const READER: Self = Self { memory_bytes: 16 << 30, cpu_s: 1_800 };
    /// Time from `SIGXCPU` to the kill.
    const GRACE_S: u64 = 10;
    /// Smallest address space that is given because the machine is small.
    const LEAST_BYTES: u64 = 4 << 30;

    fn address_space(self) -> u64 {
        let machine = rustix::system::sysinfo();
        let bytes = u64::from(machine.mem_unit).saturating_mul(machine.totalram);
        self.memory_bytes.min(bytes.max(Self::LEAST_BYTES))
    }
}

/// Number of limits that this process has, so that a signal above is known to come from one.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns true while a limit of [`become_reader`] or [`read_confined`] may end this process. A signal handler may ask.
#[must_use]
pub fn is_limited() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}

/// Number of threads that read with limits, and the limits of the process before the first of them.
static BEFORE: Mutex<(usize, Option<[Rlimit; 2]>)> = Mutex::new((0, None));

const LIMITED: [Resource; 2] = [Resource::As, Resource::Cpu];

/// Limits for the whole process while a thread of it reads; the last one takes them back.
struct Limited;

impl Limited {
    fn new(limits: Limits) -> Self {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.0 += 1;
        if before.0 == 1 {
            before.1 = Some(LIMITED.map(getrlimit));
            // Without `/proc` the size of this process, to which the limit would be added, is unknown.
            let used = [used_bytes(), used_cpu_s()];
            let more = [limits.address_space(), limits.cpu_s];
            for (resource, (used, more)) in LIMITED.into_iter().zip(used.into_iter().zip(more)) {
                // If the kernel refuses, the reader still has its own limits of bytes.
                let _ = used.map(|used| limit(resource, used.saturating_add(more), None));
            }
            COUNT.fetch_add(1, Ordering::Relaxed);
        }
        Self
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        let mut before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
        before.0 -= 1;
        if before.0 == 0 {
            for (resource, limit) in LIMITED.into_iter().zip(before.1.take().into_iter().flatten())
            {
                // A process may always raise its limit to what it was.
                let _ = setrlimit(resource, limit);
            }
            COUNT.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Address space in use.
fn used_bytes() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').next()?.parse().ok()?;
    pages.checked_mul(u64::try_from(rustix::param::page_size()).ok()?)
}

/// CPU time that this process has used.
fn used_cpu_s() -> Option<u64> {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    u64::try_from(used.tv_sec).ok()
}

/// System calls that no reader of a file needs: each fails with `EPERM`.
const REFUSED: [libc::c_long; 24] = [
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_keyctl,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
];

fn failed(source: impl Into<io::Error>) -> Error {
    let remedy = "this needs a kernel with CONFIG_SECCOMP_FILTER";
    Error::call("confine the reading of a file", remedy)(source)
}

/// Turns this process into a reader for the rest of its life, which opens the files of `reach` alone where the
/// kernel has Landlock. Call it before it has other threads.
///
/// # Errors
/// The kernel's.
pub fn become_reader(limits: Limits, reach: &Reach) -> Result<()> {
    limit(Resource::As, limits.address_space(), Some(0)).map_err(failed)?;
    limit(Resource::Cpu, limits.cpu_s, Some(Limits::GRACE_S)).map_err(failed)?;
    COUNT.fetch_add(1, Ordering::Relaxed);
    // Nothing that crashes on a foreign file leaves its memory behind.
    limit(Resource::Core, 0, Some(0)).map_err(failed)?;
    give_up(reach)
}

/// Does work on a foreign file in a thread that opens the files of `reach` alone, and has no capability but the one to
/// open files of any owner, no new program and no network, as have the threads that it starts. The rest of the process
/// keeps its rights. Until the work is done, the whole process can use as much more memory and CPU time as
/// [`Limits::READER`] says.
///
/// A kernel that cannot confine it does the work all the same.
///
/// # Panics
/// With the work.
pub fn read_confined<T: Send>(reach: &Reach, work: impl FnOnce() -> T + Send) -> T {
    read_limited(Limits::READER, reach, work)
}

/// The same with these limits.
pub(super) fn read_limited<T: Send>(
    limits: Limits,
    reach: &Reach,
    work: impl FnOnce() -> T + Send,
) -> T {
    let _limited = Limited::new(limits);
    let confined = || {
        // The work is more important than this additional wall, which guests' kernels do not have.
        let _ = give_up(reach);
        work()
    };
    std::thread::scope(|scope| match scope.spawn(confined).join() {
        Ok(done) => done,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

/// Gives up the rights of this thread.
fn give_up(reach: &Reach) -> Result<()> {
    let bounding = own_capabilities()?.effective.contains(CapabilitySet::SETPCAP);
    enter::drop_capabilities(CapabilitySet::DAC_OVERRIDE, bounding).map_err(failed)?;
    rustix::thread::set_no_new_privs(true).map_err(failed)?;
    landlock::limit(reach).map_err(failed)?;
    refuse().map_err(failed)
}

/// Lowers a limit; one that is lower already stays. The hard limit, which cannot be raised again, is this much above it.
fn limit(resource: Resource, most: u64, hard: Option<u64>) -> io::Result<()> {
    let now = getrlimit(resource);
    let lower = |limit: Option<u64>, most: u64| Some(limit.map_or(most, |limit| limit.min(most)));
    let maximum = hard.map_or(now.maximum, |more| lower(now.maximum, most.saturating_add(more)));
    Ok(setrlimit(resource, Rlimit { current: lower(now.current, most), maximum })?)
}

/// Numbers from here on are those of x32, which no program here uses.
const OTHER_NUMBERS: u32 = 0x4000_0000;

/// Installs the filter: the call's number is compared with each that is refused. Calls of another
/// architecture, which have other numbers, are refused altogether.
fn refuse() -> io::Result<()> {
    let refusal = answer(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
    let mut program = vec![
        load(ARCH),
        jump_if_equal(ARCHITECTURE, 1, 0),
        refusal,
        load(NUMBER),
        jump_from(OTHER_NUMBERS, 0, 1),
        refusal,
    ];
    for (position, number) in REFUSED.iter().enumerate() {
        let rest = u8::try_from(REFUSED.len() - position).unwrap_or(u8::MAX);
        program.push(jump_if_equal(u32::try_from(*number).unwrap_or(u32::MAX), rest, 0));
    }
    program.extend([answer(libc::SECCOMP_RET_ALLOW), refusal]);
    seccomp::install(&mut program)
}
