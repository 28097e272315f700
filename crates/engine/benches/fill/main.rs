//! Cost of filling the buffers of writes. It compares, in turn: writes of the engine into a file in
//! memory with a bare loop that writes one buffer of zeros; writes of the null engine, which fills a
//! buffer for each, with its reads, which fill none. It also measures the speed of filling a program's
//! own buffers when every byte is new.
//!
//! `cargo bench -p seekwell-engine --bench fill -- [--rounds N] [--milliseconds N]`: no root, no
//! device. One JSON object per run goes to standard output.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark is a program of its own that talks to the person who runs it"
)]

use seekwell_engine::buffer::{Aligned, Arena, ArenaShape};
use seekwell_engine::{Clock, DataShape, EngineChoice, Job, MonotonicClock, Span, run};
use serde_json::json;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsFd;

/// Name, and what is written.
const SHAPES: [(&str, DataShape); 3] = [
    ("incompressible", DataShape::of(0, 0)),
    ("compressible 50", DataShape::of(50, 0)),
    ("repeated 50", DataShape::of(0, 50)),
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
                let [written, bare] = in_turn(round, block_bytes, shape, milliseconds);
                println!(
                    "{}",
                    json!({"round": round, "data": data, "block_bytes": block_bytes,
                           "written_gb_per_s": written, "bare_gb_per_s": bare,
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

/// Bytes of the file in memory; it is written once before anything is measured.
const FILE_BYTES: u64 = 64 << 20;

/// GB/s of the engine's writes and of the bare loop's; who begins changes from round to round.
fn in_turn(round: u64, block_bytes: u32, data: DataShape, milliseconds: u64) -> [f64; 2] {
    let file = memory_file();
    let mut found = [0.0; 2];
    for turn in 0..2 {
        let side = (turn + round) as usize % 2;
        found[side] = match side {
            0 => written(&file, block_bytes, data, milliseconds),
            _ => bare(&file, block_bytes, milliseconds),
        };
    }
    found
}

fn memory_file() -> File {
    let descriptor = rustix::fs::memfd_create("fill", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let mut file = File::from(descriptor);
    file.write_all(&vec![1; FILE_BYTES as usize]).unwrap();
    file
}

/// The production loop with its histogram, random places.
fn written(file: &File, block_bytes: u32, data: DataShape, milliseconds: u64) -> f64 {
    let span = Span { offset: 0, length: FILE_BYTES };
    let mut job = Job::new(file.as_fd(), span, block_bytes);
    job.engine = EngineChoice::Psync;
    job.direct = false;
    (job.read_percent, job.data) = (0, data);
    job.time_ns = Some(milliseconds * 1_000_000);
    let result = run(&job).unwrap();
    (result.ops * u64::from(block_bytes)) as f64 / result.elapsed_ns as f64
}

/// The same system call with one unchanged buffer, at random offsets.
fn bare(file: &File, block_bytes: u32, milliseconds: u64) -> f64 {
    let block = Aligned::zeroed(block_bytes.into());
    let mut rng = seekwell_stats::seeded(1);
    let blocks = (FILE_BYTES / u64::from(block_bytes)) as usize;
    let begin_ns = MonotonicClock.now_ns();
    let (mut bytes, mut took_ns) = (0, 0);
    while took_ns < milliseconds * 1_000_000 {
        for _ in 0..64 {
            let offset = rng.index(blocks) as u64 * u64::from(block_bytes);
            bytes += rustix::io::pwrite(file, &block, offset).unwrap() as u64;
        }
        took_ns = MonotonicClock.now_ns() - begin_ns;
    }
    bytes as f64 / took_ns as f64
}

/// GB/s at which the memory is filled before the first write.
fn first_fill(block_bytes: u32, data: DataShape) -> f64 {
    let shape = ArenaShape { block_bytes, depth: 16, reads: false, writes: true, data };
    let begin_ns = MonotonicClock.now_ns();
    let arena = Arena::new(shape, 1).unwrap();
    arena.length() as f64 / (MonotonicClock.now_ns() - begin_ns) as f64
}
