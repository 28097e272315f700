//! A probed file compared with the file of its device, where that is known: quantity by quantity.

use seekwell_device::file::{DeviceFile, Parameters};
use seekwell_device::fixed::FixedParameters;
use seekwell_device::rotating::RotatingParameters;
use seekwell_device::ssd::SsdParameters;

/// Each distance of the seek curve is so many times the one before.
const FACTOR: f64 = 1.45;

/// A quantity of both files.
#[derive(Clone, Debug, PartialEq)]
pub struct Nearness {
    /// Name for people.
    pub name: &'static str,
    /// Its value in the device's file; `None` when only the distance is a number.
    pub truth: Option<f64>,
    /// Its value in the probed file; of a range its ends.
    pub found: Option<[f64; 2]>,
    /// Distance, in `unit`, of a range that of its farther end; `None` where only the values tell.
    pub off: Option<f64>,
    /// Unit of the distance.
    pub unit: &'static str,
}

/// Compares what the probe finds with what the file says. Empty when the files are of different kinds, or of a kind that is
/// not probed.
#[must_use]
pub fn nearness(truth: &DeviceFile, found: &DeviceFile) -> Vec<Nearness> {
    let [true_parameters, parameters] = [truth.parameters(), found.parameters()];
    match (true_parameters, parameters) {
        (Parameters::Rotating(one), Parameters::Rotating(other)) => {
            rotating(truth, found, [one, other]).unwrap_or_default()
        }
        (Parameters::Flash(one), Parameters::Flash(other)) => vec![
            counted(found, "erase unit (KiB)", "flash.unit_kib", [one.unit_kib, other.unit_kib]),
            counted(found, "open units", "flash.open_units", [one.open_units, other.open_units]),
            counted(found, "page (bytes)", "flash.page_bytes", [one.page_bytes, other.page_bytes]),
        ],
        (Parameters::Ssd(one), Parameters::Ssd(other)) => {
            let block = |p: &SsdParameters| p.page_kib * p.pages_per_block * p.planes;
            let dies = |p: &SsdParameters| p.channels * p.dies_per_channel;
            let buffers = [one.buffer_kib, other.buffer_kib];
            vec![
                erase_block(found, block(one), block(other), other.pages_per_block),
                counted(found, "dies", "ssd.dies_per_channel", [dies(one), dies(other)]),
                counted(found, "buffer (KiB)", "ssd.buffer_kib", buffers),
            ]
        }
        (Parameters::Fixed(one), Parameters::Fixed(other)) => volumes(found, [one, other]),
        _ => Vec::new(),
    }
}

fn volumes(found: &DeviceFile, [one, other]: [&FixedParameters; 2]) -> Vec<Nearness> {
    let range = |key: &str, value: f64| found.ranges().get(key).copied().unwrap_or([value; 2]);
    let near = |name, key, of: fn(&FixedParameters) -> Option<f64>| {
        Some(part(name, of(one)?, range(key, of(other)?)))
    };
    let all = [
        near("latency (us)", "fixed.read_latency_us", |fixed| Some(fixed.read_latency_us)),
        near("requests a second", "fixed.limit.per_second", |fixed| {
            fixed.limit.as_ref().map(|limit| limit.burst_per_second.unwrap_or(limit.per_second))
        }),
        near("limit of bytes (MB/s)", "fixed.limit.mb_per_s", |fixed| {
            fixed.limit.as_ref().and_then(|limit| limit.mb_per_s)
        }),
    ];
    all.into_iter().flatten().collect()
}

/// A number, and its distance as a part of it.
fn counted(found: &DeviceFile, name: &'static str, key: &str, [one, other]: [u32; 2]) -> Nearness {
    let other = f64::from(other);
    let range = found.ranges().get(key).copied().unwrap_or([other, other]);
    part(name, f64::from(one), range)
}

/// A block of all planes in KiB; the range of the file is in pages.
fn erase_block(found: &DeviceFile, truth: u32, kib: u32, pages: u32) -> Nearness {
    let key = "ssd.pages_per_block";
    let kib_per_page = f64::from(kib) / f64::from(pages.max(1));
    let range = found.ranges().get(key).copied().unwrap_or([f64::from(pages); 2]);
    part("erase block (KiB)", f64::from(truth), range.map(|pages| pages * kib_per_page))
}

fn part(name: &'static str, truth: f64, found: [f64; 2]) -> Nearness {
    let ends = found.map(|end| (end / truth - 1.0) * 100.0);
    let farther = ends.into_iter().max_by(|one, other| one.abs().total_cmp(&other.abs()));
    let off = farther.filter(|_| truth > 0.0);
    Nearness { name, truth: Some(truth), found: Some(found), off, unit: "%" }
}

fn rotating(
    truth: &DeviceFile,
    found: &DeviceFile,
    [one, other]: [&RotatingParameters; 2],
) -> Option<Vec<Nearness>> {
    let count = |name, key, values| counted(found, name, key, values);
    let mut all = vec![
        part("rotation (rpm)", one.rpm, [other.rpm; 2]),
        count("heads", "rotating.heads", [one.heads, other.heads]),
        seeks(truth, found)?,
        zones(truth, found)?,
        tracks(truth, found)?,
    ];
    let (one_buffer, buffer) = (&one.buffer, &other.buffer);
    let ahead = [one_buffer.read_ahead_kib, buffer.read_ahead_kib];
    all.push(count("read-ahead (KiB)", "rotating.buffer.read_ahead_kib", ahead));
    let segments = [one_buffer.read_segments, buffer.read_segments];
    all.push(count("read segments", "rotating.buffer.read_segments", segments));
    if one_buffer.write_back && buffer.write_back {
        let sizes = [one_buffer.write_kib, buffer.write_kib];
        all.push(count("write cache (KiB)", "rotating.buffer.write_kib", sizes));
    }
    let windows = one.reorder_window.zip(other.reorder_window);
    all.extend(windows.map(|(one, other)| {
        count("reads that are sorted", "rotating.reorder_window", [one, other])
    }));
    Some(all)
}

/// Root mean square distance of the seek curves. The next cylinder is left out: its skew hides it.
fn seeks(truth: &DeviceFile, found: &DeviceFile) -> Option<Nearness> {
    let disks = [truth.mechanics()?, found.mechanics()?];
    let cylinders = disks.each_ref().map(|disk| {
        let last = disk.layout.zones().last();
        last.map_or(0, |zone| zone.first_cylinder + zone.cylinders)
    });
    let most = cylinders[0].min(cylinders[1]);
    let (mut squares, mut count, mut distance) = (0.0, 0_u32, 2_u32);
    while distance < most {
        let [truth, found] =
            disks.each_ref().map(|disk| (disk.seek.ns(distance) + disk.read_settle_ns) as f64);
        squares += (found - truth).powi(2);
        count += 1;
        distance = (f64::from(distance) * FACTOR).ceil() as u32;
    }
    let off = (count > 0).then(|| (squares / f64::from(count)).sqrt() / 1e6);
    Some(Nearness { name: "seek curve, rms", truth: None, found: None, off, unit: "ms" })
}

/// Largest distance of the end of a zone from the nearest one found, as a part of the capacity.
fn zones(truth: &DeviceFile, found: &DeviceFile) -> Option<Nearness> {
    let (disk, found) = (truth.mechanics()?, found.mechanics()?);
    let sectors = truth.presented().sectors;
    let far = |first_lba: u64| {
        let distances = found.layout.zones().iter().map(|zone| zone.first_lba.abs_diff(first_lba));
        distances.min().unwrap_or(sectors)
    };
    let zones = disk.layout.zones();
    let most = zones.iter().map(|zone| far(zone.first_lba)).max().unwrap_or(0);
    let count = found.layout.zones().len() as f64;
    Some(Nearness {
        name: "zones, farthest end",
        truth: Some(zones.len() as f64),
        found: Some([count, count]),
        off: Some(most as f64 / sectors as f64 * 100.0),
        unit: "% of LBA",
    })
}

/// Largest difference of the length of a track, in the middle of each zone.
fn tracks(truth: &DeviceFile, found: &DeviceFile) -> Option<Nearness> {
    let (truth, found) = (truth.mechanics()?, found.mechanics()?);
    let at = |lba: u64| {
        let zone = found.layout.zones().iter().rfind(|zone| zone.first_lba <= lba);
        zone.map_or(0.0, |zone| f64::from(zone.sectors_per_track))
    };
    let off = truth.layout.zones().iter().map(|zone| {
        let length = f64::from(zone.sectors_per_track);
        (at(zone.first_lba + zone.sectors / 2) / length - 1.0).abs() * 100.0
    });
    let off = Some(off.fold(0.0, f64::max));
    Some(Nearness { name: "sectors per track, farthest", truth: None, found: None, off, unit: "%" })
}
