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
        "cannot use the kernel's types (/sys/kernel/btf/vmlinux): {problem}; capture needs a kernel \
         with CONFIG_DEBUG_INFO_BTF; record with `strace -f -ttt -T -yy -o FILE` and \
         `seekwell trace import strace`"
    )]
    Btf {
        /// Problem.
        problem: &'static str,
    },
    /// The kernel lacks a member or a tracepoint.
    #[error(
        "this kernel has no {name}, which capture reads; it is written for Linux 5.8 and later; on \
         others record with `strace -f -ttt -T -yy -o FILE` and `seekwell trace import strace`"
    )]
    Kernel {
        /// Structure and member, or tracepoint.
        name: String,
    },
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
    #[error("cannot read the compiled programs: {problem}; build Seekwell again")]
    Object {
        /// Problem.
        problem: String,
    },
    /// The command did not start.
    #[error("cannot run {program}: {source}")]
    Command {
        /// Program.
        program: String,
        /// Cause.
        source: std::io::Error,
    },
    /// The user interrupted before the target was started.
    #[error("interrupted before the start; nothing was started or recorded")]
    Interrupted,
    /// A process, cgroup or directory to trace is not there.
    #[error("cannot trace {}: {source}", path.display())]
    Target {
        /// Its path, in `/proc` for processes.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The process is a thread of the kernel.
    #[error(
        "process {process} is a thread of the kernel and makes no system calls; record the program \
         that it works for, or everything with --system, where its block requests are in the trace"
    )]
    OfKernel {
        /// Its number.
        process: u32,
    },
    /// No cgroup has the name of a unit or container.
    #[error(
        "no cgroup of {name} below /sys/fs/cgroup{}; name a running unit (`systemctl list-units`) or \
         a running container by name or the first 12 digits of its id (`docker ps`)",
        if similar.is_empty() { String::new() } else { format!(", but of {}", similar.join(", ")) }
    )]
    NoCgroup {
        /// Unit or container.
        name: String,
        /// Cgroups whose names contain it.
        similar: Vec<String>,
    },
    /// Several containers have the name.
    #[error("{} containers are named {name}; give the id of one: {}", ids.len(), ids.join(", "))]
    Ambiguous {
        /// Name.
        name: String,
        /// Their ids.
        ids: Vec<String>,
    },
    /// The output would be part of what is recorded.
    #[error(
        "the output {} is inside the traced directory {}; write it elsewhere with -o, or accept that \
         with --same-device",
        output.display(), traced.display()
    )]
    OutputInside {
        /// Output.
        output: PathBuf,
        /// Traced directory.
        traced: PathBuf,
    },
    /// Writing the output would be part of the device's load.
    #[error(
        "the output {} is on the device of the traced directory {} and would add to its load; write \
         it elsewhere with -o, or accept that with --same-device",
        output.display(), traced.display()
    )]
    SameDevice {
        /// Output.
        output: PathBuf,
        /// Traced directory.
        traced: PathBuf,
    },
    /// The lab kernel does not record.
    #[error(
        "this lab kernel does not record calls; build one that does: seekwell kernel build --set \
         layers"
    )]
    NoRecording,
    /// The trace cannot be written.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

impl CaptureError {
    /// True when the request was refused to protect the measurement.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::OutputInside { .. } | Self::SameDevice { .. })
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
