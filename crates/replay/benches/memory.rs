//! Memory of plan and replay of a long trace, as CSV on standard output: `cargo bench -p seekwell-replay
//! --bench memory -- [CALLS]`, as root, 30,000,000 calls without. The traces are in the folder for temporary
//! files, where plans of operations that do not fit in memory go too.
//!
//! Columns: calls, files, peak of memory until the plan is made and until the replay is over, MiB, and
//! seconds of both. `reads` are 512-byte reads of one file; `files` opens, reads and closes a file of its own in each
//! three calls, a million files at most; `spread` does so in 100 threads; `threads` are 512 threads that read 1 MiB of one file at a time, a six-hundredth of
//! the calls; `requests` is the plan alone of a fifth as many block requests, 6 million at most.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

use seekwell_replay::{
    Choice, Content, Options, RequestChoice, Speed, plan, plan_requests, rebuild, replay,
};
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Meta;
use seekwell_trace::{
    Event, FileEntry, FileId, Limits, Operation, Request, RequestFlags, Trace, TraceWriter,
};
use std::path::Path;
use std::time::Instant;

const READ_BYTES: u64 = 512;
const FILE_BYTES: u64 = 1 << 20;
const MOST_FILES: u64 = 1_000_000;
const THREADS: u32 = 512;
const MOST_REQUESTS: u64 = 6_000_000;

/// Writes a trace of so many calls on so many files, by threads of their own processes in turn.
fn write_trace(folder: &Path, calls: u64, files: u64, threads: u64) {
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
        let thread = 1 + (file % threads) as u32;
        let event = Event {
            duration_ns: Some(100),
            file: Some(FileId(u32::try_from(file).unwrap())),
            fd: Some(3),
            result: Some(result.cast_signed()),
            flags: Some(0),
            ..Event::new(nth * 1000, thread, thread, call)
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

/// Writes a trace of so many reads of 1 MiB in all, by threads of their own processes in turn.
fn write_threads(folder: &Path, calls: u64) {
    let meta = Meta::new("bench");
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    writer.file(FileEntry {
        id: FileId(0),
        path: Some("/file".to_owned()),
        device: None,
        inode: None,
        mode: Some(0o100_644),
        bytes: Some(FILE_BYTES),
    });
    let [open, read] = ["openat", "pread64"].map(|name| CallId::named(name).unwrap());
    for nth in 0..calls.max(u64::from(THREADS) * 2) {
        let thread = 1 + (nth % u64::from(THREADS)) as u32;
        let is_first = nth < u64::from(THREADS);
        let call = if is_first { open } else { read };
        let bytes = (!is_first).then_some(FILE_BYTES);
        let event = Event {
            duration_ns: Some(100),
            file: Some(FileId(0)),
            fd: Some(3),
            result: Some(bytes.map_or(3, u64::cast_signed)),
            flags: Some(0),
            offset: bytes.map(|_| 0),
            length: bytes,
            ..Event::new(nth * 1000, thread, thread, call)
        };
        writer.event(event).unwrap();
    }
    writer.finish(&meta).unwrap();
}

/// Writes a trace of so many block requests, eight of them in flight.
fn write_requests(folder: &Path, requests: u64) {
    let meta = Meta { requests: true, ..Meta::new("bench") };
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    for nth in 0..requests {
        let request = Request {
            start_ns: nth * 1000,
            duration_ns: Some(8000 + nth % 7 * 100),
            process: None,
            device: 1,
            operation: Operation::Read,
            flags: RequestFlags::default(),
            sector: nth % 1000 * 8,
            bytes: 4096,
            depth: None,
        };
        writer.request(request).unwrap();
    }
    writer.finish(&meta).unwrap();
}

/// Plans and replays a trace; prints its line.
fn replayed(folder: &Path, shape: &str, files: u64) {
    let (trace, target) = (folder.join("trace"), folder.join("target"));
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

/// Plans block requests; prints their line, without a replay.
fn planned(folder: &Path, requests: u64) {
    write_requests(&folder.join("trace"), requests);
    forget_peak();
    let start = Instant::now();
    let trace = Trace::open(&folder.join("trace")).unwrap();
    let _plan = plan_requests(&trace, &RequestChoice::default()).unwrap();
    let (plan_s, plan_mib) = (start.elapsed().as_secs_f64(), peak_mib());
    println!("requests,{requests},,{plan_mib},,{plan_s:.1},");
}

fn main() {
    let calls = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(30_000_000);
    println!("shape,calls,files,plan_mib,peak_mib,plan_s,replay_s");
    let folder = || tempfile::tempdir().unwrap();
    let files = (calls / 3).clamp(2, MOST_FILES);
    for (shape, files, threads) in [("reads", 1, 1), ("files", files, 1), ("spread", files, 100)] {
        let folder = folder();
        write_trace(&folder.path().join("trace"), calls, files, threads);
        replayed(folder.path(), shape, files);
    }
    let of_threads = folder();
    write_threads(&of_threads.path().join("trace"), calls / 600);
    replayed(of_threads.path(), "threads", 1);
    planned(folder().path(), (calls / 5).min(MOST_REQUESTS));
}
