//! Random reads of a modelled device, one at a time or several: mean, quantiles and rate.
//!
//! Run: `cargo run --release -p seekwell-bench --example random_reads -- devices/NAME.toml [COUNT [SECTORS [DEPTH]]]`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example reports on the terminal")]

use std::collections::BTreeMap;
use std::process::ExitCode;

use seekwell_device::{Completion, Lba, Operation, Request, build, load};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = arguments.first() else {
        eprintln!("usage: random_reads FILE [COUNT [SECTORS [DEPTH]]]");
        return ExitCode::from(2);
    };
    let number = |index: usize, default: u64| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    match run(path, number(1, 100_000), number(2, 8), number(3, 1)) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(1)
        }
    }
}

fn run(path: &str, count: u64, sectors: u64, depth: u64) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let file = load(&text).map_err(|error| error.to_string())?;
    let mut model = build(&file, 1);
    let places = model.geometry().sectors_512 / sectors;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut submitted = BTreeMap::new();
    let mut times: Vec<u64> = Vec::new();
    let mut done: Vec<Completion> = Vec::new();
    let (mut now_ns, mut id) = (0, 0);
    while (times.len() as u64) < count {
        while id < count && (submitted.len() as u64) < depth {
            id += 1;
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let lba = Lba(((u128::from(state) * u128::from(places)) >> 64) as u64 * sectors);
            let sectors = u32::try_from(sectors).map_err(|error| error.to_string())?;
            let request = Request { id, operation: Operation::Read, lba, sectors, fua: false };
            model.submit(now_ns, request).map_err(|refused| refused.to_string())?;
            submitted.insert(id, now_ns);
        }
        now_ns = model.next_event_ns().ok_or("the model forgot a request")?;
        model.advance(now_ns, &mut done);
        for completion in done.drain(..) {
            times.extend(submitted.remove(&completion.id).map(|start| completion.at_ns - start));
        }
    }
    times.sort_unstable();
    let mean = times.iter().sum::<u64>() as f64 / times.len() as f64 / 1e6;
    let quantile = |part: f64| times[((times.len() - 1) as f64 * part) as usize] as f64 / 1e6;
    Ok(format!(
        "{}: mean {mean:.3} ms, p50 {:.3}, p99 {:.3}, max {:.3} ms; {:.1} a second; {:.1} s in all",
        file.name(),
        quantile(0.5),
        quantile(0.99),
        quantile(1.0),
        count as f64 / (now_ns as f64 / 1e9),
        now_ns as f64 / 1e9,
    ))
}
