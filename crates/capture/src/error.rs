//! Errors of this room.

use seekwell_trace::TraceError;
use std::io::ErrorKind;
use std::path::PathBuf;

/// A capture that cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The build had no clang.
    #[error(
        "this build has no capture: clang was not found when it was compiled; install clang \
         (`make packages`) and build again, or record with `strace -f -ttt -T -yy -o FILE` and \
         `seekwell trace import strace`"
    )]
    NotBuilt,
    /// The machine is no `x86_64`.
    #[error(
        "capture knows the system calls of x86_64 only; record with `strace -f -ttt -T -yy -o FILE` \
         and `seekwell trace import strace`"
    )]
    Architecture,
    /// The kernel's types cannot be used.
    #[error(
        "cannot use the kernel's types (/sys/kernel/btf/vmlinux): {0}; capture needs a kernel \
         with CONFIG_DEBUG_INFO_BTF; record with `strace -f -ttt -T -yy -o FILE` and \
         `seekwell trace import strace`"
    )]
    Btf(&'static str),
    /// The kernel lacks a member or a tracepoint.
    #[error(
        "this kernel has no {0}, which capture reads; it is written for Linux 5.8 and later; on \
         others record with `strace -f -ttt -T -yy -o FILE` and `seekwell trace import strace`"
    )]
    Kernel(String),
    /// The kernel did not accept a map or a program.
    #[error(
        "cannot {what}: {source}; this kernel ({}) does not accept the programs of capture: report it \
         with this message, or record with `strace -f -ttt -T -yy -o FILE` and `seekwell trace import \
         strace`", rustix::system::uname().release().to_string_lossy()
    )]
    NotAccepted {
        /// Action.
        what: String,
        /// Cause.
        source: std::io::Error,
    },
    /// The kernel does not permit eBPF.
    #[error(
        "cannot {what}: {source}; capture needs root or the capabilities CAP_BPF, CAP_PERFMON and \
         CAP_SYS_RESOURCE; without them record with `strace -f -ttt -T -yy -o FILE` and \
         `seekwell trace import strace`"
    )]
    Bpf {
        /// Action.
        what: String,
        /// Cause.
        source: std::io::Error,
    },
    /// The compiled programs are damaged.
    #[error("cannot read the compiled programs: {0}; build Seekwell again")]
    Object(String),
    /// The command did not start.
    #[error("cannot run {program}: {source}")]
    Command {
        /// Program.
        program: String,
        /// Cause.
        source: std::io::Error,
    },
    /// Nothing was started or recorded; the reason in words.
    #[error("{0}")]
    NotStarted(String),
    /// A process, cgroup or directory to trace is not there.
    #[error("cannot trace {}: {source}", path.display())]
    Target {
        /// Its path, in `/proc` for processes.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Writing the output would be part of what is recorded.
    #[error(
        "the output {} is {place}; write it elsewhere with -o, or accept that with --same-device",
        output.display()
    )]
    OutputRecorded {
        /// Output.
        output: PathBuf,
        /// Its place, and what that does, in words.
        place: String,
    },
    /// The trace cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl CaptureError {
    /// True when the request was refused to protect the measurement.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::OutputRecorded { .. })
    }

    pub(crate) fn bpf(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| match source.kind() {
            ErrorKind::PermissionDenied | ErrorKind::Unsupported => Self::Bpf { what, source },
            _ => Self::NotAccepted { what, source },
        }
    }
}

#[cfg(test)]
mod tests;
