//! A block device to watch, found from its path without opening it.

use crate::block_events::DeviceNumber;
use crate::counters::stat_path;
use crate::error::ObserveError;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A disk or partition that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// Kernel name, for example `sda1`.
    pub kernel_name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// The disk's number: block events of a partition carry that.
    pub disk: DeviceNumber,
    /// First sector and number of sectors on the disk, in units of 512 bytes.
    pub sectors: (u64, u64),
    /// Model as the device names itself; `None` where it does not.
    pub model: Option<String>,
    /// Firmware revision; `None` where the device has none.
    pub firmware: Option<String>,
}

impl Watched {
    /// Finds the device of a path such as `/dev/sda`, of a link to it, or of a kernel name. The
    /// device itself is not opened. `root` is `/`, or a directory that holds `sys` for tests.
    ///
    /// # Errors
    /// When it is no block device, or the kernel does not count for it.
    pub fn find(root: &Path, device: &Path) -> Result<Self, ObserveError> {
        let name = kernel_name(root, device)?;
        let folder = stat_path(root, &name)?.with_file_name("");
        let number = |file: &str| {
            let text = std::fs::read_to_string(folder.join(file)).ok()?;
            text.trim().parse::<u64>().ok()
        };
        let size = number("size").ok_or_else(|| ObserveError::NoCounters {
            name: name.clone(),
            root: root.to_owned(),
        })?;
        let partition = folder.join("partition").exists();
        let disk_folder = match std::fs::canonicalize(&folder) {
            Ok(real) if partition => real.parent().unwrap_or(&real).to_owned(),
            _ => folder.clone(),
        };
        let disk_name = match partition {
            true => disk_folder.file_name().map(|name| name.to_string_lossy().into_owned()),
            false => None,
        };
        let word = |file: &str| {
            let text = std::fs::read_to_string(disk_folder.join("device").join(file)).ok()?;
            Some(text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        Ok(Self {
            disk: DeviceNumber::read(root, disk_name.as_deref().unwrap_or(&name))?,
            size_bytes: size.saturating_mul(512),
            sectors: (number("start").unwrap_or(0), size),
            model: word("model"),
            firmware: word("firmware_rev").or_else(|| word("rev")),
            kernel_name: name,
        })
    }

    /// Returns true if a sector of the disk belongs to the device. A flush without data belongs to all.
    #[must_use]
    pub fn holds(&self, sector: u64, sectors: u32) -> bool {
        let (first, count) = self.sectors;
        sectors == 0 || (sector >= first && sector - first < count)
    }
}

/// By the number of the device node, so that links and unusual folders are right; a bare name is
/// looked up as it is.
fn kernel_name(root: &Path, device: &Path) -> Result<String, ObserveError> {
    let text = device.to_string_lossy().into_owned();
    let bare = !text.contains('/');
    let path = if bare { PathBuf::from("/dev").join(device) } else { device.to_owned() };
    let unknown = || ObserveError::DeviceName(text.clone());
    match std::fs::metadata(&path) {
        Ok(facts) if facts.file_type().is_block_device() => {
            let number = facts.rdev();
            let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
            let link = root.join(format!("sys/dev/block/{major}:{minor}"));
            let real = std::fs::canonicalize(&link).map_err(ObserveError::io("find", &link))?;
            real.file_name().map(|name| name.to_string_lossy().into_owned()).ok_or_else(unknown)
        }
        _ if bare && stat_path(root, &text)?.exists() => Ok(text),
        Ok(_) => Err(unknown()),
        Err(source) => Err(ObserveError::io("find", path)(source)),
    }
}

#[cfg(test)]
mod tests;
