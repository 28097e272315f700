//! The claims on disk: one file for each device that a person has released for writing.

use crate::device::Device;
use crate::error::{Error, Result};
use crate::identity::Identity;
use crate::program;
use crate::state;
use crate::sysfs::{self, System};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Newest form of a claim that this version reads, and the one that it writes.
pub(crate) const FORMAT: u32 = 1;

/// A claimed device, as kept on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Raised when an older reader would misread it.
    pub format: u32,
    /// The stable path, or the one that was named.
    pub path: PathBuf,
    /// Identity of the device.
    pub identity: Identity,
    /// For a device without a serial number: the boot in which it was claimed, and only in which
    /// the claim holds.
    pub boot: Option<String>,
    /// Time of the claim, in seconds since 1970.
    pub claimed_unix_s: u64,
    /// Partition table and signatures when it was claimed; `None` in claims of earlier versions and
    /// where they cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Vec<String>>,
    /// Trace of our writes since the claim; `None` when nothing was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<Written>,
}

/// Trace of our writes to a claimed device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Partition table and signatures after the last trial; `None` while one may be under way.
    pub left: Option<Vec<String>>,
    /// State of the device after the last trial: any later write makes another one. `None` if it is
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

impl Claim {
    /// Returns the contents when they are neither those at the claim nor those that a trial left: then
    /// a person has put it to another use. `None` also if that is unknown.
    pub(crate) fn strange_content(&self, system: &System, device: &Device) -> Option<String> {
        let then = self.content.as_ref()?;
        let left = match &self.written {
            Some(Written { left: None, .. }) => return None,
            Some(Written { left, .. }) => left.as_ref(),
            None => None,
        };
        let now = content(system, device)?;
        let known = now == *then || Some(&now) == left;
        (!known).then(|| if now.is_empty() { "nothing".to_owned() } else { now.join(", ") })
    }
}

/// Partitions with their places and signatures with their UUIDs, of a device and its partitions.
/// `None` without the program that finds them.
pub(crate) fn content(system: &System, device: &Device) -> Option<Vec<String>> {
    let mut found = Vec::new();
    for part in device.with_parts() {
        let place = |name: &str| part.attribute(name).unwrap_or_default();
        if part != *device {
            let text = format!("{} at {} of {} sectors", part.name, place("start"), place("size"));
            found.push(text);
        }
        let node = system.dev.join(&part.name);
        let arguments = ["--no-act", "--parsable", "--output", "OFFSET,TYPE,UUID", node.to_str()?];
        let output = program::run(system, "wipefs", "util-linux", &arguments).ok()?;
        let lines = output.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        found.extend(lines.map(|line| format!("{}: {line}", part.name)));
    }
    Some(found)
}

/// File of the claim on a device.
pub(crate) fn file_of(claims: &Path, identity: &Identity) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    claims.join(format!("{}.json", identity.key().chars().map(safe).collect::<String>()))
}

/// Whole or not at all: a torn claim must not be readable.
pub(crate) fn write(claims: &Path, claim: &Claim) -> Result<()> {
    let path = file_of(claims, &claim.identity);
    let text = serde_json::to_string_pretty(claim).map_err(Error::io("encode the claim", &path))?;
    state::replace(&path, text.as_bytes())
}

/// Notes in the claim that what is on the device may be ours from now on.
pub(crate) fn begin_writing(system: &System, claims: &Path, identity: &Identity) -> Result<()> {
    let Some(mut claim) = find(system, claims, identity)? else { return Ok(()) };
    claim.written = Some(Written::default());
    write(claims, &claim)
}

/// Every claim in the folder; a file that is no claim is an error, because a claim that cannot be
/// read may be one that the user believes released.
///
/// # Errors
/// When the folder or a file cannot be read.
pub fn list(claims: &Path) -> Result<Vec<Claim>> {
    let mut found = Vec::new();
    if fs::symlink_metadata(claims).is_ok() {
        state::folder(claims)?;
    }
    for name in sysfs::names(claims) {
        let path = claims.join(name);
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let mut text = String::new();
        state::open_own(&path)?.read_to_string(&mut text).map_err(Error::io("read", &path))?;
        found.push(parse(&path, &text)?);
    }
    Ok(found)
}

fn parse(path: &Path, text: &str) -> Result<Claim> {
    let claim: Claim = serde_json::from_str(text).map_err(|_| {
        Error::format(path, text, "a claim; remove the file and claim the device again")
    })?;
    if claim.format > FORMAT {
        let expected = "format 1; a newer seekwell wrote this claim, and can release it";
        return Err(Error::format(path, &format!("format {}", claim.format), expected));
    }
    Ok(claim)
}

/// The claim on a device, if there is one that still holds.
pub(crate) fn find(system: &System, claims: &Path, identity: &Identity) -> Result<Option<Claim>> {
    let boot = system.boot_id()?;
    let holds = |claim: &Claim| {
        let this_boot = claim.boot.as_ref().is_none_or(|claimed| *claimed == boot);
        this_boot && claim.identity.key() == identity.key()
    };
    Ok(list(claims)?.into_iter().find(holds))
}
