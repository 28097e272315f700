//! Files behind loop devices. One file may have two identities: overlayfs, FUSE and others show files of another
//! filesystem under numbers of their own, with the same size and times.

use crate::nodes::{DeviceNumber, FileId};
use crate::sysfs::{self, System};
use rustix::fs::{MemfdFlags, fstat, memfd_create};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// A file behind a loop device.
#[derive(Clone, Debug)]
pub(crate) struct BackingFile {
    pub id: FileId,
    /// A path at which it can be examined; `None` if none is known.
    pub path: Option<PathBuf>,
}

impl BackingFile {
    /// Finds a path for a file that the kernel shows under this one.
    pub(crate) fn find(system: &System, id: FileId, shown: &str) -> Self {
        let shown = Path::new(shown.trim_end_matches(" (deleted)"));
        let is_it = |path: &PathBuf| system.nodes.facts(path).is_ok_and(|facts| facts.id == id);
        let path = Some(shown.to_owned()).filter(is_it).or_else(|| elsewhere(system, shown, is_it));
        Self { id, path }
    }

    /// True if the file at a path is this one, by any of its identities; `None` if that cannot be told.
    pub(crate) fn is_also(&self, system: &System, path: &Path, id: FileId) -> Option<bool> {
        if !self.may_be_also(id) {
            return Some(self.id == id);
        }
        let own = self.path.as_ref()?;
        let look = |path: &Path, id| system.nodes.facts(path).ok().filter(|facts| facts.id == id);
        let before = look(own, self.id)?;
        let other = look(path, id)?;
        let after = look(own, self.id)?;
        // A file that is being written changes between the looks.
        let is_between = before.changed <= other.changed && other.changed <= after.changed;
        let is_same = (before.size, before.modified) == (other.size, other.modified);
        Some(is_between && (is_same || before != after))
    }

    /// False for two files of one filesystem, where each is on a block device, and for a file in memory without a name:
    /// such filesystems show no files of others, and no other shows nameless ones.
    pub(crate) fn may_be_also(&self, other: FileId) -> bool {
        let devices = [self.id.device, other.device];
        let is_on_device = |device: &u64| DeviceNumber::from_raw(*device).major != 0;
        if devices[0] == devices[1] || devices.iter().all(is_on_device) {
            return false;
        }
        nameless_memory().is_none_or(|in_memory| !devices.contains(&in_memory))
    }
}

/// Device number of files in memory without a name (`memfd_create`).
fn nameless_memory() -> Option<u64> {
    let file = memfd_create("seekwell-number", MemfdFlags::CLOEXEC).ok()?;
    Some(fstat(file).ok()?.st_dev)
}

/// Looks for a file in the mount namespaces of other processes, then among what they have open: the file itself, or the
/// root of a mount without a mount point.
fn elsewhere(system: &System, shown: &Path, is_it: impl Fn(&PathBuf) -> bool) -> Option<PathBuf> {
    let below = shown.strip_prefix("/").unwrap_or(shown);
    let folders = system.processes().into_iter().map(|pid| system.proc.join(pid.to_string()));
    let folders: Vec<PathBuf> = folders.collect();
    let mut namespaces = BTreeSet::new();
    let mut in_namespaces = folders.iter().filter_map(|folder| {
        let is_new = namespaces.insert(fs::read_link(folder.join("ns/mnt")).ok()?);
        is_new.then(|| folder.join("root").join(below))
    });
    let found = in_namespaces.find(&is_it);
    found.or_else(|| {
        let open = folders.iter().flat_map(|folder| {
            let folder = folder.join("fd");
            sysfs::names(&folder).into_iter().map(move |name| folder.join(name))
        });
        open.flat_map(|link| [link.clone(), link.join(below)]).find(is_it)
    })
}
