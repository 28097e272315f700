//! The least that programs on tracepoints can cost: a pair of eBPF programs that do nothing, where each
//! call of the machine begins and ends.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

const PROGRAM_LOAD: libc::c_long = 5;
const ATTACH: libc::c_long = 17;
const RAW_TRACEPOINT: u32 = 17;
/// `r0 = 0; exit`, as the kernel's interface encodes instructions.
const NOTHING: [u64; 2] = [0xb7, 0x95];

/// The attached programs, until they are dropped.
pub struct Pair {
    _held: Vec<OwnedFd>,
}

impl Pair {
    pub fn attach() -> Result<Self> {
        let mut held = Vec::new();
        for tracepoint in [c"sys_enter", c"sys_exit"] {
            let program = bpf(
                PROGRAM_LOAD,
                &Load {
                    kind: RAW_TRACEPOINT,
                    instructions: 2,
                    code: NOTHING.as_ptr().expose_provenance() as u64,
                    license: c"MIT".as_ptr().expose_provenance() as u64,
                    rest: [0; 12],
                },
            )?;
            let number = u64::from(program.as_raw_fd().cast_unsigned());
            let name = tracepoint.as_ptr().expose_provenance() as u64;
            held.push(bpf(ATTACH, &[name, number])?);
            held.push(program);
        }
        Ok(Self { _held: held })
    }
}

/// First members of `union bpf_attr` for a program.
#[repr(C)]
struct Load {
    kind: u32,
    instructions: u32,
    code: u64,
    license: u64,
    rest: [u64; 12],
}

/// A command of the system call `bpf` that makes a descriptor.
fn bpf<Attributes>(command: libc::c_long, attributes: &Attributes) -> Result<OwnedFd> {
    // SAFETY: the kernel reads the attributes, which live until the call returns, and what they point
    // to: constants of this program.
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, command, &raw const *attributes, size_of::<Attributes>())
    };
    let fd = i32::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(Error::last_os_error)?;
    // SAFETY: the kernel just made this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
