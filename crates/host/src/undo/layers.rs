//! Taking down layers that a run left: everything above its devices, and devices that were only begun.

use super::Target;
use crate::layer_programs::{remove_mapped, udev_answers};
use crate::sysfs::{self, System};
use crate::undo::added::sequence;
use rustix::fs::{FlockOperation, flock};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Longest wait until nothing has a layer open: a mount ends a moment after its last process.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(20);
/// mdadm takes milliseconds from making an array to giving it its first device.
const UNTIL_IT_HAS_DEVICES: Duration = Duration::from_millis(300);

/// States of an array that holds no data: made or begun, and not running.
const NOT_RUNNING: [&str; 2] = ["clear", "inactive"];

/// The way to end one part of a layer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    /// An array, by the file of sysfs that stops it.
    Array(PathBuf),
    /// A mapped device, by its name.
    Mapped(String),
    /// A layer that nothing here may or can end.
    Foreign,
}

/// Takes everything down that these entries name, uppermost layers first. Returns what was done in
/// words, and the reasons why parts are still there.
pub(super) fn take_down(system: &System, targets: &[&Target]) -> (Vec<String>, Vec<String>) {
    wait(system, targets, PATIENCE, &mut sleep)
}

fn wait(
    system: &System,
    targets: &[&Target],
    patience: Duration,
    pause: &mut dyn FnMut(Duration),
) -> (Vec<String>, Vec<String>) {
    let begun = Instant::now();
    let mut done = BTreeSet::new();
    let mut has_waited = false;
    loop {
        let mut found = uppermost(system, targets);
        if found.is_empty() {
            found = empty_arrays(system, targets);
            if found.is_empty() {
                remove_traces(system, targets);
                return (done.into_iter().collect(), Vec::new());
            }
            if !has_waited {
                // Another program that is making an array gives it its devices in this time.
                pause(UNTIL_IT_HAS_DEVICES);
                has_waited = true;
                continue;
            }
        }
        let mut problems = Vec::new();
        for (name, part) in &found {
            match end(system, part) {
                Ok(()) => {
                    done.insert(format!("removed {name}"));
                }
                Err(error) => {
                    problems.push(format!("cannot remove {name}: {error}; {}", by_hand(name, part)))
                }
            }
        }
        if begun.elapsed() >= patience {
            if problems.is_empty() {
                let names: Vec<&str> = found.keys().map(String::as_str).collect();
                problems.push(format!("{} does not go away; stop it by hand", names.join(", ")));
            }
            return (Vec::new(), problems);
        }
        pause(POLL);
    }
}

fn by_hand(name: &str, part: &Part) -> String {
    match part {
        Part::Array(path) => format!("unmount it, then: echo clear > {}", path.display()),
        Part::Mapped(name) => format!("unmount it, then: dmsetup remove {name}"),
        Part::Foreign => format!("stop {name} if it is not needed"),
    }
}

fn end(system: &System, part: &Part) -> Result<(), String> {
    match part {
        Part::Array(path) => {
            system.nodes.write_once(path, "clear").map_err(|error| error.to_string())
        }
        Part::Mapped(name) => remove_mapped(system, name).map_err(|error| error.to_string()),
        Part::Foreign => Err("no run made it".to_owned()),
    }
}

/// Parts that nothing else is above, by the name of their device.
fn uppermost(system: &System, targets: &[&Target]) -> BTreeMap<String, Part> {
    let mut found = BTreeMap::new();
    for target in targets {
        let Target::Mapped { name } = target else { continue };
        let devices = sysfs::names(&system.sys.join("class/block"));
        for device in devices.iter().filter(|device| is_named(system, device, name)) {
            whole(system, device, &|part| is_noted(part, targets), &mut found);
        }
    }
    for target in targets {
        let Target::Above { device, sequence: number } = target else { continue };
        if sequence(system, device) == Some(*number) {
            // The image below has no name: whoever joined it to something has nothing without it.
            above(system, device, &|_| true, &mut found);
        }
    }
    found
}

/// Arrays that were made or begun and have no devices, and so no data. Those with devices are found
/// from below.
fn empty_arrays(system: &System, targets: &[&Target]) -> BTreeMap<String, Part> {
    let mut found = BTreeMap::new();
    for target in targets {
        let Target::Array { device } = target else { continue };
        let folder = system.block(device);
        let state = sysfs::read_optional(&folder.join("md/array_state"));
        let is_begun = state.is_some_and(|state| NOT_RUNNING.contains(&state.trim()));
        let is_empty =
            ["slaves", "holders"].map(|name| sysfs::names(&folder.join(name)).is_empty());
        if is_begun && is_empty == [true, true] {
            found.insert(device.clone(), Part::Array(folder.join("md/array_state")));
        }
    }
    found
}

/// Returns true for a mapped device that one of the entries names.
fn is_noted(part: &Part, targets: &[&Target]) -> bool {
    let Part::Mapped(text) = part else { return false };
    let is_it =
        |target: &&Target| matches!(target, Target::Mapped { name } if continues(text, name));
    targets.iter().any(is_it)
}

/// The uppermost parts above a device; those that are not `ours` are foreign.
fn above(
    system: &System,
    device: &str,
    ours: &dyn Fn(&Part) -> bool,
    found: &mut BTreeMap<String, Part>,
) {
    for holder in sysfs::names(&system.block(device).join("holders")) {
        whole(system, &holder, ours, found);
    }
}

/// The uppermost parts above a layer, or itself if there are none.
fn whole(
    system: &System,
    device: &str,
    ours: &dyn Fn(&Part) -> bool,
    found: &mut BTreeMap<String, Part>,
) {
    let folder = system.block(device);
    if !sysfs::names(&folder.join("holders")).is_empty() {
        return above(system, device, ours, found);
    }
    let part = match sysfs::read_optional(&folder.join("dm/name")) {
        Some(name) => Part::Mapped(name.trim().to_owned()),
        None if folder.join("md").exists() => Part::Array(folder.join("md/array_state")),
        None => Part::Foreign,
    };
    found.insert(device.to_owned(), if ours(&part) { part } else { Part::Foreign });
}

/// Returns true for a mapped device with this name, or one that continues it.
fn is_named(system: &System, device: &str, name: &str) -> bool {
    let text = sysfs::read_optional(&system.block(device).join("dm/name"));
    text.is_some_and(|text| continues(text.trim(), name))
}

fn continues(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Removes what programs that were killed left besides devices: nodes, which without udev dmsetup
/// makes itself, the files by which mdadm has udev ignore an array that is being made, and its lock.
fn remove_traces(system: &System, targets: &[&Target]) {
    let mapper = system.dev.join("mapper");
    if targets.iter().any(|target| matches!(target, Target::Array { .. })) {
        release_map(&system.run.join("mdadm"));
    }
    for target in targets {
        let files: Vec<PathBuf> = match target {
            Target::Mapped { name } if !udev_answers(system) => {
                let nodes = sysfs::names(&mapper).into_iter().filter(|node| continues(node, name));
                nodes.map(|node| mapper.join(node)).collect()
            }
            Target::Array { device } if !system.block(device).exists() => {
                vec![system.run.join("mdadm").join(format!("creating-{device}"))]
            }
            _ => Vec::new(),
        };
        for file in files {
            // One that stays is of no device.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Ends an update of mdadm's list of arrays whose program is dead, as mdadm itself does: the
/// files go while their lock is held. A live mdadm holds it.
fn release_map(folder: &Path) {
    let lock = folder.join("map.lock");
    let Ok(file) = File::options().read(true).write(true).open(&lock) else { return };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
        // Files that stay are in nobody's way: mdadm makes them anew.
        let _ = std::fs::remove_file(folder.join("map.new"));
        let _ = std::fs::remove_file(lock);
    }
}
