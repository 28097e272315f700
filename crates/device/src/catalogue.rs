//! The device files that come with the program.

use std::collections::BTreeMap;

use crate::amount::bytes;
use crate::build::build;
use crate::error::DeviceError;
use crate::file::{DeviceFile, Parameters, load};
use crate::truth;
use crate::withheld;

#[cfg(test)]
mod tests;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../devices/", $name, ".toml")))),*]
    };
}

/// Name and text of every file, by name.
const FILES: [(&str, &str); 28] = files![
    "cf-duracell-300x", "cf-kingston-24x", "cf-lexar-233x", "cf-transcend-133x", "cloud-gp2-100gb",
    "cloud-gp3-100gb", "fixed", "hdd-8tb-5900-smr", "hdd-8tb-7200", "hdd-8tb-7200-no-cache",
    "ibm-ddys-t18350n", "ide-40gb-2005", "maxtor-6y080l0", "pata-200gb-7200", "ram",
    "sata-2tb-5400", "sata-2tb-7200", "sata-500gb-7200", "sd-card-4mib", "ssd-nvme-1920gb-plp",
    "ssd-nvme-3840gb-plp", "ssd-nvme-512gb", "ssd-sata-250gb", "ssd-sata-4tb-qlc",
    "ssd-sata-960gb-plp", "usb2-stick-128mb", "usb2-stick-512mb", "wd-raptor-wd740gd",
];

/// Every device that comes with the program, by the name that labs use.
///
/// # Errors
///
/// [`DeviceError`] when a file that was built in is wrong, which the tests rule out.
pub fn catalogue() -> Result<BTreeMap<String, DeviceFile>, DeviceError> {
    FILES.iter().map(|(_, text)| load(text).map(|file| (file.name().to_owned(), file))).collect()
}

/// The device of a lab's `model = "NAME"` or `model = "NAME@BUS"`, among these; `None` if the name is
/// unknown. A list after the name changes numbers of its file, for example to the bound of a range that
/// no source narrows, `model = "NAME@BUS,flash.open_units=1,flash.erase_us=1500"`, or switches a law off: `off=seek`.
///
/// # Errors
///
/// [`DeviceError::NoSuchBus`], [`DeviceError::NotAChange`], or what [`DeviceFile::with`] refuses.
pub fn find(
    devices: &BTreeMap<String, DeviceFile>,
    name: &str,
) -> Result<Option<DeviceFile>, DeviceError> {
    let mut words = name.split(',');
    let device = words.next().unwrap_or_default();
    let (plain, bus) = device.split_once('@').map_or((device, None), |(n, b)| (n, Some(b)));
    let Some(file) = devices.get(plain) else { return Ok(None) };
    let file = bus.map_or_else(|| Ok(file.clone()), |bus| file.on_bus(bus))?;
    let changed = words.try_fold(file, |file, word| match word.strip_prefix("off=") {
        Some(law) => file.without(law),
        None => file.changed(&word.parse()?),
    });
    changed.map(Some)
}

/// Devices as a table: name, kind, capacity, queue depth, title; a line each, ended by `\n`.
#[must_use]
pub fn table<'a>(files: impl Iterator<Item = &'a DeviceFile>) -> String {
    let rows: Vec<[String; 5]> =
        std::iter::once(["device", "kind", "size", "depth", "what it is"].map(str::to_owned))
            .chain(files.map(|file| {
                let geometry = build(file, 1).geometry();
                [
                    file.name().to_owned(),
                    kind(file.parameters()).to_owned(),
                    bytes(geometry.sectors_512 * 512),
                    geometry.queue_depth.to_string(),
                    file.title().to_owned(),
                ]
            }))
            .collect();
    let width =
        |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let [name, what, size, depth] = [0, 1, 2, 3].map(width);
    rows.iter()
        .map(|[a, b, c, d, e]| format!("{a:name$}  {b:what$}  {c:>size$}  {d:>depth$}  {e}\n"))
        .collect()
}

/// Capacity and limits of a device, its published figures next to the model's, and its values with their sources and
/// ranges; lines ended by `\n`.
#[must_use]
pub fn origins(file: &DeviceFile) -> String {
    let mut text = head(file) + &truth::lines(file);
    text.push_str(&withheld::lines(file.measurements(), file.withheld()));
    text.push_str("\nWhere the values come from\n");
    for (key, source) in file.sources() {
        text.push_str(&format!("  {key}: {source}\n"));
    }
    text.push_str("\nValues\n");
    for (key, value) in file.values() {
        let range = file.ranges().get(&key);
        let range = range.map_or_else(String::new, |[low, high]| format!(", {low} to {high}"));
        text.push_str(&format!("  {key}: {value}{range}\n"));
    }
    text
}

fn head(file: &DeviceFile) -> String {
    let geometry = build(file, 1).geometry();
    let mut text = format!("{}\n{}\n\n", file.name(), file.title());
    let mut line = |name: &str, value: String| {
        text.push_str(&format!("  {name:<16} {value}\n"));
    };
    line("capacity", bytes(geometry.sectors_512 * 512));
    line(
        "blocks",
        format!("{} logical, {} physical", geometry.logical_block, geometry.physical_block),
    );
    line("queue depth", geometry.queue_depth.to_string());
    line("longest request", bytes(geometry.max_request_bytes.into()));
    let cache = if geometry.write_cache { "write back" } else { "write through" };
    line("write cache", cache.to_owned());
    if let Some(bus) = file.bus() {
        let others: Vec<&str> =
            file.buses().iter().map(String::as_str).filter(|name| *name != bus.name).collect();
        let others =
            if others.is_empty() { String::new() } else { format!(" (or {})", others.join(", ")) };
        line("bus", format!("{}, {} MB/s{others}", bus.name, bus.mb_per_s));
    }
    text
}

fn kind(parameters: &Parameters) -> &'static str {
    match parameters {
        Parameters::Rotating(_) => "rotating disk",
        Parameters::Flash(_) => "simple flash",
        Parameters::Ssd(_) => "SSD",
        Parameters::Ram(_) => "RAM",
        Parameters::Fixed(_) => "fixed latency",
    }
}
