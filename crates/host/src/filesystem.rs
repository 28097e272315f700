//! Filesystems from the catalogue: the command lines of mkfs, making, mounting, checking, and what
//! is in force afterwards.
//!
//! Nothing here knows a filesystem by name: what differs is in the catalogue. Only reading a
//! superblock back needs the format on disk, and finds it by its magic.

use crate::error::{Error, Result};
use crate::sysfs::System;
use seekwell_model::filesystems::{BLOCK_SIZE, FilesystemDefinition, JournalDefinition};
use seekwell_model::stack::{Filesystem, Journal};
use seekwell_model::units::Bytes;
use std::path::Path;

mod arguments;
mod check;
mod make;
mod mounting;
mod nodes_only;
mod quiet;
mod superblock;

#[cfg(test)]
mod tests;

pub use check::{Checked, ReadBack, fsck, read_back};
pub use make::make;
pub(crate) use mounting::mount_as;
pub use mounting::{mount, remount_cold, unmount};

/// A filesystem to be made, and where.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// Its entry in the catalogue.
    pub definition: &'a FilesystemDefinition,
    /// Settings from the lab.
    pub filesystem: &'a Filesystem,
    /// Its journal.
    pub journal: &'a Journal,
    /// Node of the data device.
    pub data: &'a Path,
    /// Node of the journal device; `None` for an internal journal or none.
    pub journal_device: Option<&'a Path>,
    /// Logical sector size of the data device.
    pub sector: Bytes,
}

/// The command lines that make a filesystem, in order: the journal device first where that needs
/// formatting of its own. Empty for a raw device and what mounting makes. The user's arguments come last before the device.
///
/// # Errors
/// [`Error::Argument`] when a journal is asked for that this filesystem cannot have.
pub fn mkfs_commands(layout: &Layout<'_>) -> Result<Vec<Vec<String>>> {
    let definition = layout.definition;
    if definition.is_never_made() {
        return Ok(Vec::new());
    }
    let values = Values::of(layout)?;
    let mut commands = Vec::new();
    let mut arguments = values.fill(definition.comparable);
    arguments.extend(values.fill(if layout.filesystem.discard {
        definition.discard
    } else {
        definition.no_discard
    }));
    if let Some(journal) = &definition.journal {
        if layout.journal_device.is_some() {
            if !journal.prepare.is_empty() {
                commands.push(values.fill(journal.prepare));
            }
            arguments.extend(values.fill(journal.external_mkfs));
        } else {
            arguments.extend(values.fill(journal.internal_mkfs));
        }
    }
    arguments.extend(layout.filesystem.mkfs.iter().cloned());
    let mut command = values.fill(definition.mkfs);
    command.extend(arguments::merged(arguments, definition.merged));
    command.extend(values.fill(definition.target));
    commands.push(command);
    Ok(commands)
}

/// Values for the catalogue's templates.
struct Values(Vec<(&'static str, String)>);

impl Values {
    fn of(layout: &Layout<'_>) -> Result<Self> {
        let mut values = vec![
            ("{dev}", layout.data.display().to_string()),
            ("{block}", BLOCK_SIZE.0.to_string()),
            ("{block_sectors}", (BLOCK_SIZE.0 / layout.sector.0.max(1)).max(1).to_string()),
        ];
        let name = layout.definition.name;
        match (&layout.definition.journal, layout.journal_device) {
            (None, Some(_)) => {
                return Err(Error::Argument(format!(
                    "{name} cannot have its journal on another device; use the internal journal"
                )));
            }
            (None, None) => {}
            (Some(journal), device) => {
                let size = checked_size(name, journal, layout.journal)?;
                values.push(("{journal_mib}", (size.0 >> 20).to_string()));
                values.push(("{journal_blocks}", (size.0 / BLOCK_SIZE.0).to_string()));
                if let Some(device) = device {
                    values.push(("{journal}", device.display().to_string()));
                }
            }
        }
        Ok(Self(values))
    }

    fn fill(&self, template: &[&str]) -> Vec<String> {
        let one = |text: &&str| {
            self.0.iter().fold((*text).to_owned(), |text, (name, value)| text.replace(name, value))
        };
        template.iter().map(one).collect()
    }
}

fn checked_size(name: &str, definition: &JournalDefinition, journal: &Journal) -> Result<Bytes> {
    let size = journal.size.unwrap_or(definition.default);
    if size < definition.minimum {
        return Err(Error::Argument(format!(
            "a journal of {size} is too small for {name}; make it at least {}",
            definition.minimum
        )));
    }
    if !size.0.is_multiple_of(1 << 20) {
        return Err(Error::Argument(format!(
            "a journal of {size} is not possible: mkfs takes whole MiB; write for example \"64MiB\""
        )));
    }
    Ok(size)
}

/// The mount options of a stack: comparable ones, discard, journal, `data=`, then the user's.
///
/// # Errors
/// [`Error::Argument`] when a journal or a mode is asked for that this filesystem does not have.
pub fn mount_options(
    definition: &FilesystemDefinition,
    filesystem: &Filesystem,
    journal: &Journal,
    journal_device: Option<&Path>,
) -> Result<Vec<String>> {
    let mut options: Vec<String> = definition.mount.iter().map(ToString::to_string).collect();
    let discard =
        if filesystem.discard { definition.discard_mount } else { definition.no_discard_mount };
    options.extend(discard.map(str::to_owned));
    if let Some(device) = journal_device {
        let own = definition.journal.as_ref().ok_or_else(|| {
            Error::Argument(format!("{} cannot have an external journal", definition.name))
        })?;
        let device = device.display().to_string();
        options.extend(own.external_mount.iter().map(|text| text.replace("{journal}", &device)));
    }
    if let Some(mode) = journal.data {
        if !definition.journal.is_some_and(|own| own.data_modes) {
            return Err(Error::Argument(format!(
                "{} has no data={}; remove 'data' from the journal",
                definition.name,
                mode.as_str()
            )));
        }
        options.push(format!("data={}", mode.as_str()));
    }
    options.extend(filesystem.mount.iter().flat_map(|text| text.split(',')).map(str::to_owned));
    Ok(options)
}

/// Refuses arguments of mkfs and mount that reach a device or a file other than the stack's own:
/// `{dev}` is not the only thing that mkfs would write to.
///
/// # Errors
/// [`Error::Argument`] with the argument and what to write instead.
pub fn check_arguments(
    system: &System,
    filesystem: &Filesystem,
    data: &Path,
    journal_device: Option<&Path>,
) -> Result<()> {
    let ours: Vec<&Path> = std::iter::once(data).chain(journal_device).collect();
    for argument in filesystem.mkfs.iter().chain(&filesystem.mount) {
        arguments::check(system, argument, &ours)?;
    }
    for pair in filesystem.mkfs.windows(2) {
        arguments::check_pair(system, &pair[0], &pair[1])?;
    }
    Ok(())
}
