//! What tests could leave on the machine: attached loop devices, mounts, queue settings, processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

#[cfg(test)]
mod tests;

/// Queue settings that a trial changes and puts back.
const QUEUE_SETTINGS: [&str; 2] = ["scheduler", "nr_requests"];

/// The state of the machine's storage at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Machine {
    /// Loop device and the file behind it.
    loops: BTreeSet<String>,
    /// Source, place and type of each mount.
    mounts: BTreeSet<String>,
    /// By device and setting; these outlive a loop device.
    queues: BTreeMap<String, String>,
}

impl Machine {
    /// Reads the state in force now.
    pub(super) fn look() -> Result<Self> {
        Self::look_in(Path::new("/sys/block"), Path::new("/proc/self/mounts"))
    }

    fn look_in(sys_block: &Path, mounts: &Path) -> Result<Self> {
        let mut machine = Self::default();
        let table = fs::read_to_string(mounts).context("cannot read the table of mounts")?;
        for line in table.lines() {
            let fields: Vec<&str> = line.split(' ').take(3).collect();
            machine.mounts.insert(fields.join(" "));
        }
        let Ok(devices) = fs::read_dir(sys_block) else { return Ok(machine) };
        for device in devices {
            let device = device?;
            let name = device.file_name().to_string_lossy().into_owned();
            // Only an attached loop device has this file.
            if let Ok(file) = fs::read_to_string(device.path().join("loop/backing_file")) {
                machine.loops.insert(format!("{name} on {}", file.trim()));
            }
            for setting in QUEUE_SETTINGS {
                if let Ok(value) = fs::read_to_string(device.path().join("queue").join(setting)) {
                    machine.queues.insert(format!("{name} {setting}"), value.trim().to_owned());
                }
            }
        }
        Ok(machine)
    }

    /// What is here now and was not, or not so, `before`.
    pub(super) fn new_since(&self, before: &Self) -> Vec<String> {
        let loops = self.loops.difference(&before.loops).map(|name| format!("loop device {name}"));
        let mounts = self.mounts.difference(&before.mounts).map(|name| format!("mount {name}"));
        let changed = |(key, value): (&String, &String)| match before.normal(key) {
            Some(old) if old != value => Some(format!("{key}: `{value}`, was `{old}`")),
            _ => None,
        };
        loops.chain(mounts).chain(self.queues.iter().filter_map(changed)).collect()
    }

    /// The value a setting should have: the one it had; for a loop device that is new, that of the
    /// first one.
    fn normal(&self, key: &str) -> Option<&String> {
        let like_loop0 = || {
            let (device, setting) = key.split_once(' ')?;
            device.starts_with("loop").then(|| self.queues.get(&format!("loop0 {setting}")))?
        };
        self.queues.get(key).or_else(like_loop0)
    }
}

/// Every process that inherited `marker` (`NAME=value`) in its environment.
pub(super) fn processes_with(marker: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").context("cannot list the processes")? {
        let folder = entry?.path();
        let Ok(environment) = fs::read(folder.join("environ")) else { continue };
        if environment.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes()) {
            let name = fs::read_to_string(folder.join("comm")).unwrap_or_default();
            found.push(format!("process {} ({})", folder.display(), name.trim()));
        }
    }
    Ok(found)
}
