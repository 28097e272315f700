//! Claims: a person's word that everything on a disk may be destroyed.
//!
//! A claim names the disk by what it is, not by its name of today. It says that the disk may be
//! written, and nothing about whether that is safe now: the guard looks at that each time.

use crate::claims::{self, Claim, FORMAT, Written, file_of, find, write};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::guard::{self, Context, Purpose};
use crate::identity::{self, Identity};
use crate::mounts;
use crate::program;
use crate::refusal::{Refusal, RefusalKind};
use crate::state;
use crate::sysfs::{self, System};
use crate::tree;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

mod saved;

#[cfg(test)]
mod tests;

/// Shortest end of a serial number that counts as having read it.
const TAIL: usize = 4;

/// Facts that a person sees before claiming a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimCard {
    /// As it was named.
    pub target: PathBuf,
    /// A path that stays the same, where there is one.
    pub stable_path: Option<PathBuf>,
    /// Identity of the device.
    pub identity: Identity,
    /// Signatures on it and its partitions: `sdb1: ext4 label`, as far as known.
    pub signatures: Vec<String>,
    /// Mount points of it and its partitions.
    pub mounts: Vec<String>,
    /// Reason why it cannot be claimed now; `None` if it can.
    pub refusal: Option<Refusal>,
}

impl ClaimCard {
    /// The text to type, in words.
    #[must_use]
    pub fn question(&self) -> String {
        match self.identity.usable_serial() {
            Some(serial) => {
                format!("the last {} characters of its serial number", TAIL.min(serial.len()))
            }
            None => "its size in sectors of 512 bytes, because it has no serial number".to_owned(),
        }
    }
}

/// Collects what a person has to see before claiming a device.
///
/// # Errors
/// When there is no such block device.
pub fn describe(system: &System, target: &Path, run_file: Option<&Path>) -> Result<ClaimCard> {
    let (node, device) = guard::block_device(system, target)?;
    let context = Context { claims: PathBuf::new(), run_file: run_file.map(Path::to_owned) };
    let identity = Identity::read(system, &device, None);
    let refusal = guard::check(system, target, Purpose::Claim, &context).err();
    let refusal = refusal.or_else(|| (identity.size.0 == 0).then(|| empty(target)));
    let parts = device.with_parts();
    let signatures = parts
        .iter()
        .filter_map(|part| {
            let on_part = signatures(system, &system.dev.join(&part.name));
            (!on_part.is_empty()).then(|| format!("{}: {}", part.name, on_part.join(", ")))
        })
        .collect();
    let mounted = tree::main_mounts(system)?.into_iter().filter_map(|line| {
        let part = parts.iter().find(|part| {
            part.number == line.number
                || Device::by_path(system, &line.source).as_ref() == Some(part)
        })?;
        Some(format!("{} on {}", part.name, line.target.display()))
    });
    let mut mounts: Vec<String> = mounted.collect();
    mounts.sort();
    mounts.dedup();
    let swaps = mounts::swaps(system)?;
    mounts.extend(parts.iter().filter_map(|part| {
        let swapped = swaps.iter().any(|path| *path == system.dev.join(&part.name));
        swapped.then(|| format!("{} as swap", part.name))
    }));
    Ok(ClaimCard {
        target: target.to_owned(),
        stable_path: identity::stable_path(system, &node),
        identity,
        signatures,
        mounts,
        refusal,
    })
}

/// The refusal of a device that has no size, as a free loop device or a reader without a card.
fn empty(target: &Path) -> Refusal {
    let reason = "its size is 0 bytes or unknown, so there is nothing to claim";
    Refusal::new(target, RefusalKind::Missing, reason, "insert or attach a medium, then claim it")
}

/// Types and labels that libblkid finds; empty without wipefs.
fn signatures(system: &System, node: &Path) -> Vec<String> {
    let Some(text) = node.to_str() else { return Vec::new() };
    let arguments = ["--no-act", "--parsable", "--output", "TYPE,LABEL", text];
    let output = program::run(system, "wipefs", "util-linux", &arguments).unwrap_or_default();
    let lines = output.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| line.replace(',', " ").trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// Makes a claim, when what was typed is on the card and the guard has nothing against it.
///
/// # Errors
/// The guard's refusal, or that the typed text is wrong.
pub fn confirm(system: &System, claims: &Path, card: &ClaimCard, typed: &str) -> Result<Claim> {
    if let Some(refusal) = &card.refusal {
        return Err(refusal.clone().into());
    }
    if !answers(&card.identity, typed) {
        return Err(Error::Argument(format!(
            "'{}' is not {}: nothing was claimed",
            sysfs::shortened(typed),
            card.question()
        )));
    }
    let context = Context { claims: claims.to_owned(), run_file: None };
    let now = guard::check(system, &card.target, Purpose::Claim, &context)?;
    if now.identity().key() != card.identity.key() {
        return Err(Error::Argument(format!(
            "{} is {} now, but was {} when the claim was confirmed: nothing was claimed",
            card.target.display(),
            now.identity(),
            card.identity
        )));
    }
    let identity = now.identity().clone();
    let lasting = identity.lasting_serial().is_some();
    if !lasting && identity.diskseq.is_none() {
        return Err(Error::Argument(format!(
            "{} has no serial number of its own, and this kernel (before 5.15) cannot tell one \
             medium from another: nothing was claimed; use kernel 5.15 or newer",
            card.target.display()
        )));
    }
    let boot = if lasting { None } else { Some(system.boot_id()?) };
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let path = card.stable_path.clone().unwrap_or_else(|| card.target.clone());
    let (_, device) = guard::block_device(system, &card.target)?;
    let content = claims::content(system, &device);
    let claim = Claim {
        format: FORMAT,
        path,
        identity,
        boot,
        claimed_unix_s: seconds,
        content,
        written: None,
    };
    state::folder(claims)?;
    saved::save(system, &saved_file(claims, &claim.identity), now.node(), &device)?;
    write(claims, &claim)?;
    Ok(claim)
}

/// The end of the serial number, at least four characters of it, or the number of sectors.
fn answers(identity: &Identity, typed: &str) -> bool {
    let typed = typed.trim();
    match identity.usable_serial() {
        Some(serial) => {
            typed.chars().count() >= TAIL.min(serial.chars().count())
                && serial.to_ascii_lowercase().ends_with(&typed.to_ascii_lowercase())
        }
        None => typed.parse() == Ok(identity.sectors()),
    }
}

/// File with the beginning and the end of a device as they were at the claim.
fn saved_file(claims: &Path, identity: &Identity) -> PathBuf {
    file_of(claims, identity).with_extension("saved")
}

/// Notes in the claim what a trial has left on the device, so that later contents are known not
/// to be ours. Without a claim, and while the device cannot be read, nothing is noted.
///
/// # Errors
/// When the claim cannot be written.
pub fn note_content(system: &System, claims: &Path, target: &Path) -> Result<()> {
    let Ok((_, device)) = guard::block_device(system, target) else { return Ok(()) };
    let identity = Identity::read(system, &device, None);
    let Some(mut claim) = find(system, claims, &identity)? else { return Ok(()) };
    if claim.written.is_none() {
        return Ok(());
    }
    // Counted now, not later as if someone else wrote it. One that fails shows as a later write.
    let _ = fs::File::open(target).and_then(|opened| opened.sync_all());
    let saved = saved::load(&saved_file(claims, &claim.identity)).ok();
    let state = saved.and_then(|saved| saved.state(system, target, &device));
    claim.written = Some(Written { left: claims::content(system, &device), state });
    write(claims, &claim)
}

/// The claim on what a path leads to now.
///
/// # Errors
/// When there is no such device, or the claims cannot be read.
pub fn lookup(system: &System, claims: &Path, target: &Path) -> Result<Option<Claim>> {
    let (_, device) = guard::block_device(system, target)?;
    find(system, claims, &Identity::read(system, &device, None))
}

/// Takes a claim back. Returns it, or `None` when there was none.
///
/// # Errors
/// When there is no such device, or the file cannot be removed.
pub fn release(system: &System, claims: &Path, target: &Path) -> Result<Option<Claim>> {
    let Some(claim) = lookup(system, claims, target)? else { return Ok(None) };
    let path = file_of(claims, &claim.identity);
    match fs::remove_file(&path) {
        Ok(()) => Ok(Some(claim)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("remove the claim", path)(error)),
    }
}

/// Result of restoring a device's contents of before the claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Its partition table and signatures are those at the claim: nothing was written.
    Unchanged,
    /// The partition table and signatures that a trial had erased were written back.
    Restored,
    /// Something else has written to it since the last trial, or may have: nothing was written. The
    /// copy of its beginning and end is here.
    Overwritten(PathBuf),
    /// No copy was made, as by earlier versions.
    NoCopy,
}

/// Releases a claim, and restores the partition table and signatures that a trial erased, if the
/// device is as that trial left it. `None` if there was no claim.
///
/// # Errors
/// When the device must not be written or the claim cannot be removed.
pub fn release_and_restore(
    system: &System,
    claims: &Path,
    target: &Path,
) -> Result<Option<Contents>> {
    let Some(claim) = lookup(system, claims, target)? else { return Ok(None) };
    let copy = saved_file(claims, &claim.identity);
    let contents = restored(system, claims, target, &claim, &copy)?;
    release(system, claims, target)?;
    Ok(Some(contents))
}

fn restored(
    system: &System,
    claims: &Path,
    target: &Path,
    claim: &Claim,
    copy: &Path,
) -> Result<Contents> {
    if !copy.exists() {
        return Ok(Contents::NoCopy);
    }
    let (_, device) = guard::block_device(system, target)?;
    let now = claims::content(system, &device);
    if now.is_some() && now == claim.content {
        return Ok(Contents::Unchanged);
    }
    let saved = saved::load(copy)?;
    let left = claim.written.as_ref().and_then(|written| written.state.as_ref());
    let is_as_left = || left.is_some() && saved.state(system, target, &device).as_ref() == left;
    if !is_as_left() {
        return Ok(Contents::Overwritten(copy.to_owned()));
    }
    let context = Context { claims: claims.to_owned(), run_file: None };
    let token = guard::check(system, target, Purpose::Claim, &context)?.permit()?;
    let file = token.open(false)?;
    // From here on it cannot be mounted.
    let _alone = token.open_alone()?;
    if !is_as_left() {
        return Ok(Contents::Overwritten(copy.to_owned()));
    }
    saved.restore(&file, token.path())?;
    Ok(Contents::Restored)
}
