//! Timing of replayed block requests compared with a bare loop, as CSV on standard output: `cargo bench -p
//! seekwell-replay --bench requests -- [SECONDS] [RATE] [FOLDER]`. Random reads of 4 KiB at times of a
//! Poisson process (2000 per second for 5 seconds unless told otherwise) from a file of 64 MiB in FOLDER, by
//! default that of temporary files. The bare loop waits for
//! absolute deadlines and gives each read to io_uring, nothing else. Both run in turn, five times.
//!
//! Columns: side, round, median, 99th percentile and maximum of the time from a read's deadline to its
//! issue in microseconds, time from the first to the last issue per planned time.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

use io_uring::{IoUring, opcode, types};
use seekwell_replay::{
    Content, Options, Place, RequestChoice, RequestPlan, Speed, fill, plan_requests,
    replay_requests,
};
use seekwell_stats::{Histogram, seeded};
use seekwell_trace::meta::Meta;
use seekwell_trace::{Limits, Operation, Request, RequestFlags, Trace, TraceWriter};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

const DEVICE_BYTES: u64 = 64 << 20;
const READ_BYTES: u32 = 4096;
const AWAKE: Duration = Duration::from_micros(100);

/// Time and offset of each read.
fn reads(seconds: f64, rate: f64) -> Vec<(u64, u64)> {
    let mut rng = seeded(3);
    let (mut at_s, mut all) = (0.0, Vec::new());
    while at_s < seconds {
        let offset =
            rng.next_u64() % (DEVICE_BYTES / u64::from(READ_BYTES)) * u64::from(READ_BYTES);
        all.push(((at_s * 1e9) as u64, offset));
        let uniform = (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        at_s -= (1.0 - uniform).ln() / rate;
    }
    all
}

fn planned(reads: &[(u64, u64)], folder: &Path) -> RequestPlan {
    let folder = folder.join("trace");
    let meta = Meta { requests: true, ..Meta::new("bench") };
    let mut writer = TraceWriter::create(&folder, &meta, Limits::default()).unwrap();
    for (start_ns, offset) in reads {
        let request = Request {
            start_ns: *start_ns,
            duration_ns: Some(50_000),
            process: None,
            device: 1,
            operation: Operation::Read,
            flags: RequestFlags::default(),
            sector: offset / 512,
            bytes: READ_BYTES.into(),
            depth: None,
        };
        writer.request(request).unwrap();
    }
    writer.finish(&meta).unwrap();
    plan_requests(&Trace::open(&folder).unwrap(), &RequestChoice::default()).unwrap()
}

/// The bare loop: lateness of each read, and the time from the first issue to the last.
fn bare(reads: &[(u64, u64)], file: &File) -> (Histogram, u64) {
    let mut memory = vec![0_u8; READ_BYTES as usize * 2];
    let shift = memory.as_ptr().align_offset(READ_BYTES as usize);
    let address = memory[shift..].as_mut_ptr();
    let mut ring = IoUring::new(2048).unwrap();
    let mut late = Histogram::new();
    let began = Instant::now();
    let (mut first, mut last) = (None, began);
    for (at_ns, offset) in reads {
        let due = began + Duration::from_nanos(*at_ns);
        let left = due.saturating_duration_since(Instant::now());
        if left > AWAKE {
            std::thread::sleep(left - AWAKE);
        }
        while Instant::now() < due {
            std::hint::spin_loop();
        }
        let now = Instant::now();
        late.record(now.saturating_duration_since(due).as_nanos() as u64);
        let read = opcode::Read::new(types::Fd(file.as_raw_fd()), address, READ_BYTES);
        // SAFETY: file and memory live until every read is over, below.
        unsafe { ring.submission().push(&read.offset(*offset).build()).unwrap() };
        ring.submit().unwrap();
        ring.completion().for_each(drop);
        first.get_or_insert(now);
        last = now;
    }
    // Far longer than a read takes: then none is in flight.
    std::thread::sleep(Duration::from_millis(300));
    (late, last.duration_since(first.unwrap_or(began)).as_nanos() as u64)
}

fn row(side: &str, round: u32, late: &Histogram, span_ns: u64, planned_ns: u64) {
    let us = |q: f64| late.percentile_ns(q).unwrap_or(0) as f64 / 1e3;
    let most = late.max_ns().unwrap_or(0) as f64 / 1e3;
    let drift = span_ns as f64 / planned_ns as f64;
    println!("{side},{round},{:.1},{:.1},{most:.1},{drift:.6}", us(0.5), us(0.99));
}

fn main() {
    // cargo adds --bench.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let number = |at: usize, or: f64| words.get(at).map_or(or, |word| word.parse().unwrap());
    let folder = match words.get(2) {
        Some(folder) => tempfile::tempdir_in(folder).unwrap(),
        None => tempfile::tempdir().unwrap(),
    };
    let path = folder.path().join("file");
    let mut opening = File::options();
    let opening = opening.read(true).write(true).create_new(true);
    let file = opening.custom_flags(libc::O_DIRECT).open(&path).unwrap();
    file.set_len(DEVICE_BYTES).unwrap();
    let reads = reads(number(0, 5.0), number(1, 2000.0));
    let plan = planned(&reads, folder.path());
    let recorded = *plan.recorded();
    let place =
        Place::new(recorded.reach_bytes, recorded.longest_bytes, DEVICE_BYTES, 512, false).unwrap();
    fill(&plan, &place, &file, &path, Content::Random, None).unwrap();
    let options = Options { speed: Speed::Open(1.0), ..Options::default() };
    println!("side,round,late_p50_us,late_p99_us,late_max_us,drift");
    for round in 0..5 {
        let (late, span_ns) = bare(&reads, &file);
        row("bare", round, &late, span_ns, recorded.span_ns);
        let replayed = replay_requests(&plan, &place, &file, &path, &options).unwrap();
        assert_eq!(replayed.failed(), 0);
        row("replay", round, &replayed.lateness, replayed.span_ns, recorded.span_ns);
    }
}
