//! A process that only reads foreign files: no capability, no new program, no network, limited memory
//! and time, and no file but those that it was started for.

use super::landlock::{self, Reach};
use super::{enter, own_capabilities};
use crate::error::{Error, Result};
use rustix::process::{Resource, Rlimit};
use rustix::thread::CapabilitySet;
use std::io;

/// Limits of such a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Address space.
    pub memory_bytes: u64,
    /// CPU time.
    pub cpu_s: u64,
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

/// Turns this process into a reader for the rest of its life, which opens the files of `reach` alone where the
/// kernel has Landlock. Call it before it has other threads.
///
/// # Errors
/// The kernel's.
pub fn become_reader(limits: Limits, reach: &Reach) -> Result<()> {
    let failed = |source: io::Error| Error::Call {
        action: "confine the reading of a file".to_owned(),
        source,
        remedy: "this needs a kernel with CONFIG_SECCOMP_FILTER",
    };
    limit(Resource::As, limits.memory_bytes).map_err(failed)?;
    limit(Resource::Cpu, limits.cpu_s).map_err(failed)?;
    // Nothing that crashes on a foreign file leaves its memory behind.
    limit(Resource::Core, 0).map_err(failed)?;
    give_up(reach)
}

/// Does work on a foreign file in a thread that opens the files of `reach` alone, and has no capability but the one to
/// open files of any owner, no new program and no network, as have the threads that it starts. The rest of the process
/// keeps its rights, and shares its memory with that thread: memory and CPU time are not limited.
///
/// A kernel that cannot confine it does the work all the same.
///
/// # Panics
/// With the work.
pub fn read_confined<T: Send>(reach: &Reach, work: impl FnOnce() -> T + Send) -> T {
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
    let failed = |source: io::Error| Error::Call {
        action: "confine the reading of a file".to_owned(),
        source,
        remedy: "this needs a kernel with CONFIG_SECCOMP_FILTER",
    };
    let bounding = own_capabilities()?.effective.contains(CapabilitySet::SETPCAP);
    enter::drop_capabilities(CapabilitySet::DAC_OVERRIDE, bounding).map_err(failed)?;
    rustix::thread::set_no_new_privs(true).map_err(|error| failed(error.into()))?;
    landlock::limit(reach).map_err(failed)?;
    refuse().map_err(failed)
}

/// Lowers a limit; one that is lower already stays.
fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let now = rustix::process::getrlimit(resource);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    let limit = Rlimit { current: lower(now.current), maximum: lower(now.maximum) };
    Ok(rustix::process::setrlimit(resource, limit)?)
}

/// Architecture whose numbers [`REFUSED`] has, as `linux/audit.h` writes it.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;
/// Numbers from here on are those of x32, which no program here uses.
const OTHER_NUMBERS: u32 = 0x4000_0000;
/// Offsets in `struct seccomp_data`.
const NUMBER: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;

/// Installs the filter: the call's number is compared with each that is refused. Calls of another
/// architecture, which have other numbers, are refused altogether.
fn refuse() -> io::Result<()> {
    let step =
        |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let give = libc::BPF_RET | libc::BPF_K;
    let refusal = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let from = libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K;
    let mut program = vec![
        step(load, 0, 0, ARCHITECTURE_AT),
        step(equal, 1, 0, ARCHITECTURE),
        step(give, 0, 0, refusal),
        step(load, 0, 0, NUMBER),
        step(from, 0, 1, OTHER_NUMBERS),
        step(give, 0, 0, refusal),
    ];
    for (position, number) in REFUSED.iter().enumerate() {
        let rest = u8::try_from(REFUSED.len() - position).unwrap_or(u8::MAX);
        program.push(step(equal, rest, 0, u32::try_from(*number).unwrap_or(u32::MAX)));
    }
    program.push(step(give, 0, 0, libc::SECCOMP_RET_ALLOW));
    program.push(step(give, 0, 0, refusal));
    let filter = libc::sock_fprog {
        len: u16::try_from(program.len()).unwrap_or(u16::MAX),
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program and its description live during the call, which copies them.
    let done = unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter, 0, 0)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
