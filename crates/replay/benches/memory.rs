//! Memory of plan and replay of a long trace, as CSV on standard output: `cargo bench -p seekwell-replay
//! --bench memory -- [CALLS]`, as root, 30,000,000 calls without. The traces are in the folder for temporary
//! files, where plans of operations that do not fit in memory go too.
//!
//! Columns: calls, files, peak of memory until the plan is made and until the replay is over, MiB, and
//! seconds of both. `reads` are 512-byte reads of one file; `files` opens, reads and closes a file of its own in each
//! three calls, a million files at most.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

use seekwell_replay::{Choice, Content, Options, Speed, plan, rebuild, replay};
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Event, FileEntry, FileId, Limits, Trace, TraceWriter};
use std::path::Path;
use std::time::Instant;

const READ_BYTES: u64 = 512;
const FILE_BYTES: u64 = 1 << 20;
const MOST_FILES: u64 = 1_000_000;

/// Writes a trace of so many calls on so many files.
fn write_trace(folder: &Path, calls: u64, files: u64) {
    let meta = Meta::new("bench");
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    for file in 0..files {
        writer.file(FileEntry {
            id: FileId(u32::try_from(file).unwrap()),
            path: Some(format!("/folder-{}/file-{file}", file / 1000)),
            device: None,
            inode: None,
            mode: Some(0o100_644),
            bytes: Some(if files == 1 { FILE_BYTES } else { READ_BYTES }),
        });
    }
    let [open, read, close] =
        ["openat", "pread64", "close"].map(|name| CallId::named(name).unwrap());
    let mut nth = 0;
    let mut call = |call, file: u64, result: u64| {
        nth += 1;
        let event = Event {
            duration_ns: Some(100),
            file: Some(FileId(u32::try_from(file).unwrap())),
            fd: Some(3),
            result: Some(result.cast_signed()),
            flags: Some(0),
            ..Event::new(nth * 1000, 1, 1, call)
        };
        let bytes = (call == read).then_some(READ_BYTES);
        let offset = bytes.map(|bytes| if files == 1 { nth * bytes % FILE_BYTES } else { 0 });
        writer.event(Event { offset, length: bytes, ..event }).unwrap();
    };
    let reads = if files == 1 { calls } else { 1 };
    for turn in 0..calls / (reads + 2).min(calls) {
        let file = turn % files;
        call(open, file, 3);
        (0..reads).for_each(|_| call(read, file, READ_BYTES));
        call(close, file, 0);
    }
    writer.finish(&meta).unwrap();
}

/// Forgets the peak of this process's memory.
fn forget_peak() {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
}

/// The peak of this process's memory since then, MiB.
fn peak_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() >> 10
}

fn main() {
    let calls = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(30_000_000);
    println!("shape,calls,files,plan_mib,peak_mib,plan_s,replay_s");
    for (shape, files) in [("reads", 1), ("files", (calls / 3).clamp(2, MOST_FILES))] {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("trace");
        write_trace(&trace, calls, files);
        let target = folder.path().join("target");
        std::fs::create_dir(&target).unwrap();
        forget_peak();
        let start = Instant::now();
        let made = plan(&Trace::open(&trace).unwrap(), &Choice::default()).unwrap();
        let plan_s = start.elapsed().as_secs_f64();
        let plan_mib = peak_mib();
        rebuild(&made, &target, Content::Zeros, None).unwrap();
        let options = Options { speed: Speed::AsFastAsPossible, ..Options::default() };
        let replayed = replay(&made, &target, &options).unwrap();
        assert_eq!(replayed.differing(), 0);
        let (issued, replay_s) = (replayed.issued, replayed.elapsed_ns as f64 / 1e9);
        let peak_mib = peak_mib();
        println!("{shape},{issued},{files},{plan_mib},{peak_mib},{plan_s:.1},{replay_s:.1}");
    }
}
