//! Time and memory of a large trace: `cargo bench -p seekwell-trace --bench scale -- 10 /dev/shm` writes
//! 10 million calls and reads their summary.
//!
//! Columns: millions of calls, CPU nanoseconds per call to write it, bytes per call, seconds of the
//! summary, CPU seconds of it, largest memory of the process in MiB.

#![allow(clippy::unwrap_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

use seekwell_recordings::info::Summary;
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Event, FileEntry, FileId, Limits, Trace, TraceWriter};
use std::path::Path;
use std::time::Instant;

const FILES: u32 = 100_000;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let millions: u64 = words.iter().find_map(|word| word.parse().ok()).unwrap_or(1);
    let folder =
        words.iter().skip(1).find(|word| word.starts_with('/')).map_or("/tmp", String::as_str);
    let folder = tempfile::tempdir_in(folder).unwrap();
    let path = folder.path().join("trace");
    let before = cpu_s();
    write(&path, millions * 1_000_000);
    let written = cpu_s();
    let trace = Trace::open(&path).unwrap();
    let started = Instant::now();
    let summary = Summary::of(&trace).unwrap();
    assert_eq!(summary.calls, millions * 1_000_000);
    println!(
        "{millions},{:.0},{:.2},{:.2},{:.2},{}",
        (written - before) * 1000.0 / millions as f64,
        trace.bytes().unwrap() as f64 / 1e6 / millions as f64,
        started.elapsed().as_secs_f64(),
        cpu_s() - written,
        largest_mib(),
    );
}

/// Threads that read, write and sync scattered and sequential places of many files.
fn write(path: &Path, calls: u64) {
    let meta = Meta::new("synthetic");
    let mut writer = TraceWriter::create(path, &meta, Limits::default()).unwrap();
    for id in 0..FILES {
        writer.file(FileEntry {
            id: FileId(id),
            path: Some(format!("/srv/data/{}/{id}", id % 97)),
            device: Some(8 << 20),
            inode: Some(u64::from(id) + 100),
            mode: Some(0o100_644),
            bytes: Some(1 << 20),
        });
    }
    let named = |name| CallId::named(name).unwrap();
    let kinds =
        [named("pread64"), named("pwrite64"), named("fsync"), named("openat"), named("close")];
    let mut random = 1_u64;
    for nth in 0..calls {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let dice = random >> 33;
        let kind = [0, 0, 0, 0, 1, 1, 1, 2, 3, 4][(dice % 10) as usize];
        let moves = kind < 2;
        let file = u32::try_from(dice * dice % u64::from(FILES)).unwrap();
        writer
            .event(Event {
                duration_ns: Some(1_000 + dice % 50_000),
                fd: Some(3 + i32::from(dice as u8 % 20)),
                file: Some(FileId(file)),
                offset: moves.then_some((dice % 256) * 4096),
                length: moves.then_some(if dice.is_multiple_of(3) { 8192 } else { 4096 }),
                result: Some(if moves { 4096 } else { 0 }),
                ..Event::new(nth * 700, 1000, 1000 + (dice % 8) as u32, kinds[kind])
            })
            .unwrap();
    }
    writer.finish(&meta).unwrap();
}

fn field(name: &str, file: &str) -> f64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn largest_mib() -> u64 {
    field("VmHWM:", "/proc/self/status") as u64 / 1024
}

/// CPU time of the process.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}
