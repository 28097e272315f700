//! Memory of `filter` on large traces, as CSV on standard output: `cargo bench -p
//! seekwell-trace --bench stream -- 2 50 /dev/shm` does it with traces of 2 and of 50 GB. It keeps
//! half of the processes.
//!
//! A large trace is one segment of calls and one of block requests under many names, links to the same
//! bytes, which are read as often as there are names. What is written is removed as soon as it is
//! sealed. So a trace of any size takes the room of one segment, in memory too.
//!
//! Columns: operation, GB of the trace, files in it, calls and requests in it, events written, GB of the
//! sealed segments that were written, seconds, CPU seconds, largest memory of the process in MiB.

#![allow(clippy::unwrap_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

use seekwell_recordings::filter::{Filter, filter};
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Meta;
use seekwell_trace::{
    Event, FileEntry, FileId, Limits, Operation, Request, RequestFlags, Trace, TraceWriter,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const OPERATION: &str = "filter";
/// Files, and again ten times as many: those are in memory.
const FILES: [u32; 2] = [100_000, 1_000_000];
/// A segment is sealed at 64 MiB; this many calls take a little less.
const CALLS: u64 = 4_000_000;
const REQUESTS: u64 = CALLS / 8;
const PROCESSES: u32 = 16;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == OPERATION) {
        return run(Path::new(&words[1]));
    }
    let sizes: Vec<f64> = words.iter().filter_map(|word| word.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1.0] } else { sizes };
    let folder = words.iter().find(|word| word.starts_with('/')).map_or("/tmp", String::as_str);
    let folder = tempfile::tempdir_in(folder).unwrap();
    println!("operation,trace_gb,files,events,written_events,written_gb,seconds,cpu_s,largest_mib");
    for files in FILES {
        let segments = folder.path().join(format!("segments-{files}"));
        write(&segments, files);
        // More files alone tell nothing new of a larger trace.
        let sizes = if files == FILES[0] { &sizes[..] } else { &sizes[..1] };
        for (nth, gb) in sizes.iter().enumerate() {
            let large = folder.path().join(format!("large-{files}-{nth}"));
            std::fs::create_dir(&large).unwrap();
            link(&segments, &large.join("whole"), *gb);
            let own = std::env::current_exe().unwrap();
            let mut command = std::process::Command::new(own);
            assert!(command.arg(OPERATION).arg(&large).status().unwrap().success());
        }
    }
}

/// The operation on the trace in a folder, and its row.
fn run(large: &Path) {
    let output = large.join(OPERATION);
    let stop = AtomicBool::new(false);
    let started = Instant::now();
    let (events, bytes) = std::thread::scope(|scope| {
        let removing = scope.spawn(|| remove_until(&stop, &output));
        let processes = (0..PROCESSES / 2).collect();
        let half = Filter { processes, ..Filter::default() };
        let whole = Trace::open(&large.join("whole")).unwrap();
        let events = filter(&whole, &output, &half).unwrap();
        stop.store(true, Ordering::Relaxed);
        (events, removing.join().unwrap())
    });
    let seconds = started.elapsed().as_secs_f64();
    let (cpu_s, largest) = (cpu_s(), largest_mib());
    let whole = Trace::open(&large.join("whole")).unwrap();
    let parts = std::fs::read_dir(large.join("whole")).unwrap().flatten();
    let links = parts.filter(|part| part.file_name().to_string_lossy().starts_with("calls-"));
    let in_it = links.count() as u64 * (CALLS + REQUESTS);
    assert!(events.abs_diff(in_it / 2) < in_it / 100, "{events} of {in_it}");
    println!(
        "{OPERATION},{:.2},{},{in_it},{events},{:.2},{seconds:.1},{cpu_s:.1},{largest}",
        whole.bytes().unwrap() as f64 / 1e9,
        whole.files().unwrap().len(),
        bytes as f64 / 1e9,
    );
    std::fs::remove_dir_all(&output).unwrap();
}

/// Removes the sealed segments below a folder until nothing more is written. Returns their bytes.
fn remove_until(stop: &AtomicBool, output: &Path) -> u64 {
    let mut bytes = 0;
    loop {
        let is_over = stop.load(Ordering::Relaxed);
        let mut folders = vec![output.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path: PathBuf = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "parquet") {
                    bytes += entry.metadata().unwrap().len();
                    std::fs::remove_file(path).unwrap();
                }
            }
        }
        if is_over {
            return bytes;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A trace of at least `gb` GB, of links to the segments of another.
fn link(segments: &Path, to: &Path, gb: f64) {
    std::fs::create_dir(to).unwrap();
    let names: Vec<String> = std::fs::read_dir(segments)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let repeated = |name: &str| name.starts_with("calls-") || name.starts_with("requests-");
    for name in names.iter().filter(|name| !repeated(name)) {
        std::fs::hard_link(segments.join(name), to.join(name)).unwrap();
    }
    let (mut number, mut bytes) = (0, 0_u64);
    while (bytes as f64) < gb * 1e9 {
        for name in names.iter().filter(|name| repeated(name)) {
            let (table, _) = name.split_once('-').unwrap();
            let link = to.join(format!("{table}-{number:06}.parquet"));
            std::fs::hard_link(segments.join(name), &link).unwrap();
            bytes += std::fs::metadata(&link).unwrap().len();
        }
        number += 1;
    }
}

/// Calls of scattered places and times: all columns have values, so that no group is a small one.
fn write(path: &Path, files: u32) {
    let meta = Meta { requests: true, ..Meta::new("synthetic") };
    let limits = Limits { bytes: u64::MAX, age: Duration::MAX, ..Limits::default() };
    let mut writer = TraceWriter::create(path, &meta, limits).unwrap();
    for id in 0..files {
        writer.file(FileEntry {
            id: FileId(id),
            path: Some(format!("/srv/data/{}/{id}", id % 97)),
            device: Some(8 << 20),
            inode: Some(u64::from(id) + 100),
            mode: Some(0o100_644),
            bytes: Some(1 << 20),
        });
    }
    let kinds = ["pread64", "pwrite64", "pwritev2"].map(|name| CallId::named(name).unwrap());
    let mut random = 1_u64;
    let mut dice = move || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    for nth in 0..CALLS {
        let process = (dice() % u64::from(PROCESSES)) as u32;
        let bytes = (dice() % 64 + 1) * 512;
        let call = Event::new(nth * 700, process, 100 + process, kinds[(dice() % 3) as usize]);
        writer
            .event(Event {
                duration_ns: Some(1_000 + dice() % 5_000_000),
                fd: Some((dice() % 64) as i32),
                file: Some(FileId((dice() % u64::from(files)) as u32)),
                offset: Some(dice() * 512),
                length: Some(bytes),
                result: Some(bytes.cast_signed()),
                flags: Some(dice() % 8),
                cpu_ns: Some(dice() % 100_000),
                waited_ns: Some(dice() % 1_000_000),
                waker: Some(100 + (dice() % u64::from(PROCESSES)) as u32),
                woken_ns: Some(dice() % 50_000),
                ..call
            })
            .unwrap();
        if nth % (CALLS / REQUESTS) == 0 {
            let request = Request {
                start_ns: nth * 700,
                duration_ns: Some(50_000 + dice() % 5_000_000),
                process: Some(process),
                device: 8 << 20,
                operation: if dice().is_multiple_of(2) {
                    Operation::Read
                } else {
                    Operation::Write
                },
                flags: RequestFlags::SYNC,
                sector: dice(),
                bytes,
                depth: Some((dice() % 32) as u32),
            };
            writer.request(request).unwrap();
        }
    }
    writer.finish(&meta).unwrap();
}

fn largest_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

/// CPU time of the process.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    ticks / 100.0
}
