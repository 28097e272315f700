//! The guard: the only door to writing on a device or an existing file.
//!
//! It refuses whatever is in use, was in use by a layer that is not running now, carries the running
//! system, or was not claimed by a person. What it lets pass gets a [`WriteToken`]; formatting and
//! raw writing take one, so that code which forgets the guard does not compile. No flag forces
//! anything.
//!
//! A check sees the processes of the whole machine or refuses: in another PID namespace than the first, as in most
//! containers, nothing is claimed or written but images of the run.
//!
//! A check is only as old as its use: identity, exclusive open and mounts are looked at again
//! immediately before each mkfs ([`WriteToken::recheck`]). `O_EXCL` cannot be held meanwhile, because
//! mkfs and mount would be refused too.

use crate::blkdev;
use crate::claims;
use crate::device::Device;
use crate::error::Error;
use crate::identity::Identity;
use crate::nodes::NodeKind;
use crate::refusal::{Refusal, RefusalKind};
use crate::sysfs::System;
use std::fs::File;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

mod bond;
mod signature;
mod token;
mod usage;

#[cfg(test)]
mod tests;

pub use bond::{Bond, bind};
pub use token::{WriteToken, given, is_first_process, layered, scratch};

use usage::Suspect;

/// Purpose of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be claimed: everything is checked but the claim.
    Claim,
    /// To be written: it must be claimed.
    Write,
}

/// Paths that the guard needs besides the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Folder with the claims.
    pub claims: PathBuf,
    /// The run file, which must not be on the device; `None` where there is none.
    pub run_file: Option<PathBuf>,
}

/// A block device that may be written, as far as could be seen a moment ago.
#[derive(Clone, Debug)]
pub struct Verified {
    system: System,
    target: PathBuf,
    node: PathBuf,
    identity: Identity,
    context: Context,
    /// Held from the check to the use, so that no other device gets its number.
    held: Option<Arc<File>>,
}

impl Verified {
    /// Its node, links resolved.
    #[must_use]
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Identity of the device.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Checks everything again, and that it still is the same device.
    ///
    /// # Errors
    /// The reason, when it must not be written any more.
    pub fn recheck(&self) -> Result<(), Refusal> {
        let now = check(&self.system, &self.target, Purpose::Write, &self.context)?;
        same(&self.target, &self.identity, &now.identity)?;
        self.is_held(&now)
    }

    /// Checks that the path still leads to the device that is held open since the first look.
    fn is_held(&self, now: &Self) -> Result<(), Refusal> {
        let (Some(held), Some(fresh)) = (&self.held, &now.held) else { return Ok(()) };
        let id = |file: &File| {
            let number = rustix::fs::fstat(file).ok()?.st_rdev;
            Some((number, blkdev::diskseq(file.as_fd())))
        };
        if id(held).is_some() && id(held) == id(fresh) {
            return Ok(());
        }
        Err(Refusal::new(
            &self.target,
            RefusalKind::Changed,
            "it leads to another device than when it was checked",
            "find out which disk it is, then claim that one",
        ))
    }

    /// Checks everything again and gives the right to write.
    ///
    /// # Errors
    /// The reason, when it must not be written.
    pub fn permit(self) -> Result<WriteToken, Refusal> {
        self.recheck()?;
        claims::begin_writing(&self.system, &self.context.claims, &self.identity)
            .map_err(|error| Refusal::unreadable(&self.target, &error))?;
        Ok(WriteToken::claimed(self))
    }
}

/// Checks that two looks at a path met one device.
fn same(target: &Path, before: &Identity, now: &Identity) -> Result<(), Refusal> {
    if before == now {
        return Ok(());
    }
    Err(Refusal::new(
        target,
        RefusalKind::Changed,
        format!("it was {before} when it was checked and is {now} now"),
        "find out which disk it is, then claim that one",
    ))
}

/// Looks at a block device from all sides.
///
/// # Errors
/// The first reason not to write to it. What cannot be read is a reason.
pub fn check(
    system: &System,
    target: &Path,
    purpose: Purpose,
    context: &Context,
) -> Result<Verified, Refusal> {
    let (node, device) = block_device(system, target)?;
    sees_all_processes(system, target)?;
    let suspect = Suspect::new(system, target, &device);
    suspect.check(context.run_file.as_deref())?;
    not_read_only(target, &device)?;
    for part in device.with_parts() {
        let part_node = if part == device { node.clone() } else { system.dev.join(&part.name) };
        no_member(system, target, &part, &part_node)?;
    }
    let identity = suspect.exclusive_identity(&node)?;
    if purpose == Purpose::Write {
        claimed(system, target, &device, &identity, context)?;
    }
    let held = system.nodes.hold(&node).map_err(|error| Refusal::unreadable(target, &error))?;
    let (system, target, context) = (system.clone(), target.to_owned(), context.clone());
    Ok(Verified { system, target, node, identity, context, held: held.map(Arc::new) })
}

/// The node and the device behind a path.
pub(crate) fn block_device(system: &System, target: &Path) -> Result<(PathBuf, Device), Refusal> {
    let missing = |error: std::io::Error| {
        Refusal::new(
            target,
            RefusalKind::Missing,
            format!("device not found ({error})"),
            "list the devices with lsblk, or see /dev/disk/by-id",
        )
    };
    let node = system.nodes.canonical(target).map_err(missing)?;
    let number = match system.nodes.kind(&node).map_err(missing)? {
        NodeKind::Block(number) => number,
        NodeKind::Regular(_) | NodeKind::Directory(_) | NodeKind::Other => {
            return Err(Refusal::new(
                target,
                RefusalKind::NotOurs,
                "it is not a block device, and existing files are never written",
                "name a disk or a partition",
            ));
        }
    };
    let device = Device::by_number(system, number).ok_or_else(|| {
        let error = format!("sysfs does not know the device {number}");
        Refusal::unreadable(target, &error)
    })?;
    Ok((node, device))
}

/// Users of a device are processes too, and a PID namespace hides those outside of it.
fn sees_all_processes(system: &System, target: &Path) -> Result<(), Refusal> {
    match system.nodes.sees_all_processes(&system.proc) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Refusal::new(
            target,
            RefusalKind::Unreadable,
            "it may be in use by processes that this PID namespace (a container) hides",
            "run Seekwell outside of the container for this device; scratch images and --place virtual work here",
        )),
        Err(error) => {
            let proc = system.proc.display();
            let error = format!("the PID namespace of {proc} cannot be read: {error}");
            Err(Refusal::unreadable(target, &error))
        }
    }
}

fn not_read_only(target: &Path, device: &Device) -> Result<(), Refusal> {
    match device.attribute("ro").as_deref() {
        Some("0") => Ok(()),
        Some(_) => Err(Refusal::new(
            target,
            RefusalKind::ReadOnly,
            format!("{} is read-only", device.name),
            "open its write protection, or name another device",
        )),
        None => {
            let error = format!("sysfs does not say whether {} is read-only", device.name);
            Err(Refusal::unreadable(target, &error))
        }
    }
}

fn no_member(system: &System, target: &Path, part: &Device, node: &Path) -> Result<(), Refusal> {
    let found = signature::layer(system, part, node).map_err(|error| match error {
        Error::MissingProgram { program, install } => Refusal::new(
            target,
            RefusalKind::Unreadable,
            format!("it may be in use, and {program}, which tells, is not installed"),
            format!("install it with: {install}"),
        ),
        error => Refusal::unreadable(target, &error),
    })?;
    let Some(layer) = found else { return Ok(()) };
    Err(Refusal::new(
        target,
        RefusalKind::Member,
        format!("{} carries the mark of {layer}", part.name),
        format!(
            "if it may be destroyed, wipe that mark yourself: wipefs -a {}; then claim it again",
            node.display()
        ),
    ))
}

fn claimed(
    system: &System,
    target: &Path,
    device: &Device,
    identity: &Identity,
    context: &Context,
) -> Result<(), Refusal> {
    let found = claims::find(system, &context.claims, identity)
        .map_err(|error| Refusal::unreadable(target, &error))?;
    if let Some(found) = found {
        return match found.strange_content(system, device) {
            None => Ok(()),
            Some(now) => Err(Refusal::new(
                target,
                RefusalKind::Changed,
                format!("it was given other contents since it was claimed: {now}"),
                format!("if that may be destroyed: seekwell claim {}", target.display()),
            )),
        };
    }
    Err(Refusal::new(
        target,
        RefusalKind::NotClaimed,
        format!("{identity} was not claimed"),
        format!("if everything on it may be destroyed: seekwell claim {}", target.display()),
    ))
}
