//! Devices and journals: what they are made from, and the variants that lists of settings make.

use super::{Axis, Named, name_checked, name_or, narrow, shown, unique};
use crate::source::{Problem, Span};
use crate::tables::BACKINGS;
use crate::walk::Checked;
use seekwell_model::field::Value;
use seekwell_model::stack::{Backing, Device, DeviceSettings, Journal, WriteCache};
use seekwell_model::units::Bytes;
use std::path::PathBuf;

/// Most variants that the lists of one device's settings may make.
const MAX_VARIANTS: usize = 1000;

/// Size of the loop device of a lab that names no device.
const DEFAULT_DEVICE: Bytes = Bytes::gib(1);

/// The device axis, and the places of the sizes.
pub(super) fn devices(tables: &[Checked]) -> Result<(Axis<Device>, Vec<Option<Span>>), Problem> {
    if tables.is_empty() {
        let backing = Backing::Loop { size: DEFAULT_DEVICE, directory: None, sector: Bytes(512) };
        let settings = DeviceSettings::default();
        let name = "scratch".to_owned();
        let device = Device { base: name.clone(), name, backing, settings, price: None };
        return Ok((vec![Named { value: device, span: None }], vec![None]));
    }
    let (mut axis, mut sizes) = (Vec::new(), Vec::new());
    for table in tables {
        let Some((backing, kind)) = backing(table)? else {
            let message = "[[device]] does not say what the device is made from";
            let remedy = format!("write loop = \"1GiB\", or another of {}", BACKINGS.join(", "));
            return Err(Problem::new(table.span, message, remedy));
        };
        let name = name_or(table, || kind.to_owned())?;
        let price = narrow(table.values.integer("price"));
        for (suffix, settings) in variants(table, &backing)? {
            let full = if suffix.is_empty() {
                name.value.clone()
            } else {
                format!("{}[{suffix}]", name.value)
            };
            let (base, backing) = (name.value.clone(), backing.clone());
            let device = Device { name: full, backing, base, settings, price };
            axis.push(Named { value: device, span: name.span });
            sizes.push(size_place(table));
        }
    }
    unique("devices", axis.iter().map(|named| (named.value.name.as_str(), named.span)))?;
    Ok((axis, sizes))
}

/// The journal axis.
pub(super) fn journals(tables: &[Checked]) -> Result<Axis<Journal>, Problem> {
    if tables.is_empty() {
        return Ok(vec![Named { value: Journal::internal(), span: None }]);
    }
    let mut axis = Vec::new();
    for table in tables {
        let external = backing(table)?;
        let kind =
            external.as_ref().map_or("internal".to_owned(), |(_, kind)| format!("on-{kind}"));
        let name = name_or(table, || kind)?;
        let size = table.values.size("size");
        let span = table.place("size");
        if let Some(size) = size.filter(|size| !size.0.is_multiple_of(Bytes::mib(1).0)) {
            let message = format!("a journal of {size} is not a whole number of MiB");
            let whole = Bytes::mib(size.0.div_ceil(Bytes::mib(1).0));
            return Err(Problem::new(span, message, format!("write size = \"{whole}\"")));
        }
        let device = external.as_ref().and_then(|(backing, _)| backing.size());
        if let (Some(size), Some(device)) = (size, device.filter(|device| size > Some(*device))) {
            let message = format!("a journal of {size} does not fit its device of {device}");
            return Err(Problem::new(span, message, format!("write size = \"{device}\" or less")));
        }
        let data = table.values.choice("data");
        let external = external.map(|(backing, _)| backing);
        let value = Journal { name: name.value, external, size, data };
        axis.push(Named { value, span: name.span });
    }
    unique("journals", axis.iter().map(|named| (named.value.name.as_str(), named.span)))?;
    Ok(axis)
}

/// The origin of the device in a table, and the word for it.
pub(super) fn backing(table: &Checked) -> Result<Option<(Backing, &'static str)>, Problem> {
    let mut given = BACKINGS.into_iter().filter(|kind| table.has(kind));
    let Some(kind) = given.next() else { return Ok(None) };
    if let Some(second) = given.next() {
        let place = table.places.get(second).map(|place| place.key);
        let message = format!("a device is made from one thing, not from `{kind}` and `{second}`");
        let remedy = format!("keep one of them, or write a second table with {second}");
        return Err(Problem::new(place, message, remedy));
    }
    let Some(inner) = table.table(kind) else { return Ok(None) };
    let size = inner.values.size("size");
    let made = match kind {
        "loop" => Backing::Loop {
            size: image_size(inner)?,
            directory: directory(inner)?,
            sector: sector(inner)?,
        },
        "ram" => Backing::Ram { size: image_size(inner)?, sector: sector(inner)? },
        "disk" => Backing::Disk { path: stable_path(inner, true)? },
        "partition" => Backing::Partition { path: stable_path(inner, false)? },
        _ => {
            let name = inner.values.text("name").unwrap_or_default();
            let start = inner.values.size("start");
            if start.is_some() && size.is_none() {
                return Err(Problem::new(
                    inner.place("start"),
                    "a partition needs a size",
                    "write `size` too, for example size = \"4GiB\"",
                ));
            }
            Backing::Model { model: model_checked(name, inner.place("name"))?, size, start }
        }
    };
    Ok(Some((made, kind)))
}

/// The name of a modelled device, or the path of a device file: no label shows it, so it may have directories.
fn model_checked(name: &str, span: Option<Span>) -> Result<String, Problem> {
    let (directories, last) = name.rsplit_once('/').unwrap_or(("", name));
    if !last.contains(".toml") {
        return name_checked(name, span);
    }
    name_checked(&directories.replace('/', "-"), span)?;
    name_checked(last, span)?;
    Ok(name.to_owned())
}

fn image_size(table: &Checked) -> Result<Bytes, Problem> {
    let size = table.values.size("size").unwrap_or(DEFAULT_DEVICE);
    if size.0.is_multiple_of(4096) {
        return Ok(size);
    }
    let message = format!("an image of {size} does not end at a block of 4096 bytes");
    let whole = Bytes(size.0.next_multiple_of(4096));
    Err(Problem::new(table.place("size"), message, format!("make it \"{whole}\"")))
}

fn sector(table: &Checked) -> Result<Bytes, Problem> {
    match table.values.size("sector").unwrap_or(Bytes(512)) {
        sector @ (Bytes(512) | Bytes(4096)) => Ok(sector),
        sector => {
            let message = format!("disks have sectors of 512 or 4096 bytes, not of {sector}");
            Err(Problem::new(table.place("sector"), message, "write sector = 512 or sector = 4096"))
        }
    }
}

fn directory(table: &Checked) -> Result<Option<PathBuf>, Problem> {
    match table.values.text("directory") {
        Some(path) if !path.starts_with('/') => {
            let message =
                "the directory of an image is an absolute path: a lab may be run from anywhere";
            Err(Problem::new(table.place("directory"), message, "write directory = \"/…\""))
        }
        path => Ok(path.map(PathBuf::from)),
    }
}

/// Directories of links that name the same device after every boot and after every mkfs.
const STABLE_DISK: [&str; 2] = ["by-id", "by-path"];
const STABLE_PARTITION: [&str; 4] = ["by-id", "by-path", "by-partuuid", "by-partlabel"];

fn stable_path(table: &Checked, whole: bool) -> Result<PathBuf, Problem> {
    let path = table.values.text("path").unwrap_or_default();
    let place = table.place("path");
    let refuse = |message: String, remedy: &str| Err(Problem::new(place, message, remedy));
    let (key, stable): (_, &[&str]) =
        if whole { ("disk", &STABLE_DISK) } else { ("partition", &STABLE_PARTITION) };
    let rest = path.strip_prefix("/dev/disk/").and_then(|rest| rest.split_once('/'));
    let Some((directory, name)) = rest else {
        let message = format!(
            "\"{}\" may be another device after the next boot, and a trial formats what it names",
            crate::source::shorten(path, 60)
        );
        return refuse(message, "write the stable path of the device, see `ls -l /dev/disk/by-id`");
    };
    if matches!(directory, "by-uuid" | "by-label") {
        let message =
            format!("{directory} names a filesystem, and every mkfs gives it another name");
        return refuse(message, "write the path of the device below /dev/disk/by-id");
    }
    if !stable.contains(&directory) || name.is_empty() || name.contains('/') || name == ".." {
        let message = format!(
            "`{key}` takes a path directly below /dev/disk/{}",
            stable.join(", /dev/disk/")
        );
        return refuse(message, "write the stable path of the device, see `ls -l /dev/disk/by-id`");
    }
    let is_part = directory.starts_with("by-part") && directory != "by-path"
        || name.rsplit_once("-part").is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    if whole && is_part {
        return refuse(
            format!("\"{name}\" is a partition, not a whole disk"),
            "write partition = \"…\"",
        );
    }
    if !whole && !is_part {
        return refuse(
            format!("\"{name}\" is a whole disk, not a partition"),
            "write disk = \"…\", or add -partN",
        );
    }
    Ok(PathBuf::from(path))
}

/// All combinations of the lists of settings: what varies, and the settings.
fn variants(table: &Checked, backing: &Backing) -> Result<Vec<(String, DeviceSettings)>, Problem> {
    let Some(given) = table.table("settings") else {
        return Ok(vec![(String::new(), DeviceSettings::default())]);
    };
    let real = matches!(backing, Backing::Disk { .. } | Backing::Partition { .. });
    for name in ["apm", "hdparm"] {
        if given.has(name) && !real {
            let message =
                format!("`{name}` is a setting of a real disk, and this device is not one");
            return Err(Problem::new(given.place(name), message, format!("leave `{name}` out")));
        }
    }
    let hdparm = hdparm(given)?;
    let mut all = vec![(String::new(), DeviceSettings { hdparm, ..DeviceSettings::default() })];
    for (name, values) in &given.lists {
        if *name == "hdparm" {
            continue;
        }
        let varies = values.len() > 1;
        if all.len().saturating_mul(values.len()) > MAX_VARIANTS {
            let message = format!("the lists of settings make more than {MAX_VARIANTS} variants");
            return Err(Problem::new(given.place(name), message, "write shorter lists"));
        }
        let mut longer = Vec::with_capacity(all.len() * values.len());
        for (suffix, settings) in &all {
            for (value, _) in values {
                let mut settings = settings.clone();
                set(&mut settings, name, value);
                let comma = if suffix.is_empty() { "" } else { "," };
                let suffix = match varies {
                    true => format!("{suffix}{comma}{name}={}", shown(value)),
                    false => suffix.clone(),
                };
                longer.push((suffix, settings));
            }
        }
        all = longer;
    }
    Ok(all)
}

fn set(settings: &mut DeviceSettings, name: &str, value: &Value) {
    match (name, value) {
        ("write_cache", Value::Text(word)) => {
            let back = word == "write-back";
            settings.write_cache =
                Some(if back { WriteCache::WriteBack } else { WriteCache::WriteThrough });
        }
        ("rotational", Value::Bool(truth)) => settings.rotational = Some(*truth),
        (_, Value::Integer(number)) => {
            let number = *number;
            match name {
                "read_ahead_kb" => settings.read_ahead_kb = narrow(Some(number)),
                "max_sectors_kb" => settings.max_sectors_kb = narrow(Some(number)),
                "nr_requests" => settings.nr_requests = narrow(Some(number)),
                _ => settings.apm = u8::try_from(number).ok(),
            }
        }
        _ => {}
    }
}

/// Arguments of hdparm that set something which can be read back and restored. Others erase,
/// reflash or reset a disk.
fn hdparm(given: &Checked) -> Result<Vec<String>, Problem> {
    let allowed = |text: &str| {
        let mut letters = text.chars();
        letters.next() == Some('-')
            && letters.next().is_some_and(|letter| "AaBMQSW".contains(letter))
            && letters.clone().next().is_some()
            && letters.all(|c| c.is_ascii_digit())
    };
    if let Some((text, span)) = given.texts("hdparm").find(|(text, _)| !allowed(text)) {
        let message = format!(
            "\"{}\" is not a setting that can be read back and restored",
            crate::source::shorten(text, 40)
        );
        let remedy = "write one of -A -a -B -M -Q -S -W with its value, for example \"-M128\"";
        return Err(Problem::new(span, message, remedy));
    }
    Ok(given.values.list("hdparm"))
}

/// Place of a device's size, for what is wrong with it.
fn size_place(table: &Checked) -> Option<Span> {
    let inner = BACKINGS.into_iter().find_map(|kind| table.table(kind))?;
    inner.place("size")
}
