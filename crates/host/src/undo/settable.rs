//! Everything that can be set on a queue, and so has to be put back.

use super::Target;
use crate::attributes::{DISCARD, ROTATIONAL, SCHEDULER, WRITE_CACHE, in_force};
use crate::error::Result;
use crate::sysfs::{self, System};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Limits that a person may lower and that show what the hardware has until then. What they show is
/// not what they take, so they are never written.
const LIMITS: [&str; 2] = [DISCARD, "write_zeroes_unmap_max_bytes"];

/// Attributes that the kernel derives from the file of a loop device when it is attached. On a free device they
/// say nothing; written there, they would hold for the next file too.
pub(super) const OF_THE_FILE: [&str; 2] = [ROTATIONAL, WRITE_CACHE];

/// Everything that can be set on a queue, the tunables of its scheduler included.
///
/// # Errors
/// When there is no such device.
pub(crate) fn settable(system: &System, kernel_name: &str) -> Result<Vec<Target>> {
    let device = system.disk_of(kernel_name)?;
    let queue = system.queue(&device)?;
    let writable = |path: &Path| {
        path.metadata()
            .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o200 != 0)
    };
    let names = |folder: &Path| {
        let mut names = sysfs::names(folder);
        names.retain(|name| !LIMITS.contains(&name.as_str()) && writable(&folder.join(name)));
        names
    };
    let scheduler = sysfs::read_optional(&queue.join(SCHEDULER)).as_deref().and_then(in_force);
    let attributes = names(&queue)
        .into_iter()
        .map(|attribute| Target::Queue { device: device.clone(), attribute });
    let tunables = scheduler.into_iter().flat_map(|scheduler| {
        let device = device.clone();
        names(&queue.join("iosched")).into_iter().map(move |name| Target::Tunable {
            device: device.clone(),
            scheduler: scheduler.clone(),
            name,
        })
    });
    Ok(attributes.chain(tunables).collect())
}

/// The same for a loop device that is free.
pub(crate) fn settable_while_free(system: &System, kernel_name: &str) -> Result<Vec<Target>> {
    let mut targets = settable(system, kernel_name)?;
    targets.retain(|target| match target {
        Target::Queue { attribute, .. } => !OF_THE_FILE.contains(&attribute.as_str()),
        _ => true,
    });
    Ok(targets)
}
