//! Fits the rotating model to the first half of each of DiskSim's validation traces and judges it on the second.
//!
//! Run: `cargo run --release -p seekwell-device --example disksim -- FOLDER [OUTPUT]`, FOLDER holding `*.trace`,
//! `*.model` and `*.seek`. OUTPUT gets what was fitted and the quantiles of both distributions.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example reports on the terminal")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use seekwell_device::accuracy::{Demerit, demerit};
use seekwell_device::{DeviceFile, load};

mod fit;
mod trace;

use fit::{Electronics, Fit};
use trace::{DRIVES, Drive, Traced, read_drive, read_trace, replay};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let (Some(folder), output) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: disksim FOLDER [OUTPUT]");
        return ExitCode::from(2);
    };
    match run(&folder, output.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(1)
        }
    }
}

fn run(folder: &Path, output: Option<&Path>) -> Result<(), String> {
    let mut kept = String::new();
    println!("drive        fitted half   judged half          DiskSim's rms, whole trace");
    for (name, disksim_ms) in DRIVES {
        let trace = read_trace(folder, name)?;
        let drive = read_drive(folder, name)?;
        let half = trace.len() / 2;
        let fit = fit::fit(&drive, &trace[..half])?;
        let file = load(&device_text(name, &drive, &fit)).map_err(|error| error.to_string())?;
        let (modelled, first, second) = judge(&file, &trace, half)?;
        println!(
            "{name:<12} {:>5.2} %       {:>5.2} %  {:.3} ms     {disksim_ms:.3} ms",
            first.relative() * 100.0,
            second.relative() * 100.0,
            second.rms / 1e6,
        );
        keep(&mut kept, name, &fit, &trace[half..], &modelled[half..], [first, second]);
    }
    match output {
        Some(path) => std::fs::write(path, kept).map_err(|error| error.to_string()),
        None => Ok(()),
    }
}

/// Times of the whole trace, and the demerits of its halves.
fn judge(
    file: &DeviceFile,
    trace: &[Traced],
    half: usize,
) -> Result<(Vec<u64>, Demerit, Demerit), String> {
    let modelled = replay(file, trace)?;
    let real: Vec<u64> = trace.iter().map(|traced| traced.response_ns).collect();
    let of = |real: &[u64], modelled: &[u64]| demerit(real, modelled).ok_or("an empty trace");
    let first = of(&real[..half], &modelled[..half])?;
    let second = of(&real[half..], &modelled[half..])?;
    Ok((modelled, first, second))
}

/// A device file for a drive: layout and seek curve as extracted, the rest as fitted.
pub fn device_text(name: &str, drive: &Drive, fit: &Fit) -> String {
    let Electronics { values, .. } = &fit.electronics;
    let value = |key: &str| values.iter().find(|entry| entry.0 == key).map_or(0.0, |entry| entry.1);
    let scale = value("seek_scale");
    let seek: Vec<String> =
        drive.seek.iter().map(|[d, us]| format!("[{d}, {:.1}]", us * scale)).collect();
    let zones: Vec<String> = drive.zones.iter().map(|[c, s]| format!("[{c}, {s}]")).collect();
    format!(
        r#"
name = "{}"
title = "DiskSim validation drive"
kind = "rotating"
[presented]
sectors = {}
queue_depth = 1
max_request_kib = 256
[[bus]]
name = "scsi"
command_us = 0
mb_per_s = {:.4}
[rotating]
rpm = {}
heads = {}
head_switch_us = {:.1}
write_settle_us = 0
[rotating.layout]
zones = [{}]
track_skew_us = {:.1}
cylinder_skew_us = {:.1}
[rotating.seek]
table = [{}]
[rotating.overhead]
read_hit_us = {:.1}
read_sequential_us = {:.1}
read_miss_us = {:.1}
write_us = {:.1}
write_sequential_us = {:.1}
flush_us = 0
[rotating.buffer]
read_segments = 3
segment_kib = 256
read_ahead_kib = {}
read_ahead_after = {}
resumes_read_ahead = false
keeps_delivered = {}
serves_written = {}
write_clears = {}
write_back = true
write_kib = 256
destage_run_kib = 128
[sources]
presented = "DiskSim"
bus = "fitted"
rotating = "DiskSim and fitted"
"#,
        name.to_lowercase().replace('_', "-"),
        drive.sectors,
        value("mb_per_s"),
        drive.rpm,
        drive.heads,
        drive.head_switch_us,
        zones.join(", "),
        drive.track_skew_us,
        drive.cylinder_skew_us,
        seek.join(", "),
        value("read_hit_us"),
        value("read_sequential_us"),
        value("read_miss_us"),
        value("write_us"),
        value("write_sequential_us"),
        if fit.buffer.reads_ahead { 128 } else { 0 },
        u32::from(fit.buffer.only_sequential),
        fit.buffer.keeps_delivered,
        fit.buffer.serves_written,
        fit.buffer.write_clears,
    )
}

fn keep(
    kept: &mut String,
    name: &str,
    fit: &Fit,
    real: &[Traced],
    modelled: &[u64],
    [first, second]: [Demerit; 2],
) {
    let mut real: Vec<u64> = real.iter().map(|traced| traced.response_ns).collect();
    let mut modelled = modelled.to_vec();
    real.sort_unstable();
    modelled.sort_unstable();
    let _ = writeln!(kept, "[{name}]");
    let _ = writeln!(
        kept,
        "fitted_half = {{ rms_ns = {:.0}, mean_ns = {:.0} }}",
        first.rms, first.mean
    );
    let _ = writeln!(
        kept,
        "judged_half = {{ rms_ns = {:.0}, mean_ns = {:.0} }}",
        second.rms, second.mean
    );
    for (key, value) in &fit.electronics.values {
        let _ = writeln!(kept, "{key} = {value:.4}");
    }
    let _ = writeln!(kept, "buffer = \"{:?}\"", fit.buffer);
    let _ = writeln!(kept, "# quantile of the judged half: real ns, modelled ns");
    for percent in 0..=100 {
        let index = (real.len() - 1) * percent / 100;
        let _ = writeln!(kept, "q{percent:02} = [{}, {}]", real[index], modelled[index]);
    }
    let _ = writeln!(kept);
}
