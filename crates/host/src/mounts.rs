//! Reading `mountinfo` and `swaps`.

use crate::error::{Error, Result};
use crate::nodes::DeviceNumber;
use crate::sysfs::{self, System};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// One line of `mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountLine {
    /// Device number; an invented one (major 0) for btrfs and filesystems without a device.
    pub number: DeviceNumber,
    pub target: PathBuf,
    pub options: String,
    pub kind: String,
    pub source: PathBuf,
    pub super_options: String,
}

/// Mounts of the calling thread: threads of one process may have namespaces of their own.
pub(crate) fn of_self(system: &System) -> Result<Vec<MountLine>> {
    of(&system.proc.join("thread-self/mountinfo"))
}

/// The mount that a path is on: of those above it the lowest, of several at one place the last, which is visible.
pub(crate) fn mount_of<'l>(lines: &'l [MountLine], path: &Path) -> Option<&'l MountLine> {
    let above = lines.iter().filter(|line| path.starts_with(&line.target));
    above.max_by_key(|line| line.target.components().count())
}

/// Mounts in a `mountinfo` file.
pub(crate) fn of(path: &Path) -> Result<Vec<MountLine>> {
    let bytes = std::fs::read(path).map_err(Error::io("read", path))?;
    let text = String::from_utf8_lossy(&bytes);
    text.lines()
        .map(|line| parse(line).ok_or_else(|| Error::format(path, line, "a line of mountinfo")))
        .collect()
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`, as in
/// proc_pid_mountinfo(5).
fn parse(line: &str) -> Option<MountLine> {
    let (mount, filesystem) = line.split_once(" - ")?;
    let mut before = mount.split(' ').skip(2);
    let number = DeviceNumber::parse(before.next()?)?;
    let target = unescape(before.nth(1)?);
    let options = before.next()?.to_owned();
    let mut after = filesystem.split(' ');
    let kind = after.next()?.to_owned();
    let source = unescape(after.next()?);
    let super_options = after.next().unwrap_or_default().to_owned();
    Some(MountLine { number, target, options, kind, source, super_options })
}

/// The kernel writes blank, tab, line feed and backslash as three octal digits.
pub(crate) fn unescape(text: &str) -> PathBuf {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut position = 0;
    while position < bytes.len() {
        let octal = bytes.get(position + 1..position + 4).filter(|_| bytes[position] == b'\\');
        let value = octal
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(value.unwrap_or(bytes[position]));
        position += if value.is_some() { 4 } else { 1 };
    }
    PathBuf::from(OsString::from_vec(plain))
}

/// Devices and files that are swapped to.
pub(crate) fn swaps(system: &System) -> Result<Vec<PathBuf>> {
    let path = system.proc.join("swaps");
    let text = match sysfs::read(&path) {
        Ok(text) => text,
        // A kernel without swap has no such file.
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    Ok(text
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().next())
        .map(unescape)
        .collect())
}

/// Mount options of a mount point as `mountinfo` shows them: those of the mount, then those of the
/// filesystem that are not already there.
pub(crate) fn options_of(system: &System, target: &Path) -> Result<Option<String>> {
    let lines = of_self(system)?;
    // The last line is the topmost of several mounts on one place.
    let line = lines.into_iter().rev().find(|line| line.target == target);
    Ok(line.map(|line| {
        let mut options: Vec<&str> = line.options.split(',').collect();
        for option in line.super_options.split(',') {
            if !options.contains(&option) && !option.is_empty() {
                options.push(option);
            }
        }
        options.join(",")
    }))
}
