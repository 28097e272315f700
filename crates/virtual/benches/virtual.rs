//! Kept measurements of the virtual backend: host cost per request, time to the first instruction,
//! repeatability. Prints one JSON object per run; `benches/runs/virtual/` keeps them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement that cannot be made must not look like one"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant as WallClock};

use seekwell_device::Model;
use seekwell_virtual::instant::Instant;
use seekwell_virtual::{
    DiskSetup, Keeping, Kernel, KernelPlan, KernelSet, KernelSource, Outcome, RootBuilder,
    RootImage, Settings, Task, Transport, Trial, kernel, run,
};

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["build", set] => build(set),
        ["io", repeats] => io(repeats.parse().unwrap()),
        ["start", repeats] => start(repeats.parse().unwrap()),
        ["seek", repeats] => seek(repeats.parse().unwrap()),
        ["repeat", repeats] => repeat(repeats.parse().unwrap()),
        ["part", kind] => part(kind),
        ["mail", files] => mail(files.parse().unwrap()),
        ["file", mib] => large_file(mib.parse().unwrap()),
        _ => {
            eprintln!(
                "build full|reduced; io REPEATS; start REPEATS; seek REPEATS; repeat REPEATS; part FILESYSTEM; mail FILES; file MIB"
            )
        }
    }
}

/// Prints the conditions needed to judge or repeat a run.
fn header(stage: &Stage) {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let first = |path: &str, start: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned()
    };
    println!(
        "{}",
        serde_json::json!({
            "command": command.join(" "),
            "lab_kernel": stage.kernel.id,
            "lab_kernel_set": stage.kernel.set,
            "lab_kernel_version": stage.kernel.version,
            "root_image": stage.root.hash(),
            "host_kernel": first("/proc/version", "Linux"),
            "cpu": first("/proc/cpuinfo", "model name"),
            "cpus": std::thread::available_parallelism().unwrap().get(),
            "load_before": first("/proc/loadavg", ""),
        })
    );
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
    kernel: Kernel,
    root: RootImage,
    scratch: tempfile::TempDir,
    cpu: usize,
}

/// Filesystems of the full set that are raced, as the kernel calls them.
const FILESYSTEMS: [&str; 9] =
    ["ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "reiserfs", "nilfs2"];

/// Of the reduced set.
const FEW_FILESYSTEMS: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "btrfs"];

impl Stage {
    fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let mut kernels = kernel::list(&cache()).unwrap();
        kernels.retain(Kernel::is_current);
        kernels.sort_by_key(|kernel| kernel.set);
        let kernel = kernels.into_iter().next().expect("no lab kernel: run `build full` first");
        let init = Path::new(env!("CARGO_BIN_EXE_seekwell-test-guest"));
        let keeping = Keeping { memory_bytes: 1 << 30, directory: scratch.path().into() };
        let mut builder = RootBuilder::new(init).unwrap();
        for kind in FILESYSTEMS {
            if let Some(path) = seekwell_testing::tool(&format!("mkfs.{kind}")) {
                builder.tool(&path).unwrap();
            }
        }
        let configuration = Path::new("/etc/mke2fs.conf");
        builder.file(configuration, configuration).unwrap();
        let root = builder.build(keeping).unwrap();
        let cpu = std::thread::available_parallelism().unwrap().get() - 1;
        Self { kernel, root, scratch, cpu }
    }

    fn settings(&self, transport: Transport, cpu: Option<usize>) -> Settings {
        Settings { cpu, transport, ..Settings::new(self.scratch.path()) }
    }

    fn run(&self, command: &str, model: Box<dyn Model>, settings: Settings) -> Outcome {
        let words = std::iter::once("/seekwell").chain(command.split(' '));
        let trial = Trial {
            kernel: &self.kernel.path,
            root: &self.root,
            disks: vec![DiskSetup::empty("data", model, &settings)],
            task: Task::Program(words.map(str::to_owned).collect()),
            input: &[],
            settings,
        };
        let outcome = run(trial, &mut |_| {}).unwrap();
        let log = String::from_utf8_lossy(&outcome.log);
        assert!(outcome.end.is_success(), "{}\n{log}\n{}", outcome.end, outcome.console);
        outcome
    }
}

fn instant() -> Box<dyn Model> {
    Box::new(Instant::new(1 << 21))
}

fn device(name: &str) -> Box<dyn Model> {
    let path = format!("{}/../../devices/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let file = seekwell_device::load(&std::fs::read_to_string(path).unwrap()).unwrap();
    seekwell_device::build(&file, 1)
}

fn per(many: Duration, none: Duration, count: u32) -> f64 {
    ((many.as_nanos() as f64 - none.as_nanos() as f64) / f64::from(count)).round()
}

/// Host cost of a 4 KiB direct read at depth 1, one system call each: the difference between many
/// reads and none, over the number of reads.
fn io(repeats: u32) {
    const READS: u32 = 50_000;
    let stage = Stage::new();
    header(&stage);
    for repeat in 0..repeats {
        for (transport, pinned) in [
            (Transport::Bells, true),
            (Transport::SharedClock, true),
            (Transport::Messages, true),
            (Transport::Bells, false),
        ] {
            let settings = || stage.settings(transport, pinned.then_some(stage.cpu));
            let none = stage.run("reads /dev/vda 0", instant(), settings()).cost;
            let many = stage.run(&format!("reads /dev/vda {READS}"), instant(), settings());
            let cost = many.cost;
            println!(
                "{}",
                serde_json::json!({
                    "bench": "io",
                    "repeat": repeat,
                    "transport": format!("{transport:?}"),
                    "pinned": pinned,
                    "reads": READS,
                    "wall_ns_per_read": per(cost.wall, none.wall, READS),
                    "guest_cpu_ns_per_read": per(cost.guest_cpu, none.guest_cpu, READS),
                    "controller_cpu_ns_per_read":
                        per(cost.controller_cpu, none.controller_cpu, READS),
                    "fingerprint": many.fingerprint.to_string(),
                })
            );
        }
    }
}

/// Measures the memory that a mail store takes: the workload's own content, each file from a new
/// block on.
fn mail(files: usize) {
    let params = seekwell_model::workloads::mail::MailParams {
        compressible: 0,
        repeated: 0,
        verify: 0,
        files: files as u64,
        directories: 20,
        largest: None,
        median_size: seekwell_model::units::Bytes(4096),
        // With this median, the mean is the 18,859 bytes of the archive that the workload is made after.
        spread: (2.0 * (18_859.0_f64 / 4096.0).ln()).sqrt(),
        tar: None,
        steps: Vec::new(),
        pipe: false,
        cache: seekwell_model::workloads::CacheState::Cold,
    };
    let tree = seekwell_workload::mail::tree::Tree::seeded(&params, 1);
    let scratch = tempfile::tempdir().unwrap();
    // What a trial keeps in memory; the rest goes to a file without a name.
    let keeping = Keeping { memory_bytes: 256 << 20, directory: scratch.path().into() };
    let mut content = seekwell_virtual::Content::new(1 << 34, keeping);
    let mut source = seekwell_workload::mail::content::Content::new(1);
    let (mut sector, mut bytes, begun) = (0, 0, WallClock::now());
    let mut block = vec![0; 4096];
    for file in 0..tree.len() {
        source.begin_file();
        let mut left = tree.size(file);
        while left > 0 {
            let data = source.next_bytes(left.min(4096));
            block.fill(0);
            block[..data.len()].copy_from_slice(data);
            content.write(sector, &block).unwrap();
            sector += 8;
            left -= data.len() as u64;
            bytes += data.len() as u64;
        }
    }
    println!(
        "{}",
        serde_json::json!({
            "bench": "mail",
            "files": files,
            "bytes": bytes,
            "blocks_of_4_kib": sector / 8,
            "stored_bytes": content.stored_bytes(),
            "resident_kib": resident_kib(),
            "wall_s": begun.elapsed().as_secs_f64(),
        })
    );
}

/// Memory of this process, in KiB.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Measures the memory that a large stamped file takes on ext3, on a disk of 2 TB.
fn large_file(mib: u64) {
    let stage = Stage::new();
    header(&stage);
    let settings = stage.settings(Transport::Bells, Some(stage.cpu));
    let run = |mib: u64| {
        let outcome = stage.run(
            &format!("stamped /dev/vda ext3 {mib}"),
            device("sata-2tb-5400"),
            settings.clone(),
        );
        (outcome.disks[0].parts.content.stored_bytes(), outcome.cost.wall.as_secs_f64())
    };
    let (empty, file) = (run(1), run(mib));
    let per_byte = (file.0 - empty.0) as f64 / ((mib - 1) as f64 * 1_048_576.0);
    println!(
        "{}",
        serde_json::json!({
            "bench": "file",
            "mib": mib,
            "stored_bytes_of_the_empty_filesystem": empty.0,
            "stored_bytes": file.0,
            "stored_gib_at_2_tb_by_extrapolation": (empty.0 as f64 + per_byte * 2e12) / f64::from(1 << 30),
            "resident_kib": resident_kib(),
            "wall_s": file.1,
        })
    );
}

/// Host time from a guest's start to the first instruction of its first program, and to its end.
fn start(repeats: u32) {
    let stage = Stage::new();
    header(&stage);
    let milliseconds = |time: Duration| (time.as_secs_f64() * 1e5).round() / 1e2;
    for repeat in 0..repeats {
        let settings = stage.settings(Transport::Bells, Some(stage.cpu));
        let cost = stage.run("status 0", instant(), settings).cost;
        println!(
            "{}",
            serde_json::json!({
                "bench": "start",
                "repeat": repeat,
                "first_instruction_ms": milliseconds(cost.start.unwrap()),
                "wall_ms": milliseconds(cost.wall),
                "guest_cpu_ms": milliseconds(cost.guest_cpu),
                "controller_cpu_ms": milliseconds(cost.controller_cpu),
            })
        );
    }
}

/// Random reads of 512 bytes over the whole of a 2 TB disk of 5400 rpm.
fn seek(repeats: u32) {
    const READS: u32 = 100_000;
    let stage = Stage::new();
    header(&stage);
    for repeat in 0..repeats {
        let settings = || stage.settings(Transport::Bells, Some(stage.cpu));
        let model = || device("sata-2tb-5400");
        let none = stage.run("reads /dev/vda 0 512", model(), settings()).cost;
        let many = stage.run(&format!("reads /dev/vda {READS} 512"), model(), settings());
        let virtual_ns: f64 = String::from_utf8_lossy(&many.output).trim().parse().unwrap();
        let wall = many.cost.wall - none.wall;
        println!(
            "{}",
            serde_json::json!({
                "bench": "seek",
                "repeat": repeat,
                "reads": READS,
                "virtual_s": virtual_ns / 1e9,
                "wall_s": wall.as_secs_f64(),
                "cpu_s": (many.cost.guest_cpu + many.cost.controller_cpu
                    - none.guest_cpu - none.controller_cpu).as_secs_f64(),
                "times_real_time": virtual_ns / 1e9 / wall.as_secs_f64(),
                "fingerprint": many.fingerprint.to_string(),
            })
        );
    }
}

/// Repeats one trial over every transport, on every CPU at once and while another program keeps one
/// CPU busy, and counts the different fingerprints.
fn repeat(repeats: usize) {
    let stage = Stage::new();
    header(&stage);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let kinds: &[&str] = match stage.kernel.set {
            KernelSet::Reduced => &FEW_FILESYSTEMS,
            KernelSet::Full | KernelSet::Layers => &FILESYSTEMS,
        };
        for kind in kinds {
            let begun = WallClock::now();
            let (found, events) = fingerprints(&stage, kind, repeats);
            println!(
                "{}",
                serde_json::json!({
                    "bench": "repeat",
                    "filesystem": kind,
                    "repeats": repeats,
                    "different_fingerprints": found.len(),
                    "fingerprints": found,
                    "events": events,
                    "wall_s": begun.elapsed().as_secs_f64(),
                })
            );
        }
        stop.store(true, Ordering::Relaxed);
    });
}

fn fingerprints(stage: &Stage, kind: &str, repeats: usize) -> (BTreeMap<String, u32>, u64) {
    let found = Mutex::new((BTreeMap::new(), 0));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for cpu in 0..=stage.cpu {
            let (found, next) = (&found, &next);
            scope.spawn(move || {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= repeats {
                        break;
                    }
                    let transports =
                        [Transport::Bells, Transport::SharedClock, Transport::Messages];
                    let pinned = (number % 4 != 3).then_some(cpu);
                    let settings = stage.settings(transports[number % 3], pinned);
                    let command = format!("churn /dev/vda {kind} bfq");
                    let outcome = stage.run(&command, device("ide-40gb-2005"), settings);
                    let mut found = found.lock().unwrap();
                    *found.0.entry(outcome.fingerprint.to_string()).or_insert(0) += 1;
                    found.1 = outcome.fingerprint.events;
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// Finds the first difference between runs over different transports.
fn part(kind: &str) {
    let stage = Stage::new();
    let run = |transport| {
        let settings = Settings { keep_events: true, ..stage.settings(transport, Some(stage.cpu)) };
        stage.run(&format!("churn /dev/vda {kind} bfq"), device("ide-40gb-2005"), settings)
    };
    let first = run(Transport::Bells);
    for transport in [Transport::Bells, Transport::SharedClock, Transport::Messages] {
        let other = run(transport);
        match seekwell_virtual::difference(&first, &other) {
            None => println!("{transport:?}: the same"),
            Some(difference) => println!("{transport:?}: {difference}"),
        }
    }
}
