//! Reading and writing back one entry of the undo list.

use super::{Change, Target};
use crate::error::{Error, Result};
use crate::sysfs::{self, System};
use crate::{hdparm, memory, queue};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The value to go back to: `None` when there is nothing to note, `Some(None)` for what does not
/// exist yet and is put back by removing it.
pub(super) fn present(system: &System, target: &Target) -> Result<Option<Option<String>>> {
    let text = match target {
        Target::Directory { path } | Target::CgroupDirectory { path } => {
            return Ok((!path.exists()).then_some(None));
        }
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
    if attribute == queue::SCHEDULER { queue::in_force(&text) } else { Some(text) }
}

/// The number that the kernel gives a disk when it appears, so that another disk that takes its
/// name later is not taken for it. `None` for what has no device behind it, as a loop device: its
/// settings stay when an image is attached anew, which changes the number.
pub(super) fn disk_number(system: &System, device: &str) -> Option<u64> {
    let queue = system.queue(device).ok()?;
    let disk = queue.parent()?;
    disk.join("device").exists().then(|| sysfs::read_optional(&disk.join("diskseq")))??.parse().ok()
}

/// Schedulers first, because a switch resets `nr_requests` and the tunables; folders last, inner
/// ones before outer ones.
pub(super) fn in_order(changes: &[Change]) -> Vec<&Change> {
    let rank = |change: &Change| match &change.target {
        Target::Queue { attribute, .. } if attribute == queue::SCHEDULER => 0,
        Target::Directory { .. } | Target::CgroupDirectory { .. } => 2,
        _ => 1,
    };
    let mut ordered: Vec<&Change> = changes.iter().filter(|change| rank(change) < 2).collect();
    ordered.sort_by_key(|change| rank(change));
    ordered.extend(changes.iter().rev().filter(|change| rank(change) == 2));
    ordered
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
    match &change.target {
        Target::CgroupDirectory { path } => {
            let existed = path.exists();
            memory::remove_group(path).map_err(|error| error.to_string())?;
            Ok(existed.then(|| format!("removed {}", path.display())))
        }
        Target::Directory { path } => remove_folder(path),
        Target::Hdparm { device, flag } => {
            let old = change.old.as_deref().unwrap_or_default();
            hdparm::set(system, device, flag, old).map_err(|error| error.to_string())?;
            Ok(Some(format!("hdparm {flag}{old} /dev/{device}")))
        }
        Target::Queue { device, attribute } => match queue_file(system, device, attribute) {
            Ok(path) => put_text_back(&path, change.old.as_deref(), |path| value(path, attribute)),
            // The device is gone, and its settings with it.
            Err(_) => Ok(None),
        },
        Target::Tunable { device, scheduler, name } => {
            let Ok(queue) = system.queue(device) else { return Ok(None) };
            let current = value(&queue.join(queue::SCHEDULER), queue::SCHEDULER);
            if current.as_deref() != Some(scheduler) {
                // The tunables of a scheduler live and die with it.
                return Ok(None);
            }
            let file = queue.join("iosched").join(name);
            put_text_back(&file, change.old.as_deref(), sysfs::read_optional)
        }
        Target::File { path } => put_text_back(path, change.old.as_deref(), sysfs::read_optional),
    }
}

fn put_text_back(
    path: &Path,
    old: Option<&str>,
    read: impl Fn(&Path) -> Option<String>,
) -> std::result::Result<Option<String>, String> {
    let (Some(old), Some(now)) = (old, read(path)) else { return Ok(None) };
    if now == old {
        return Ok(None);
    }
    let by_hand = || format!("do it by hand: echo '{old}' > {}", path.display());
    fs::write(path, old).map_err(|error| {
        format!("cannot write '{old}' back to {}: {error}; {}", path.display(), by_hand())
    })?;
    let after = read(path).unwrap_or_default();
    if after != old {
        return Err(format!(
            "{} was '{old}' before and is '{after}' after writing that back; {}",
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
