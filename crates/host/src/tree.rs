//! Tree of block devices in sysfs: partitions, and devices on top of others.

use crate::backing::BackingFile;
use crate::device::Device;
use crate::error::Result;
use crate::identity::Identity;
use crate::mounts::{self, MountLine};
use crate::nodes::{Behind, BehindLoop, DeviceNumber, FileId, NodeKind};
use crate::sysfs::{self, System};
use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// Other nodes of the same bytes, and the files that hold them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Twins {
    /// Devices that a write to this one changes.
    pub devices: Vec<Device>,
    /// Disks around them, whose use as a whole covers them.
    pub around: Vec<Device>,
    /// Files behind loop devices among them.
    pub files: Vec<BackingFile>,
}

/// Finds every other node of a device's bytes: another loop device over the same part of a file, the device under a
/// loop device, another path to the same disk. An image of the run itself (`is_own_image`) has no name, so no other
/// filesystem shows it, and loop devices without a node are of no concern.
///
/// # Errors
/// When what is behind a loop device cannot be found out.
pub(crate) fn twins(system: &System, device: &Device, is_own_image: bool) -> io::Result<Twins> {
    let whole = device.disk().unwrap_or_else(|| device.clone());
    let seen = BTreeSet::from([whole.name.clone()]);
    let mut search = Search { system, is_own_image, seen, twins: Twins::default() };
    let mut open = vec![(whole, device.bytes())];
    while let Some((next, bytes)) = open.pop() {
        for (twin, bytes) in search.nodes(&next, &bytes)? {
            if search.seen.insert(twin.name.clone()) {
                search.twins.add(&twin, &bytes);
                open.push((twin, bytes));
            }
        }
    }
    Ok(search.twins)
}

impl Twins {
    /// Adds a disk whose `bytes` are those of the device, and its partitions that share some of them.
    fn add(&mut self, disk: &Device, bytes: &Range<u64>) {
        let shares = |part: &Device| {
            let part = part.bytes();
            part.start < bytes.end && bytes.start < part.end
        };
        self.devices.extend(disk.partitions().into_iter().filter(shares));
        let whole = disk.bytes();
        let is_all = bytes.start <= whole.start && whole.end <= bytes.end;
        if is_all { &mut self.devices } else { &mut self.around }.push(disk.clone());
    }
}

/// The search for other nodes. Each is a whole disk with the part of its bytes that are the device's.
struct Search<'a> {
    system: &'a System,
    is_own_image: bool,
    seen: BTreeSet<String>,
    twins: Twins,
}

impl Search<'_> {
    /// Nodes next to this one; the file behind it is added to the twins.
    fn nodes(
        &mut self,
        disk: &Device,
        bytes: &Range<u64>,
    ) -> io::Result<Vec<(Device, Range<u64>)>> {
        let paths = other_paths(self.system, disk).into_iter();
        let mut found: Vec<_> = paths.map(|path| (path, bytes.clone())).collect();
        let Some(behind) = behind_loop(self.system, disk)? else { return Ok(found) };
        let bytes = moved(bytes, behind.offset);
        let file = match behind.what {
            BehindLoop::File(id) if self.is_own_image => Some(BackingFile { id, path: None }),
            BehindLoop::File(id) => Some(BackingFile::find(self.system, id, &shown(disk))),
            BehindLoop::Device(number) => {
                found.extend(Device::by_number(self.system, number).map(|lower| {
                    let start = if lower.is_partition() { lower.bytes().start } else { 0 };
                    (lower.disk().unwrap_or(lower), moved(&bytes, start))
                }));
                None
            }
        };
        let is_loop = |name: &String| name.starts_with("loop") && !self.seen.contains(name);
        for name in sysfs::names(&self.system.sys.join("block")).into_iter().filter(is_loop) {
            let Some(other) = Device::by_name(self.system, &name) else { continue };
            let its = match behind_loop(self.system, &other) {
                Ok(Some(its)) => its,
                Ok(None) => continue,
                Err(error) if self.is_own_image && error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            let is_same = match (&file, its.what) {
                (Some(file), BehindLoop::File(id)) => self.is_file_of(file, &other, id)?,
                _ => its.what == behind.what,
            };
            let start = bytes.start.max(its.offset);
            let end = bytes.end.min(other.bytes().end.saturating_add(its.offset));
            if is_same && start < end {
                found.push((other, start - its.offset..end - its.offset));
            }
        }
        self.twins.files.extend(file);
        Ok(found)
    }

    /// True if the file behind another loop device is this one, by whatever identity.
    fn is_file_of(&self, file: &BackingFile, other: &Device, id: FileId) -> io::Result<bool> {
        if self.is_own_image || !file.may_be_also(id) {
            return Ok(file.id == id);
        }
        for _ in 0..LOOKS {
            let theirs = BackingFile::find(self.system, id, &shown(other));
            let path = theirs.path.as_deref();
            if let Some(answer) = path.and_then(|path| file.is_also(self.system, path, id)) {
                return Ok(answer);
            }
            // The owner of a nameless file may have closed it, and then the device is free in a moment.
            sleep(LOOK_AGAIN);
            let what = behind_loop(self.system, other)?.map(|behind| behind.what);
            if what != Some(BehindLoop::File(id)) {
                return Ok(false);
            }
        }
        let (name, shown) = (&other.name, shown(other));
        Err(io::Error::other(format!(
            "the file of {name} ({shown}) is out of sight, and may be the same file on another filesystem"
        )))
    }
}

/// Looks for the file of a loop device before it counts as out of sight.
const LOOKS: u32 = 10;
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// The same bytes with another beginning.
fn moved(bytes: &Range<u64>, by: u64) -> Range<u64> {
    bytes.start.saturating_add(by)..bytes.end.saturating_add(by)
}

/// Path of a loop device's file as the kernel shows it here.
fn shown(device: &Device) -> String {
    device.attribute("loop/backing_file").unwrap_or_default()
}

/// The place of a loop device's bytes; `None` for a free one, which is not even opened, and for other devices.
pub(crate) fn behind_loop(system: &System, device: &Device) -> io::Result<Option<Behind>> {
    let is_attached = || device.folder.join("loop/backing_file").exists();
    if !is_attached() {
        return Ok(None);
    }
    match system.nodes.behind_loop(&system.dev.join(&device.name)) {
        Err(_) if !is_attached() => Ok(None),
        Err(error) => {
            let text = format!("the file of {} cannot be asked for: {error}", device.name);
            Err(io::Error::new(error.kind(), text))
        }
        answer => answer,
    }
}

/// Other nodes of a disk: paths of multipath have one world-wide name, or one serial number.
fn other_paths(system: &System, disk: &Device) -> Vec<Device> {
    let names = |device: &Device| {
        let identity = Identity::read(system, device, None);
        let serial = identity.serial.clone().filter(|_| identity.usable_serial().is_some());
        (identity.size, identity.wwid.clone(), identity.model.clone().zip(serial))
    };
    let (size, wwid, serial) = names(disk);
    if wwid.is_none() && serial.is_none() {
        return Vec::new();
    }
    let is_same = |other: &Device| {
        let (its_size, its_wwid, its_serial) = names(other);
        let by_name = match (&wwid, &its_wwid) {
            (Some(one), Some(other)) => one == other,
            _ => serial.is_some() && serial == its_serial,
        };
        other.name != disk.name && its_size == size && by_name
    };
    let all = sysfs::names(&system.sys.join("block"));
    all.iter().filter_map(|name| Device::by_name(system, name)).filter(is_same).collect()
}

/// The device, and every device below it that holds its content: the disk of a partition, the
/// slaves of a mapped device, the device of a loop device's file.
pub(crate) fn below(system: &System, device: &Device, lines: &[MountLine]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open = vec![device.clone()];
    while let Some(next) = open.pop() {
        if !names.insert(next.name.clone()) {
            continue;
        }
        open.extend(next.disk());
        let slaves = sysfs::names(&next.folder.join("slaves"));
        open.extend(slaves.iter().filter_map(|name| Device::by_name(system, name)));
        if let Some(file) = next.attribute("loop/backing_file") {
            let path = PathBuf::from(file.trim_end_matches(" (deleted)"));
            match system.nodes.kind(&path) {
                Ok(NodeKind::Block(number)) => open.extend(Device::by_number(system, number)),
                Ok(NodeKind::Regular(number)) => open.extend(behind(system, number, lines)),
                _ => {}
            }
        }
    }
    names
}

/// The devices behind a filesystem, by the number that `stat` gives for it. btrfs invents one, so
/// its mount is asked for its source and its members.
pub(crate) fn behind(system: &System, number: DeviceNumber, lines: &[MountLine]) -> Vec<Device> {
    if let Some(device) = Device::by_number(system, number) {
        return vec![device];
    }
    let mut found: Vec<Device> = lines
        .iter()
        .filter(|line| line.number == number)
        .filter_map(|line| Device::by_path(system, &line.source))
        .collect();
    let members = btrfs_sets(system).into_iter().filter(|members| {
        members.iter().any(|member| found.iter().any(|device| device.name == *member))
    });
    let names: BTreeSet<String> = members.flatten().collect();
    found.extend(names.iter().filter_map(|name| Device::by_name(system, name)));
    found
}

/// Kernel names of the devices of every mounted btrfs.
pub(crate) fn btrfs_sets(system: &System) -> Vec<Vec<String>> {
    let folder = system.sys.join("fs/btrfs");
    sysfs::names(&folder)
        .into_iter()
        .map(|id| sysfs::names(&folder.join(id).join("devices")))
        .filter(|members| !members.is_empty())
        .collect()
}

/// Mounts of process 1 and of this process.
pub(crate) fn main_mounts(system: &System) -> Result<Vec<MountLine>> {
    let mut lines = mounts::of(&system.proc.join("1/mountinfo"))?;
    lines.extend(mounts::of_self(system)?);
    Ok(lines)
}
