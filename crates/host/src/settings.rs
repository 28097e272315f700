//! Queue settings of all devices and sysctls of the machine, to compare before and after a run.

use crate::sysfs::{self, System};
use crate::undo::{self, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Device name of sysctls in a [`Difference`].
const SYSCTLS: &str = "sysctl vm";
/// Tunables of the scheduler, a folder in `queue`.
const TUNABLES: &str = "iosched";

/// Everything below `/sys/block/*/queue`, and the sysctls of write-back, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    devices: BTreeMap<String, Queue>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    /// Number of the disk, of a loop device of what is attached to it.
    diskseq: Option<String>,
    values: BTreeMap<String, String>,
    /// Attributes that an undo list of the device has; of a loop device those that it keeps from file to file.
    settings: BTreeSet<String>,
    /// True for a loop device that has a file.
    attached: bool,
    /// True for a loop device that another Seekwell has.
    locked: bool,
}

/// A setting that is not what it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// Kernel name of the disk, or `sysctl vm`.
    pub device: String,
    /// File in `queue`, for example `read_ahead_kb` or `iosched/fifo_batch`.
    pub attribute: String,
    /// Value before; `None` when the file was missing.
    pub before: Option<String>,
    /// Value after; `None` when the file is missing.
    pub after: Option<String>,
    /// True for a setting that is in the undo list of every trial with the device. After each of them it was as before, so
    /// another program has changed it.
    pub by_others: bool,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "missing".to_owned());
        let (before, after) = (value(&self.before), value(&self.after));
        let (device, attribute) = (&self.device, &self.attribute);
        write!(formatter, "{device}: {attribute} was {before} before the run and is {after} now")?;
        if self.by_others {
            write!(formatter, "; another program changed it after Seekwell had restored it")?;
        }
        Ok(())
    }
}

impl Settings {
    /// Reads all of it. A file that cannot be read now counts as missing.
    #[must_use]
    pub fn read(system: &System) -> Self {
        let folder = system.sys.join("block");
        let names = sysfs::names(&folder);
        let loops: Vec<String> =
            names.iter().filter(|name| name.starts_with("loop")).cloned().collect();
        let mut locked = system.nodes.locked_loops(&system.dev, &loops);
        let mut devices: BTreeMap<String, Queue> = names
            .into_iter()
            .map(|name| {
                let disk = folder.join(&name);
                let mut values = values(&disk.join("queue"));
                let tunables = self::values(&disk.join("queue").join(TUNABLES));
                values.extend(
                    tunables.into_iter().map(|(name, value)| (format!("{TUNABLES}/{name}"), value)),
                );
                let diskseq = sysfs::read_optional(&disk.join("diskseq"));
                let settings = listed(system, &name);
                let attached = disk.join("loop/backing_file").exists();
                (name, Queue { diskseq, values, settings, attached, locked: false })
            })
            .collect();
        // Also those that were locked while they were read.
        locked.extend(system.nodes.locked_loops(&system.dev, &loops));
        for (_, queue) in devices.iter_mut().filter(|(name, _)| locked.contains(*name)) {
            queue.locked = true;
        }
        let sysctls = undo::sysctls().filter_map(|name| {
            let value = sysfs::read_optional(&undo::sysctl(system, name))?;
            Some((name.to_owned(), value))
        });
        let sysctls = Queue { values: sysctls.collect(), ..Queue::default() };
        devices.insert(SYSCTLS.to_owned(), sysctls);
        Self { devices }
    }

    /// Returns the differences on the devices that a run `touched`, and those elsewhere. Devices
    /// that came or went, that were attached to something else without us, or that another Seekwell has, are left out.
    #[must_use]
    pub fn differences(
        &self,
        later: &Self,
        touched: &BTreeSet<String>,
    ) -> (Vec<Difference>, Vec<Difference>) {
        let (mut ours, mut others) = (Vec::new(), Vec::new());
        for (device, before) in &self.devices {
            let Some(after) = later.devices.get(device) else { continue };
            let is_same_disk = before.diskseq == after.diskseq;
            if !touched.contains(device) {
                if is_same_disk && !before.locked && !after.locked {
                    others.extend(between(device, before, after));
                }
                continue;
            }
            let is_loop = device.starts_with("loop");
            if is_loop && !is_same_disk && (after.attached || after.locked) {
                // It was ours while an image of the run was attached, and is another program's now.
                continue;
            }
            let mut found = between(device, before, after);
            for difference in &mut found {
                difference.by_others = before.settings.contains(&difference.attribute)
                    || after.settings.contains(&difference.attribute);
            }
            ours.extend(found.into_iter().filter(|found| !is_loop || found.by_others));
        }
        (ours, others)
    }
}

/// Settings that an undo list of a device has.
fn listed(system: &System, name: &str) -> BTreeSet<String> {
    let targets = match name.starts_with("loop") {
        true => undo::settable_while_free(system, name),
        false => undo::settable(system, name),
    };
    let targets = targets.unwrap_or_default();
    let attribute = |target| match target {
        Target::Queue { attribute, .. } => Some(attribute),
        Target::Tunable { name, .. } => Some(format!("{TUNABLES}/{name}")),
        _ => None,
    };
    targets.into_iter().filter_map(attribute).collect()
}

fn values(folder: &Path) -> BTreeMap<String, String> {
    let files = sysfs::names(folder).into_iter().filter(|name| folder.join(name).is_file());
    files
        .filter_map(|name| Some((name.clone(), sysfs::read_optional(&folder.join(name))?)))
        .collect()
}

fn between(device: &str, before: &Queue, after: &Queue) -> Vec<Difference> {
    let names: BTreeSet<&String> = before.values.keys().chain(after.values.keys()).collect();
    let difference = |attribute: &String| Difference {
        device: device.to_owned(),
        attribute: attribute.clone(),
        before: before.values.get(attribute).cloned(),
        after: after.values.get(attribute).cloned(),
        by_others: false,
    };
    let all = names.into_iter().map(difference);
    all.filter(|found| found.before != found.after).collect()
}
