//! The right to write, and who gets it.

use super::usage::Suspect;
use super::{Verified, block_device, same};
use crate::device::Device;
use crate::identity::Identity;
use crate::loop_device::LoopDevice;
use crate::nodes::{BehindLoop, FIRST_PID_NAMESPACE, FileId};
use crate::refusal::{Refusal, RefusalKind};
use crate::sysfs::System;
use rustix::fs::{Mode, OFlags, fstat, open, stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The right to write to one device. Only the guard gives it; it is looked at again with
/// [`WriteToken::recheck`] immediately before each use.
#[derive(Debug)]
pub struct WriteToken {
    path: PathBuf,
    subject: Subject,
}

#[derive(Debug)]
enum Subject {
    Claimed(Box<Verified>),
    Scratch {
        system: System,
        identity: Box<Identity>,
        image: OwnedFd,
    },
    Given {
        system: System,
        identity: Box<Identity>,
    },
    /// A layer, with the rights to everything below it.
    Layered {
        system: System,
        identity: Box<Identity>,
        below: Vec<String>,
    },
}

impl WriteToken {
    pub(super) fn claimed(verified: Verified) -> Self {
        Self { path: verified.node().to_owned(), subject: Subject::Claimed(Box::new(verified)) }
    }

    /// Node of the device.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the device in sysfs.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        &self.identity().kernel_name
    }

    /// Identity of the device.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        match &self.subject {
            Subject::Claimed(verified) => verified.identity(),
            Subject::Scratch { identity, .. }
            | Subject::Given { identity, .. }
            | Subject::Layered { identity, .. } => identity,
        }
    }

    /// True for an image of this run: then not even the zeroing and discarding of a mkfs may
    /// change how the host holds it.
    #[must_use]
    pub fn is_scratch(&self) -> bool {
        matches!(self.subject, Subject::Scratch { .. })
    }

    /// Looks again, as thoroughly as when the right was given.
    ///
    /// # Errors
    /// The reason, when it must not be written any more.
    pub fn recheck(&self) -> Result<(), Refusal> {
        match &self.subject {
            Subject::Claimed(verified) => verified.recheck(),
            Subject::Scratch { system, identity, image } => {
                let (node, device) = block_device(system, &self.path)?;
                let now = image_identity(system, &node, &device)?;
                same(&self.path, identity, &now)?;
                backed_by(system, &self.path, &node, image)
            }
            Subject::Given { system, identity } => {
                let (node, device) = block_device(system, &self.path)?;
                let now = unused_identity(system, &node, &device)?;
                same(&self.path, identity, &now)
            }
            Subject::Layered { system, identity, below } => {
                let (node, device) = block_device(system, &self.path)?;
                only_above(&self.path, &device, below)?;
                let now = unused_identity(system, &node, &device)?;
                same(&self.path, identity, &now)
            }
        }
    }

    /// Looks again and opens for reading and writing. `direct` is `O_DIRECT`.
    ///
    /// # Errors
    /// The reason, when it must not be written any more or cannot be opened.
    pub fn open(&self, direct: bool) -> crate::Result<File> {
        let direct = if direct { OFlags::DIRECT } else { OFlags::empty() };
        self.open_with(direct)
    }

    /// As [`WriteToken::open`] with `direct`, and for this process alone: while the file is open, the kernel lets
    /// nothing mount the device or take it into another one.
    ///
    /// # Errors
    /// As those of [`WriteToken::open`], or when the device is in use.
    pub fn open_alone(&self) -> crate::Result<File> {
        self.open_with(OFlags::DIRECT | OFlags::EXCL)
    }

    fn open_with(&self, more: OFlags) -> crate::Result<File> {
        self.recheck()?;
        let flags = OFlags::RDWR | OFlags::CLOEXEC | more;
        let file = open(&self.path, flags, Mode::empty())
            .map_err(crate::Error::io("open for writing", &self.path))?;
        Ok(File::from(file))
    }
}

/// The right to write to a loop device of this run, for who holds its image, a nameless file.
///
/// # Errors
/// When the device has another file behind it, the image is a user's file, or the device is in use.
pub fn scratch(
    system: &System,
    device: &LoopDevice,
    image: impl AsFd,
) -> Result<WriteToken, Refusal> {
    scratch_at(system, device.path(), image)
}

/// The same by the path of the device.
pub(super) fn scratch_at(
    system: &System,
    path: &Path,
    image: impl AsFd,
) -> Result<WriteToken, Refusal> {
    let unreadable = |error: Errno| Refusal::unreadable(path, &error);
    let facts = fstat(&image).map_err(unreadable)?;
    if facts.st_nlink != 0 {
        return Err(Refusal::new(
            path,
            RefusalKind::NotOurs,
            "its image is a file with a name, so not one of this run",
            "use a scratch image, or claim the device",
        ));
    }
    let image = image.as_fd().try_clone_to_owned();
    let image = image.map_err(|error| Refusal::unreadable(path, &error))?;
    let (node, found) = block_device(system, path)?;
    backed_by(system, path, &node, &image)?;
    let identity = Box::new(image_identity(system, &node, &found)?);
    let subject = Subject::Scratch { system: system.clone(), identity, image };
    let token = WriteToken { path: node, subject };
    token.recheck()?;
    Ok(token)
}

/// The right to write to a device that was made for a kernel of our own. Only process 1 of the first
/// PID namespace has it: that is an agent that a kernel was booted for, and never one on a machine
/// where anything else runs.
///
/// # Errors
/// For every other process, and when the device is in use.
pub fn given(system: &System, path: &Path) -> Result<WriteToken, Refusal> {
    if !is_first_process(system) {
        return Err(Refusal::new(
            path,
            RefusalKind::NotClaimed,
            "a device without a claim is written only by the first process of a kernel of its own",
            format!("if everything on it may be destroyed: seekwell claim {}", path.display()),
        ));
    }
    without_claim(system, path)
}

/// True for process 1 of the first PID namespace.
pub(super) fn is_first(process: u32, namespace: Option<u64>) -> bool {
    process == 1 && namespace == Some(FIRST_PID_NAMESPACE)
}

/// The right to write to a device that nothing uses, claimed or not.
pub(super) fn without_claim(system: &System, path: &Path) -> Result<WriteToken, Refusal> {
    let (node, device) = block_device(system, path)?;
    let identity = Box::new(unused_identity(system, &node, &device)?);
    Ok(WriteToken { path: node, subject: Subject::Given { system: system.clone(), identity } })
}

/// Returns true for process 1 of the first PID namespace.
#[must_use]
pub fn is_first_process(system: &System) -> bool {
    let namespace = stat(system.proc.join("self/ns/pid"));
    is_first(std::process::id(), namespace.ok().map(|facts| facts.st_ino))
}

/// The right to write to a layer, for who has the right to every device below it. `below` are the
/// rights to those devices; the kernel must name no other device under the layer. Without any it must
/// be a disk that the caller has `added`.
///
/// # Errors
/// When something else is below it, or it is in use.
pub fn layered(
    system: &System,
    path: &Path,
    below: &[&WriteToken],
    added: &[String],
) -> Result<WriteToken, Refusal> {
    let (node, device) = block_device(system, path)?;
    let mut names: Vec<String> = below.iter().map(|token| token.kernel_name().to_owned()).collect();
    names.extend_from_slice(added);
    only_above(path, &device, &names)?;
    let identity = Box::new(unused_identity(system, &node, &device)?);
    let subject = Subject::Layered { system: system.clone(), identity, below: names };
    Ok(WriteToken { path: node, subject })
}

/// Checks that every device under a layer, through all layers between, is one of these.
pub(super) fn only_above(path: &Path, device: &Device, below: &[String]) -> Result<(), Refusal> {
    let names = crate::sysfs::names(&device.folder.join("slaves"));
    if names.is_empty() && !below.contains(&device.name) {
        return Err(Refusal::new(
            path,
            RefusalKind::NotOurs,
            "no device is below it, and the run did not add it",
            "stop the layer, then run again",
        ));
    }
    for name in names {
        if below.contains(&name) {
            continue;
        }
        let folder = std::fs::canonicalize(device.folder.join("slaves").join(&name)).ok();
        let inner = folder.map(|folder| Device { folder, name: name.clone(), ..device.clone() });
        let has_devices =
            |inner: &Device| !crate::sysfs::names(&inner.folder.join("slaves")).is_empty();
        match inner.filter(has_devices) {
            Some(inner) => only_above(path, &inner, below)?,
            None => {
                return Err(Refusal::new(
                    path,
                    RefusalKind::NotOurs,
                    format!("{name} is below it, which the run has no right to write"),
                    "stop the layer that joins it, then run again",
                ));
            }
        }
    }
    Ok(())
}

/// Not in use, and what it is.
fn unused_identity(system: &System, node: &Path, device: &Device) -> Result<Identity, Refusal> {
    let suspect = Suspect::new(system, node, device);
    suspect.not_used_by_kernel()?;
    suspect.exclusive_identity(node)
}

/// The same for a loop device over an image of the run.
fn image_identity(system: &System, node: &Path, device: &Device) -> Result<Identity, Refusal> {
    let suspect = Suspect::over_own_image(system, node, device);
    suspect.not_used_by_kernel()?;
    suspect.exclusive_identity(node)
}

fn backed_by(system: &System, path: &Path, node: &Path, image: &OwnedFd) -> Result<(), Refusal> {
    let behind = system.nodes.behind_loop(node);
    let behind = behind.map_err(|error| Refusal::unreadable(path, &error))?;
    let facts = fstat(image).map_err(|error| Refusal::unreadable(path, &error))?;
    let image = FileId { device: facts.st_dev, inode: facts.st_ino };
    if behind.is_some_and(|behind| behind.what == BehindLoop::File(image)) {
        return Ok(());
    }
    Err(Refusal::new(
        path,
        RefusalKind::NotOurs,
        "another file than the run's image is behind it",
        "claim it, if everything on it may be destroyed",
    ))
}
