//! Speed of the replay engine, as CSV on standard output: `cargo bench -p seekwell-replay --bench
//! speed`, as root. Reads of 512 bytes from files in /dev/shm, one per thread, without pauses.
//!
//! Columns: threads, calls, calls per second, calls per second of a loop of the same reads, seconds of
//! planning, bytes of the plan per call.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

use seekwell_replay::{Choice, Content, Options, Speed, plan, rebuild, replay};
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Event, FileEntry, FileId, Limits, Trace, TraceWriter};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

const CALLS: u32 = 1_000_000;
const FILE_BYTES: u64 = 1 << 20;
const READ_BYTES: u64 = 512;

fn offset(nth: u32) -> u64 {
    u64::from(nth) * READ_BYTES % FILE_BYTES
}

/// Threads that each read a file of their own.
fn write_trace(folder: &Path, threads: u32) {
    let meta = Meta::new("bench");
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    for thread in 0..threads {
        writer.file(FileEntry {
            id: FileId(thread),
            path: Some(format!("/{thread}")),
            device: None,
            inode: None,
            mode: Some(0o100_644),
            bytes: Some(FILE_BYTES),
        });
    }
    let event = |name: &str, thread: u32, at: u64, result: u64| Event {
        duration_ns: Some(100),
        file: Some(FileId(thread)),
        fd: Some(3),
        result: Some(result.cast_signed()),
        flags: Some(0),
        ..Event::new(at * 1000, thread + 1, thread + 1, CallId::named(name).unwrap())
    };
    for thread in 0..threads {
        writer.event(event("openat", thread, 0, 3)).unwrap();
    }
    for nth in 0..CALLS / threads {
        for thread in 0..threads {
            let (offset, length) = (Some(offset(nth)), Some(READ_BYTES));
            let read = event("pread64", thread, u64::from(nth) + 1, READ_BYTES);
            writer.event(Event { offset, length, ..read }).unwrap();
        }
    }
    writer.finish(&meta).unwrap();
}

/// Reads per second of a loop.
fn bare(target: &Path, threads: u32) -> f64 {
    let read = |thread: u32| {
        let file = File::open(target.join(thread.to_string())).unwrap();
        let mut bytes = [0; READ_BYTES as usize];
        for nth in 0..CALLS / threads {
            file.read_exact_at(&mut bytes, offset(nth)).unwrap();
        }
    };
    let start = Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || read(thread));
        }
    });
    f64::from(CALLS) / start.elapsed().as_secs_f64()
}

fn main() {
    println!("threads,calls,calls_per_s,bare_per_s,plan_s,bytes_per_call");
    for threads in [1, 2] {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let trace = folder.path().join("trace");
        write_trace(&trace, threads);
        let target = folder.path().join("target");
        std::fs::create_dir(&target).unwrap();
        let start = Instant::now();
        let made = plan(&Trace::open(&trace).unwrap(), &Choice::default()).unwrap();
        let plan_s = start.elapsed().as_secs_f64();
        rebuild(&made, &target, Content::Random, None).unwrap();
        let options = Options { speed: Speed::AsFastAsPossible, ..Options::default() };
        for _ in 0..3 {
            let replayed = replay(&made, &target, &options).unwrap();
            assert_eq!(replayed.differing(), 0);
            let per_s = replayed.issued as f64 / (replayed.elapsed_ns as f64 / 1e9);
            let bare_per_s = bare(&target, threads);
            let bytes = made.bytes() as f64 / f64::from(CALLS);
            println!("{threads},{CALLS},{per_s:.0},{bare_per_s:.0},{plan_s:.2},{bytes:.1}");
        }
    }
}
