//! Whether filling what is written is a bottleneck: writes by the engine that calls nothing, with
//! the buffers made ready for each write, beside reads by the same engine, which fill nothing; and
//! how fast a program's own buffers are filled when every byte is made anew.
//!
//! `cargo bench -p seekwell-engine --bench fill -- [--rounds N] [--milliseconds N]`: no root, no
//! device. One JSON object per run goes to standard output.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark is a program of its own that talks to the person who runs it"
)]

use seekwell_engine::buffer::{Arena, ArenaShape};
use seekwell_engine::{Clock, DataShape, EngineChoice, Job, MonotonicClock, Span, run};
use serde_json::json;
use std::fs::File;
use std::os::fd::AsFd;

/// Name, and what is written.
const SHAPES: [(&str, DataShape); 3] = [
    ("incompressible", DataShape { zero_percent: 0, repeated_percent: 0 }),
    ("compressible 50", DataShape { zero_percent: 50, repeated_percent: 0 }),
    ("repeated 50", DataShape { zero_percent: 0, repeated_percent: 50 }),
];

const BLOCKS: [u32; 3] = [4096, 64 << 10, 1 << 20];

fn main() {
    let (mut rounds, mut milliseconds) = (10, 300);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rounds" => rounds = words.next().unwrap().parse().unwrap(),
            "--milliseconds" => milliseconds = words.next().unwrap().parse().unwrap(),
            _ => {}
        }
    }
    for round in 0..rounds {
        for block_bytes in BLOCKS {
            let unfilled = null(block_bytes, 100, DataShape::default(), milliseconds);
            for (data, shape) in SHAPES {
                let filled = null(block_bytes, 0, shape, milliseconds);
                println!(
                    "{}",
                    json!({"round": round, "data": data, "block_bytes": block_bytes,
                           "gb_per_s": filled, "unfilled_gb_per_s": unfilled,
                           "first_fill_gb_per_s": first_fill(block_bytes, shape)})
                );
            }
        }
    }
}

/// GB/s of the loop with every call left out.
fn null(block_bytes: u32, read_percent: u8, data: DataShape, milliseconds: u64) -> f64 {
    let file = File::open("/dev/null").unwrap();
    let span = Span { offset: 0, length: 1 << 30 };
    let mut job = Job::new(file.as_fd(), span, block_bytes);
    job.engine = EngineChoice::Null;
    job.direct = false;
    (job.read_percent, job.data) = (read_percent, data);
    job.time_ns = Some(milliseconds * 1_000_000);
    let result = run(&job).unwrap();
    (result.ops * u64::from(block_bytes)) as f64 / result.elapsed_ns as f64
}

/// GB/s at which the memory is filled before the first write.
fn first_fill(block_bytes: u32, data: DataShape) -> f64 {
    let shape = ArenaShape { block_bytes, depth: 16, reads: false, writes: true, data };
    let begin_ns = MonotonicClock.now_ns();
    let arena = Arena::new(shape, 1).unwrap();
    arena.length() as f64 / (MonotonicClock.now_ns() - begin_ns) as f64
}
