//! The engine beside fio and beside bare loops of the same system calls: 4 KiB random reads,
//! direct, pinned to one CPU, alternating.
//!
//! `cargo bench -p seekwell-engine --bench engine -- TARGET [PAIRS] [MILLISECONDS] [CASE…]`
//!
//! The target is read only. One JSON object per run goes to standard output; the medians go to
//! standard error. Overhead is CPU time per operation minus that of the bare loop, in the same
//! round. fio's CPU time is what its JSON gives for the job's threads, this engine's is measured
//! by its threads' clocks; kernel workers of the device itself are in neither.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark is a program of its own that talks to the person who runs it"
)]

use io_uring::{IoUring, opcode, types};
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::{Clock, EngineChoice, Job, MonotonicClock, Span, run};
use seekwell_stats::interval::{geometric_mean_interval, mean_interval};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::process::Command;

const BLOCK_BYTES: u32 = 4096;

/// What is compared.
const CASES: [Case; 5] = [
    Case { engine: EngineChoice::Null, name: "null", depth: 1, batch: 1 },
    Case { engine: EngineChoice::Psync, name: "psync", depth: 1, batch: 1 },
    Case { engine: EngineChoice::IoUring, name: "io_uring", depth: 1, batch: 1 },
    Case { engine: EngineChoice::IoUring, name: "io_uring", depth: 32, batch: 1 },
    Case { engine: EngineChoice::IoUring, name: "io_uring", depth: 32, batch: 8 },
];

/// One comparison: all sides submit and wait for as many operations at a time.
#[derive(Clone, Copy, Debug)]
struct Case {
    engine: EngineChoice,
    name: &'static str,
    depth: u32,
    batch: u32,
}

impl Case {
    fn label(self) -> String {
        format!("{}-{}-{}", self.name, self.depth, self.batch)
    }
}

/// One run of somebody.
#[derive(Clone, Copy, Debug)]
struct Measured {
    iops: f64,
    cpu_ns_per_op: f64,
}

struct Bench {
    path: PathBuf,
    file: File,
    bytes: u64,
    milliseconds: u64,
    cpu: usize,
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let Some(path) = arguments.next().map(PathBuf::from) else {
        eprintln!(
            "no target given, nothing measured: cargo bench -p seekwell-engine --bench engine -- TARGET"
        );
        return;
    };
    let pairs: u64 = arguments.next().map_or(10, |text| text.parse().unwrap());
    let milliseconds: u64 = arguments.next().map_or(500, |text| text.parse().unwrap());
    let wanted: Vec<String> = arguments.collect();
    let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(&path, flags, Mode::empty()).unwrap());
    let bytes = rustix::fs::seek(&file, SeekFrom::End(0)).unwrap();
    let bench = Bench { path, file, bytes, milliseconds, cpu: pin() };
    let mut found: BTreeMap<(String, String), Vec<Measured>> = BTreeMap::new();
    for case in CASES.iter().filter(|case| wanted.is_empty() || wanted.contains(&case.label())) {
        for pair in 0..pairs {
            let mut order = ["seekwell", "fio", "bare"];
            order.rotate_left((pair % 3) as usize);
            for who in order {
                let measured = match who {
                    "seekwell" => Some(bench.seekwell(*case)),
                    "fio" => bench.fio(*case),
                    _ => bench.bare(*case),
                };
                let Some(measured) = measured else { continue };
                println!(
                    "{}",
                    json!({"pair": pair, "engine": case.name, "depth": case.depth,
                           "batch": case.batch, "who": who,
                           "iops": measured.iops, "cpu_ns_per_op": measured.cpu_ns_per_op})
                );
                found.entry((case.label(), who.to_owned())).or_default().push(measured);
            }
        }
    }
    summary(&found);
}

/// Keeps to the last CPU that this process may use: the first serves most interrupts.
fn pin() -> usize {
    let allowed = sched_getaffinity(None).unwrap();
    let last = (0..CpuSet::MAX_CPU).rev().find(|cpu| allowed.is_set(*cpu)).unwrap();
    let mut one = CpuSet::new();
    one.set(last);
    sched_setaffinity(None, &one).unwrap();
    last
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn summary(found: &BTreeMap<(String, String), Vec<Measured>>) {
    for ((case, who), runs) in found {
        let iops = median(runs.iter().map(|run| run.iops).collect());
        let cpu = median(runs.iter().map(|run| run.cpu_ns_per_op).collect());
        let overheads = |who: &str| {
            let bare = found.get(&(case.clone(), "bare".to_owned()))?;
            let runs = found.get(&(case.clone(), who.to_owned()))?;
            let pairs = runs.iter().zip(bare);
            Some(pairs.map(|(run, bare)| run.cpu_ns_per_op - bare.cpu_ns_per_op).collect())
        };
        let overhead = overheads(who)
            .map_or(String::new(), |all: Vec<f64>| format!("  overhead {:7.1} ns", median(all)));
        eprintln!("{case:18} {who:9} {iops:12.0} IOPS  CPU {cpu:8.1} ns/op{overhead}");
        if who == "seekwell"
            && let Some(fio) = found.get(&(case.clone(), "fio".to_owned()))
        {
            let ratios: Vec<f64> =
                runs.iter().zip(fio).map(|(run, fio)| run.iops / fio.iops).collect();
            let interval = geometric_mean_interval(&ratios, 0.05).unwrap();
            let (low, centre, high) = (interval.low, interval.centre, interval.high);
            eprintln!("{case:18} IOPS relative to fio {centre:.3} ({low:.3} to {high:.3})");
            // Both intervals at once hold with 95 %: each has half of the error.
            let mean = |who: &str| mean_interval(&overheads(who)?, 0.025);
            if let (Some(ours), Some(fio)) = (mean("seekwell"), mean("fio")) {
                eprintln!(
                    "{case:18} overhead {:.0} ns ({:.0} to {:.0}), fio's {:.0} ns ({:.0} to {:.0})",
                    ours.centre, ours.low, ours.high, fio.centre, fio.low, fio.high
                );
            }
        }
    }
}

impl Bench {
    fn seekwell(&self, case: Case) -> Measured {
        let span = Span { offset: 0, length: self.bytes };
        let mut job = Job::new(self.file.as_fd(), span, BLOCK_BYTES);
        (job.engine, job.depth, job.batch) = (case.engine, case.depth, case.batch);
        job.time_ns = Some(self.milliseconds * 1_000_000);
        let result = run(&job).unwrap();
        Measured {
            iops: result.iops().unwrap(),
            cpu_ns_per_op: result.cpu_ns as f64 / result.ops as f64,
        }
    }

    /// `None` when fio is not installed.
    fn fio(&self, case: Case) -> Option<Measured> {
        let Case { name: engine, depth, batch, .. } = case;
        let mut command = Command::new(seekwell_testing::tool("fio")?);
        command.args(["--name=x", "--rw=randread", "--bs=4k", "--direct=1", "--thread"]);
        command.args(["--norandommap", "--time_based", "--output-format=json", "--readonly"]);
        command.arg(format!("--runtime={}ms", self.milliseconds));
        command.arg(format!("--ioengine={engine}")).arg(format!("--iodepth={depth}"));
        command.arg(format!("--cpus_allowed={}", self.cpu));
        if engine == "null" {
            command.arg("--size=1g");
        } else {
            command.arg(format!("--filename={}", self.path.display()));
        }
        if engine == "io_uring" {
            command.args(["--fixedbufs", "--registerfiles"]);
            command.arg(format!("--iodepth_batch_complete_min={batch}"));
            command.arg(format!("--iodepth_batch={depth}"));
            command.arg(format!("--iodepth_batch_complete_max={depth}"));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let job = &told["jobs"][0];
        let number = |value: &Value| value.as_f64().unwrap();
        let cpu = (number(&job["usr_cpu"]) + number(&job["sys_cpu"])) / 100.0;
        let ops = number(&job["read"]["total_ios"]);
        let runtime_ns = number(&job["read"]["runtime"]) * 1e6;
        Some(Measured { iops: number(&job["read"]["iops"]), cpu_ns_per_op: cpu * runtime_ns / ops })
    }

    /// The same calls without clock, histogram or anything else; `None` where nothing is called.
    fn bare(&self, case: Case) -> Option<Measured> {
        let mut offsets = Offsets { state: 1, blocks: self.bytes / u64::from(BLOCK_BYTES) };
        let end_ns = MonotonicClock.now_ns() + self.milliseconds * 1_000_000;
        let (begin_ns, cpu_ns) = (MonotonicClock.now_ns(), thread_cpu_ns());
        let ops = match case.engine {
            EngineChoice::Null => return None,
            EngineChoice::Psync => bare_psync(&self.file, &mut offsets, end_ns),
            EngineChoice::IoUring => bare_uring(&self.file, &mut offsets, end_ns, case),
        };
        let elapsed_ns = MonotonicClock.now_ns() - begin_ns;
        Some(Measured {
            iops: ops as f64 * 1e9 / elapsed_ns as f64,
            cpu_ns_per_op: (thread_cpu_ns() - cpu_ns) as f64 / ops as f64,
        })
    }
}

/// The cheapest offsets that are still random: xorshift, scaled.
struct Offsets {
    state: u64,
    blocks: u64,
}

impl Offsets {
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let block = (u128::from(self.state) * u128::from(self.blocks)) >> 64;
        block as u64 * u64::from(BLOCK_BYTES)
    }
}

/// How many operations pass between two looks at the clock.
const STRIDE: u64 = 256;

#[repr(align(4096))]
struct Page([u8; BLOCK_BYTES as usize]);

fn bare_psync(file: &File, offsets: &mut Offsets, end_ns: u64) -> u64 {
    let mut page = Page([0; BLOCK_BYTES as usize]);
    let mut ops = 0;
    while MonotonicClock.now_ns() < end_ns {
        for _ in 0..STRIDE {
            rustix::io::pread(file, &mut page.0, offsets.next()).unwrap();
        }
        ops += STRIDE;
    }
    ops
}

fn bare_uring(file: &File, offsets: &mut Offsets, end_ns: u64, case: Case) -> u64 {
    let Case { depth, batch, .. } = case;
    let mut pages: Vec<Page> = (0..depth).map(|_| Page([0; BLOCK_BYTES as usize])).collect();
    let mut ring: IoUring =
        IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(depth).unwrap();
    let vectors: Vec<libc::iovec> = pages
        .iter_mut()
        .map(|page| libc::iovec { iov_base: page.0.as_mut_ptr().cast(), iov_len: page.0.len() })
        .collect();
    // SAFETY: the pages live until the ring is gone, and are used by nobody else.
    unsafe { ring.submitter().register_buffers(&vectors) }.unwrap();
    ring.submitter().register_files(&[file.as_raw_fd()]).unwrap();
    let mut free: Vec<u32> = (0..depth).collect();
    let (mut ops, mut looked) = (0, 0);
    loop {
        while let Some(slot) = free.pop() {
            let page = vectors[slot as usize].iov_base.cast();
            let entry = opcode::ReadFixed::new(types::Fixed(0), page, BLOCK_BYTES, slot as u16)
                .offset(offsets.next())
                .build()
                .user_data(u64::from(slot));
            // SAFETY: the page of a free slot is not in use.
            unsafe { ring.submission().push(&entry) }.unwrap();
        }
        ring.submit_and_wait(batch as usize).unwrap();
        for entry in ring.completion() {
            assert_eq!(entry.result(), BLOCK_BYTES as i32);
            free.push(entry.user_data() as u32);
            ops += 1;
        }
        if ops - looked >= STRIDE {
            looked = ops;
            if MonotonicClock.now_ns() >= end_ns {
                break;
            }
        }
    }
    // Those still in flight use the pages.
    let left = depth as usize - free.len();
    ring.submit_and_wait(left).unwrap();
    ops + left as u64
}
