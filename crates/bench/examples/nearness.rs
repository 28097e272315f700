//! A probed file compared with the file of the device that was probed: a line for each quantity, as `device,quantity,truth,
//! found_low,found_high,off,unit`.
//!
//! Run: `cargo run --release -p seekwell-bench --example nearness -- TRUTH.toml FOUND.toml`; `benches/runs/device/served/
//! measure.sh` runs it for served devices.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example reports on the terminal")]

#[path = "../../probe/src/tests/nearness.rs"]
mod quantities;

use quantities::{Nearness, nearness};
use seekwell_device::{DeviceFile, load};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [truth, found] = &arguments[..] else {
        eprintln!("usage: nearness TRUTH.toml FOUND.toml");
        return ExitCode::from(2);
    };
    match file(truth).and_then(|truth| Ok((truth, file(found)?))) {
        Ok((truth, found)) => {
            let rows = nearness(&truth, &found);
            rows.iter().for_each(|row| println!("{},{}", truth.name(), line(row)));
            if rows.is_empty() { ExitCode::from(1) } else { ExitCode::SUCCESS }
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(1)
        }
    }
}

fn file(path: &str) -> Result<DeviceFile, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    load(&text).map_err(|error| format!("{path}: {error}"))
}

fn line(row: &Nearness) -> String {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.4}"));
    let [low, high] = row.found.map_or([None, None], |found| found.map(Some));
    let values = [row.truth, low, high, row.off].map(number);
    format!("{},{},{}", row.name, values.join(","), row.unit)
}
