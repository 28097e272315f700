//! A block device in sysfs: its number, its attributes, its partitions and the disk around it.

use crate::nodes::{DeviceNumber, NodeKind};
use crate::sysfs::{self, System};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// One block device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Device {
    pub name: String,
    pub number: DeviceNumber,
    pub folder: PathBuf,
}

impl Device {
    /// By number.
    pub(crate) fn by_number(system: &System, number: DeviceNumber) -> Option<Self> {
        let link = system.sys.join("dev/block").join(number.to_string());
        let folder = fs::canonicalize(link).ok()?;
        let name = folder.file_name()?.to_str()?.to_owned();
        Some(Self { name, number, folder })
    }

    /// By its folder and name.
    fn in_folder(folder: PathBuf, name: String) -> Option<Self> {
        let number = DeviceNumber::parse(&sysfs::read_optional(&folder.join("dev"))?)?;
        Some(Self { name, number, folder })
    }

    /// By kernel name.
    pub(crate) fn by_name(system: &System, name: &str) -> Option<Self> {
        let folder = fs::canonicalize(system.block(name)).ok()?;
        Self::in_folder(folder, name.to_owned())
    }

    /// By a path to its node.
    pub(crate) fn by_path(system: &System, path: &Path) -> Option<Self> {
        match system.nodes.kind(path) {
            Ok(NodeKind::Block(number)) => Self::by_number(system, number),
            _ => None,
        }
    }

    pub(crate) fn attribute(&self, name: &str) -> Option<String> {
        sysfs::read_optional(&self.folder.join(name))
    }

    /// An attribute that is a number.
    pub(crate) fn numeric(&self, name: &str) -> Option<u64> {
        self.attribute(name)?.parse().ok()
    }

    pub(crate) fn is_partition(&self) -> bool {
        self.folder.join("partition").exists()
    }

    /// The disk that a partition is cut from.
    pub(crate) fn disk(&self) -> Option<Self> {
        if !self.is_partition() {
            return None;
        }
        let folder = self.folder.parent()?.to_owned();
        let name = folder.file_name()?.to_str()?.to_owned();
        Self::in_folder(folder, name)
    }

    /// Partitions of a disk.
    pub(crate) fn partitions(&self) -> Vec<Self> {
        sysfs::names(&self.folder)
            .into_iter()
            .filter_map(|name| {
                let folder = self.folder.join(&name);
                folder.join("partition").exists().then(|| Self::in_folder(folder, name))?
            })
            .collect()
    }

    /// The bytes that it covers, of the disk for a partition. Sizes that cannot be read are without end.
    pub(crate) fn bytes(&self) -> Range<u64> {
        if self.is_partition() {
            return self.range().map_or(0..u64::MAX, |(start, size)| {
                start.saturating_mul(512)..start.saturating_add(size).saturating_mul(512)
            });
        }
        0..self.numeric("size").map_or(u64::MAX, |sectors| sectors.saturating_mul(512))
    }

    /// First sector and number of sectors, 512 bytes each, on the disk.
    pub(crate) fn range(&self) -> Option<(u64, u64)> {
        Some((self.numeric("start")?, self.numeric("size")?))
    }

    /// Partitions of the same disk that share sectors with this one: an extended partition holds
    /// the logical ones, and tables may be broken.
    fn overlapping(&self) -> Vec<Self> {
        let (Some(disk), Some((start, size))) = (self.disk(), self.range()) else {
            return Vec::new();
        };
        let shares = |other: &Self| {
            other.name != self.name
                && other.range().is_some_and(|range| overlap((start, size), range))
        };
        disk.partitions().into_iter().filter(shares).collect()
    }

    /// The device and all of its parts: what a write to it can destroy.
    pub(crate) fn with_parts(&self) -> Vec<Self> {
        let mut parts = vec![self.clone()];
        parts.extend(self.partitions());
        parts.extend(self.overlapping());
        parts
    }

    /// The same and the disk around a partition, whose use as a whole covers the partition.
    pub(crate) fn concerned(&self) -> Vec<Self> {
        let mut devices = self.with_parts();
        devices.extend(self.disk());
        devices
    }

    /// Names of layers that hold it (`holders`).
    pub(crate) fn holders(&self) -> Vec<String> {
        sysfs::names(&self.folder.join("holders"))
    }
}

/// Returns true if two ranges, each a first sector and a length, share a sector.
fn overlap((start, size): (u64, u64), (first, count): (u64, u64)) -> bool {
    first < start.saturating_add(size) && start < first.saturating_add(count)
}
