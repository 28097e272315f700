//! Filters of system calls: their instructions, and how one is installed.

use std::io;

/// `AUDIT_ARCH_*` of the architecture that this was built for, whose numbers of system calls the filters have.
#[cfg(target_arch = "x86_64")]
pub(crate) const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
pub(crate) const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(target_arch = "riscv64")]
pub(crate) const ARCHITECTURE: u32 = 0xC000_00F3;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
pub(crate) const ARCHITECTURE: u32 = 0;

/// Offsets in `struct seccomp_data`; the low half of an argument on a little-endian machine.
pub(crate) const NUMBER: u32 = 0;
pub(crate) const ARCH: u32 = 4;
pub(crate) const SECOND_ARGUMENT: u32 = 24;

pub(crate) const fn load(offset: u32) -> libc::sock_filter {
    instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset)
}

pub(crate) const fn jump_if_equal(value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, then, otherwise, value)
}

pub(crate) const fn jump_from(value: u32, then: u8, otherwise: u8) -> libc::sock_filter {
    instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, then, otherwise, value)
}

pub(crate) const fn answer(action: u32) -> libc::sock_filter {
    instruction(libc::BPF_RET | libc::BPF_K, 0, 0, action)
}

const fn instruction(code: u32, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt, jf, k }
}

/// Installs a filter for this thread; it makes one system call and allocates nothing.
///
/// # Errors
/// The kernel's.
pub(crate) fn install(instructions: &mut [libc::sock_filter]) -> io::Result<()> {
    let program = libc::sock_fprog {
        len: u16::try_from(instructions.len()).unwrap_or(u16::MAX),
        filter: instructions.as_mut_ptr(),
    };
    // SAFETY: instructions and their description live during the call, which copies them.
    let done = unsafe {
        libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program, 0, 0)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
