//! Drives described by their specification alone, judged on the whole of their traces.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use seekwell_device::accuracy::demerit;
use seekwell_device::{DeviceFile, diskspecs, load};

use crate::trace::{Traced, read_trace, replay, text_of};

/// Drives of a folder by their `*.diskspecs`, as far as they have a trace, by name.
pub fn drives(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| error.to_string())?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".diskspecs").map(str::to_owned))
        .filter(|name| folder.join(format!("{name}.trace")).exists())
        .collect();
    names.sort();
    Ok(names)
}

/// The device that a drive's specification makes.
pub fn device(folder: &Path, name: &str) -> Result<DeviceFile, String> {
    let file = format!("{name}.diskspecs");
    let text = text_of(&folder.join(&file))?;
    let mut read = |named: &str| text_of(&folder.join(named));
    let text = diskspecs::import(&file, &text, &mut read).map_err(|error| error.to_string())?;
    load(&text).map_err(|error| error.to_string())
}

/// The class of a request: what it does and how it follows the one before.
fn class(traced: &Traced, before: Option<&Traced>) -> &'static str {
    let end = before.map_or(u64::MAX, |before| before.lba + u64::from(before.sectors));
    let near = traced.lba.abs_diff(end) < 300;
    match (traced.operation.writes(), traced.lba == end, near) {
        (false, true, _) => "read, seq",
        (false, false, true) => "read, near",
        (false, false, false) => "read, far",
        (true, true, _) => "write, seq",
        (true, false, true) => "write, near",
        (true, false, false) => "write, far",
    }
}

/// A line for each drive and class: requests, real and modelled mean in ms, demerit of the mean in per cent.
pub fn judge_all(folder: &Path) -> Result<String, String> {
    let mut text = format!(
        "{:<12} {:<14} {:>6} {:>9} {:>9} {:>8}\n",
        "drive", "class", "count", "real ms", "model ms", "demerit"
    );
    for name in drives(folder)? {
        let trace = read_trace(folder, &name)?;
        let modelled = replay(&device(folder, &name)?, &trace)?;
        let mut classes: BTreeMap<&str, (Vec<u64>, Vec<u64>)> = BTreeMap::new();
        let mut before = None;
        for (traced, model_ns) in trace.iter().zip(&modelled) {
            for class in ["all", class(traced, before)] {
                let (real, model) = classes.entry(class).or_default();
                real.push(traced.response_ns);
                model.push(*model_ns);
            }
            before = Some(traced);
        }
        for (class, (real, model)) in &classes {
            let found = demerit(real, model).ok_or("an empty class")?;
            let mean = model.iter().sum::<u64>() as f64 / model.len() as f64;
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{name:<12} {class:<14} {:>6} {:>9.3} {:>9.3} {:>6.2} %",
                real.len(),
                found.mean / 1e6,
                mean / 1e6,
                found.relative() * 100.0
            );
        }
    }
    Ok(text)
}
