//! The engine beside fio and beside bare loops of the same system calls: 4 KiB random reads, pinned
//! to one CPU, alternating.
//!
//! `cargo bench -p seekwell-engine --bench engine -- [--rounds N] [--seconds N] [--milliseconds N]
//! [CASE…]`, as root: it makes its targets itself, and nothing else is touched. `--from FILE` says
//! what the kept runs of a file show.
//!
//! One JSON object per run goes to standard output; medians with their 95 % intervals go to standard
//! error. CPU is that of every thread of a side, of fio's processes and of the kernel's io_uring
//! workers (cpuacct), less that of the same side's run of one millisecond: what it takes to start
//! is not counted. The worker of a loop device is charged to neither side. Overhead
//! is CPU per operation less that of the bare loop in the same round.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark is a program of its own that talks to the person who runs it"
)]

mod accounting;
mod bare;
mod summary;
mod targets;

use accounting::Group;
use bare::Offsets;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use seekwell_engine::{Clock, EngineChoice, Job, MonotonicClock, Span, run};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};
use targets::Target;

const BLOCK_BYTES: u32 = 4096;

/// Cases that are compared.
const CASES: [Case; 6] = [
    Case { target: "zero", engine: EngineChoice::Null, depth: 1 },
    Case { target: "zram", engine: EngineChoice::Psync, depth: 1 },
    Case { target: "zero", engine: EngineChoice::IoUring, depth: 1 },
    Case { target: "zero", engine: EngineChoice::IoUring, depth: 32 },
    Case { target: "loop", engine: EngineChoice::IoUring, depth: 1 },
    Case { target: "loop", engine: EngineChoice::IoUring, depth: 32 },
];

/// One comparison: all sides submit as many operations at a time and wait for one.
#[derive(Clone, Copy, Debug)]
struct Case {
    target: &'static str,
    engine: EngineChoice,
    depth: u32,
}

impl Case {
    fn engine_name(self) -> &'static str {
        match self.engine {
            EngineChoice::Null => "null",
            EngineChoice::Psync => "psync",
            EngineChoice::IoUring => "io_uring",
        }
    }

    fn label(self) -> String {
        format!("{}-{}-{}", self.engine_name(), self.target, self.depth)
    }
}

/// One run of one side.
#[derive(Clone, Copy, Debug)]
struct Measured {
    iops: f64,
    cpu_ns_per_op: f64,
}

/// Operations, and from the first to the last of them.
type Counted = (u64, f64);

/// All runs of a side of a case.
type Runs = BTreeMap<(String, &'static str), Vec<Measured>>;

struct Bench {
    targets: BTreeMap<&'static str, Target>,
    group: Group,
    milliseconds: u64,
    cpu: usize,
}

struct Arguments {
    rounds: u64,
    seconds: u64,
    milliseconds: u64,
    cases: Vec<Case>,
    from: Option<String>,
}

fn arguments() -> Arguments {
    let mut found =
        Arguments { rounds: 20, seconds: 600, milliseconds: 300, cases: Vec::new(), from: None };
    let mut given = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut wanted = Vec::new();
    while let Some(word) = given.next() {
        let number =
            |given: &mut dyn Iterator<Item = String>| given.next().unwrap().parse().unwrap();
        match word.as_str() {
            "--rounds" => found.rounds = number(&mut given),
            "--seconds" => found.seconds = number(&mut given),
            "--milliseconds" => found.milliseconds = number(&mut given),
            "--from" => found.from = given.next(),
            _ => wanted.push(word),
        }
    }
    let chosen = |case: &&Case| wanted.is_empty() || wanted.contains(&case.label());
    found.cases = CASES.iter().filter(chosen).copied().collect();
    found
}

fn main() {
    let arguments = arguments();
    if let Some(file) = &arguments.from {
        return summary::print(&summary::read(file));
    }
    let bench = match Bench::make(&arguments) {
        Ok(bench) => bench,
        Err(why) => {
            eprintln!("nothing measured: {why}");
            return;
        }
    };
    let end = Instant::now() + Duration::from_secs(arguments.seconds);
    let mut found = Runs::new();
    // Round by round through all cases, so that an early end leaves each with as many.
    for round in 0..arguments.rounds {
        for case in arguments.cases.iter().take_while(|_| Instant::now() < end) {
            let mut order = ["seekwell", "fio", "bare"];
            order.rotate_left((round % 3) as usize);
            for who in order {
                let Some(measured) = bench.measure(*case, who) else { continue };
                println!(
                    "{}",
                    json!({"round": round, "case": case.label(), "who": who,
                           "iops": measured.iops, "cpu_ns_per_op": measured.cpu_ns_per_op})
                );
                found.entry((case.label(), who)).or_default().push(measured);
            }
        }
        if Instant::now() >= end {
            break;
        }
    }
    summary::print(&found);
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

impl Bench {
    fn make(arguments: &Arguments) -> Result<Self, String> {
        let mut targets = BTreeMap::new();
        for name in arguments.cases.iter().map(|case| case.target) {
            let make = match name {
                "zram" => Target::zram,
                "loop" => Target::looped,
                _ => Target::zero,
            };
            if !targets.contains_key(name) {
                targets.insert(name, make()?);
            }
        }
        let group = Group::make()?;
        Ok(Self { targets, group, milliseconds: arguments.milliseconds, cpu: pin() })
    }

    /// One run, less what its start costs; `None` where there is no such side.
    fn measure(&self, case: Case, who: &str) -> Option<Measured> {
        let once = |milliseconds| -> Option<(Counted, u64)> {
            let run = || match who {
                "seekwell" => Some(self.seekwell(case, milliseconds)),
                "fio" => self.fio(case, milliseconds),
                _ => self.bare(case, milliseconds),
            };
            let (counted, cpu_ns) = self.group.count(run);
            Some((counted?, cpu_ns))
        };
        let ((start_ops, _), start_ns) = once(1)?;
        let ((ops, iops), cpu_ns) = once(self.milliseconds)?;
        let cpu_ns = cpu_ns as f64 - start_ns as f64;
        Some(Measured { iops, cpu_ns_per_op: cpu_ns / (ops as f64 - start_ops as f64) })
    }

    fn seekwell(&self, case: Case, milliseconds: u64) -> Counted {
        let target = &self.targets[case.target];
        let span = Span { offset: 0, length: targets::BYTES };
        let mut job = Job::new(target.file.as_fd(), span, BLOCK_BYTES);
        (job.engine, job.depth) = (case.engine, case.depth);
        job.direct = target.direct;
        job.time_ns = Some(milliseconds * 1_000_000);
        let result = run(&job).unwrap();
        (result.ops, result.iops().unwrap())
    }

    /// `None` when fio is not installed.
    fn fio(&self, case: Case, milliseconds: u64) -> Option<Counted> {
        let depth = case.depth;
        let target = &self.targets[case.target];
        let mut command = Command::new(seekwell_testing::tool("fio")?);
        command.args(["--name=x", "--rw=randread", "--bs=4k", "--thread", "--size=256m"]);
        command.args(["--norandommap", "--time_based", "--output-format=json", "--readonly"]);
        command.arg(format!("--runtime={milliseconds}ms"));
        command.arg(format!("--ioengine={}", case.engine_name()));
        command.arg(format!("--iodepth={depth}")).arg(format!("--cpus_allowed={}", self.cpu));
        if case.engine != EngineChoice::Null {
            command.arg(format!("--filename={}", target.path.display()));
            command.arg(format!("--direct={}", u8::from(target.direct)));
        }
        if case.engine == EngineChoice::IoUring {
            command.args(["--fixedbufs", "--registerfiles"]);
            command.arg("--iodepth_batch_complete_min=1");
            command.arg(format!("--iodepth_batch={depth}"));
            command.arg(format!("--iodepth_batch_complete_max={depth}"));
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let read = &told["jobs"][0]["read"];
        Some((read["total_ios"].as_u64().unwrap(), read["iops"].as_f64().unwrap()))
    }

    /// `None` where nothing is called.
    fn bare(&self, case: Case, milliseconds: u64) -> Option<Counted> {
        let mut offsets = Offsets { state: 1, blocks: targets::BYTES / u64::from(BLOCK_BYTES) };
        let file = &self.targets[case.target].file;
        let begin_ns = MonotonicClock.now_ns();
        let end_ns = begin_ns + milliseconds * 1_000_000;
        let ops = match case.engine {
            EngineChoice::Null => return None,
            EngineChoice::Psync => bare::psync(file, &mut offsets, end_ns),
            EngineChoice::IoUring => bare::uring(file, &mut offsets, end_ns, case.depth),
        };
        let elapsed_ns = MonotonicClock.now_ns() - begin_ns;
        Some((ops, ops as f64 * 1e9 / elapsed_ns as f64))
    }
}
