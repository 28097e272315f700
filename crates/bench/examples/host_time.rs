//! Host time of each shipped model per request of 4 KiB: `device,mix,requests,us_per_request`, CPU time of the thread.
//!
//! Run: `cargo run --release -p seekwell-bench --example host_time [COUNT] > benches/runs/device/host-time.csv`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example reports on the terminal")]

use seekwell_device::{Completion, DeviceFile, Lba, Operation, Request, build, catalogue};
use seekwell_engine::clock::thread_cpu_ns;
use std::process::ExitCode;

/// Requests between two flushes of the writing mixes.
const FLUSH_EVERY: u64 = 64;

/// Requests in flight, less where a device takes fewer.
const DEPTH: u32 = 8;

/// Kinds of requests: name, part of writes in per cent, requests in a row.
const MIXES: [(&str, u64, bool); 4] = [
    ("random reads", 0, false),
    ("random writes, flushed", 100, false),
    ("half of each", 50, false),
    ("half of each, in a row", 50, true),
];

fn main() -> ExitCode {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(50_000);
    let devices = match catalogue() {
        Ok(devices) => devices,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(1);
        }
    };
    println!("device,mix,requests,us_per_request");
    for file in devices.values() {
        for (mix, writes, in_a_row) in MIXES {
            match cost_us(file, count, writes, in_a_row) {
                Ok(us) => println!("{},\"{mix}\",{count},{us:.3}", file.name()),
                Err(reason) => {
                    eprintln!("error: {}: {reason}", file.name());
                    return ExitCode::from(1);
                }
            }
        }
    }
    ExitCode::SUCCESS
}

/// Microseconds of CPU for each request.
fn cost_us(file: &DeviceFile, count: u64, writes: u64, in_a_row: bool) -> Result<f64, String> {
    let mut model = build(file, 1);
    let geometry = model.geometry();
    let places = geometry.sectors_512 / 8;
    let depth = u64::from(geometry.queue_depth.min(DEPTH));
    let (mut now_ns, mut state, mut id, mut done) = (0, 0x9e37_79b9_7f4a_7c15_u64, 0, 0);
    let mut completions: Vec<Completion> = Vec::new();
    let begun_ns = thread_cpu_ns();
    while done < count {
        while id < count && id - done < depth {
            id += 1;
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let place = if in_a_row { id % places } else { state % places };
            let (operation, sectors) = match (state >> 32) % 100 {
                _ if writes > 0 && id % FLUSH_EVERY == 0 => (Operation::Flush, 0),
                part if part < writes => (Operation::Write, 8),
                _ => (Operation::Read, 8),
            };
            let lba = Lba(if sectors == 0 { 0 } else { place * 8 });
            let request = Request { id, operation, lba, sectors, fua: false };
            model.submit(now_ns, request).map_err(|refused| refused.to_string())?;
        }
        now_ns = model.next_event_ns().ok_or("the model forgot a request")?;
        model.advance(now_ns, &mut completions);
        done += completions.drain(..).count() as u64;
    }
    Ok((thread_cpu_ns() - begun_ns) as f64 / 1e3 / count as f64)
}
