//! Memory of plan, rebuild and replay: bounds in MiB, in a process of their own.

#![allow(clippy::unwrap_used, reason = "tests")]

use seekwell_replay::{Choice, Content, Options, Plan, Speed, plan, rebuild, replay};
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Event, FileEntry, FileId, Limits, Trace, TraceWriter};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The peak of memory is the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// A number of this process's status, MiB.
fn status_mib(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() >> 10
}

/// Growth of this process's memory by some work at its peak, MiB.
fn growth_mib<T>(work: impl FnOnce() -> T) -> (u64, T) {
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    let before = status_mib("VmRSS:");
    let done = work();
    (status_mib("VmHWM:").saturating_sub(before), done)
}

fn file(writer: &mut TraceWriter, id: u32, path: String, bytes: u64) {
    writer.file(FileEntry {
        id: FileId(id),
        path: Some(path),
        device: None,
        inode: None,
        mode: Some(0o100_644),
        bytes: Some(bytes),
    });
}

/// A call on descriptor 3 of a thread, at a time of its own.
fn call(name: &str, at: u64, thread: u32, file: u32, result: u64) -> Event {
    let bytes = (name == "pread64").then_some(result);
    Event {
        duration_ns: Some(100),
        file: Some(FileId(file)),
        fd: Some(3),
        result: Some(result.cast_signed()),
        flags: Some(0),
        offset: bytes.map(|_| 0),
        length: bytes,
        ..Event::new(at * 1000, thread, thread, CallId::named(name).unwrap())
    }
}

/// Plans, rebuilds and replays a trace as fast as possible; calls that were issued.
fn replayed(folder: &Path) -> u64 {
    let target = folder.join("target");
    std::fs::create_dir(&target).unwrap();
    let trace = Trace::open(&folder.join("trace")).unwrap();
    let made: Plan = plan(&trace, &Choice::default()).unwrap();
    rebuild(&made, &target, Content::Zeros, None).unwrap();
    let options = Options { speed: Speed::AsFastAsPossible, ..Options::default() };
    let replayed = replay(&made, &target, &options).unwrap();
    assert_eq!(replayed.differing(), 0);
    replayed.issued
}

/// Processes that each open a file and read 1 MiB of it several times.
fn write_readers(folder: &Path, threads: u32, reads: u32) {
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    file(&mut writer, 0, "/file".to_owned(), 1 << 20);
    for nth in 0..threads * (1 + reads) {
        let thread = 1 + nth % threads;
        let event = match nth < threads {
            true => call("openat", nth.into(), thread, 0, 3),
            false => call("pread64", nth.into(), thread, 0, 1 << 20),
        };
        writer.event(event).unwrap();
    }
    writer.finish(&meta).unwrap();
}

/// Processes that open, read and close so many files in all, one after the other.
fn write_files(folder: &Path, threads: u32, files: u32) {
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    for id in 0..files {
        file(&mut writer, id, format!("/folder-{}/file-{id}", id / 1000), 512);
    }
    for id in 0..files {
        let (at, thread) = (u64::from(id) * 3, 1 + id % threads);
        writer.event(call("openat", at, thread, id, 3)).unwrap();
        writer.event(call("pread64", at + 1, thread, id, 512)).unwrap();
        writer.event(call("close", at + 2, thread, id, 0)).unwrap();
    }
    writer.finish(&meta).unwrap();
}

fn alone(test: &str) -> Option<std::sync::MutexGuard<'static, ()>> {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root to change the root directory");
        return None;
    }
    Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn five_hundred_threads_with_reads_of_a_mebibyte_take_less_than_200_mib() {
    let Some(_alone) = alone("five_hundred_threads") else { return };
    let folder = tempfile::tempdir().unwrap();
    write_readers(&folder.path().join("trace"), 512, 2);
    let (growth_mib, issued) = growth_mib(|| replayed(folder.path()));
    assert_eq!(issued, 512 * 3);
    assert!(growth_mib < 200, "{growth_mib} MiB");
}

#[test]
fn a_file_takes_less_than_two_kibibytes_however_many_threads_use_them() {
    let Some(_alone) = alone("a_file_takes") else { return };
    let files = 20_000;
    let folder = tempfile::tempdir().unwrap();
    write_files(&folder.path().join("trace"), 100, files);
    let (growth_mib, issued) = growth_mib(|| replayed(folder.path()));
    assert_eq!(issued, 3 * u64::from(files));
    // The allocator keeps some memory for each thread, how much depends on their turns.
    assert!(growth_mib < 100 + u64::from(files >> 9), "{growth_mib} MiB");
}
