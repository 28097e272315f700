//! A device drawn as text: what its model does with a few plain loads.
//!
//! Every figure is measured on the model itself, so a drawing also shows what the parameters do together.

use std::fmt::Write as _;

use crate::amount::bytes;
use crate::build::build;
use crate::bus::Link;
use crate::file::{DeviceFile, Parameters};
use crate::model::Operation;
use crate::published::Figure;
use crate::rotating::RotatingParameters;
use crate::ssd::SsdParameters;

mod plot;
mod trial;

#[cfg(test)]
mod tests;

use plot::{plot, table};
pub use trial::{Found, Load, Places, Trial};
pub(crate) use trial::{Stream, stream};

/// Draws a device: what it presents, where its data moves how fast, how long requests take by size and depth, and how
/// writes slow down.
///
/// At most 80 columns below the title, lines ended by `\n`. Takes from some milliseconds to about a second.
#[must_use]
pub fn draw(file: &DeviceFile) -> String {
    let mut text = head(file);
    let (shown, remark) = showable(file);
    if let Parameters::Rotating(parameters) = file.parameters() {
        text.push_str(&seek_curve(file, parameters));
        text.push_str(&bandwidth(file));
    }
    text.push_str(&latencies(&shown, &remark));
    text.push_str(tail(file));
    match file.parameters() {
        Parameters::Rotating(_) => text.push_str(&burst(file)),
        Parameters::Flash(_) => {
            text.push_str(&places(file));
            text.push_str(&areas(file));
        }
        Parameters::Ssd(_) => text.push_str(&cliff(&shown, &remark)),
        Parameters::Ram(_) | Parameters::Fixed(_) => {}
    }
    text
}

fn head(file: &DeviceFile) -> String {
    let geometry = build(file, 1).geometry();
    let mut text = format!("{}\n{}\n\n", file.name(), file.title());
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<16} {value}");
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
    match file.ranges().len() {
        0 => {}
        1 => line("uncertain", "1 value has a range".to_owned()),
        count => line("uncertain", format!("{count} values have a range")),
    }
    text
}

/// The device as it is drawn, and what was changed for that: a solid-state disk is made smaller, so that it can be
/// overwritten, and filled, so that reads find data.
#[must_use]
pub fn showable(file: &DeviceFile) -> (DeviceFile, String) {
    let Parameters::Ssd(parameters) = file.parameters() else {
        return (file.clone(), String::new());
    };
    let mut small = file.clone();
    let shrunk = shrink(parameters, file.presented.sectors);
    small.presented.sectors = shrunk.1;
    let remark = format!(", filled, at {} of capacity", bytes(shrunk.1 * 512));
    small.parameters = Parameters::Ssd(Box::new(shrunk.0));
    (small, remark)
}

/// The same disk with fewer pages to a block and fewer blocks to a die, its cache smaller by as much.
///
/// What would weigh more in the small disk is scaled: erasing costs as much for each page, and the reserve of a die comes
/// on top of the additional cells. With 11.5 % of them, random writes are then amplified 4.9 times in a die of 50
/// blocks of 64 units as in one of 1000, and 5.2 times in one of 1000 blocks of 256 units.
fn shrink(parameters: &SsdParameters, sectors: u64) -> (SsdParameters, u64) {
    let mut small = parameters.clone();
    small.prefilled = true;
    small.preconditioned = 0.0;
    // Blocks of fewer units hold less valid data when they are collected.
    let stripe_units = parameters.page_kib / parameters.unit_kib * parameters.planes;
    // As many of each kind.
    let kinds = u32::try_from(parameters.read_more_us.len()).unwrap_or(1).max(1);
    let fewer = (64 / stripe_units).max(4);
    small.pages_per_block = parameters.pages_per_block.min(fewer - fewer % kinds.min(fewer));
    small.erase_us *= f64::from(small.pages_per_block) / f64::from(parameters.pages_per_block);
    let block_kib = parameters.page_kib * parameters.planes * small.pages_per_block;
    let dies = parameters.channels * parameters.dies_per_channel;
    let blocks = u64::from(800 / dies).clamp(50, 200);
    let wanted = blocks * u64::from(dies) * u64::from(block_kib) * 2;
    let fewer = wanted.min(sectors) / 128 * 128;
    if let Some(slc) = &mut small.slc {
        let part = fewer as f64 / sectors as f64;
        slc.mib = ((f64::from(slc.mib) * part).round() as u32).max(1);
    }
    let cells = blocks as f64 * (1.0 + parameters.over_provisioning);
    let whole = (cells + f64::from(parameters.reserve_blocks)).round();
    small.over_provisioning = whole / blocks as f64 - 1.0 - 1e-9;
    if small.shape(fewer).is_ok() { (small, fewer) } else { (parameters.clone(), sectors) }
}

fn seek_curve(file: &DeviceFile, parameters: &RotatingParameters) -> String {
    let Ok(mechanics) = parameters.mechanics(file.presented.sectors, 0, Link::new(file.bus()))
    else {
        return String::new();
    };
    let cylinders = mechanics.layout.cylinders();
    let steps = 60;
    let distance = |step: u32| (u64::from(cylinders - 1) * u64::from(step) / steps).max(1) as u32;
    let points: Vec<(f64, f64)> = (0..=60)
        .map(|step| (f64::from(distance(step)), mechanics.seek.ns(distance(step)) as f64 / 1e6))
        .collect();
    let turn = mechanics.layout.turn_ns as f64 / 1e6;
    let title = format!("seek time (a turn takes {turn:.2} ms)");
    plot(&title, &points, "cylinders crossed", "ms")
}

fn bandwidth(file: &DeviceFile) -> String {
    let sectors = file.presented.sectors;
    let points: Vec<(f64, f64)> = (0..48)
        .filter_map(|step| {
            let lba = sectors / 48 * step;
            let (operation, size) = (Operation::Read, 128 << 10);
            let load = Stream { operation, lba, bytes: 8 << 20, size, depth: 1 };
            let mb_per_s = stream(&mut *build(file, 1), load)?;
            Some((lba as f64 * 512.0 / 1e9, mb_per_s))
        })
        .collect();
    plot("sequential reading", &points, "place in GB", "MB/s")
}

/// Mean latency of random reads by size and depth.
fn latencies(file: &DeviceFile, remark: &str) -> String {
    let geometry = build(file, 1).geometry();
    let depths: Vec<u32> =
        [1, 2, 4, 8, 16, 32].into_iter().filter(|depth| *depth <= geometry.queue_depth).collect();
    let sizes = [512, 4096, 16_384, 65_536, 131_072, 1 << 20];
    let fits = |size: &u32| *size >= geometry.logical_block && *size <= geometry.max_request_bytes;
    let mut rows = vec![vec!["size".to_owned()]];
    rows[0].extend(depths.iter().map(|depth| format!("depth {depth}")));
    for size in sizes.into_iter().filter(fits) {
        let mut row = vec![bytes(size.into())];
        for depth in &depths {
            let mut trial = Trial::new(build(file, 1));
            let load = Load { operation: Operation::Read, bytes: size, depth: *depth, count: 150 };
            let found = trial.run(load, Places::Random { sectors: geometry.sectors_512 });
            row.push(
                found.map_or_else(|| "-".to_owned(), |found| format!("{:.3}", found.mean_ms())),
            );
        }
        rows.push(row);
    }
    table(&format!("random reads: mean latency in ms{remark}"), &rows)
}

/// Limit of the latencies above for devices whose model has no tail, because no source tells of one.
fn tail(file: &DeviceFile) -> &'static str {
    let is_alike = match file.parameters() {
        Parameters::Ssd(parameters) => parameters.read_more_us.is_empty(),
        Parameters::Flash(_) | Parameters::Fixed(_) => true,
        Parameters::Rotating(_) | Parameters::Ram(_) => false,
    };
    let has_figure = file.published().iter().any(|row| row.figure == Figure::ReadLatency);
    match is_alike && !has_figure {
        true => {
            "\n  No source has percentiles of this device's reads. In its model all reads of\n  \
             one size take the same time when nothing else runs, so that the 99th\n  \
             percentile is near the median.\n"
        }
        false => "",
    }
}

/// Random writes into the buffer of a disk until it is full, and after.
fn burst(file: &DeviceFile) -> String {
    let mut trial = Trial::new(build(file, 1));
    let sectors = trial.geometry().sectors_512;
    let block = trial.geometry().physical_block;
    let mut points = Vec::new();
    let mut written = 0;
    for _ in 0..60 {
        let load =
            Load { operation: Operation::Write, bytes: block.max(4096), depth: 1, count: 100 };
        let Some(found) = trial.run(load, Places::Random { sectors }) else { break };
        written += 100;
        points.push((f64::from(written), found.per_second()));
    }
    let title = "write cliff: random 4 KiB writes, one at a time";
    plot(title, &points, "random writes so far", "IOPS")
}

/// Sequential writes to several places in turn: how many may be open at once.
fn places(file: &DeviceFile) -> String {
    let mut rows = vec![vec!["places".to_owned(), "MB/s".to_owned()]];
    for count in [1, 2, 3, 4, 6, 8, 12, 16] {
        let mut trial = Trial::new(build(file, 1));
        let geometry = trial.geometry();
        let size = geometry.max_request_bytes.min(32_768);
        let load = Load { operation: Operation::Write, bytes: size, depth: 1, count: 400 };
        let apart = geometry.sectors_512 / u64::from(count) / 128 * 128;
        let Some(found) = trial.run(load, Places::InTurn { count, apart }) else { break };
        rows.push(vec![count.to_string(), format!("{:.2}", found.mb_per_s())]);
    }
    table("write cliff: sequential 32 KiB writes to several places in turn", &rows)
}

/// Random small writes within areas of growing size.
fn areas(file: &DeviceFile) -> String {
    let mut rows = vec![vec!["area".to_owned(), "IOPS".to_owned(), "mean ms".to_owned()]];
    let capacity = file.presented.sectors * 512;
    let sizes = [256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20, 256 << 20, capacity];
    for area in sizes.into_iter().filter(|area| *area <= capacity) {
        let mut trial = Trial::new(build(file, 1));
        let load = Load { operation: Operation::Write, bytes: 4096, depth: 1, count: 400 };
        let Some(found) = trial.run(load, Places::Random { sectors: area / 512 }) else {
            break;
        };
        let mean = format!("{:.2}", found.mean_ms());
        rows.push(vec![bytes(area), format!("{:.1}", found.per_second()), mean]);
    }
    table("write cliff: random 4 KiB writes within an area", &rows)
}

/// Random small writes to a full solid-state disk until it has been overwritten.
fn cliff(file: &DeviceFile, remark: &str) -> String {
    let mut trial = Trial::new(build(file, 1));
    let geometry = trial.geometry();
    let depth = geometry.queue_depth.min(32);
    let count = (geometry.sectors_512 / 8 * 2 / 60).clamp(100, 5000) as u32;
    let mut points = Vec::new();
    let mut written_mib = 0.0;
    for _ in 0..60 {
        let load = Load { operation: Operation::Write, bytes: 4096, depth, count };
        let places = Places::Random { sectors: geometry.sectors_512 };
        let Some(found) = trial.run(load, places) else { break };
        written_mib += f64::from(count) / 256.0;
        points.push((written_mib, found.per_second() / 1e3));
    }
    let title = format!("write cliff: random 4 KiB writes, {depth} at a time{remark}");
    plot(&title, &points, "MiB written", "kIOPS")
}
