//! The validation traces of DiskSim 4: requests served one at a time, with times measured on a real drive, and the
//! drive's layout and seek curve as extracted from it.

use std::fs;
use std::path::Path;

use seekwell_device::{Completion, DeviceFile, Lba, Operation, Request, build};

/// The four drives with the rms that DiskSim's own model reaches on the whole trace, in milliseconds.
pub const DRIVES: [(&str, f64); 4] =
    [("barracuda", 0.349), ("atlas_III", 0.378), ("cheetah9LP", 0.107), ("ibm18es", 0.135)];

/// A request and how long the real drive took.
#[derive(Clone, Copy, Debug)]
pub struct Traced {
    pub operation: Operation,
    pub lba: u64,
    pub sectors: u32,
    pub response_ns: u64,
    /// From the end of this request to the start of the next.
    pub gap_ns: u64,
}

/// Facts about a drive besides its trace.
#[derive(Clone, Debug)]
pub struct Drive {
    pub sectors: u64,
    pub heads: u32,
    pub rpm: f64,
    pub head_switch_us: f64,
    pub zones: Vec<Zone>,
    /// Cylinders and microseconds.
    pub seek: Vec<[f64; 2]>,
}

/// A zone with data; cylinders between zones are spares.
#[derive(Clone, Copy, Debug)]
pub struct Zone {
    pub first_cylinder: u32,
    pub cylinders: u32,
    pub sectors_per_track: u32,
    pub track_skew: u32,
    pub cylinder_skew: u32,
}

/// Reads `R|W Hit LBN sectors response_us gap_us` lines.
pub fn read_trace(folder: &Path, drive: &str) -> Result<Vec<Traced>, String> {
    let text = text_of(&folder.join(format!("{drive}.trace")))?;
    let line = |(index, line): (usize, &str)| {
        parse_line(line).ok_or_else(|| format!("{drive}.trace line {}: not understood", index + 1))
    };
    text.lines().enumerate().map(line).collect()
}

fn parse_line(line: &str) -> Option<Traced> {
    let mut fields = line.split_whitespace();
    let operation = match fields.next()? {
        "R" => Operation::Read,
        "W" => Operation::Write,
        _ => return None,
    };
    let lba = fields.nth(1)?.parse().ok()?;
    let sectors = fields.next()?.parse().ok()?;
    let mut ns = || Some((fields.next()?.parse::<f64>().ok()? * 1e3).round() as u64);
    Some(Traced { operation, lba, sectors, response_ns: ns()?, gap_ns: ns()? })
}

/// Reads layout and seek curve.
pub fn read_drive(folder: &Path, drive: &str) -> Result<Drive, String> {
    let model = text_of(&folder.join(format!("{drive}.model")))?;
    let missing = |what: &str| format!("{drive}.model: no '{what}'");
    let number = |what: &str| value_of(&model, what).first().copied().ok_or_else(|| missing(what));
    let rpm = number("Rotation speed (in rpms)")?;
    let columns = [
        "First cylinder number", "Last cylinder number", "Blocks per track",
        "Skew for track switch", "Skew for cylinder switch",
    ]
    .map(|name| value_of(&model, name));
    let count = columns[0].len();
    if count == 0 || columns.iter().any(|column| column.len() != count) {
        return Err(missing("zones with cylinders, blocks and skews"));
    }
    let zone = |index: usize| {
        let [first, last, per_track, track, cylinder] = [0, 1, 2, 3, 4].map(|c| columns[c][index]);
        Zone {
            first_cylinder: first as u32,
            cylinders: (last - first) as u32 + 1,
            sectors_per_track: per_track as u32,
            track_skew: track as u32,
            cylinder_skew: cylinder as u32,
        }
    };
    let seek = text_of(&folder.join(format!("{drive}.seek")))?;
    let point = |line: &str| {
        let (cylinders, ms) = line.split_once(',')?;
        Some([cylinders.trim().parse().ok()?, ms.trim().parse::<f64>().ok()? * 1e3])
    };
    Ok(Drive {
        sectors: number("Block count")? as u64,
        heads: number("Number of data surfaces")? as u32,
        rpm,
        head_switch_us: number("Head switch time")? * 1e3,
        zones: (0..count).map(zone).collect(),
        seek: seek.lines().filter_map(point).collect(),
    })
}

/// The text of a file.
pub fn text_of(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// All numbers written as `name = number`.
fn value_of(model: &str, name: &str) -> Vec<f64> {
    let value = |line: &str| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim().trim_end_matches(',').parse().ok())?
    };
    model.lines().filter_map(value).collect()
}

/// Times of the model for the requests of a trace, each issued its gap after the end of the one before.
pub fn replay(file: &DeviceFile, trace: &[Traced]) -> Result<Vec<u64>, String> {
    let mut model = build(file, 1);
    let mut now_ns = 1_000_000_000;
    let mut times = Vec::with_capacity(trace.len());
    let mut done: Vec<Completion> = Vec::new();
    for (id, traced) in (1..).zip(trace) {
        let lba = Lba(traced.lba);
        let request =
            Request { id, operation: traced.operation, lba, sectors: traced.sectors, fua: false };
        model.submit(now_ns, request).map_err(|refused| refused.to_string())?;
        while done.is_empty() {
            let at_ns = model.next_event_ns().ok_or("the model forgot a request")?;
            model.advance(at_ns, &mut done);
        }
        let end_ns = done.pop().map_or(now_ns, |completion| completion.at_ns);
        times.push(end_ns - now_ns);
        now_ns = end_ns + traced.gap_ns;
    }
    Ok(times)
}
