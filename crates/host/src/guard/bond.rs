//! One device for a whole run: a path that leads elsewhere later is no longer what was planned.

use super::{Verified, block_device};
use crate::identity::Identity;
use crate::refusal::{Refusal, RefusalKind};
use crate::sysfs::System;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The device that a path led to when a run began.
#[derive(Debug)]
pub struct Bond {
    target: PathBuf,
    identity: Identity,
    /// Keeps its number from being given to another device while the run lasts.
    _held: Option<File>,
}

impl Bond {
    /// Text of the identity, as [`Verified::is_bound`] compares it.
    #[must_use]
    pub fn text(&self) -> String {
        self.identity.bond()
    }

    /// Identity of the device.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Looks where the path leads now.
    ///
    /// # Errors
    /// [`RefusalKind::Changed`] when it is another device, or the reason why it cannot be found.
    pub fn check(&self, system: &System) -> Result<(), Refusal> {
        let now = bind(system, &self.target)?;
        same(&self.target, &self.text(), &now.text())
    }
}

/// Remembers what a path leads to.
///
/// # Errors
/// When it leads to no block device.
pub fn bind(system: &System, target: &Path) -> Result<Bond, Refusal> {
    let (node, device) = block_device(system, target)?;
    let held = system.nodes.hold(&node).map_err(|error| Refusal::unreadable(target, &error))?;
    let identity = Identity::read(system, &device, None);
    Ok(Bond { target: target.to_owned(), identity, _held: held })
}

impl Verified {
    /// Checks that it is the device that a run began with.
    ///
    /// # Errors
    /// [`RefusalKind::Changed`] with both.
    pub fn is_bound(&self, bond: &str) -> Result<(), Refusal> {
        same(&self.target, bond, &self.identity.bond())
    }
}

fn same(target: &Path, then: &str, now: &str) -> Result<(), Refusal> {
    if then == now {
        return Ok(());
    }
    Err(Refusal::new(
        target,
        RefusalKind::Changed,
        format!("it led to {then} when the run began and leads to {now} now"),
        "name the device by a stable path, then start a new run",
    ))
}
