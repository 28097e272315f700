//! Checking a filesystem without repairing, and reading back what is in force.

use super::superblock::{self, Place};
use crate::error::{Error, Result};
use crate::mounts;
use crate::program;
use crate::sysfs::System;
use seekwell_model::filesystems::FilesystemDefinition;
use seekwell_model::units::Bytes;
use std::path::Path;

/// Result of a checker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// True when it found nothing.
    pub clean: bool,
    /// Its command line.
    pub command: String,
    /// Its output, both streams.
    pub output: String,
}

/// Properties in force of a filesystem that was made. `None` is "not known", never 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadBack {
    /// Block size as `statfs` says, or of the superblock when it is not mounted.
    pub block_bytes: Option<u32>,
    /// Size of the journal, internal or external, by the superblocks.
    pub journal_bytes: Option<Bytes>,
    /// Mount options as mountinfo shows them.
    pub mount: Option<String>,
}

/// Runs a checker on an unmounted filesystem: the `fsck` of its definition, which changes nothing, or its
/// `repair`. `None` when the catalogue has none.
///
/// # Errors
/// [`Error::MissingProgram`]; findings are no error but `clean: false`.
pub fn fsck(
    system: &System,
    definition: &FilesystemDefinition,
    checker: &[&'static str],
    data: &Path,
    journal_device: Option<&Path>,
) -> Result<Option<Checked>> {
    let Some((name, template)) = checker.split_first() else { return Ok(None) };
    let mut template = template.to_vec();
    if let (Some(journal), Some(_)) = (&definition.journal, journal_device) {
        let before_device = template.len().saturating_sub(1);
        template.splice(before_device..before_device, journal.external_fsck.iter().copied());
    }
    let journal = journal_device.map(|path| path.display().to_string()).unwrap_or_default();
    let data = data.display().to_string();
    let fill = |text: &&str| text.replace("{dev}", &data).replace("{journal}", &journal);
    let arguments: Vec<String> = template.iter().map(fill).collect();
    let path = program::find(system, name, definition.package)?;
    let result = program::command(system, &path)
        .args(&arguments)
        .output()
        .map_err(Error::io("run", &path))?;
    let words = std::iter::once(*name).chain(arguments.iter().map(String::as_str));
    let mut output = String::from_utf8_lossy(&result.stdout).into_owned();
    output.push_str(&String::from_utf8_lossy(&result.stderr));
    Ok(Some(Checked { clean: result.status.success(), command: program::line(words), output }))
}

/// Reads back what mkfs and mount really made.
///
/// # Errors
/// When a device cannot be read, or the mount point is none.
pub fn read_back(
    system: &System,
    definition: &FilesystemDefinition,
    data: &Path,
    journal_device: Option<&Path>,
    mount_point: Option<&Path>,
) -> Result<ReadBack> {
    if definition.is_raw() {
        return Ok(ReadBack::default());
    }
    let reader = |path: &Path| {
        let path = path.to_owned();
        move |offset: u64, length: usize| {
            system.nodes.read_at(&path, offset, length).map_err(Error::io("read", &path))
        }
    };
    let on_disk = if definition.is_in_memory || definition.is_remote {
        superblock::OnDisk { block_bytes: None, journal: Place::None }
    } else {
        superblock::read(&reader(data))?
    };
    let journal_bytes = match (on_disk.journal, journal_device) {
        (Place::Internal(size), None) | (Place::External(Some(size)), Some(_)) => Some(size),
        (Place::External(None), Some(device)) => superblock::external(&reader(device))?,
        // The superblock contradicts the stack: not known, which shows up as a difference.
        (Place::None, _) | (Place::Internal(_), Some(_)) | (Place::External(_), None) => None,
    };
    let mut found = ReadBack { block_bytes: on_disk.block_bytes, journal_bytes, mount: None };
    if let Some(mount_point) = mount_point {
        let facts = rustix::fs::statfs(mount_point).map_err(Error::io("examine", mount_point))?;
        // A server tells its size of a transfer there.
        let is_known = !definition.is_remote;
        found.block_bytes = u32::try_from(facts.f_bsize).ok().filter(|_| is_known);
        let canonical =
            std::fs::canonicalize(mount_point).map_err(Error::io("find", mount_point))?;
        found.mount = mounts::options_of(system, &canonical)?;
    }
    Ok(found)
}
