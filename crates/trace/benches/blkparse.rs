//! Import of blkparse's text against blkparse itself, in turn: `cargo bench -p seekwell-trace --bench
//! blkparse -- 10 1 /dev/shm` for ten pairs with a million requests, of five events each. It needs
//! blkparse, of Debian's package blktrace: in `PATH`, or at the path after `--program`.
//!
//! Columns: pair, millions of events, CPU seconds of blkparse from the binary file to the text, CPU
//! seconds of the import from this text to the trace, their ratio.

#![allow(clippy::unwrap_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

use seekwell_trace::import;
use std::collections::VecDeque;
use std::io::Write;
use std::path::Path;
use std::process::Command;

/// Queued, got a request, inserted, issued.
const BEFORE: [u32; 4] = [1, 4, 12, 7];
const COMPLETE: u32 = 8;
/// Requests under way.
const AT_ONCE: usize = 4;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut numbers = words.iter().filter_map(|word| word.parse::<u64>().ok());
    let pairs = numbers.next().unwrap_or(10);
    let requests = numbers.next().unwrap_or(1) * 1_000_000;
    let program =
        words.iter().position(|word| word == "--program").map(|at| words[at + 1].as_str());
    let folder = words.iter().rfind(|word| Path::new(word).is_dir());
    let folder = tempfile::tempdir_in(folder.map_or("/tmp", String::as_str)).unwrap();
    write(&folder.path().join("sda.blktrace.0"), requests);
    println!("pair,million_events,blkparse_cpu_s,import_cpu_s,ratio");
    for pair in 0..pairs {
        // The first import needs the text.
        let first = (pair == 0).then(|| blkparse(program, folder.path()));
        let (theirs, ours) = if pair % 2 == 0 {
            let theirs = first.unwrap_or_else(|| blkparse(program, folder.path()));
            (theirs, imported(folder.path(), requests))
        } else {
            let ours = imported(folder.path(), requests);
            (blkparse(program, folder.path()), ours)
        };
        let events = (requests * (BEFORE.len() as u64 + 1)) as f64 / 1e6;
        println!("{pair},{events},{theirs:.3},{ours:.3},{:.1}", theirs / ours);
    }
}

/// A request: start, sector, bytes, purpose and process.
#[derive(Clone, Copy)]
struct Request {
    start_ns: u64,
    sector: u64,
    bytes: u32,
    purpose: u32,
    process: u32,
}

/// Writes scattered reads and writes of 4 to 32 KiB, four at a time, by two processes.
fn write(path: &Path, requests: u64) {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    let (mut random, mut sequence) = (1_u64, 0);
    let mut under_way = VecDeque::new();
    let mut event = |request: &Request, action: u32, after_ns: u64| {
        sequence += 1;
        let head: [u32; 2] = [0x6561_7407, sequence];
        file.write_all(head.map(u32::to_ne_bytes).as_flattened()).unwrap();
        let place = [request.start_ns + after_ns, request.sector];
        file.write_all(place.map(u64::to_ne_bytes).as_flattened()).unwrap();
        let action = action | request.purpose << 16;
        let rest = [request.bytes, action, request.process, 8 << 20, 0, 0];
        file.write_all(rest.map(u32::to_ne_bytes).as_flattened()).unwrap();
    };
    for nth in 0..requests {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let request = Request {
            start_ns: nth * 10_000,
            sector: random >> 34 << 3,
            bytes: 4096 << (random >> 20 & 3),
            purpose: if random >> 24 & 1 == 0 { 1 } else { 2 },
            process: 1000 + u32::from(random >> 40 & 1 == 1),
        };
        for (after_ns, action) in (0_u64..).step_by(2_000).zip(BEFORE) {
            event(&request, action, after_ns);
        }
        under_way.push_back(request);
        if under_way.len() == AT_ONCE {
            under_way.pop_front().iter().for_each(|done| event(done, COMPLETE, 38_000));
        }
    }
    under_way.iter().for_each(|done| event(done, COMPLETE, 38_000));
    file.flush().unwrap();
}

/// Makes the text. Returns the CPU time, seconds.
fn blkparse(program: Option<&str>, folder: &Path) -> f64 {
    let before = cpu_s(CHILDREN);
    let mut command = Command::new(program.unwrap_or("blkparse"));
    // Without -q it counts what it prints, as it does for users.
    let ended = command.args(["-i", "sda", "-o", "text"]).current_dir(folder).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    cpu_s(CHILDREN) - before
}

/// Imports the text. Returns the CPU time, seconds.
fn imported(folder: &Path, requests: u64) -> f64 {
    let output = folder.join("trace");
    let before = cpu_s(OWN);
    let read = import::blkparse(&folder.join("text"), &output).unwrap();
    let after = cpu_s(OWN);
    assert_eq!((read.events, read.damaged), (requests, 0));
    std::fs::remove_dir_all(output).unwrap();
    after - before
}

/// Fields of `/proc/self/stat`, from the state on: user and system time of the process, and of its
/// children that have ended.
const OWN: [usize; 2] = [11, 12];
const CHILDREN: [usize; 2] = [13, 14];

fn cpu_s(fields: [usize; 2]) -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let words: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    fields.map(|field| words[field].parse::<f64>().unwrap()).iter().sum::<f64>() / 100.0
}
