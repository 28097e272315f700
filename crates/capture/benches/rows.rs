//! CPU time from the records of the rings to sealed segments, as CSV on standard output: `cargo bench
//! -p seekwell-capture --bench rows`; `-- 5` is the number of rounds. It needs neither root nor eBPF:
//! the records are made here, those of an untar of 120,000 small files and of two million reads, so
//! that two versions get the same ones and can be told apart on a busy machine.
//!
//! Columns: round, case, events, CPU nanoseconds per event, bytes of the trace, bytes per event.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::cast_precision_loss, reason = "it prints its results")]

use seekwell_capture::guest;
use seekwell_trace::calls::CallId;

const PROCESS: u32 = 4321;
const FOLDERS: u32 = 120;
const FILES: u32 = 1000;
const READS: u32 = 2_000_000;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let rounds = words.iter().find_map(|word| word.parse().ok()).unwrap_or(3);
    println!("round,case,events,cpu_ns_per_event,bytes,bytes_per_event");
    for (case, records) in [("untar", untar()), ("reads", reads())] {
        for round in 0..rounds {
            let work = tempfile::tempdir().unwrap();
            let trace = work.path().join("trace");
            let before = cpu_ns();
            let events = guest::trace_of(&mut &*records, &trace, "none").unwrap();
            let ns = (cpu_ns() - before) as f64 / events as f64;
            let files = std::fs::read_dir(&trace).unwrap().flatten();
            let bytes: u64 = files.map(|file| file.metadata().unwrap().len()).sum();
            let each = bytes as f64 / events as f64;
            println!("{round},{case},{events},{ns:.0},{bytes},{each:.2}");
        }
    }
}

/// CPU time of this process.
fn cpu_ns() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Records with their lengths, and a clock that makes times as uneven as real ones.
struct Records {
    bytes: Vec<u8>,
    random: u64,
    now_ns: u64,
}

impl Records {
    fn new() -> Self {
        Self { bytes: Vec::new(), random: 1, now_ns: 1_000_000_000_000 }
    }

    fn scattered(&mut self, least: u64, bits: u32) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        least + (self.random >> 40 & ((1 << bits) - 1))
    }

    fn add(&mut self, record: &[u8]) {
        self.bytes.extend(u32::try_from(record.len()).unwrap().to_ne_bytes());
        self.bytes.extend_from_slice(record);
    }

    /// A call with these arguments.
    fn call(&mut self, name: &str, result: i64, args: [u64; 4]) {
        let number = u32::from(CallId::named(name).unwrap().call().number);
        let (own_ns, call_ns) = (self.scattered(300, 8), self.scattered(700, 10));
        let start_ns = self.now_ns + own_ns + 200;
        self.now_ns = start_ns + call_ns;
        let mut record = [1, number].map(u32::to_ne_bytes).as_flattened().to_vec();
        record.extend([self.now_ns, start_ns].map(u64::to_ne_bytes).as_flattened());
        record.extend([PROCESS, PROCESS].map(u32::to_ne_bytes).as_flattened());
        let rest = [result.cast_unsigned(), u64::MAX, args[0], args[1], args[2], args[3], 0, 0];
        record.extend(rest.map(u64::to_ne_bytes).as_flattened());
        record.extend([own_ns, 0].map(u64::to_ne_bytes).as_flattened());
        self.add(&record);
    }

    /// The path of a file that the next call opens, name by name from the file up.
    fn opened(&mut self, fd: u32, inode: u64, path: &str) {
        let mut names: Vec<u8> = Vec::new();
        for name in path.split('/').rev().filter(|name| !name.is_empty()) {
            names.extend(name.bytes());
            names.push(0);
        }
        let length = u32::try_from(names.len()).unwrap();
        let mut record = [2, length].map(u32::to_ne_bytes).as_flattened().to_vec();
        record.extend(self.now_ns.to_ne_bytes());
        record.extend([PROCESS, PROCESS].map(u32::to_ne_bytes).as_flattened());
        record.extend([inode, 0].map(u64::to_ne_bytes).as_flattened());
        record.extend([25, 0o100_600, 0, 1, fd, u32::MAX].map(u32::to_ne_bytes).as_flattened());
        record.extend(names);
        self.add(&record);
    }
}

/// The calls of `tar` for each file.
fn untar() -> Vec<u8> {
    let mut all = Records::new();
    let here = u64::from(4_u32);
    for file in 0..FOLDERS * FILES {
        let path = format!("/dev/shm/seekwell-cost/out/f/{}/{}", file / FILES, file % FILES);
        all.opened(5, 1_000 + u64::from(file), &path);
        all.call("openat", 5, [here, 0x7fff_0000, 0x8_0ac1, 0o600]);
        all.call("write", 5, [5, 0x5555_0000, 5, 0]);
        all.call("utimensat", 0, [5, 0, 0x7fff_1000, 0]);
        all.call("fchown", 0, [5, 0, 0, 0]);
        all.call("fchmod", 0, [5, 0o644, 0, 0]);
        all.call("close", 0, [5, 0, 0, 0]);
    }
    all.bytes
}

fn reads() -> Vec<u8> {
    let mut all = Records::new();
    all.opened(3, 1_000, "/dev/shm/seekwell-cost/files.tar");
    all.call("openat", 3, [u64::from(u32::MAX - 99), 0x7fff_0000, 0, 0]);
    for nth in 0..READS {
        all.call("pread64", 4096, [3, 0x7fff_2000, 4096, u64::from(nth % 64) * 4096]);
    }
    all.bytes
}
