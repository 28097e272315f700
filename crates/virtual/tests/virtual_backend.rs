//! The real agent in real guests on modelled disks: trials of a plan, from its request to its record.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use seekwell_model::origin::{OriginKind, TracedRequest, TracedStep};
use seekwell_model::plan::{BackendFacts, Candidate, Plan, PlannedTrial};
use seekwell_model::power_cut::{AfterCut, CutCounts};
use seekwell_model::record::{Record, Status};
use seekwell_model::stack::Backing;
use seekwell_model::workloads::calls::Call;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Limits, Operation, Request, RequestFlags, TraceWriter};
use seekwell_virtual::cuts::space::Space;
use seekwell_virtual::kernel::Kernel;
use seekwell_virtual::{CpuCharge, Lane, SequenceCut, VirtualBackend, VirtualOptions};

/// A plan of one trial per filesystem of a lab, on the modelled device `model`.
fn plan(filesystems: &[&str], model: &str, rest: &str) -> Plan {
    plan_of(filesystems, &["bfq"], model, rest)
}

/// The same under each of these schedulers.
fn plan_of(filesystems: &[&str], schedulers: &[&str], model: &str, rest: &str) -> Plan {
    let axis: String =
        filesystems.iter().map(|name| format!("[[filesystem]]\ntype = \"{name}\"\n")).collect();
    let text = format!(
        "[lab]\nname = \"t\"\n[[device]]\nname = \"disk\"\nram = \"512MiB\"\n{axis}[scheduler]\nchoose = {schedulers:?}\n{rest}"
    );
    let file = seekwell_spec::read_lab_bytes(text.as_bytes(), "t.toml").unwrap();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect();
    let facts = BackendFacts {
        schedulers: words(&["none", "mq-deadline", "kyber", "bfq"]),
        kernel_filesystems: words(&["ext2", "ext3", "ext4", "xfs", "btrfs"]),
        programs: words(&["mkfs.ext4", "e2fsck", "mkfs.xfs", "mkfs.btrfs"]),
        ..BackendFacts::default()
    };
    let expansion = seekwell_spec::expand(&file, &facts).unwrap();
    let mut stacks = expansion.stacks;
    for stack in &mut stacks {
        stack.device.backing = Backing::Model { model: model.to_owned(), size: None, start: None };
    }
    let candidates: Vec<Candidate> = expansion.candidates;
    let trials = candidates.iter().enumerate().map(|(index, _)| PlannedTrial {
        index: index as u32,
        round: 0,
        candidate: index as u32,
        seed: 7,
    });
    let lab = file.lab.clone();
    let trials = trials.collect();
    let workloads = lab.workloads.clone();
    Plan {
        lab,
        stacks,
        workloads,
        candidates,
        trials,
        left_out: vec![],
        costs: vec![],
        warnings: vec![],
        race: None,
        control: None,
        prolonged: None,
        replay_checks: vec![],
    }
}

/// A card that claims 64 MiB and has 16, whose sectors beyond those are the first ones again.
const FAKE: &str = r#"name = "fake"
title = "a fake"
kind = "fixed"
[presented]
sectors = 131072
wraps_at = 32768
queue_depth = 32
max_request_kib = 512
[fixed]
read_latency_us = 100
write_latency_us = 100
mb_per_s = 100
parallel = 32
[sources]
presented = "test"
fixed = "test"
"#;

fn backend(kernel: Kernel, scratch: &Path) -> VirtualBackend {
    backend_with(kernel, scratch, Vec::new())
}

fn backend_with(kernel: Kernel, scratch: &Path, traces: Vec<PathBuf>) -> VirtualBackend {
    let mut devices = seekwell_device::catalogue().unwrap();
    devices.insert("fake".to_owned(), seekwell_device::load(FAKE).unwrap());
    let options = VirtualOptions {
        kernel,
        program: PathBuf::from(env!("CARGO_BIN_EXE_seekwell-test-guest")),
        devices,
        traces,
        bring: Vec::new(),
        scratch: scratch.to_path_buf(),
        charge: CpuCharge::default(),
        check: false,
        record: None,
    };
    VirtualBackend::new(options, &seekwell_testing::tool).unwrap()
}

fn value(record: &Record, step: &str, metric: &str) -> f64 {
    let found = record.steps.iter().find(|found| found.name == step);
    found.and_then(|step| step.metrics.get(metric).copied()).unwrap_or_else(|| {
        let names: Vec<&str> = record.steps.iter().map(|step| step.name.as_str()).collect();
        panic!("no {step}.{metric} in {names:?}")
    })
}

/// Returns true if all these programs are installed; counts a skip otherwise.
fn has_tools(test: &str, tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| seekwell_testing::tool(tool).is_none());
    if let Some(tool) = missing {
        seekwell_testing::skip(test, &format!("{tool} is not installed"));
    }
    missing.is_none()
}

/// A trial of a plan with another seed, which goes well; and the steps that it told of.
fn run_with_seed(
    backend: &VirtualBackend,
    plan: &Plan,
    index: usize,
    seed: u64,
) -> (Record, Vec<String>) {
    let trial = PlannedTrial { seed, ..plan.trials[index] };
    let mut told = Vec::new();
    let record = backend
        .run_trial(plan, &trial, &Lane::default(), &mut |name| told.push(name.to_owned()))
        .unwrap();
    assert_eq!(record.status, Status::Ok, "{:?}", record.warnings);
    (record, told)
}

#[test]
fn the_agent_unpacks_a_mail_store_in_a_guest_and_twice_the_same() {
    let test = "the_agent_unpacks_a_mail_store_in_a_guest_and_twice_the_same";
    let Some(kernel) = common::lab_kernel(test) else { return };
    if !has_tools(test, &["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let backend = backend(kernel, scratch.path());
    let mail = "[[workload]]\nkind = \"mail\"\nfiles = 60\n[judge]\nmetric = \"unpack.elapsed\"\n";
    let plan = plan(&["ext4", "xfs", "btrfs"], "ide-40gb-2005", mail);
    assert_eq!(plan.trials.len(), 3);
    for trial in &plan.trials {
        let mut steps = Vec::new();
        let first = backend
            .run_trial(&plan, trial, &Lane::default(), &mut |name| steps.push(name.to_owned()))
            .unwrap();
        assert_eq!(first.status, Status::Ok, "{:?}", first.warnings);
        assert!(steps.contains(&"unpack".to_owned()), "{steps:?}");
        assert!(value(&first, "unpack", "elapsed_durable") >= value(&first, "unpack", "elapsed"));
        assert_eq!(first.in_force.device.queue.scheduler.as_deref(), Some("bfq"));
        assert!(first.warnings.iter().any(|warning| warning.code == "virtual-cpu-free"));
        let traced = backend.run_traced(&plan, trial, &Lane::default(), "unpack").unwrap();
        let (second, requests) = traced;
        assert!(first == second, "{:?} {:?}", first.fingerprint, second.fingerprint);
        let (step, stack) = (requests.unwrap(), &plan.pair(trial).0.label);
        let all = [OriginKind::Metadata, OriginKind::Data, OriginKind::Flush, OriginKind::Journal];
        // The tree log of btrfs is written for an fsync alone.
        check_origins(&step, stack, &all[..if stack.contains("btrfs") { 3 } else { 4 }]);
        let data = step.origins.iter().filter(|origin| origin.kind == OriginKind::Data);
        let paths: Vec<&str> = data.map(|origin| origin.path.as_str()).collect();
        assert!(paths.iter().all(|path| path.contains('/')), "{stack}: {paths:?}");
    }
}

/// At most one request in fifty is of unknown origin, and these kinds are found.
fn check_origins(step: &TracedStep, stack: &str, kinds: &[OriginKind]) {
    let count = |kind: OriginKind| {
        let is_of = |one: &&TracedRequest| step.origins[one.origin as usize].kind == kind;
        step.requests.iter().filter(is_of).count()
    };
    let counts = OriginKind::ALL.map(|kind| (kind, count(kind)));
    assert!(count(OriginKind::Unknown) * 50 <= step.requests.len(), "{stack}: {counts:?}");
    for kind in kinds {
        assert!(count(*kind) > 0, "{stack}: {counts:?}");
    }
}

#[test]
fn origins_are_known_past_the_page_cache_and_with_syncs() {
    let test = "origins_are_known_past_the_page_cache_and_with_syncs";
    let Some(kernel) = common::lab_kernel(test) else { return };
    if !has_tools(test, &["mkfs.ext4", "mkfs.xfs", "mkfs.btrfs"]) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let backend = backend(kernel, scratch.path());
    let seek = "[[workload]]\nkind = \"seek\"\nfile_size = \"16MiB\"\ncount = 60\nmix = 50\nsync = \"fsync\"\n[judge]\nmetric = \"seek.iops\"\n";
    let plan = plan(&["ext4", "xfs", "btrfs", "raw"], "ide-40gb-2005", seek);
    for trial in &plan.trials {
        let stack = &plan.pair(trial).0.label;
        let (record, step) = backend.run_traced(&plan, trial, &Lane::default(), "seek").unwrap();
        let step = step.unwrap_or_else(|| panic!("{stack}: {record:?}"));
        let is_raw = stack.contains("raw");
        // The tree log of btrfs is the journal of its syncs.
        let kinds = [OriginKind::Data, OriginKind::Flush, OriginKind::Journal];
        check_origins(&step, stack, &kinds[..if is_raw { 2 } else { 3 }]);
    }
}

#[test]
fn a_frozen_stack_is_the_same_whether_it_was_just_made_or_kept() {
    let test = "a_frozen_stack_is_the_same_whether_it_was_just_made_or_kept";
    let Some(kernel) = common::lab_kernel(test) else { return };
    let scratch = tempfile::tempdir().unwrap();
    if !has_tools(test, &["mkfs.ext4", "e2fsck"]) {
        return;
    }
    let seek = |size: &str| {
        let rest = format!(
            "[trial]\nfreeze = true\nfsck = true\n[[workload]]\nkind = \"seek\"\nsize = \"{size}\"\nfile_size = \"64MiB\"\ncontent = \"stamped\"\ncount = 40\n[judge]\nmetric = \"seek.iops\"\n"
        );
        plan(&["ext4", "raw"], "maxtor-6y080l0", &rest)
    };
    let (small, large) = (seek("512B"), seek("4KiB"));
    let run = |backend: &VirtualBackend, plan: &Plan, index: usize, seed: u64| {
        let (record, said) = run_with_seed(backend, plan, index, seed);
        assert!(record.warnings.iter().any(|warning| warning.code == "frozen-populate"));
        (record, said.contains(&"seek-populate".to_owned()))
    };
    for (index, made) in [(0, 1), (1, 0)] {
        let kept = backend(kernel.clone(), scratch.path());
        let (first, populated) = run(&kept, &small, index, 7);
        assert!(populated);
        assert_eq!(first.in_force.mkfs.len(), made, "{:?}", first.in_force.mkfs);
        let steps: Vec<&str> = first.steps.iter().map(|step| step.name.as_str()).collect();
        let expected: &[&str] =
            if made == 1 { &["mount", "seek", "umount", "fsck"] } else { &["seek"] };
        assert_eq!(steps, expected);
        let (second, populated) = run(&kept, &small, index, 8);
        assert!(!populated, "a kept stack was made again");
        assert_ne!(first.fingerprint, second.fingerprint, "another seed reads elsewhere");
        let (_, populated) = run(&kept, &large, index, 8);
        assert!(!populated, "another size of read needs no other file");
        let fresh = backend(kernel.clone(), scratch.path());
        let (again, populated) = run(&fresh, &small, index, 8);
        assert!(populated);
        assert!(again == second, "{:?} {:?}", again.fingerprint, second.fingerprint);
    }
}

#[test]
fn a_filesystem_that_was_made_once_gives_the_records_of_one_that_was_just_made() {
    let test = "a_filesystem_that_was_made_once_gives_the_records_of_one_that_was_just_made";
    let Some(kernel) = common::lab_kernel(test) else { return };
    if !has_tools(test, &["mkfs.ext4", "mkfs.xfs"]) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let mail = |once: bool| {
        let rest = format!(
            "[trial]\nmake_once = {once}\n[[workload]]\nkind = \"mail\"\nfiles = 60\n[judge]\nmetric = \"unpack.elapsed\"\n"
        );
        plan(&["ext4", "xfs"], "ide-40gb-2005", &rest)
    };
    let (once, anew) = (mail(true), mail(false));
    for index in 0..once.trials.len() {
        let run = |backend: &VirtualBackend, plan: &Plan, seed: u64| {
            let (record, said) = run_with_seed(backend, plan, index, seed);
            (record, said.contains(&"mkfs".to_owned()))
        };
        let kept = backend(kernel.clone(), scratch.path());
        let (first, made) = run(&kept, &once, 7);
        assert!(made);
        let (second, made) = run(&kept, &once, 8);
        assert!(!made, "a kept filesystem was made again");
        assert_ne!(first.fingerprint, second.fingerprint, "another seed unpacks other mails");
        let (just_made, made) = run(&backend(kernel.clone(), scratch.path()), &once, 8);
        assert!(made);
        assert!(just_made == second, "{:?} {:?}", just_made.fingerprint, second.fingerprint);
        // A trial in one piece: the same steps, and nearly the same work of the device.
        let (whole, made) = run(&kept, &anew, 8);
        assert!(made);
        let steps = |record: &Record| -> Vec<String> {
            record.steps.iter().map(|step| step.name.clone()).collect()
        };
        assert_eq!(steps(&whole), steps(&second));
        assert_eq!(whole.in_force, second.in_force);
        let metric = "device_written_bytes";
        let ratio = value(&whole, "unpack", metric) / value(&second, "unpack", metric);
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
        assert!(second.elapsed_ns > (value(&second, "mkfs", "elapsed") * 1e9) as u64);
    }
}

/// Random reads with 32 outstanding, per second, by scheduler.
fn reads_per_second(backend: &VirtualBackend, model: &str) -> BTreeMap<String, f64> {
    let seek = "[[workload]]\nkind = \"seek\"\nsize = \"4KiB\"\nfile_size = \"256MiB\"\ncache = \"direct\"\ncount = 1500\ndepth = 32\nengine = \"io_uring\"\n[judge]\nmetric = \"seek.iops\"\n";
    let plan = plan_of(&["raw"], &["none", "mq-deadline", "bfq"], model, seek);
    let rate = |trial: &PlannedTrial| {
        let record = backend.run_trial(&plan, trial, &Lane::default(), &mut |_| {}).unwrap();
        assert_eq!(record.status, Status::Ok, "{:?}", record.warnings);
        let scheduler = plan.pair(trial).0.scheduler.kind.clone();
        let queue = &record.in_force.device.queue;
        assert_eq!(queue.scheduler.as_ref(), Some(&scheduler));
        // As many writes as requests, also where the device's own depth is 1.
        if let Some(writes) = queue.tunables.get("async_depth") {
            assert!(writes.parse::<u32>().unwrap() >= queue.nr_requests.unwrap(), "{queue:?}");
        }
        (scheduler, value(&record, "seek", "iops"))
    };
    plan.trials.iter().map(rate).collect()
}

/// That it does not help one which sorts itself, the tests of the machine say.
#[test]
fn a_scheduler_helps_a_disk_that_takes_one_request() {
    let test = "a_scheduler_helps_a_disk_that_takes_one_request";
    let Some(kernel) = common::lab_kernel(test) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let backend = backend(kernel, scratch.path());
    let one = reads_per_second(&backend, "maxtor-6y080l0");
    for scheduler in ["mq-deadline", "bfq"] {
        assert!(one[scheduler] > 1.05 * one["none"], "{one:?}");
    }
}

#[test]
fn a_device_that_is_none_of_ours_is_refused_in_words() {
    let test = "a_device_that_is_none_of_ours_is_refused_in_words";
    let Some(kernel) = common::lab_kernel(test) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let backend = backend(kernel, scratch.path());
    let seek = "[[workload]]\nkind = \"mail\"\nfiles = 60\n[judge]\nmetric = \"unpack.elapsed\"\n";
    let mut plan = plan(&["ext4"], "no-such-disk", seek);
    let trial = plan.trials[0];
    let message = |backend: &VirtualBackend, plan: &Plan| {
        backend.run_trial(plan, &trial, &Lane::default(), &mut |_| {}).unwrap_err().to_string()
    };
    assert_eq!(
        message(&backend, &plan),
        "disk names the modelled device 'no-such-disk', which does not exist; list the models with: seekwell device list"
    );
    plan.stacks[0].device.backing = Backing::Disk { path: "/dev/sda".into() };
    let text = message(&backend, &plan);
    assert!(
        text.starts_with(
            "disk is a device of the host, and the virtual backend needs a modelled one"
        ),
        "{text}"
    );
}

/// The first trial of a plan of one stack.
fn first(backend: &VirtualBackend, plan: &Plan) -> Record {
    let record = backend.run_trial(plan, &plan.trials[0], &Lane::default(), &mut |_| {}).unwrap();
    assert_eq!(record.status, Status::Ok, "{:?}", record.warnings);
    record
}

#[test]
fn what_a_modelled_device_did_is_in_its_steps() {
    let test = "what_a_modelled_device_did_is_in_its_steps";
    let Some(kernel) = common::lab_kernel(test) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let backend = backend(kernel, scratch.path());
    let seek = |model: &str, more: &str| {
        let rest = format!(
            "[[workload]]\nkind = \"seek\"\nfile_size = \"64MiB\"\ncontent = \"stamped\"\ncount = 200\n{more}[judge]\nmetric = \"seek.iops\"\n"
        );
        first(&backend, &plan(&["raw"], model, &rest))
    };
    let disk = seek("maxtor-6y080l0", "");
    let parts = ["arm_time", "rotation_time", "transfer_time"];
    let [arm, rotation, transfer] = parts.map(|name| value(&disk, "seek", name));
    let elapsed = value(&disk, "seek", "elapsed");
    assert!(arm > 0.0 && rotation > 0.0 && transfer > 0.0, "{arm} {rotation} {transfer}");
    let all = arm + rotation + transfer;
    // One read after the other: what is left is the bus and the drive's own time for a command.
    assert!((0.7 * elapsed..elapsed).contains(&all), "{all} of {elapsed}");
    let step = disk.steps.iter().find(|step| step.name == "seek").unwrap();
    assert!(!step.metrics.contains_key("erases"));
    let card = seek("cf-transcend-133x", "write = true\n");
    assert!(value(&card, "seek", "erases") > 0.0);
    let (programmed, per_byte) =
        (value(&card, "seek", "programmed_bytes"), value(&card, "seek", "programmed_per_byte"));
    assert!(per_byte > 1.0, "{per_byte}");
    let written = value(&card, "seek", "device_written_bytes");
    assert!((programmed / written / per_byte - 1.0).abs() < 1e-9, "{programmed} {written}");
    let filled = value(&card, "seek-populate", "programmed_per_byte");
    assert!((1.0..1.2).contains(&filled), "{filled}");
}

/// Wrong bytes, their warning, and the status of the trial.
#[test]
fn a_fake_device_is_found_in_a_guest_and_an_honest_one_is_not() {
    let test = "a_fake_device_is_found_in_a_guest";
    let Some(kernel) = common::lab_kernel(test) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let backend = backend(kernel, scratch.path());
    let run = |filesystem: &str, model: &str, step: &str, workload: &str| {
        let rest = format!("[[workload]]\n{workload}\n[judge]\nmetric = \"{step}.elapsed\"\n");
        let plan = plan(&[filesystem], model, &rest);
        backend.run_trial(&plan, &plan.trials[0], &Lane::default(), &mut |_| {}).unwrap()
    };
    let is_warned = |record: &Record, code: &str| {
        let steps = record.steps.iter().flat_map(|step| &step.warnings);
        steps.chain(&record.warnings).any(|warning| warning.code == code)
    };
    let lost = f64::from(48 << 20);
    let full = run("raw", "fake", "capacity", "kind = \"capacity\"\nfull = true");
    assert_eq!(value(&full, "capacity", "wrong_bytes"), lost);
    assert!(is_warned(&full, "wrong-capacity"));
    let quick = "kind = \"capacity\"";
    let [fake, honest] = ["fake", "fixed"].map(|model| run("raw", model, "capacity", quick));
    assert_eq!(value(&fake, "capacity", "wrong_bytes"), 8192.0);
    assert_eq!(value(&honest, "capacity", "wrong_bytes"), 0.0);
    assert!(is_warned(&fake, "wrong-capacity") && !is_warned(&honest, "wrong-capacity"));

    let written = |file: &str| {
        format!(
            "kind = \"stream\"\nwrite = true\ncache = \"direct\"\nverify = 100\nfile_size = \"{file}\""
        )
    };
    let all = run("raw", "fake", "stream", &written("64MiB"));
    assert_eq!(value(&all, "stream-verify", "checked_bytes"), f64::from(64 << 20));
    assert_eq!(value(&all, "stream-verify", "wrong_bytes"), lost);
    assert!(is_warned(&all, "wrong-data") && all.status == Status::Marked, "{:?}", all.status);
    // Files on an honest disk are whole after the remount; so are mails.
    let log = "kind = \"stream\"\nstep = \"log\"\nwrite = true\nappend = true\nsync = \"fdatasync\"\nsize = \"4KiB\"\ncount = 200\ncache = \"warm\"\nverify = 50";
    let log = run("ext4", "fixed", "log", log);
    let mail = run("ext4", "fixed", "unpack", "kind = \"mail\"\nfiles = 100\nverify = 100");
    for (record, step) in [(&log, "log-verify"), (&mail, "unpack-verify")] {
        assert_eq!(record.status, Status::Ok, "{step}: {:?}", record.warnings);
        assert!(value(record, step, "checked_bytes") > 100_000.0, "{step}");
        assert_eq!(value(record, step, "wrong_bytes"), 0.0, "{step}");
        let read = value(record, step, "device_read_bytes");
        assert!(read >= value(record, step, "checked_bytes"), "{step} read {read} of the device");
    }
}

/// Counts of power cuts of ext4 with barriers and without, on a disk with a write cache, and the records.
fn cut_with_and_without_barriers(test: &str, workload: &str) -> Option<[(CutCounts, Record); 2]> {
    let kernel = common::lab_kernel(test)?;
    if !has_tools(test, &["mkfs.ext4", "e2fsck"]) {
        return None;
    }
    let scratch = tempfile::tempdir().unwrap();
    let backend = backend(kernel, scratch.path());
    let rest = format!("[trial]\npower_cut = 6\n{workload}");
    let mut plan = plan(&["ext4", "ext4-nojournal"], "ide-40gb-2005", &rest);
    let Some(unsafe_stack) = plan.stacks.get_mut(1) else { panic!("two stacks") };
    unsafe_stack.filesystem.kind = "ext4".to_owned();
    unsafe_stack.filesystem.mount = vec!["nobarrier".to_owned()];
    let found = plan.trials.iter().map(|trial| {
        let lane = Lane::default();
        let record = backend.run_trial(&plan, trial, &lane, &mut |_| {}).unwrap();
        (CutCounts::of(&record.steps).unwrap(), record)
    });
    found.collect::<Vec<_>>().try_into().ok()
}

#[test]
fn power_cuts_find_the_stack_that_loses_accepted_mails() {
    let test = "power_cuts_find_the_stack_that_loses_accepted_mails";
    let workload = "[[workload]]\nkind = \"maildir\"\nmailboxes = 2\nmails = 8\nthreads = 2\ncount = 20\n\
                    sync = \"directory\"\n[judge]\nmetric = \"delivery.ops\"\n";
    let Some([with, without]) = cut_with_and_without_barriers(test, workload) else { return };
    let (counts, record) = &with;
    assert_eq!((counts.cuts, counts.survived), (6, 6), "{:?}", record.warnings);
    let losses = counts.losses.unwrap();
    assert_eq!((losses.lost_files_max, losses.lost_bytes_max, losses.torn), (0, 0, 0));
    let (counts, _) = &without;
    let losses = counts.losses.unwrap();
    assert!(counts.lost_synced > 0 && losses.lost_bytes_max > 0, "{counts:?}");
    assert_eq!(losses.lost_transactions_max, None);
    let told = |(_, record): &(CutCounts, Record)| {
        record.warnings.iter().any(|one| one.code == "synced-data-lost")
    };
    assert_eq!([told(&with), told(&without)], [false, true]);
}

#[test]
fn power_cuts_count_the_commits_that_the_worst_one_took() {
    let test = "power_cuts_count_the_commits_that_the_worst_one_took";
    let workload = "[[workload]]\nkind = \"sqlite\"\njournal_mode = \"wal\"\nrows = 50\nwarm_up = 1\n\
                    count = 30\n[judge]\nmetric = \"sqlite.transactions_per_s\"\n";
    let Some([with, without]) = cut_with_and_without_barriers(test, workload) else { return };
    let lost = |(counts, _): &(CutCounts, Record)| counts.losses.unwrap().lost_transactions_max;
    assert_eq!(lost(&with), Some(0), "{:?}", with.1.warnings);
    assert!(lost(&without).is_some_and(|lost| lost > 0), "{:?}", without.0);
}

#[test]
fn cuts_of_sequences_find_what_is_lost_without_barriers_and_nothing_with_them() {
    let test = "cuts_of_sequences_find_what_is_lost_without_barriers_and_nothing_with_them";
    let Some(kernel) = common::lab_kernel(test) else { return };
    if !has_tools(test, &["mkfs.ext4", "e2fsck"]) {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let backend = backend(kernel, scratch.path());
    let rest =
        "[[workload]]\nkind = \"calls\"\nrun = [\"sync\"]\n[judge]\nmetric = \"calls.elapsed\"\n";
    let mut plan = plan(&["ext4"], "ide-40gb-2005", rest);
    let drawn = Space::new(2).draw(8, seekwell_testing::seed());
    let sequences: Vec<Vec<Call>> = drawn.iter().map(|one| one.calls().unwrap()).collect();
    let cut = |plan: &Plan, sequences: &[Vec<Call>]| {
        backend.cut_sequences(plan, &plan.trials[0], &Lane::default(), sequences).unwrap()
    };
    let whole = SequenceCut { after: AfterCut::Whole, text: String::new() };
    assert_eq!(cut(&plan, &sequences), vec![whole; 8], "{sequences:?}");
    plan.stacks[0].filesystem.mount = vec!["nobarrier".to_owned()];
    let planted = "mkdir A; sync; creat A/foo; write A/foo 0 4096; fsync A/foo";
    let planted = planted.split("; ").map(|call| call.parse().unwrap()).collect();
    let lost = &cut(&plan, &[planted])[0];
    assert_eq!(lost.after, AfterCut::LostSynced, "{lost:?}");
    assert!(lost.text.ends_with("is missing") && !lost.text.contains("/mnt"), "{lost:?}");
}

/// Requests of all kinds, some at the same time, none at a whole microsecond: reads and writes of 4 KiB
/// from both ends of 256 MiB.
fn recorded_requests(folder: &Path) -> PathBuf {
    let at = folder.join("trace");
    let meta = Meta { requests: true, ..Meta::new("test") };
    let mut writer = TraceWriter::create(&at, &meta, Limits::default()).unwrap();
    for nth in 0..200_u64 {
        let operation = match nth % 5 {
            0..=2 => Operation::Read,
            3 => Operation::Write,
            _ => Operation::Flush,
        };
        let sector = if nth % 2 == 0 { nth * 8 } else { 524_288 - nth * 8 };
        let request = Request {
            start_ns: nth / 2 * 20_000_003,
            duration_ns: Some(9_000_000),
            process: None,
            device: 1,
            operation,
            flags: RequestFlags::default(),
            sector,
            bytes: if operation == Operation::Flush { 0 } else { 4096 },
            depth: None,
        };
        writer.request(request).unwrap();
    }
    writer.finish(&meta).unwrap();
    at
}

#[test]
fn block_requests_come_at_their_recorded_times_in_virtual_time() {
    let test = "block_requests_come_at_their_recorded_times_in_virtual_time";
    let Some(kernel) = common::lab_kernel(test) else { return };
    let scratch = tempfile::tempdir().unwrap();
    let trace = recorded_requests(scratch.path());
    let rest = format!(
        "[[workload]]\nkind = \"requests\"\ntrace = \"{}\"\n\
         [judge]\nmetric = \"requests.latency_p99\"\n",
        trace.display()
    );
    let plan = plan_of(&["raw"], &["none"], "ide-40gb-2005", &rest);
    let backend = backend_with(kernel, scratch.path(), vec![trace]);
    let (record, _) = run_with_seed(&backend, &plan, 0, 7);
    let of = |metric| value(&record, "requests", metric);
    assert_eq!((of("ops"), of("requests_failed")), (200.0, 0.0));
    // Each look at the clock takes 256 ns of virtual time, and a wait takes some eight of them.
    assert!(of("lateness_p99") <= 10.0 * 256.0, "{}", of("lateness_p99"));
    assert!((of("drift") - 1.0).abs() < 1e-6, "{}", of("drift"));
    let (again, _) = run_with_seed(&backend, &plan, 0, 7);
    assert!(record == again, "{:?} {:?}", record.fingerprint, again.fingerprint);
}
