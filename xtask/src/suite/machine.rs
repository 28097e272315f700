//! Leftovers that tests could leave on the machine: attached loop devices, mounts, settings of the
//! kernel, memory groups, undo lists, processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

#[cfg(test)]
mod tests;

/// Queue settings that a trial changes and puts back.
const QUEUE_SETTINGS: [&str; 5] =
    ["scheduler", "nr_requests", "read_ahead_kb", "max_sectors_kb", "wbt_lat_usec"];

/// Those of them that outlive a loop device; attaching resets the others.
const LASTING_LOOP_SETTINGS: [&str; 2] = ["scheduler", "nr_requests"];

/// Beginnings of the names of control groups that are ours: those of the program, and of its tests.
const OUR_GROUPS: [&str; 2] = ["seekwell-", "recorded-"];

/// Shows what was last written to it, which is not a state.
const NO_SETTING: &str = "drop_caches";

/// Folders and files to look at.
struct Places {
    sys_block: PathBuf,
    mounts: PathBuf,
    sysctls: PathBuf,
    /// Folders in which groups with [`OUR_GROUPS`] names are ours.
    groups: Vec<PathBuf>,
    undo_lists: PathBuf,
}

impl Places {
    fn of_this_machine() -> Self {
        let groups = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified"];
        Self {
            sys_block: "/sys/block".into(),
            mounts: "/proc/self/mounts".into(),
            sysctls: "/proc/sys/vm".into(),
            groups: groups.map(PathBuf::from).to_vec(),
            undo_lists: "/var/lib/seekwell/undo".into(),
        }
    }
}

/// The state of the machine's storage at one moment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Machine {
    /// Attached loop devices, mounts, groups and undo lists, in words.
    things: BTreeSet<String>,
    /// Settings by device and name.
    settings: BTreeMap<String, String>,
}

impl Machine {
    /// Reads the state in force now.
    pub(super) fn look() -> Result<Self> {
        Self::look_at(&Places::of_this_machine())
    }

    fn look_at(places: &Places) -> Result<Self> {
        let mut machine = Self::default();
        let table =
            fs::read_to_string(&places.mounts).context("cannot read the table of mounts")?;
        for line in table.lines() {
            // Options of a mount may change by themselves.
            let fields: Vec<&str> = line.split(' ').take(3).collect();
            machine.things.insert(format!("mount {}", fields.join(" ")));
        }
        for device in files(&places.sys_block) {
            machine.add_device(&device);
        }
        for file in files(&places.sysctls).iter().filter(|file| !file.ends_with(NO_SETTING)) {
            machine.add_setting(format!("sysctl {}", file.display()), file);
        }
        let groups = places.groups.iter().flat_map(|folder| files(folder));
        let is_ours = |path: &PathBuf| OUR_GROUPS.iter().any(|ours| name(path).starts_with(ours));
        for group in groups.filter(is_ours) {
            machine.things.insert(format!("memory group {}", group.display()));
        }
        // The lock and the folder for mount points beside them stay, on a fresh machine too.
        let lists = files(&places.undo_lists);
        for list in lists.iter().filter(|path| path.is_file() && name(path) != "lock") {
            machine.things.insert(format!("undo list {}", list.display()));
        }
        Ok(machine)
    }

    fn add_device(&mut self, device: &Path) {
        let name = name(device);
        // Only an attached loop device has this file.
        if let Ok(file) = fs::read_to_string(device.join("loop/backing_file")) {
            self.things.insert(format!("loop device {name} on {}", file.trim()));
        }
        let settings: &[&str] =
            if name.starts_with("loop") { &LASTING_LOOP_SETTINGS } else { &QUEUE_SETTINGS };
        for setting in settings {
            self.add_setting(format!("{name} {setting}"), &device.join("queue").join(setting));
        }
    }

    fn add_setting(&mut self, key: String, file: &Path) {
        if let Ok(value) = fs::read_to_string(file) {
            self.settings.insert(key, value.trim().to_owned());
        }
    }

    /// Lists everything that is new or changed since `before`.
    pub(super) fn new_since(&self, before: &Self) -> Vec<String> {
        let changed = |(key, value): (&String, &String)| match before.normal(key) {
            Some(old) if old != value => Some(format!("{key}: `{value}`, was `{old}`")),
            _ => None,
        };
        let things = self.things.difference(&before.things).cloned();
        things.chain(self.settings.iter().filter_map(changed)).collect()
    }

    /// The value a setting should have: the one it had; for a loop device that is new, that of the
    /// first one.
    fn normal(&self, key: &str) -> Option<&String> {
        let like_loop0 = || {
            let (device, setting) = key.split_once(' ')?;
            device.starts_with("loop").then(|| self.settings.get(&format!("loop0 {setting}")))?
        };
        self.settings.get(key).or_else(like_loop0)
    }
}

/// Lists the files of a folder; none where there is no such folder, as on a kernel without the
/// feature.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.flatten().map(|entry| entry.path()).collect()
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
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

/// Time for which [`has_idle_cpu`] looks.
const LOOK: Duration = Duration::from_millis(500);

/// Returns true if the CPUs together are idle for at least half of one CPU; false where that cannot be read.
pub(super) fn has_idle_cpu() -> bool {
    let ticks = || {
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let mut fields = stat.lines().next()?.split_whitespace().skip(1).map(str::parse::<u64>);
        // user, nice, system, idle, iowait; the time of a wait for a device is free as well.
        Some(fields.nth(3)?.ok()? + fields.next()?.ok()?)
    };
    let before = ticks();
    thread::sleep(LOOK);
    // A tick is a hundredth of a second in every interface.
    let idle = before.zip(ticks()).map(|(before, after)| after.saturating_sub(before) * 10);
    idle.is_some_and(|idle_ms| u128::from(idle_ms) * 2 >= LOOK.as_millis())
}
