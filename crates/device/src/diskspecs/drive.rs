//! A drive's specification in the terms of this crate.

use super::parse::{Block, Value, parse};
use super::{ImportError, number};

/// A drive.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drive {
    pub(super) model: String,
    pub(super) sectors: u64,
    pub(super) queue_depth: u32,
    pub(super) mb_per_s: f64,
    pub(super) rpm: f64,
    pub(super) heads: u32,
    pub(super) head_switch_us: f64,
    pub(super) write_settle_us: f64,
    pub(super) head_order: &'static str,
    pub(super) zones: Vec<Zone>,
    /// Cylinders and microseconds.
    pub(super) seek: Vec<[f64; 2]>,
    /// Keys of `[rotating.overhead]` with microseconds.
    pub(super) overheads: Vec<(&'static str, f64)>,
    /// Keys of `[rotating.buffer]` with values as TOML.
    pub(super) buffer: Vec<(&'static str, String)>,
}

/// A zone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Zone {
    pub(super) first_cylinder: u32,
    pub(super) cylinders: u32,
    pub(super) sectors_per_track: u32,
    pub(super) track_skew: u32,
    pub(super) cylinder_skew: u32,
    pub(super) front: u64,
    pub(super) spares: u64,
    pub(super) spare_every_cylinders: Option<u32>,
    pub(super) slips: Vec<u64>,
}

/// Sparing schemes of the manual that need more than spares at the end of the zone.
const PER_CYLINDER: [u32; 4] = [2, 4, 5, 6];
const PER_RANGE: u32 = 8;

impl Drive {
    pub(super) fn describe(
        specification: &Block,
        read: &mut dyn FnMut(&str) -> Result<String, ImportError>,
    ) -> Result<Self, ImportError> {
        const FILE: &str = "the specification";
        let (file, model) = match specification.get("Model") {
            Some(Value::Source(file)) => (file.clone(), parse(file, &read(file)?)?),
            Some(Value::Block(block)) => (FILE.to_owned(), block.clone()),
            _ => return Err(missing(FILE, "Model")),
        };
        let mechanics = inner(&file, &model, "Mechanical Model")?;
        let layout = inner(&file, &model, "Layout Model")?;
        let heads = whole(&file, &model, "Number of data surfaces", 64.0)? as u32;
        let rpm = positive(&file, mechanics, "Rotation speed (in rpms)")?;
        let seek = seek(&file, mechanics, read)?;
        let transfer_ms = positive(FILE, specification, "Bulk sector transfer time")?;
        let head_order = match layout.number("LBN-to-PBN mapping scheme").unwrap_or(0.0) as u32 {
            1 => "serpentine-by-zone",
            2 => "serpentine",
            _ => "straight",
        };
        Ok(Self {
            model: specification.name.clone(),
            sectors: whole(&file, &model, "Block count", 1e15)?,
            queue_depth: specification.number("Max queue length").unwrap_or(1.0).clamp(1.0, 256.0)
                as u32,
            mb_per_s: 0.512 / transfer_ms,
            rpm,
            heads,
            head_switch_us: number(&file, mechanics, "Head switch time")? * 1e3,
            write_settle_us: mechanics.number("Add. write settling delay").unwrap_or(0.0) * 1e3,
            head_order,
            zones: zones(&file, layout)?,
            seek,
            overheads: overheads(FILE, specification)?,
            buffer: buffer(FILE, specification)?,
        })
    }
}

fn missing(file: &str, key: &str) -> ImportError {
    let reason = "is missing or of another kind".to_owned();
    ImportError::Parameter { file: file.to_owned(), key: key.to_owned(), reason }
}

fn inner<'b>(file: &str, block: &'b Block, key: &str) -> Result<&'b Block, ImportError> {
    match block.get(key) {
        Some(Value::Block(found)) => Ok(found),
        _ => Err(missing(file, key)),
    }
}

fn positive(file: &str, block: &Block, key: &str) -> Result<f64, ImportError> {
    let found = number(file, block, key)?;
    if found > 0.0 && found < 1e9 {
        return Ok(found);
    }
    let reason = format!("is {found}, which is impossible");
    Err(ImportError::Parameter { file: file.to_owned(), key: key.to_owned(), reason })
}

fn whole(file: &str, block: &Block, key: &str, most: f64) -> Result<u64, ImportError> {
    let found = number(file, block, key)?;
    if (0.0..=most).contains(&found) {
        return Ok(found.round() as u64);
    }
    let reason = format!("is {found}; it must be between 0 and {most}");
    Err(ImportError::Parameter { file: file.to_owned(), key: key.to_owned(), reason })
}

fn zones(file: &str, layout: &Block) -> Result<Vec<Zone>, ImportError> {
    let Some(Value::List(listed)) = layout.get("Zones") else { return Err(missing(file, "Zones")) };
    let scheme = layout.number("Sparing scheme used").unwrap_or(0.0) as u32;
    let range = layout.number("Rangesize for sparing").unwrap_or(1.0).max(1.0) as u32;
    let zone = |value: &Value| {
        let Value::Block(block) = value else { return Err(missing(file, "Zones")) };
        let first = whole(file, block, "First cylinder number", 1e9)?;
        let last = whole(file, block, "Last cylinder number", 1e9)?;
        let cylinders = (last + 1).saturating_sub(first);
        if cylinders == 0 {
            return Err(missing(file, "Last cylinder number"));
        }
        let slips = match block.get("slips") {
            Some(Value::List(slips)) => slips.iter().filter_map(as_sector).collect(),
            _ => Vec::new(),
        };
        let cylinders = cylinders as u32;
        let spare_every_cylinders = match scheme {
            PER_RANGE => Some(range.min(cylinders)),
            _ if PER_CYLINDER.contains(&scheme) => Some(1),
            _ => None,
        };
        Ok(Zone {
            first_cylinder: first as u32,
            cylinders,
            sectors_per_track: whole(file, block, "Blocks per track", 1e6)? as u32,
            track_skew: whole(file, block, "Skew for track switch", 1e6)? as u32,
            cylinder_skew: whole(file, block, "Skew for cylinder switch", 1e6)? as u32,
            front: block.number("Empty space at zone front").unwrap_or(0.0).max(0.0) as u64,
            spares: block.number("Number of spares").unwrap_or(0.0).max(0.0) as u64,
            spare_every_cylinders,
            slips,
        })
    };
    listed.iter().map(zone).collect()
}

fn as_sector(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) if *number >= 0.0 => Some(*number as u64),
        _ => None,
    }
}

fn seek(
    file: &str,
    mechanics: &Block,
    read: &mut dyn FnMut(&str) -> Result<String, ImportError>,
) -> Result<Vec<[f64; 2]>, ImportError> {
    let Some(Value::Word(curve)) = mechanics.get("Full seek curve") else {
        return Err(missing(file, "Full seek curve"));
    };
    let point = |line: &str| {
        let (cylinders, ms) = line.split_once(',')?;
        let ms: f64 = ms.trim().parse().ok()?;
        Some([cylinders.trim().parse().ok()?, ms * 1e3])
    };
    let mut points: Vec<[f64; 2]> = read(curve)?.lines().filter_map(point).collect();
    points.dedup_by_key(|point| point[0]);
    if points.is_empty() {
        return Err(missing(curve, "pairs of cylinders and milliseconds"));
    }
    Ok(points)
}

fn overheads(file: &str, block: &Block) -> Result<Vec<(&'static str, f64)>, ImportError> {
    let every = block.number("Per-request overhead time").unwrap_or(0.0);
    let read = every + block.number("Read completion overhead").unwrap_or(0.0);
    let write = every + block.number("Write completion overhead").unwrap_or(0.0);
    let costs = [
        ("read_hit_us", "Read hit over. after read", read),
        ("read_hit_after_write_us", "Read hit over. after write", read),
        ("read_miss_us", "Read miss over. after read", read),
        ("read_miss_after_write_us", "Read miss over. after write", read),
        ("write_us", "Write hit over. after read", write),
        ("write_after_write_us", "Write hit over. after write", write),
        ("write_through_us", "Write miss over. after read", write),
        ("write_through_after_write_us", "Write miss over. after write", write),
    ];
    let mut found = Vec::with_capacity(costs.len() + 1);
    for (key, name, more_ms) in costs {
        found.push((key, (number(file, block, name)? + more_ms) * 1e3));
    }
    found.push(("flush_us", 0.0));
    Ok(found)
}

fn buffer(file: &str, block: &Block) -> Result<Vec<(&'static str, String)>, ImportError> {
    let count = |key: &str| whole(file, block, key, 65536.0);
    let flag = |key: &str| block.number(key).unwrap_or(0.0) != 0.0;
    let segments = count("Number of buffer segments")?;
    let size = count("Segment size (in blks)")?.max(8);
    let own = flag("Use separate write segment");
    let write_segments = count("Maximum number of write segments")?.max(1);
    let kind = block.number("Buffer continuous read").unwrap_or(0.0) as u32;
    let ahead = match count("Maximum read-ahead (blks)")? {
        _ if kind == 0 || !flag("Enable caching in buffer") => 0,
        0 => size,
        most => most.min(size),
    };
    let level = block.number("Fast write level").unwrap_or(0.0) as u32;
    let for_reading = if own { segments.saturating_sub(1) } else { segments };
    Ok(vec![
        ("read_segments", for_reading.max(1).to_string()),
        ("segment_kib", size.div_ceil(2).to_string()),
        ("read_ahead_kib", ahead.div_ceil(2).to_string()),
        ("read_ahead_by_track", matches!(kind, 1 | 2 | 4).to_string()),
        ("reads_before", flag("Read any free blocks").to_string()),
        ("resumes_read_ahead", flag("Read-ahead on idle hit").to_string()),
        // Extracted by reading a block twice: 1 if the second read misses.
        ("keeps_delivered", (!flag("Read-ahead over requested")).to_string()),
        ("serves_written", flag("Allow read hits on write data").to_string()),
        ("write_clears_segments", "true".to_owned()),
        ("write_back", (level > 0).to_string()),
        ("write_back_when_idle", (level == 1).to_string()),
        ("write_kib", (size * write_segments).div_ceil(2).to_string()),
        ("write_segments", write_segments.to_string()),
        ("shares_segments", (!own).to_string()),
        ("destage_run_kib", size.div_ceil(2).max(4).to_string()),
        ("destage_window", write_segments.to_string()),
    ])
}
