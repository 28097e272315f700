//! Kept measurements of the virtual place: host cost per request, time to the first instruction,
//! repeatability. Prints one JSON object per run; `benches/runs/virtual/` keeps them.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement that cannot be made must not look like one"
)]

use std::path::{Path, PathBuf};
use std::time::Instant as WallClock;

use seekwell_virtual::instant::Instant;
use seekwell_virtual::{
    DiskSetup, Keeping, KernelPlan, KernelSet, KernelSource, Outcome, RootBuilder, RootImage,
    Settings, Transport, Trial, kernel, run,
};

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["build", set] => build(set),
        ["io", repeats] => io(repeats.parse().unwrap()),
        ["start", repeats] => start(repeats.parse().unwrap()),
        _ => eprintln!("build full|reduced; io REPEATS; start REPEATS"),
    }
}

fn cache() -> PathBuf {
    let home = std::env::var_os("HOME").unwrap();
    PathBuf::from(home).join(".cache/seekwell/kernels")
}

fn build(set: &str) {
    let set = if set == "full" { KernelSet::Full } else { KernelSet::Reduced };
    let source = KernelSource::Tarball(kernel::DEBIAN_TARBALL.into());
    let begun = WallClock::now();
    let mut last = None;
    let built = kernel::build(&KernelPlan { source, set, jobs: 2 }, &cache(), &mut |step| {
        last = Some(step.clone());
        if !matches!(step, kernel::Progress::Compiling { done, .. } if done % 100 != 0) {
            eprintln!("{:6.1} s {step:?}", begun.elapsed().as_secs_f64());
        }
    });
    println!("{built:?} after {:.1} s, last {last:?}", begun.elapsed().as_secs_f64());
}

struct Stage {
    kernel: PathBuf,
    root: RootImage,
    scratch: tempfile::TempDir,
    cpu: usize,
}

impl Stage {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let kernel = kernel::list(&cache()).unwrap().pop().unwrap().path;
        let init = Path::new(env!("CARGO_BIN_EXE_seekwell-test-guest"));
        let keeping = Keeping { memory_bytes: 1 << 30, directory: scratch.path().into() };
        let root = RootBuilder::new(init).unwrap().build(keeping).unwrap();
        let cpu = std::thread::available_parallelism().unwrap().get() - 1;
        Self { kernel, root, scratch, cpu }
    }

    fn run(&self, command: &str, transport: Transport, pinned: bool) -> Outcome {
        let settings = Settings {
            cpu: pinned.then_some(self.cpu),
            transport,
            ..Settings::new(self.scratch.path())
        };
        let words = std::iter::once("/seekwell").chain(command.split(' '));
        let trial = Trial {
            kernel: &self.kernel,
            root: &self.root,
            disks: vec![DiskSetup::empty("data", Box::new(Instant::new(1 << 21)), &settings)],
            command: words.map(str::to_owned).collect(),
            input: &[],
            settings,
        };
        let outcome = run(trial, &mut |_| {}).unwrap();
        assert!(outcome.end.is_success(), "{}\n{}", outcome.end, outcome.console);
        outcome
    }
}

/// Host cost of a 4 KiB direct read at depth 1, one system call each: the difference between many
/// reads and none, over the number of reads.
fn io(repeats: u32) {
    const READS: u32 = 50_000;
    let stage = Stage::new();
    for repeat in 0..repeats {
        for (transport, pinned) in [
            (Transport::Bells, true),
            (Transport::SharedClock, true),
            (Transport::Messages, true),
            (Transport::Bells, false),
        ] {
            let none = stage.run("reads /dev/vda 0", transport, pinned).cost;
            let many = stage.run(&format!("reads /dev/vda {READS}"), transport, pinned);
            let per_read = |many: std::time::Duration, none: std::time::Duration| {
                (many.as_nanos() as f64 - none.as_nanos() as f64) / f64::from(READS)
            };
            let cost = many.cost;
            println!(
                "{{\"bench\":\"io\",\"repeat\":{repeat},\"transport\":\"{transport:?}\",\"pinned\":{pinned},\
                 \"reads\":{READS},\"wall_ns_per_read\":{:.0},\"guest_cpu_ns_per_read\":{:.0},\
                 \"controller_cpu_ns_per_read\":{:.0},\"fingerprint\":\"{}\"}}",
                per_read(cost.wall, none.wall),
                per_read(cost.guest_cpu, none.guest_cpu),
                per_read(cost.controller_cpu, none.controller_cpu),
                many.fingerprint,
            );
        }
    }
}

/// Host time from a guest's start to the first instruction of its first program, and to its end.
fn start(repeats: u32) {
    let stage = Stage::new();
    for repeat in 0..repeats {
        let cost = stage.run("status 0", Transport::Bells, true).cost;
        println!(
            "{{\"bench\":\"start\",\"repeat\":{repeat},\"first_instruction_ms\":{:.2},\"wall_ms\":{:.2},\
             \"guest_cpu_ms\":{:.2},\"controller_cpu_ms\":{:.2}}}",
            cost.start.unwrap().as_secs_f64() * 1e3,
            cost.wall.as_secs_f64() * 1e3,
            cost.guest_cpu.as_secs_f64() * 1e3,
            cost.controller_cpu.as_secs_f64() * 1e3,
        );
    }
}
