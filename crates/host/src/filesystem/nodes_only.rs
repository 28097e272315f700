//! A `/dev` that holds nothing but the devices of the stack.
//!
//! mkfs takes what a lab writes, and its programs have options that name further devices or look
//! them up by UUID: an undo file, a journal, a second device. What such an option names does not
//! exist for a program that was started with [`restrict`]: no filter of texts could promise that.

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Character devices that programs expect: null, zero, random, urandom and the control node of
/// btrfs, which its mkfs tells about a new filesystem.
const ALWAYS: [&str; 5] =
    ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/btrfs-control"];

struct Node {
    path: CString,
    /// Folders above it below `/dev`, outermost first.
    folders: Vec<CString>,
    mode: libc::mode_t,
    device: libc::dev_t,
}

impl Node {
    fn of(path: &Path) -> io::Result<Self> {
        let facts = path.metadata()?;
        let text =
            |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other);
        let above = path.ancestors().skip(1).take_while(|folder| *folder != Path::new("/dev"));
        let mut folders = above
            .filter(|folder| folder.starts_with("/dev"))
            .map(text)
            .collect::<io::Result<Vec<CString>>>()?;
        folders.reverse();
        Ok(Self { path: text(path)?, folders, mode: facts.mode(), device: facts.rdev() })
    }

    /// Makes the node again. Only system calls: it runs between fork and exec.
    fn make(&self) -> io::Result<()> {
        for folder in &self.folders {
            // SAFETY: the path is a string that ends with 0 and lives in `self`. A folder that
            // exists is fine.
            unsafe { libc::mkdir(folder.as_ptr(), 0o755) };
        }
        // SAFETY: the path is a string that ends with 0 and lives in `self`.
        match unsafe { libc::mknod(self.path.as_ptr(), self.mode, self.device) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Makes a command run in a mount namespace of its own whose `/dev` holds only these nodes and the
/// usual character devices.
///
/// # Errors
/// When a node does not exist.
pub(super) fn restrict(command: &mut Command, nodes: &[&Path]) -> io::Result<()> {
    let mut all = nodes.iter().map(|path| Node::of(path)).collect::<io::Result<Vec<Node>>>()?;
    // Where one of these is missing, the program does without it outside too.
    all.extend(ALWAYS.iter().filter_map(|path| Node::of(Path::new(path)).ok()));
    // SAFETY: the closure runs between fork and exec and makes only system calls on what was
    // allocated before.
    unsafe {
        command.pre_exec(move || enter(&all));
    }
    Ok(())
}

fn enter(nodes: &[Node]) -> io::Result<()> {
    // SAFETY: unshare takes a number; the process has one thread between fork and exec.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(io::Error::last_os_error());
    }
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount(c"tmpfs", c"/dev", c"tmpfs", flags, Some(c"size=1m,mode=755"))?;
    nodes.iter().try_for_each(Node::make)
}

#[cfg(test)]
mod tests;
