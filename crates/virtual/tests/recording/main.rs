//! Commands recorded in guests, and their replay in guests of the same kind under the same charge.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]
#![allow(clippy::print_stdout, reason = "--nocapture shows the figures")]

#[path = "../common/mod.rs"]
mod common;
mod host;
mod table;

use std::path::{Path, PathBuf};

use seekwell_model::plan::{BackendFacts, Plan, PlannedTrial};
use seekwell_model::record::{Record, Status, StepRecord};
use seekwell_trace::{Event, Trace};
use seekwell_virtual::kernel::Kernel;
use seekwell_virtual::{CpuCharge, Lane, VirtualBackend, VirtualOptions};

/// What a machine of today takes.
const CHARGE: CpuCharge = CpuCharge { syscall_ns: 300, copy_ns_per_kib: 50, ..NO_CHARGE };
const NO_CHARGE: CpuCharge = CpuCharge {
    syscall_ns: 0,
    copy_ns_per_kib: 0,
    work: seekwell_virtual::WorkCharge {
        cipher: 0,
        hash: 0,
        parity: 0,
        compress: 0,
        decompress: 0,
    },
};

/// Filesystem, model of the device, and scheduler.
type Stack = (&'static str, &'static str, &'static str);

/// The lab's lines of a filesystem.
fn filesystem(name: &str) -> String {
    match name {
        // As the first study's, whose superblock counts at every transaction, and at unmount.
        "xfs-v4" => {
            "type = \"xfs\"\nmkfs = [\"-m\", \"crc=0\", \"-l\", \"lazy-count=0\"]".to_owned()
        }
        "xfs-v4-lazy" => {
            "type = \"xfs\"\nmkfs = [\"-m\", \"crc=0\", \"-l\", \"lazy-count=1\"]".to_owned()
        }
        _ => format!("type = \"{name}\""),
    }
}

/// A lab of one stack without a scheduler, with this workload.
fn plan(model: &'static str, filesystem: &'static str, workload: &str) -> Plan {
    plan_on((filesystem, model, "none"), workload)
}

/// A lab of one stack with this workload.
fn plan_on((name, model, scheduler): Stack, workload: &str) -> Plan {
    let filesystem = filesystem(name);
    let text = format!(
        "[lab]\nname = \"t\"\n[[device]]\nname = \"disk\"\nmodel = {{ name = \"{model}\", size = \"512MiB\" }}\n[[filesystem]]\n{filesystem}\n[scheduler]\nchoose = [\"{scheduler}\"]\n[[workload]]\n{workload}\n"
    );
    let file = seekwell_spec::read_lab_bytes(text.as_bytes(), "t.toml").unwrap();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let facts = BackendFacts {
        schedulers: words(&["none", "mq-deadline", "bfq"]),
        kernel_filesystems: words(&["ext2", "ext3", "ext4", "xfs", "btrfs", "jfs"]),
        programs: words(&[
            "mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "e2fsck", "mkfs.xfs", "xfs_repair",
            "mkfs.btrfs", "btrfs", "mkfs.jfs", "jfs_fsck",
        ]),
        ..BackendFacts::default()
    };
    let expansion = seekwell_spec::expand(&file, &facts).unwrap();
    assert_eq!(expansion.stacks.len(), 1, "{:?}", expansion.left_out);
    let mut lab = file.lab.clone();
    lab.trial.make_once = false;
    Plan {
        workloads: lab.workloads.clone(),
        lab,
        stacks: expansion.stacks,
        candidates: expansion.candidates,
        trials: vec![PlannedTrial { index: 0, round: 0, candidate: 0, seed: 7 }],
        left_out: vec![],
        costs: vec![],
        warnings: vec![],
        race: None,
        control: None,
        prolonged: None,
        replay_checks: vec![],
    }
}

/// Resolution of a guest's clock.
const CLOCK_S: f64 = 256.5e-9;

/// The lab kernel that records, if it was built.
fn kernel(test: &str) -> Option<Kernel> {
    common::lab_kernel_with(test, &|set| set.has_layers())
}

/// Runs the only trial of a plan; with a folder, its command is recorded there.
fn run(kernel: &Kernel, plan: &Plan, traces: &[PathBuf], record: Option<&Path>) -> Record {
    Guests::new(kernel, traces, record).run(plan, 7)
}

/// Guests of one root image.
struct Guests {
    backend: VirtualBackend,
    _scratch: tempfile::TempDir,
}

impl Guests {
    fn new(kernel: &Kernel, traces: &[PathBuf], record: Option<&Path>) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let options = VirtualOptions {
            kernel: kernel.clone(),
            program: PathBuf::from(env!("CARGO_BIN_EXE_seekwell-test-guest")),
            devices: seekwell_device::catalogue().unwrap(),
            traces: traces.to_vec(),
            bring: BROUGHT.iter().filter_map(|name| seekwell_testing::tool(name)).collect(),
            scratch: scratch.path().to_path_buf(),
            charge: CHARGE,
            check: false,
            record: record.map(Path::to_owned),
        };
        let backend = VirtualBackend::new(options, &seekwell_testing::tool).unwrap();
        Self { backend, _scratch: scratch }
    }

    /// Runs the only trial of a plan.
    fn run(&self, plan: &Plan, seed: u64) -> Record {
        let trial = PlannedTrial { seed, ..plan.trials[0] };
        let record = self.backend.run_trial(plan, &trial, &Lane::default(), &mut |_| {}).unwrap();
        assert_eq!(record.status, Status::Ok, "{:?}", record.status);
        record
    }
}

fn step<'r>(record: &'r Record, name: &str) -> &'r StepRecord {
    record.steps.iter().find(|step| step.name == name).unwrap()
}

fn seconds(record: &Record, name: &str, metric: &str) -> f64 {
    step(record, name).metrics[metric]
}

/// The lab's lines of a command.
fn command(prepare: &str, run: &str) -> String {
    format!("kind = \"command\"\nprepare = \"{prepare}\"\nrun = \"cd {{dir}}; {run}\"")
}

/// The lab's lines of a replay.
fn replay(trace: &Path) -> String {
    replay_of(trace, Path::new("/mnt/base"))
}

/// The lab's lines of the replay of a folder.
fn replay_of(trace: &Path, only: &Path) -> String {
    let [trace, only] = [trace, only].map(Path::display);
    format!("kind = \"replay\"\ntrace = \"{trace}\"\nonly = \"{only}\"\ncontent = \"zeros\"")
}

/// The only trace below a folder.
fn only_trace(folder: &Path) -> PathBuf {
    let mut traces = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let trace = traces.next().unwrap();
    assert!(traces.next().is_none());
    trace
}

/// Calls below a directory: name, result and the file's name, without those of the shell's lookups.
fn calls_below(trace: &Path, directory: &str) -> Vec<(&'static str, i64, String)> {
    let trace = Trace::open(trace).unwrap();
    let files = trace.files().unwrap();
    let mut rows = Vec::new();
    let each = |event: Event| {
        let file = event.file.and_then(|id| files.iter().find(|file| file.id == id));
        let path = file.and_then(|file| file.path.clone()).unwrap_or_default();
        if let Some(name) = path.strip_prefix(directory).filter(|name| !name.is_empty()) {
            rows.push((event.call.call().name, event.result.unwrap(), name.to_owned()));
        }
        Ok(())
    };
    trace.events(each).unwrap();
    rows
}

/// Programs of the table that are not in every guest.
const BROUGHT: [&str; 2] = ["sqlite3", "rrdtool"];

const PREPARE: &str = "dd if=/dev/zero of={dir}/old bs=64k count=64 2>/dev/null";
const RUN: &str = "mkdir a; dd if=old of=a/f bs=64k conv=fsync 2>/dev/null; mv a/f b; rm -r a old";

#[test]
fn a_command_is_recorded_and_its_trace_has_its_calls() {
    let test = "a_command_is_recorded_and_its_trace_has_its_calls";
    let Some(kernel) = kernel(test) else { return };
    let plan = plan("fixed", "ext4", &command(PREPARE, RUN));
    let folder = tempfile::tempdir().unwrap();
    let record = run(&kernel, &plan, &[], Some(folder.path()));
    let place = only_trace(folder.path());
    let found = calls_below(&place, "/mnt/base");
    let is_there = |name: &str, result: i64, file: &str| {
        found.iter().filter(|row| **row == (name, result, file.to_owned())).count()
    };
    assert_eq!(is_there("read", 65_536, "/old"), 64);
    assert_eq!(is_there("write", 65_536, "/a/f"), 64);
    assert_eq!(is_there("fsync", 0, "/a/f"), 1);
    let trace = Trace::open(&place).unwrap();
    let meta = trace.meta();
    assert_eq!((meta.lost_events(), meta.initial.len()), (0, 1));
    assert!(meta.initial[0].complete);
    let mut initial = Vec::new();
    let each = |entry: seekwell_trace::InitialEntry| {
        initial.push((entry.path, entry.bytes));
        Ok(())
    };
    trace.initial(each).unwrap();
    assert!(initial.contains(&("/mnt/base/old".to_owned(), 4 << 20)), "{initial:?}");
    // The recording takes no virtual time of the command.
    let plain = run(&kernel, &plan, &[], None);
    let elapsed = |record: &Record| seconds(record, "command", "elapsed");
    println!("elapsed {} s recorded, {} s plain", elapsed(&record), elapsed(&plain));
    assert!((elapsed(&record) - elapsed(&plain)).abs() <= CLOCK_S);
}

#[test]
fn a_replay_takes_the_time_of_its_program() {
    let test = "a_replay_takes_the_time_of_its_program";
    let Some(kernel) = kernel(test) else { return };
    let command = plan("fixed", "ext4", &command(PREPARE, RUN));
    let folder = tempfile::tempdir().unwrap();
    let program = run(&kernel, &command, &[], Some(folder.path()));
    let trace = only_trace(folder.path());
    let replayed = run(&kernel, &plan("fixed", "ext4", &replay(&trace)), &[trace], None);
    let metric = |name: &str| seconds(&replayed, "replay", name);
    for warning in &replayed.warnings {
        println!("{}", warning.text);
    }
    let (own, other) = (seconds(&program, "command", "elapsed"), metric("elapsed"));
    println!("program {own} s, replay {other} s, error {:.1} %", 100.0 * (other / own).ln().abs());
    println!("{:?}", step(&replayed, "replay").metrics);
    assert_eq!(metric("fidelity"), 1.0);
    assert_eq!(metric("calls_differing"), 0.0);
    assert!((other / own).ln().abs() < 0.05);
}
