//! Commands recorded in guests, and their replay in guests of the same kind under the same charge.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]
#![allow(clippy::print_stdout, reason = "--nocapture shows the figures")]

mod common;

use std::path::{Path, PathBuf};

use seekwell_model::plan::{BackendFacts, Plan, PlannedTrial};
use seekwell_model::record::{Record, Status, StepRecord};
use seekwell_trace::{Event, Trace};
use seekwell_virtual::kernel::{Kernel, KernelSet};
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

/// A lab of one stack with this workload.
fn plan(model: &str, filesystem: &str, workload: &str) -> Plan {
    let text = format!(
        "[lab]\nname = \"t\"\n[[device]]\nname = \"disk\"\nmodel = {{ name = \"{model}\", size = \"512MiB\" }}\n[[filesystem]]\ntype = \"{filesystem}\"\n[scheduler]\nchoose = [\"none\"]\n[[workload]]\n{workload}\n"
    );
    let file = seekwell_spec::read_lab_bytes(text.as_bytes(), "t.toml").unwrap();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let facts = BackendFacts {
        schedulers: words(&["none"]),
        kernel_filesystems: words(&["ext4", "xfs", "btrfs"]),
        programs: words(&["mkfs.ext4", "e2fsck", "mkfs.xfs", "xfs_repair", "mkfs.btrfs", "btrfs"]),
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
    }
}

/// Resolution of a guest's clock.
const CLOCK_S: f64 = 256.5e-9;

/// The lab kernel that records, if it was built.
fn kernel(test: &str) -> Option<Kernel> {
    common::lab_kernel_with(test, &|set| set == KernelSet::Recording)
}

/// Runs the only trial of a plan; with a folder, its command is recorded there.
fn run(kernel: &Kernel, plan: &Plan, traces: &[PathBuf], record: Option<&Path>) -> Record {
    run_with_seed(kernel, plan, traces, record, 7)
}

fn run_with_seed(
    kernel: &Kernel,
    plan: &Plan,
    traces: &[PathBuf],
    record: Option<&Path>,
    seed: u64,
) -> Record {
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
    let trial = PlannedTrial { seed, ..plan.trials[0] };
    let record = backend.run_trial(plan, &trial, &Lane::default(), &mut |_| {}).unwrap();
    assert_eq!(record.status, Status::Ok, "{:?}", record.status);
    record
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
    let trace = trace.display();
    format!("kind = \"replay\"\ntrace = \"{trace}\"\nonly = \"/mnt/base\"\ncontent = \"zeros\"")
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
const BROUGHT: [&str; 1] = ["sqlite3"];

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

/// Programs of the table: name, preparation and command.
const PROGRAMS: [(&str, &str, &str); 10] = [
    (
        "untar",
        "cd {dir}; mkdir t; i=0; while [ $i -lt 400 ]; do echo $i $i $i > t/$i; i=$((i+1)); done; tar cf a.tar t; rm -r t",
        "tar xf a.tar",
    ),
    (
        "rm",
        "cd {dir}; mkdir t; i=0; while [ $i -lt 400 ]; do echo $i $i $i > t/$i; i=$((i+1)); done",
        "rm -r t",
    ),
    (
        "tar",
        "cd {dir}; mkdir t; i=0; while [ $i -lt 400 ]; do echo $i $i $i > t/$i; i=$((i+1)); done",
        "tar cf a.tar t",
    ),
    (
        "copy",
        "cd {dir}; mkdir t; i=0; while [ $i -lt 200 ]; do echo $i $i $i > t/$i; i=$((i+1)); done",
        "cp -r t u; sync",
    ),
    (
        "find",
        "cd {dir}; for d in 0 1 2 3 4 5 6 7; do mkdir $d; i=0; while [ $i -lt 100 ]; do echo > $d/$i; i=$((i+1)); done; done",
        "find . -size +9k",
    ),
    ("log", "true", "dd if=/dev/zero of=log bs=4k count=300 oflag=dsync 2>/dev/null"),
    ("stream", "dd if=/dev/zero of={dir}/f bs=1M count=64 2>/dev/null", "cat f >/dev/null"),
    ("write", "true", "dd if=/dev/zero of=f bs=1M count=64 conv=fsync 2>/dev/null"),
    (
        "maildir",
        "cd {dir}; mkdir tmp new",
        "i=0; while [ $i -lt 60 ]; do echo $i > tmp/$i; sync tmp/$i; mv tmp/$i new/$i; i=$((i+1)); done",
    ),
    (
        "sqlite",
        "sqlite3 {dir}/db 'create table t(a,b);'",
        "i=0; while [ $i -lt 60 ]; do echo \\\"insert into t values($i,zeroblob(200));\\\"; i=$((i+1)); done | sqlite3 db",
    ),
];

/// Stacks of the table: filesystem and model.
const STACKS: [(&str, &str); 4] = [
    ("ext4", "sata-2tb-7200"),
    ("xfs", "sata-2tb-7200"),
    ("btrfs", "sata-2tb-7200"),
    ("ext4", "ssd-sata-250gb"),
];

fn error(own: f64, other: f64) -> f64 {
    (other / own).ln().abs()
}

fn median_and_worst(mut errors: Vec<f64>) -> (f64, f64) {
    errors.sort_by(f64::total_cmp);
    (errors[errors.len() / 2], errors[errors.len() - 1])
}

/// Programs against their replays, on the stack of the recording and on others: a table as CSV.
#[test]
#[ignore = "takes minutes: make recordings"]
fn replays_predict_their_programs() {
    let test = "replays_predict_their_programs";
    let Some(kernel) = kernel(test) else { return };
    let (mut same, mut others, mut twice, mut winners) = (vec![], vec![], vec![], vec![]);
    println!("program,from,to,program_s,other_seed_s,replay_s,error,fidelity,calls");
    for (name, prepare, line) in PROGRAMS {
        let folder = tempfile::tempdir().unwrap();
        let own: Vec<(f64, f64, PathBuf)> = (0..STACKS.len())
            .map(|at| {
                let (filesystem, model) = STACKS[at];
                let place = folder.path().join(at.to_string());
                let plan = plan(model, filesystem, &command(prepare, line));
                run(&kernel, &plan, &[], Some(&place));
                // Without the walk before, which leaves files in the cache of the disk itself.
                let program = run(&kernel, &plan, &[], None);
                let again = run_with_seed(&kernel, &plan, &[], None, 8);
                let elapsed = |record: &Record| seconds(record, "command", "elapsed_durable");
                (elapsed(&program), elapsed(&again), only_trace(&place))
            })
            .collect();
        for (from, (_, _, trace)) in own.iter().enumerate() {
            let mut predicted = vec![];
            // From the first stack to all; from the others to themselves.
            let targets = own.iter().enumerate().filter(|(to, _)| from == 0 || *to == from);
            for (to, (program_s, again_s, _)) in targets {
                let (filesystem, model) = STACKS[to];
                let plan = plan(model, filesystem, &replay(trace));
                let replayed = run(&kernel, &plan, std::slice::from_ref(trace), None);
                let metric = |name: &str| seconds(&replayed, "replay", name);
                let replay_s = metric("elapsed_durable");
                let found = error(*program_s, replay_s);
                println!(
                    "{name},{from},{to},{program_s:.6},{again_s:.6},{replay_s:.6},{found:.4},{:.4},{}",
                    metric("fidelity"),
                    metric("ops")
                );
                if from == to {
                    same.push(found)
                } else {
                    others.push(found)
                }
                predicted.push(replay_s);
            }
            let best = |times: &mut dyn Iterator<Item = f64>| {
                times.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0
            };
            let of_program = best(&mut own.iter().map(|one| one.0));
            if from > 0 {
                continue;
            }
            winners.push(best(&mut predicted.into_iter()) == of_program);
        }
        twice.extend(own.iter().map(|one| error(one.0, one.1)));
    }
    for (what, errors) in [("same stack", same), ("other stack", others), ("program twice", twice)]
    {
        let count = errors.len();
        let (median, worst) = median_and_worst(errors);
        println!("{what}: {count} pairs, error median {median:.4}, worst {worst:.4}");
    }
    let right = winners.iter().filter(|right| **right).count();
    println!("winner of {} stacks: {right} of {}", STACKS.len(), winners.len());
}
