//! Identity of a block device beyond its name: names change from boot to boot.

use crate::device::Device;
use crate::nodes::Probe;
use crate::sysfs::{self, System};
use seekwell_model::units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Identity of a block device. Two looks at the same device give equal values as long as it stays
/// plugged in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Name in sysfs, for example `sdb` or `sdb1`.
    pub kernel_name: String,
    /// `MAJOR:MINOR`.
    pub number: String,
    /// Size.
    pub size: Bytes,
    /// Model of the disk.
    pub model: Option<String>,
    /// Serial number of the disk.
    pub serial: Option<String>,
    /// Firmware revision of the disk.
    pub firmware: Option<String>,
    /// World-wide name of the disk.
    pub wwid: Option<String>,
    /// Number of the partition and its first sector of 512 bytes; `None` for a whole disk.
    pub partition: Option<(u32, u64)>,
    /// True when the medium may be another one tomorrow though the drive is the same: a card reader, a
    /// dock, anything on USB. A claim of an older release that does not say so counts as so.
    #[serde(default = "unknown_is_changeable")]
    pub changeable: bool,
    /// Number that the kernel gave to this disk when it appeared; never given twice in one boot.
    pub diskseq: Option<u64>,
}

fn unknown_is_changeable() -> bool {
    true
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.model.as_deref().unwrap_or("a device without a model name"))?;
        match &self.serial {
            Some(serial) => write!(formatter, ", serial {serial}")?,
            None => write!(formatter, " and without a serial number")?,
        }
        write!(formatter, ", {} sectors, {}", self.sectors(), self.kernel_name)
    }
}

impl Identity {
    /// Size in sectors of 512 bytes.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        self.size.0 / 512
    }

    /// Text that tells this device, plugged in as it is now, from every other: for comparing two looks
    /// within one run.
    #[must_use]
    pub fn bond(&self) -> String {
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let seq = self.diskseq.map(|number| number.to_string());
        let part = self.partition.map(|(index, start)| format!("{index} at {start}"));
        format!(
            "{self} ({}, disk {}, wwid '{}', partition '{}')",
            self.number,
            text(&seq),
            text(&self.wwid),
            text(&part)
        )
    }

    /// Name of the disk that every machine sees it under: its world-wide name, else model and serial number. `None` for
    /// a disk that has neither. That of a partition is the name of its disk.
    #[must_use]
    pub fn name_everywhere(&self) -> Option<String> {
        let of_model = || {
            let serial = self.usable_serial()?;
            Some(format!("{} {serial}", self.model.as_deref().unwrap_or("disk")))
        };
        self.wwid.clone().or_else(of_model)
    }

    /// Serial number that tells the disk from others. Some disks report blanks or zeros.
    pub(crate) fn usable_serial(&self) -> Option<&str> {
        let serial = self.serial.as_deref()?;
        serial.chars().any(|c| c.is_ascii_alphanumeric() && c != '0').then_some(serial)
    }

    /// A serial number that belongs to what would be destroyed. That of a card reader or a dock belongs
    /// to the reader: another card in it would come under the claim of the first.
    pub(crate) fn lasting_serial(&self) -> Option<&str> {
        if self.changeable { None } else { self.usable_serial() }
    }

    /// The part of the identity that stays when a device is plugged in elsewhere; without a serial
    /// number, what stays the same while it stays plugged in.
    pub(crate) fn key(&self) -> String {
        let part = self
            .partition
            .map_or_else(String::new, |(index, start)| format!(" partition {index} at {start}"));
        let disk = match self.lasting_serial() {
            Some(serial) => format!("{} {serial}", self.model.as_deref().unwrap_or("disk")),
            None => format!(
                "{} {} seq {}",
                self.kernel_name,
                self.number,
                self.diskseq.map_or_else(|| "unknown".to_owned(), |number| number.to_string())
            ),
        };
        format!("{disk}{part} of {} sectors", self.sectors())
    }

    pub(crate) fn read(system: &System, device: &Device, probe: Option<&Probe>) -> Self {
        let disk = device.disk();
        let whole = disk.as_ref().unwrap_or(device);
        let sectors = device.numeric("size");
        let size = probe.map(|probe| probe.size_bytes).or_else(|| Some(sectors? * 512));
        let text = |names: &[&str]| {
            let found = names.iter().filter_map(|name| whole.attribute(name));
            found.map(|text| text.trim().to_owned()).find(|text| !text.is_empty())
        };
        Self {
            kernel_name: device.name.clone(),
            number: device.number.to_string(),
            size: Bytes(size.unwrap_or_default()),
            model: text(&["device/model", "device/name"])
                .or_else(|| from_udev(system, whole, "ID_MODEL")),
            serial: text(&["device/serial", "serial"])
                .or_else(|| vital_product_serial(&whole.folder))
                .or_else(|| from_udev(system, whole, "ID_SERIAL_SHORT")),
            firmware: text(&["device/firmware_rev", "device/rev", "device/fwrev"])
                .or_else(|| from_udev(system, whole, "ID_REVISION")),
            // Paths to one disk that multipath joins have its world-wide name in their UUID.
            wwid: text(&["wwid", "device/wwid", "dm/uuid"])
                .or_else(|| from_udev(system, whole, "ID_WWN")),
            partition: device
                .numeric("partition")
                .and_then(|index| Some((u32::try_from(index).ok()?, device.numeric("start")?))),
            changeable: is_changeable(whole),
            diskseq: probe.and_then(|probe| probe.diskseq).or(whole.numeric("diskseq")),
        }
    }
}

/// The kernel's `removable` speaks of the medium; docks and many readers on USB say 0 all the same.
fn is_changeable(disk: &Device) -> bool {
    let folder = fs::canonicalize(&disk.folder).unwrap_or_else(|_| disk.folder.clone());
    let on_usb = folder.iter().any(|part| part.to_string_lossy().starts_with("usb"));
    on_usb || disk.attribute("removable").is_some_and(|text| text != "0")
}

/// SCSI and SATA disks have their serial number in page 0x80 of their vital product data: four
/// bytes of header, then text.
fn vital_product_serial(folder: &Path) -> Option<String> {
    let page = fs::read(folder.join("device/vpd_pg80")).ok()?;
    let text = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
    (!text.is_empty()).then_some(text)
}

/// A property in udev's database.
fn from_udev(system: &System, device: &Device, key: &str) -> Option<String> {
    let file = system.run.join("udev/data").join(format!("b{}", device.number));
    let text = sysfs::read_optional(&file)?;
    let property = |line: &str| {
        Some(line.strip_prefix("E:")?.strip_prefix(key)?.strip_prefix('=')?.to_owned())
    };
    text.lines().find_map(property).filter(|value| !value.is_empty())
}

/// A path that names the same device after a reboot: `/dev/disk/by-id` before `by-path`; `None` when
/// udev made no such link.
pub(crate) fn stable_path(system: &System, node: &Path) -> Option<PathBuf> {
    ["disk/by-id", "disk/by-path"].iter().find_map(|folder| {
        let folder = system.dev.join(folder);
        let leads_there = |name: &String| {
            system.nodes.canonical(&folder.join(name)).is_ok_and(|target| target == node)
        };
        // wwn- and nvme-eui names are stable too, but say nothing to people.
        let mut names: Vec<String> =
            sysfs::names(&folder).into_iter().filter(leads_there).collect();
        names.sort_by_key(|name| (name.starts_with("wwn-") || name.contains("eui."), name.clone()));
        names.first().map(|name| folder.join(name))
    })
}
