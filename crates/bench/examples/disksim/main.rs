//! Fits the rotating model to the first half of each of DiskSim's validation traces and judges it on the second.
//!
//! Run: `cargo run --release -p seekwell-bench --example disksim -- FOLDER [OUTPUT]`, FOLDER holding `*.trace`,
//! `*.model` and `*.seek`. OUTPUT gets what was fitted and the quantiles of both distributions.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example reports on the terminal")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use seekwell_device::accuracy::{Demerit, demerit};
use seekwell_device::{DeviceFile, load};

mod fit;
mod fitted;
mod trace;

use fitted::{Fit, device_text};
use trace::{DRIVES, Traced, read_drive, read_trace, replay};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).map(PathBuf::from);
    let (Some(folder), output) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: disksim FOLDER [OUTPUT]");
        return ExitCode::from(2);
    };
    ended(run(&folder, output.as_deref()))
}

fn ended(outcome: Result<(), String>) -> ExitCode {
    match outcome {
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
    let buffer = &fit.buffer;
    let _ = writeln!(kept, "reads_ahead = {}", buffer.reads_ahead);
    let _ = writeln!(kept, "only_sequential = {}", buffer.only_sequential);
    let _ = writeln!(kept, "keeps_delivered = {}", buffer.keeps_delivered);
    let _ = writeln!(kept, "serves_written = {}", buffer.serves_written);
    let _ = writeln!(kept, "write_clears = {}", buffer.write_clears);
    let _ = writeln!(kept, "# quantile of the judged half: real ns, modelled ns");
    for percent in 0..=100 {
        let index = (real.len() - 1) * percent / 100;
        let _ = writeln!(kept, "q{percent:02} = [{}, {}]", real[index], modelled[index]);
    }
    let _ = writeln!(kept);
}
