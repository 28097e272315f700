//! Events lost while as many as possible are made, as CSV on standard output: `cargo bench -p
//! seekwell-capture --bench loss`, as root, with 2 GB free in `/dev/shm`; `-- 60` is the length of a
//! capture in seconds. One pinned thread reads a byte again and again, then one on each of two CPUs;
//! before each capture the same for a sixth of the time without one.
//!
//! Columns: threads, seconds from the first call to the last one, events, lost events, calls a second,
//! calls a second without a capture, their ratio, seconds from the end of the program to the last
//! sealed segment, bytes of the trace, CPU seconds of the recorder.

#![allow(clippy::unwrap_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

use seekwell_capture::{Command, Options, Target, capture};
use seekwell_trace::Trace;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime};

const FOLDER: &str = "/dev/shm/seekwell-loss";

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|word| word == "read") {
        return reads(words[2].parse().unwrap(), words[3].parse().unwrap());
    }
    let seconds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(60_u64);
    let _ = std::fs::remove_dir_all(FOLDER);
    std::fs::create_dir_all(FOLDER).unwrap();
    std::fs::write(Path::new(FOLDER).join("byte"), "x").unwrap();
    println!(
        "threads,program_s,events,lost,calls_per_s,untraced_per_s,slowdown,sealed_after_s,bytes,recorder_cpu_s"
    );
    for threads in [1, 2] {
        measure(seconds, threads);
    }
    std::fs::remove_dir_all(FOLDER).unwrap();
}

fn measure(seconds: u64, threads: u64) {
    let own = std::env::current_exe().unwrap();
    let words = |seconds: u64| {
        [
            own.clone().into_os_string(),
            "read".into(),
            seconds.to_string().into(),
            threads.to_string().into(),
        ]
    };
    let plain = words((seconds / 6).max(1));
    let ended = std::process::Command::new(&plain[0]).args(&plain[1..]).status().unwrap();
    assert!(ended.success());
    let (plain_s, plain_calls) = told();
    let output = Path::new(FOLDER).join("trace");
    let target = Target::Command(Command { words: words(seconds).into(), ..Command::default() });
    let options = Options {
        same_device: true,
        block: false,
        walk: false,
        ..Options::new(output.clone(), target)
    };
    let done = capture(&options, &AtomicBool::new(false), None).unwrap();
    let ended = std::fs::metadata(Path::new(FOLDER).join("said")).unwrap().modified().unwrap();
    let sealed = SystemTime::now().duration_since(ended).unwrap().as_secs_f64();
    let (program_s, calls) = told();
    let lost: u64 = done.lost.iter().map(|lost| lost.count).sum();
    // Nothing is lost that is not counted.
    assert!(done.events + lost >= calls, "{} events and {lost} lost of {calls} calls", done.events);
    let (rate, plain_rate) = (calls as f64 / program_s, plain_calls as f64 / plain_s);
    println!(
        "{threads},{program_s:.2},{},{lost},{rate:.0},{plain_rate:.0},{:.2},{sealed:.1},{},{:.1}",
        done.events,
        plain_rate / rate,
        Trace::open(&output).unwrap().bytes().unwrap(),
        done.recorder_cpu.as_secs_f64(),
    );
    std::fs::remove_dir_all(output).unwrap();
}

/// Seconds and calls of the last program.
fn told() -> (f64, u64) {
    let text = std::fs::read_to_string(Path::new(FOLDER).join("said")).unwrap();
    let (seconds, calls) = text.split_once(' ').unwrap();
    (seconds.parse().unwrap(), calls.parse().unwrap())
}

/// Reads a byte for some seconds, in each of some pinned threads, and says how long and how often.
fn reads(seconds: u64, threads: usize) {
    let path = Path::new(FOLDER).join("byte");
    let started = Instant::now();
    let end = started + Duration::from_secs(seconds);
    let work = |cpu: usize| {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        rustix::thread::sched_setaffinity(None, &set).unwrap();
        let file = File::open(&path).unwrap();
        let (mut byte, mut calls) = ([0; 1], 0_u64);
        while Instant::now() < end {
            for _ in 0..1000 {
                file.read_exact_at(&mut byte, 0).unwrap();
            }
            calls += 1000;
        }
        calls
    };
    let calls: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|cpu| scope.spawn(move || work(cpu))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let said = format!("{:.3} {calls}", started.elapsed().as_secs_f64());
    std::fs::write(Path::new(FOLDER).join("said"), said).unwrap();
}
