//! Targets that an undo list may have. A list is read as root, so it reaches only what the program
//! itself changes: queue settings, hdparm's, its sysctls, its own memory groups and folders.

use super::Target;
use super::checked;
use crate::error::{Error, Result};
use crate::hdparm;
use crate::nfs_kept;
use crate::sysfs::System;
use seekwell_model::layers::{LAYER_PREFIX, controls};
use seekwell_model::stack::VM_SETTINGS;
use std::path::{Component, Path, PathBuf};

/// Settings in bytes that a ratio of [`VM_SETTINGS`] replaces.
const IN_BYTES: [&str; 2] = ["dirty_background_bytes", "dirty_bytes"];

/// Sysctls of the write-back of dirty pages and of reclaim, below `/proc/sys/vm`.
pub(crate) fn sysctls() -> impl Iterator<Item = &'static str> {
    VM_SETTINGS.into_iter().chain(IN_BYTES)
}

/// Prefix of the names of Seekwell's memory groups.
const GROUP: &str = "seekwell-";

/// Refuses a target that the program never writes. `list` is the file of the list: folders are
/// removed only below the folder that it is in.
pub(super) fn check(system: &System, target: &Target, list: Option<&Path>) -> Result<()> {
    let allowed = match target {
        Target::Queue { device, attribute } => is_name(device) && is_name(attribute),
        Target::Tunable { device, scheduler, name } => {
            is_name(device) && is_name(scheduler) && is_name(name)
        }
        Target::Hdparm { device, flag } => is_name(device) && hdparm::is_known(flag),
        Target::Added { class, device, .. } => {
            controls().any(|control| *class == control.class && is_numbered(device, control.prefix))
        }
        Target::Above { device, .. } => is_numbered(device, "loop"),
        Target::Mapped { name } => is_numbered(name, LAYER_PREFIX),
        Target::Array { device } => is_numbered(device, "md"),
        Target::File { path } => sysctls().any(|name| *path == sysctl(system, name)),
        Target::CgroupDirectory { path } => is_plain(path) && is_our_group(path),
        Target::Directory { path } => is_below_the_folder(path, list),
        Target::Server { path } => {
            is_below_the_folder(path, list)
                && path.extension().is_some_and(|found| found == nfs_kept::EXTENSION)
        }
        Target::TrialDirectory(place) => place.is_allowed(),
        Target::CheckDirectory { path } => is_plain(path) && checked::is_check(path),
    };
    if allowed { Ok(()) } else { Err(Error::Argument(words(target))) }
}

/// The file of a sysctl.
pub(crate) fn sysctl(system: &System, name: &str) -> PathBuf {
    system.proc.join("sys/vm").join(name)
}

/// The problem with an entry that was not put back.
pub(super) fn words(target: &Target) -> String {
    format!(
        "{target:?} in an undo list is not a setting that seekwell changes, so it is not touched; \
         check the list, then remove it"
    )
}

/// One component of a path.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\0'])
}

/// A prefix and a number.
fn is_numbered(text: &str, prefix: &str) -> bool {
    let number = text.strip_prefix(prefix).unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_plain(path: &Path) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
    path.is_absolute() && path.components().all(plain)
}

fn is_below_the_folder(path: &Path, list: Option<&Path>) -> bool {
    let folder = list.and_then(Path::parent);
    is_plain(path) && folder.is_none_or(|folder| path.starts_with(folder))
}

fn is_our_group(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(GROUP))
}
