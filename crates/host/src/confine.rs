//! Less power for processes that run what others wrote.
//!
//! A program of a workload gets a mount namespace in which no filesystem honours set-user-ID bits or
//! device nodes, a `/dev` with the devices given and no other block device, a `/proc` of its own PID
//! namespace, settings of the kernel and of devices that it can read alone, an empty folder in the place
//! of Seekwell's own, and the capabilities of [`WORKLOAD`] at most. An agent keeps [`AGENT`], one
//! with a server in a network of its own [`SERVER`].

use crate::error::{Error, Result};
use rustix::thread::{CapabilitySet, CapabilitySets};
use std::ffi::{CString, OsStr};
use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Component, Path};
use std::process::{Child, Command};
use std::sync::OnceLock;

mod enter;
mod landlock;
mod reader;

#[cfg(test)]
mod tests;

pub use landlock::Reach;
pub use reader::{Limits as ReaderLimits, become_reader, is_limited, read_confined};

/// Capabilities of a workload's programs: files of any owner, and other users.
pub const WORKLOAD: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL);

/// Capabilities of an agent: those of a workload, mounts and block devices, looking at all processes
/// that might use a device, limits and priorities, and the rights to give up rights and to take a
/// directory as root.
pub const AGENT: CapabilitySet = WORKLOAD
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::SYS_RAWIO)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::SYS_PTRACE)
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::SYS_NICE)
    .union(CapabilitySet::IPC_LOCK)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SETPCAP);

/// Capabilities of an agent that starts a server in a network namespace of its own: the link, and ports
/// of services.
pub const SERVER: CapabilitySet =
    AGENT.union(CapabilitySet::NET_ADMIN).union(CapabilitySet::NET_BIND_SERVICE);

/// A block device that the program finds in its `/dev`.
#[derive(Debug)]
struct Node {
    /// Folders above it, outermost first, below `/dev`.
    folders: Vec<CString>,
    path: CString,
    number: u64,
}

/// A folder in whose place a program finds an empty one.
#[derive(Clone, Debug)]
struct Hidden {
    folder: CString,
    /// A directory below it that stays, and the folders between, outermost first, relative to it.
    kept: Option<(CString, Vec<CString>)>,
}

/// The folder that [`hide`] named.
static HIDDEN: OnceLock<Hidden> = OnceLock::new();

/// Hides Seekwell's own folder, with claims, plans that were shown and undo lists, from all programs
/// that this process confines from now on. `kept` is a directory below it that they see all the same.
/// The first call counts.
///
/// # Errors
/// When the folder cannot be found.
pub fn hide(folder: &Path, kept: Option<&Path>) -> Result<()> {
    let hidden = Hidden::new(folder, kept)?;
    HIDDEN.get_or_init(|| hidden);
    Ok(())
}

impl Hidden {
    fn new(folder: &Path, kept: Option<&Path>) -> Result<Self> {
        let real = |path: &Path| fs::canonicalize(path).map_err(Error::io("find", path));
        let folder = real(folder)?;
        let kept = kept.map(real).transpose()?;
        let below = kept.as_deref().and_then(|kept| kept.strip_prefix(&folder).ok());
        let kept = match (&kept, below) {
            (Some(kept), Some(below)) => {
                let folders = below.ancestors().filter(|part| !part.as_os_str().is_empty());
                let mut folders = folders.map(c_text).collect::<Result<Vec<_>>>()?;
                folders.reverse();
                Some((c_text(kept)?, folders))
            }
            _ => None,
        };
        Ok(Self { folder: c_text(&folder)?, kept })
    }
}

fn c_text(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Error::Argument(format!("{} holds a NUL byte", path.display())))
}

/// Limits of a program that has yet to be started.
#[derive(Debug)]
pub struct Confinement {
    nodes: Vec<Node>,
    hidden: Option<Hidden>,
    shown: Option<CString>,
    kept: CapabilitySet,
    /// False where this process may not make namespaces, as an ordinary user: then there is no power
    /// over devices to take away.
    separate: bool,
    drop_bounding: bool,
}

impl Confinement {
    /// Limits for a program that may use these block devices. A path that is no block device, or is not
    /// below `/dev`, is left out.
    ///
    /// # Errors
    /// When this process cannot read its own capabilities.
    pub fn new(devices: &[&Path]) -> Result<Self> {
        let own = own_capabilities()?.effective;
        Ok(Self {
            nodes: devices.iter().filter_map(|path| Node::of(path)).collect(),
            hidden: HIDDEN.get().cloned(),
            shown: None,
            kept: WORKLOAD,
            separate: own.contains(CapabilitySet::SYS_ADMIN),
            drop_bounding: own.contains(CapabilitySet::SETPCAP),
        })
    }

    /// Shows a directory as `/mnt` too: a user who may not pass through the directories above it finds it
    /// there.
    ///
    /// # Errors
    /// When this process may not make mount namespaces.
    pub fn with_mnt(mut self, directory: &Path) -> Result<Self> {
        if !self.separate {
            let action = format!("show {} as /mnt", directory.display());
            return Err(Error::call(action, "run as root")(rustix::io::Errno::PERM));
        }
        self.shown = Some(c_text(directory)?);
        Ok(self)
    }

    /// Leaves the program further capabilities.
    #[must_use]
    pub fn keeping(mut self, capabilities: CapabilitySet) -> Self {
        self.kept |= capabilities;
        self
    }

    /// Starts the command within these limits.
    ///
    /// # Errors
    /// That of the program, or the step of the confinement that failed.
    pub fn spawn(self, command: &mut Command) -> io::Result<Confined> {
        let (mut reader, writer) = io::pipe()?;
        let enter = move || {
            let entered = self.enter();
            enter::report(writer.as_raw_fd(), &entered);
            entered.map_err(|(_, error)| error)
        };
        // SAFETY: between fork and exec `enter` makes system calls only, on texts and numbers that were
        // made before the fork; it allocates nothing and takes no lock.
        unsafe { command.pre_exec(enter) };
        match command.spawn() {
            Ok(child) => Ok(Confined { child, reader }),
            Err(error) => Err(explained(error, &mut reader)),
        }
    }
}

/// A started program.
#[derive(Debug)]
pub struct Confined {
    /// Its process.
    pub child: Child,
    reader: PipeReader,
}

impl Confined {
    /// `CLOCK_MONOTONIC` in nanoseconds just before the program took over, after the confinement was
    /// made; `None` if the process ended before.
    #[must_use]
    pub fn began_ns(&mut self) -> Option<u64> {
        let mut message = [0_u8; enter::MESSAGE_BYTES];
        self.reader.read_exact(&mut message).ok()?;
        enter::began_ns(&message)
    }
}

/// An error of the confinement with the step that it is from.
fn explained(error: io::Error, reader: &mut PipeReader) -> io::Error {
    let mut message = [0_u8; enter::MESSAGE_BYTES];
    // No message means that the program itself could not be started: its writing end is still open in
    // the command, so only what is there is read.
    let waiting = rustix::io::ioctl_fionread(&*reader).unwrap_or(0);
    if waiting < message.len() as u64 || reader.read_exact(&mut message).is_err() {
        return error;
    }
    match enter::failed_step(&message) {
        Some(step) => io::Error::new(error.kind(), format!("cannot {step}: {error}")),
        None => error,
    }
}

impl Node {
    fn of(path: &Path) -> Option<Self> {
        let facts = fs::metadata(path).ok().filter(|facts| facts.file_type().is_block_device())?;
        let below = path.strip_prefix("/dev").ok()?;
        let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || below.as_os_str().is_empty() {
            return None;
        }
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
        let mut folders: Vec<CString> = below
            .ancestors()
            .skip(1)
            .filter(|folder| folder.as_os_str() != OsStr::new(""))
            .filter_map(text)
            .collect();
        folders.reverse();
        Some(Self { folders, path: text(below)?, number: facts.rdev() })
    }
}

fn own_capabilities() -> Result<CapabilitySets> {
    rustix::thread::capabilities(None)
        .map_err(Error::call("read the capabilities of this process", "this needs Linux 2.6.26"))
}

/// Gives up, for good and also for every program started later, all capabilities but these. Those of the
/// calling thread alone change: call it before the process has others.
///
/// # Errors
/// The kernel's.
pub fn keep_only(kept: CapabilitySet) -> Result<()> {
    let may_bound = own_capabilities()?.effective.contains(CapabilitySet::SETPCAP);
    enter::drop_capabilities(kept, may_bound)
        .map_err(Error::call("give up capabilities", "run as root, or without any capability"))
}
