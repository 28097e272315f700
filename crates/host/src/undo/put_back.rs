//! Reading and writing back one entry of the undo list.

use super::content::Change;
use super::settable::OF_THE_FILE;
use super::{Restored, Target, added, checked, layers};
use crate::error::{Error, Result};
use crate::nfs_kept;
use crate::sysfs::{self, System};
use crate::{attributes, cgroup, hdparm, loop_device};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The value to go back to: `None` when there is nothing to note, `Some(None)` for what does not
/// exist yet and is put back by removing it.
pub(super) fn present(system: &System, target: &Target) -> Result<Option<Option<String>>> {
    let text = match target {
        Target::Directory { path } | Target::CgroupDirectory { path } => {
            return Ok((!path.exists()).then_some(None));
        }
        Target::Added { .. }
        | Target::Above { .. }
        | Target::Mapped { .. }
        | Target::Array { .. }
        | Target::Server { .. }
        | Target::CheckDirectory { .. }
        | Target::TrialDirectory(_) => return Ok(Some(None)),
        Target::Hdparm { device, flag } => Some(hdparm::get(system, device, flag)?),
        Target::Queue { device, attribute } => {
            value(&queue_file(system, device, attribute)?, attribute)
        }
        Target::Tunable { device, name, .. } => {
            sysfs::read_optional(&queue_file(system, device, "iosched")?.join(name))
        }
        Target::File { path } => sysfs::read_optional(path),
    };
    Ok(text.map(Some))
}

fn queue_file(system: &System, device: &str, attribute: &str) -> Result<PathBuf> {
    Ok(system.queue(device)?.join(attribute))
}

/// `scheduler` shows all and marks the one in force; every other file shows what it takes.
fn value(path: &Path, attribute: &str) -> Option<String> {
    let text = sysfs::read_optional(path)?;
    if attribute == attributes::SCHEDULER { attributes::in_force(&text) } else { Some(text) }
}

/// The number that the kernel gives a disk when it appears, so that another disk that takes its
/// name later is not taken for it. `None` for what has no device behind it, as a loop device: its
/// settings stay when an image is attached again, which changes the number.
pub(super) fn disk_number(system: &System, device: &str) -> Option<u64> {
    let queue = system.queue(device).ok()?;
    let disk = queue.parent()?;
    disk.join("device").exists().then(|| sysfs::read_optional(&disk.join("diskseq")))??.parse().ok()
}

/// The order in which nothing that was put back is changed by what follows: a scheduler resets the
/// number of requests, the throttling of write-back and the tunables; a cache of the drive changes
/// the kernel's view of it; every limit and feature of the queue resets the read-ahead. Folders
/// come last, inner ones before outer ones.
pub(super) fn in_order(changes: &[Change]) -> Vec<&Change> {
    let rank = |change: &Change| match &change.target {
        Target::Queue { attribute, .. } => match attribute.as_str() {
            attributes::SCHEDULER => 0,
            attributes::NR_REQUESTS | attributes::WRITEBACK_THROTTLING => 3,
            attributes::READ_AHEAD => 4,
            _ => 2,
        },
        Target::Hdparm { .. } => 1,
        Target::Tunable { .. } => 3,
        Target::File { .. }
        | Target::Added { .. }
        | Target::Above { .. }
        | Target::Mapped { .. }
        | Target::Array { .. }
        | Target::Server { .. }
        | Target::CheckDirectory { .. }
        | Target::TrialDirectory(_) => 5,
        Target::Directory { .. } | Target::CgroupDirectory { .. } => FOLDERS,
    };
    let mut ordered: Vec<&Change> =
        changes.iter().filter(|change| rank(change) < FOLDERS).collect();
    ordered.sort_by_key(|change| rank(change));
    ordered.extend(changes.iter().rev().filter(|change| rank(change) == FOLDERS));
    ordered
}

/// Rank of folders in the order.
const FOLDERS: u8 = 6;

/// Number of passes over all settings: in a later kernel a setting may change another one that was
/// restored before, in a way that this program does not know.
const ROUNDS: usize = 3;

/// Longest wait until a loop device is free again: a program that probes new devices holds it for a
/// moment.
const FREE_AGAIN: Duration = Duration::from_secs(10);

/// Puts all of them back and reads all of them again at the end. Returns the targets that are as
/// they were; the others are among the problems.
pub(super) fn all(system: &System, changes: &[Change], restored: &mut Restored) -> Vec<Target> {
    let (servers, changes): (Vec<Change>, Vec<Change>) =
        changes.iter().cloned().partition(|change| change.target.is_of_nfs());
    let mut gone = nfs_gone(system, servers, restored);
    let (above, changes): (Vec<Change>, Vec<Change>) =
        changes.into_iter().partition(|change| change.target.is_layer());
    gone.extend(layers_gone(system, above, restored));
    let changes = wait_until_free(system, &changes, FREE_AGAIN, restored);
    let mut problems = BTreeMap::new();
    for round in 0..ROUNDS {
        problems.clear();
        let mut written = false;
        for (index, change) in in_order(&changes).into_iter().enumerate() {
            match put_back(system, change) {
                Ok(None) => {}
                Ok(Some(what)) => {
                    written = true;
                    if !restored.done.contains(&what) {
                        restored.done.push(what);
                    }
                }
                Err(problem) => {
                    problems.insert(index, (change.target.clone(), problem));
                }
            }
        }
        // A round that wrote nothing has read everything and found it as it was.
        if !written || (round > 0 && !problems.is_empty()) {
            break;
        }
    }
    let failed: Vec<Target> = problems.values().map(|(target, _)| target.clone()).collect();
    restored.problems.extend(problems.into_values().map(|(_, problem)| problem));
    let targets = changes.into_iter().map(|change| change.target);
    gone.into_iter().chain(targets.filter(|target| !failed.contains(target))).collect()
}

/// Stops servers before anything else, because they hold the filesystems that they export, and removes
/// directories of trials on servers. Returns the entries of those that are gone.
fn nfs_gone(system: &System, of_nfs: Vec<Change>, restored: &mut Restored) -> Vec<Target> {
    let mut gone = Vec::new();
    for target in of_nfs.into_iter().map(|change| change.target) {
        let ended = match &target {
            Target::Server { path } => nfs_kept::end(system, path),
            Target::TrialDirectory(place) => place.remove(),
            _ => continue,
        };
        match ended {
            Ok(done) => {
                restored.done.extend(done);
                gone.push(target);
            }
            Err(problem) => restored.problems.push(problem),
        }
    }
    gone
}

/// Takes layers down before what is below them, because they hold those devices. Returns their
/// entries, none if any layer is still there.
fn layers_gone(system: &System, above: Vec<Change>, restored: &mut Restored) -> Vec<Target> {
    let targets: Vec<&Target> = above.iter().map(|change| &change.target).collect();
    let (done, problems) = layers::take_down(system, &targets);
    restored.done.extend(done);
    if !problems.is_empty() {
        restored.problems.extend(problems);
        return Vec::new();
    }
    above.into_iter().map(|change| change.target).collect()
}

/// Settings of a loop device that was free go back when it is free again. One that another program
/// has attached since has that program's settings.
pub(super) fn wait_until_free(
    system: &System,
    changes: &[Change],
    patience: Duration,
    restored: &mut Restored,
) -> Vec<Change> {
    let mut left = changes.to_vec();
    let free = changes.iter().filter(|change| change.free).filter_map(|one| one.target.device());
    for device in free.collect::<BTreeSet<_>>() {
        let Err(error) = loop_device::wait_until_ours_is_gone(system, device, patience) else {
            continue;
        };
        restored.problems.push(error.to_string());
        left.retain(|change| !change.free || change.target.device() != Some(device));
    }
    left
}

/// Puts back what outlives a loop device that is still attached. What is refused is tried again once the device is free.
pub(super) fn lasting(system: &System, changes: &[Change], restored: &mut Restored) {
    for change in in_order(changes).into_iter().filter(|change| outlives_its_loop(&change.target)) {
        let now = Change { free: false, ..change.clone() };
        restored.done.extend(put_back(system, &now).ok().flatten());
    }
}

pub(super) fn outlives_its_loop(target: &Target) -> bool {
    let Target::Queue { attribute, .. } = target else { return false };
    [attributes::SCHEDULER, attributes::NR_REQUESTS].contains(&attribute.as_str())
}

/// Puts one value back and reads it again. Returns what was done, nothing when all was well
/// already; the error says what to do by hand.
pub(super) fn put_back(
    system: &System,
    change: &Change,
) -> std::result::Result<Option<String>, String> {
    if let (Some(device), Some(then)) = (change.target.device(), change.disk)
        && disk_number(system, device).is_some_and(|now| now != then)
    {
        // The disk is gone, and its settings with it: what has its name now was never changed.
        return Ok(None);
    }
    if change.free && is_of_another(system, change) {
        return Ok(None);
    }
    if is_of_a_file_that_is_gone(system, &change.target) {
        return Ok(written_where_it_stays(system, change));
    }
    match &change.target {
        Target::CgroupDirectory { path } => {
            let existed = path.exists();
            cgroup::remove(path).map_err(|error| error.to_string())?;
            Ok(existed.then(|| format!("removed {}", path.display())))
        }
        Target::Directory { path } => remove_folder(path),
        Target::CheckDirectory { path } => checked::remove(path),
        Target::Added { class, device, sequence, is_known } => {
            added::remove(system, class, device, (*sequence, *is_known))
        }
        // Gone by now, see `nfs_gone` and `layers_gone`.
        Target::Server { .. }
        | Target::TrialDirectory(_)
        | Target::Above { .. }
        | Target::Mapped { .. }
        | Target::Array { .. } => Ok(None),
        Target::Hdparm { device, flag } => {
            let old = change.old.as_deref().unwrap_or_default();
            if hdparm::get(system, device, flag).is_ok_and(|now| now == old) {
                return Ok(None);
            }
            if old.is_empty() || !old.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err(format!(
                    "hdparm {flag} of {device}: '{old}' is not a value of this flag"
                ));
            }
            hdparm::set(system, device, flag, old).map_err(|error| error.to_string())?;
            Ok(Some(format!("hdparm {flag}{old} /dev/{device}")))
        }
        Target::Queue { device, attribute } => match queue_file(system, device, attribute) {
            Ok(path) => {
                put_text_back(system, &path, change.old.as_deref(), |path| value(path, attribute))
            }
            // The device is gone, and its settings with it.
            Err(_) => Ok(None),
        },
        Target::Tunable { device, scheduler, name } => {
            let Ok(queue) = system.queue(device) else { return Ok(None) };
            let current = value(&queue.join(attributes::SCHEDULER), attributes::SCHEDULER);
            if current.as_deref() != Some(scheduler) {
                // The tunables of a scheduler live and die with it.
                return Ok(None);
            }
            let file = queue.join("iosched").join(name);
            put_text_back(system, &file, change.old.as_deref(), sysfs::read_optional)
        }
        Target::File { path } => {
            put_text_back(system, path, change.old.as_deref(), sysfs::read_optional)
        }
    }
}

/// Returns true for a setting that another program may have chosen for the loop device that it attached since; false if
/// it inherited the run's value.
fn is_of_another(system: &System, change: &Change) -> bool {
    let is_inherited = || {
        let Target::Queue { device, attribute } = &change.target else { return false };
        let now =
            queue_file(system, device, attribute).ok().and_then(|file| value(&file, attribute));
        change.set.is_some() && now == change.set
    };
    change.target.device().is_some_and(|device| attached(system, device)) && !is_inherited()
}

/// Restores the write cache of a loop device whose file is gone: since Linux 6.11 a cache that was declared write through
/// stays so for the next file. Kernels before derive it from the file again, and may refuse it without one.
fn written_where_it_stays(system: &System, change: &Change) -> Option<String> {
    let Target::Queue { device, attribute } = &change.target else { return None };
    let path = queue_file(system, device, attribute)
        .ok()
        .filter(|_| attribute == attributes::WRITE_CACHE)?;
    put_text_back(system, &path, change.old.as_deref(), |path| value(path, attribute)).ok()?
}

/// Returns true for a setting that a loop device has from its file, when it has none any more.
fn is_of_a_file_that_is_gone(system: &System, target: &Target) -> bool {
    let Target::Queue { device, attribute } = target else { return false };
    let is_loop = device.strip_prefix("loop").is_some_and(|number| number.parse::<u32>().is_ok());
    is_loop && OF_THE_FILE.contains(&attribute.as_str()) && !attached(system, device)
}

fn attached(system: &System, device: &str) -> bool {
    system.block(device).join("loop/backing_file").exists()
}

fn put_text_back(
    system: &System,
    path: &Path,
    old: Option<&str>,
    read: impl Fn(&Path) -> Option<String>,
) -> std::result::Result<Option<String>, String> {
    let (Some(old), Some(now)) = (old, read(path)) else { return Ok(None) };
    if now == old {
        return Ok(None);
    }
    let by_hand = || format!("restore it by hand: echo '{old}' > {}", path.display());
    system.nodes.write_setting(path, old).map_err(|error| {
        format!("cannot write '{old}' back to {}: {error}; {}", path.display(), by_hand())
    })?;
    let after = read(path).unwrap_or_default();
    if after != old {
        return Err(format!(
            "{} was '{old}' before and is '{after}' although '{old}' was written back; {}",
            path.display(),
            by_hand()
        ));
    }
    Ok(Some(format!("{} = {old}", path.display())))
}

fn remove_folder(path: &Path) -> std::result::Result<Option<String>, String> {
    match fs::remove_dir(path) {
        Ok(()) => Ok(Some(format!("removed {}", path.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("remove the folder", path)(error).to_string()),
    }
}
