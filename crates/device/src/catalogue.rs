//! The device files that come with the program.

use std::collections::BTreeMap;

use crate::file::{DeviceError, DeviceFile, load};

#[cfg(test)]
mod tests;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../devices/", $name, ".toml")))),*]
    };
}

/// Name and text of every file, by name.
const FILES: [(&str, &str); 17] = files![
    "cf-duracell-300x",
    "cf-kingston-24x",
    "cf-lexar-233x",
    "cf-transcend-133x",
    "fixed",
    "ibm-ddys-t18350n",
    "ide-40gb-2005",
    "maxtor-6y080l0",
    "pata-200gb-7200",
    "ram",
    "sata-2tb-5400",
    "sd-card-4mib",
    "ssd-nvme-512gb",
    "ssd-sata-250gb",
    "usb2-stick-128mb",
    "usb2-stick-512mb",
    "wd-raptor-wd740gd",
];

/// Every device that comes with the program, by the name that labs use.
///
/// # Errors
///
/// [`DeviceError`] when a file that was built in is wrong, which the tests rule out.
pub fn catalogue() -> Result<BTreeMap<String, DeviceFile>, DeviceError> {
    FILES.iter().map(|(_, text)| load(text).map(|file| (file.name().to_owned(), file))).collect()
}

/// The device of a lab's `model = "NAME"` or `model = "NAME@BUS"`, among these; `None` when there is none
/// of that name.
///
/// # Errors
///
/// [`DeviceError::NoSuchBus`].
pub fn find(
    devices: &BTreeMap<String, DeviceFile>,
    name: &str,
) -> Result<Option<DeviceFile>, DeviceError> {
    match (devices.get(name), name.split_once('@')) {
        (Some(file), _) => Ok(Some(file.clone())),
        (None, Some((name, bus))) => devices.get(name).map(|file| file.on_bus(bus)).transpose(),
        (None, None) => Ok(None),
    }
}
