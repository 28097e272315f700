//! Tree of block devices in sysfs: partitions, and devices on top of others.

use crate::device::{Device, overlap};
use crate::error::Result;
use crate::identity::Identity;
use crate::mounts::{self, MountLine};
use crate::nodes::{BehindLoop, DeviceNumber, FileId, NodeKind};
use crate::sysfs::{self, System};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Other nodes of the same bytes, and the files that hold them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Twins {
    /// Devices that a write to this one changes.
    pub devices: Vec<Device>,
    /// Disks around them, whose use as a whole covers them.
    pub around: Vec<Device>,
    /// Files behind loop devices among them.
    pub files: Vec<FileId>,
}

/// Finds every other node of a device's bytes: another loop device over the same file, the device
/// under a loop device, another path to the same disk.
///
/// # Errors
/// When what is behind a loop device cannot be found out.
pub(crate) fn twins(system: &System, device: &Device) -> std::io::Result<Twins> {
    let mut twins = Twins::default();
    let whole = device.disk().unwrap_or_else(|| device.clone());
    let mut open = vec![whole.clone()];
    let mut seen = BTreeSet::from([whole.name.clone()]);
    while let Some(next) = open.pop() {
        let mut found = other_paths(system, &next);
        if let Some(behind) = behind_loop(system, &next)? {
            match behind {
                BehindLoop::Device(number) => found.extend(Device::by_number(system, number)),
                BehindLoop::File(file) => twins.files.push(file),
            }
            for name in sysfs::names(&system.sys.join("block")) {
                let other = Device::by_name(system, &name).filter(|_| name.starts_with("loop"));
                let Some(other) = other else { continue };
                if !seen.contains(&name) && behind_loop(system, &other)? == Some(behind) {
                    found.push(other);
                }
            }
        }
        for twin in found {
            if !seen.insert(twin.name.clone()) {
                continue;
            }
            match device.range().filter(|_| device.is_partition()) {
                // Other partitions of a twin are of no concern to a partition.
                Some(range) => {
                    let concerns =
                        |part: &Device| part.range().is_none_or(|other| overlap(range, other));
                    twins.devices.extend(twin.partitions().into_iter().filter(concerns));
                    twins.around.push(twin.clone());
                }
                None => twins.devices.extend(twin.with_parts()),
            }
            twins.around.extend(twin.disk());
            open.push(twin);
        }
    }
    Ok(twins)
}

fn behind_loop(system: &System, device: &Device) -> std::io::Result<Option<BehindLoop>> {
    // A free loop device is not even opened.
    if !device.folder.join("loop/backing_file").exists() {
        return Ok(None);
    }
    system.nodes.behind_loop(&system.dev.join(&device.name))
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
