//! Layers on modelled devices against theory: the counts of requests on the devices below, and the
//! times that follow from the devices' latency and rate.
//!
//! The device `fixed` takes 100 µs for each request, of at most 512 KiB, and moves 500 MB/s over its one link: the
//! latencies of waiting requests pass at the same time, their data follow one another. CPU time is free unless a test
//! charges it.
#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]
#![allow(clippy::print_stdout, reason = "--nocapture shows the figures")]

mod common;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use seekwell_model::filesystems::{NFS_PROGRAMS, NFS_SERVER};
use seekwell_model::layers::{Fast, LAYER_KINDS, LabKernels};
use seekwell_model::plan::{BackendFacts, Plan, PlannedTrial};
use seekwell_model::record::{DeviceTotals, Record, Status, StepRecord};
use seekwell_virtual::kernel::{Kernel, KernelSet};
use seekwell_virtual::{CpuCharge, Lane, VirtualBackend, VirtualOptions, WorkCharge};

/// Latency of a request of the device `fixed`.
const LATENCY_S: f64 = 100e-6;
/// Its rate.
const BYTES_PER_S: f64 = 500e6;
/// Largest deviation from theory.
const TOLERANCE: f64 = 0.03;

/// A lab of one stack with this layer on the device `fixed`, and this workload.
fn plan(layer: &str, filesystem: &str, workload: &str) -> Plan {
    plan_sized("256MiB", layer, filesystem, workload)
}

/// The same on a device of this size.
fn plan_sized(size: &str, layer: &str, filesystem: &str, workload: &str) -> Plan {
    let text = format!(
        "[lab]\nname = \"t\"\n[[device]]\nname = \"disk\"\nmodel = {{ name = \"fixed\", size = \"{size}\" }}\n{layer}\n[[filesystem]]\ntype = \"{filesystem}\"\n[scheduler]\nchoose = [\"none\"]\n[[workload]]\n{workload}\n"
    );
    let file = seekwell_spec::read_lab_bytes(text.as_bytes(), "t.toml").unwrap();
    let words = |list: &[&str]| list.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let definitions = || LAYER_KINDS.iter().map(|kind| kind.definition());
    let mut programs = words(&["mkfs.ext4", "e2fsck"]);
    programs.extend(NFS_PROGRAMS.iter().map(|one| one.name.to_owned()));
    let of_layers = definitions().flat_map(|one| one.programs).map(|one| one.name.to_owned());
    programs.extend(of_layers);
    let facts = BackendFacts {
        schedulers: words(&["none"]),
        kernel_filesystems: words(&["ext4", "tmpfs", "ufs", NFS_SERVER]),
        programs,
        layers: definitions().map(|one| one.name.to_owned()).collect(),
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

/// The lab kernel, if it has what the test needs and these programs are installed.
fn kernel(test: &str, needed: LabKernels, tools: &[&str]) -> Option<Kernel> {
    if let Some(tool) = tools.iter().find(|tool| seekwell_testing::tool(tool).is_none()) {
        seekwell_testing::skip(test, &format!("{tool} is not installed"));
        return None;
    }
    let kernel = common::lab_kernel_with(test, &|set| match set {
        KernelSet::Layers => true,
        KernelSet::Full => needed != LabKernels::Layers,
        KernelSet::Reduced => needed == LabKernels::Every,
    })?;
    Some(kernel)
}

fn run_charged(kernel: &Kernel, plan: &Plan, tools: &[&str], charge: CpuCharge) -> Record {
    let scratch = tempfile::tempdir().unwrap();
    let options = VirtualOptions {
        kernel: kernel.clone(),
        program: PathBuf::from(env!("CARGO_BIN_EXE_seekwell-test-guest")),
        devices: seekwell_device::catalogue().unwrap(),
        traces: Vec::new(),
        bring: tools.iter().map(|tool| seekwell_testing::tool(tool).unwrap()).collect(),
        scratch: Path::new(scratch.path()).to_path_buf(),
        charge,
        check: false,
        record: None,
    };
    let backend = VirtualBackend::new(options, &seekwell_testing::tool).unwrap();
    let record = backend.run_trial(plan, &plan.trials[0], &Lane::default(), &mut |_| {}).unwrap();
    assert_eq!(record.status, Status::Ok, "{:?}", record.in_force.layers);
    record
}

fn run(kernel: &Kernel, plan: &Plan, tools: &[&str]) -> Record {
    run_charged(kernel, plan, tools, CpuCharge::default())
}

fn step<'r>(record: &'r Record, name: &str) -> &'r StepRecord {
    record.steps.iter().find(|step| step.name == name).unwrap()
}

/// Sums of the devices below the layers.
fn members(step: &StepRecord) -> DeviceTotals {
    let mut sum = DeviceTotals::default();
    for one in &step.members {
        sum.reads += one.reads;
        sum.writes += one.writes;
        sum.read_bytes += one.read_bytes;
        sum.written_bytes += one.written_bytes;
    }
    sum
}

/// Adds a row to the CSV that `SEEKWELL_LAYERS_THEORY` names, which `make layers` keeps.
fn keep(what: &str, measured_s: f64, theory_s: f64) {
    let Some(path) = std::env::var_os("SEEKWELL_LAYERS_THEORY") else { return };
    let [measured_us, theory_us] = [measured_s * 1e6, theory_s * 1e6];
    let row = format!("\"{what}\",{measured_us:.2},{theory_us:.2}\n");
    // One write, so that rows of tests at the same time do not mix.
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(row.as_bytes()).unwrap();
}

/// Asserts that a time is what theory says.
fn is_about(what: &str, measured_s: f64, theory_s: f64) {
    let deviation = measured_s / theory_s - 1.0;
    println!(
        "{what}: {:.1} us, theory {:.1} us, {:+.2} %",
        measured_s * 1e6,
        theory_s * 1e6,
        deviation * 100.0
    );
    keep(what, measured_s, theory_s);
    assert!(deviation.abs() <= TOLERANCE, "{what}: {measured_s} s, theory {theory_s} s");
}

/// Time of one request of so many bytes.
fn request_s(bytes: u64) -> f64 {
    LATENCY_S + bytes as f64 / BYTES_PER_S
}

const READS: u64 = 400;
const RANDOM_READS: &str = "kind = \"seek\"\nsize = \"4KiB\"\ncount = 400\nfile_size = \"128MiB\"";
const RANDOM_WRITES: &str =
    "kind = \"seek\"\nsize = \"4KiB\"\ncount = 400\nfile_size = \"128MiB\"\nwrite = true";
/// A whole stripe of four chunks of 512 KiB at a time.
const LONG_READS: &str = "kind = \"stream\"\nsize = \"2MiB\"\ncount = 50\ncache = \"direct\"";

/// One random read of 4 KiB goes to one device, whatever is above it.
fn reads_go_to_one_device(
    test: &str,
    kernel: &Kernel,
    layer: &str,
    tools: &[&str],
    devices: usize,
) {
    let record = run(kernel, &plan(layer, "raw", RANDOM_READS), tools);
    let seek = step(&record, "seek");
    assert_eq!(seek.members.len(), devices, "{test}");
    assert_eq!(members(seek).reads, READS, "{test}");
    assert_eq!(members(seek).read_bytes, READS * 4096, "{test}");
    assert_eq!(members(seek).writes, 0, "{test}");
    is_about(
        &format!("{test}, 4 KiB at random"),
        seek.metrics["latency_mean"] / 1e9,
        request_s(4096),
    );
}

fn long_reads_take(test: &str, kernel: &Kernel, layer: &str, tools: &[&str], theory_s: f64) {
    let record = run(kernel, &plan_sized("512MiB", layer, "raw", LONG_READS), tools);
    let stream = step(&record, "stream");
    assert_eq!(members(stream).read_bytes, 50 * STRIPE, "{test}");
    is_about(&format!("{test}, 2 MiB in order"), stream.metrics["latency_mean"] / 1e9, theory_s);
}

const CHUNK: u64 = 512 << 10;
/// Chunks of four devices. Read from one, they are requests whose latencies pass at the same time, and whose data moves
/// over one link.
const STRIPE: u64 = 4 * CHUNK;

#[test]
fn raid_0_reads_from_all_devices_at_once() {
    let test = "raid_0_reads_from_all_devices_at_once";
    let Some(kernel) = kernel(test, LabKernels::Every, &["mdadm"]) else { return };
    let layer = "[[layer]]\nkind = \"raid0\"\ndevices = 4";
    reads_go_to_one_device(test, &kernel, layer, &["mdadm"], 4);
    long_reads_take(test, &kernel, layer, &["mdadm"], request_s(CHUNK));
}

#[test]
fn raid_1_reads_from_one_device_and_writes_to_both() {
    let test = "raid_1_reads_from_one_device_and_writes_to_both";
    let Some(kernel) = kernel(test, LabKernels::Every, &["mdadm"]) else { return };
    let layer = "[[layer]]\nkind = \"raid1\"\nbitmap = \"none\"";
    reads_go_to_one_device(test, &kernel, layer, &["mdadm"], 2);
    long_reads_take(test, &kernel, layer, &["mdadm"], request_s(STRIPE));
    let record = run(&kernel, &plan(layer, "raw", RANDOM_WRITES), &["mdadm"]);
    let seek = step(&record, "seek");
    is_about("raid1, 4 KiB written", seek.metrics["latency_p50"] / 1e9, request_s(4096));
    // The wear is that of the disks, not of the array.
    assert!((2.0..2.02).contains(&seek.metrics["written_per_byte"]), "{:?}", seek.metrics);
}

#[test]
fn raid_5_reads_data_alone_and_writes_a_block_with_two_reads_and_two_writes() {
    let test = "raid_5_reads_data_alone_and_writes_a_block_with_two_reads_and_two_writes";
    let Some(kernel) = kernel(test, LabKernels::Every, &["mdadm"]) else { return };
    let layer = "[[layer]]\nkind = \"raid5\"\ndevices = 5\nbitmap = \"none\"\nstripe_cache = 17";
    reads_go_to_one_device(test, &kernel, layer, &["mdadm"], 5);
    long_reads_take(test, &kernel, layer, &["mdadm"], request_s(CHUNK));
    let record = run(&kernel, &plan(layer, "raw", RANDOM_WRITES), &["mdadm"]);
    let seek = step(&record, "seek");
    let DeviceTotals { reads, writes, .. } = members(seek);
    println!("raid5, {READS} blocks written: {reads} reads, {writes} writes");
    // Old data and old parity, then both anew. A stripe that is still in the cache is not read, and
    // the array marks itself as being written to.
    assert!((2 * READS - 8..=2 * READS).contains(&reads), "{reads} reads");
    assert!((2 * READS..=2 * READS + 20).contains(&writes), "{writes} writes");
    is_about("raid5, 4 KiB written", seek.metrics["latency_p50"] / 1e9, 2.0 * request_s(4096));
}

#[test]
fn raid_5_without_a_device_reads_its_blocks_from_all_others() {
    parity_without_a_device("raid_5_without_a_device_reads_its_blocks_from_all_others", "raid5");
}

#[test]
fn raid_6_without_a_device_reads_its_blocks_from_all_others() {
    parity_without_a_device("raid_6_without_a_device_reads_its_blocks_from_all_others", "raid6");
}

/// Random reads of five devices of which one has failed.
fn parity_without_a_device(test: &str, kind: &str) {
    let Some(kernel) = kernel(test, LabKernels::Every, &["mdadm"]) else { return };
    let layer = format!(
        "[[layer]]\nkind = \"{kind}\"\ndevices = 5\nbitmap = \"none\"\nstripe_cache = 17\nstate = \"degraded\""
    );
    let record = run(&kernel, &plan(&layer, "raw", RANDOM_READS), &["mdadm"]);
    let seek = step(&record, "seek");
    let failed = seek.members.last().unwrap();
    assert_eq!((failed.reads, failed.writes), (0, 0));
    // Parity moves round, so that the failed device has a fifth of the blocks. Each is computed from all
    // four others, which are read at once.
    let DeviceTotals { reads, read_bytes, .. } = members(seek);
    println!("{kind} without a device: {reads} reads of {read_bytes} bytes for {READS} blocks");
    assert_eq!(read_bytes, reads * 4096);
    let (fewest, most) = (READS / 5 - 32, READS / 5 + 32);
    assert!((READS + 3 * fewest..=READS + 3 * most).contains(&reads), "{reads} reads");
    assert_eq!(seek.metrics["read_per_byte"], reads as f64 / READS as f64);
    let read_s = seek.metrics["latency_mean"] / 1e9;
    is_about(&format!("{kind} degraded, 4 KiB"), read_s, request_s(4096));
}

#[test]
fn raid_10_without_a_device_reads_the_other_copy() {
    let test = "raid_10_without_a_device_reads_the_other_copy";
    let Some(kernel) = kernel(test, LabKernels::Every, &["mdadm"]) else { return };
    let layer =
        "[[layer]]\nkind = \"raid10\"\ndevices = 4\nbitmap = \"none\"\nstate = \"degraded\"";
    let record = run(&kernel, &plan(layer, "raw", RANDOM_READS), &["mdadm"]);
    let seek = step(&record, "seek");
    let reads: Vec<u64> = seek.members.iter().map(|member| member.reads).collect();
    println!("raid10 without a device: {reads:?} reads of the devices for {READS} blocks");
    assert_eq!(reads.iter().sum::<u64>(), READS);
    // The copies are on neighbours: the third device answers for the fourth.
    assert_eq!(reads[3], 0);
    assert!((READS / 2 - 60..=READS / 2 + 60).contains(&reads[2]), "{reads:?}");
    assert_eq!(seek.metrics["read_per_byte"], 1.0);
    is_about("raid10 degraded, 4 KiB", seek.metrics["latency_mean"] / 1e9, request_s(4096));
}

#[test]
fn an_array_is_rebuilt_while_the_workload_runs() {
    let test = "an_array_is_rebuilt_while_the_workload_runs";
    let Some(kernel) = kernel(test, LabKernels::Every, &["mdadm"]) else { return };
    for (kind, devices) in [("raid1", 2), ("raid5", 4)] {
        let layer =
            format!("[[layer]]\nkind = \"{kind}\"\nbitmap = \"none\"\nstate = \"rebuilding\"");
        let record = run(&kernel, &plan(&layer, "raw", RANDOM_READS), &["mdadm"]);
        let seek = step(&record, "seek");
        assert_eq!(seek.members.len(), devices, "{kind}");
        let spare = seek.members.last().unwrap();
        let mean_s = seek.metrics["latency_mean"] / 1e9;
        println!(
            "{kind} rebuilding: {} bytes written to the new device, a read {:.1} us",
            spare.written_bytes,
            mean_s * 1e6
        );
        assert!(spare.written_bytes > 0, "{kind}: nothing was rebuilt");
        assert!(mean_s > request_s(4096), "{kind}: the rebuild was free");
    }
}

#[test]
fn integrity_keeps_checksums_in_memory_and_writes_data_twice_through_its_journal() {
    let test = "integrity_keeps_checksums_in_memory_and_writes_data_twice_through_its_journal";
    let Some(kernel) = kernel(test, LabKernels::Layers, &["dmsetup"]) else { return };
    let data = READS * 4096;
    // One of 4 bytes for each 4 KiB, in one stretch for every 16 MiB.
    let checksums = (128 << 20) / 4096 * 4;
    for mode in ["direct", "bitmap", "journal"] {
        let layer = format!("[[layer]]\nkind = \"integrity\"\nmode = \"{mode}\"");
        let run = |workload| run(&kernel, &plan(&layer, "raw", workload), &["dmsetup"]);
        let (read, written) = (run(RANDOM_READS), run(RANDOM_WRITES));
        let (read, written) = (step(&read, "seek"), step(&written, "seek"));
        let DeviceTotals { reads, read_bytes, .. } = members(read);
        let DeviceTotals { writes, written_bytes, .. } = members(written);
        println!("integrity {mode}: {reads} reads of {read_bytes} bytes");
        println!("integrity {mode}: {writes} writes of {written_bytes} bytes");
        assert_eq!(read_bytes, reads * 4096);
        let what = format!("integrity {mode}, 4 KiB read");
        is_about(&what, read.metrics["latency_p50"] / 1e9, request_s(4096));
        let per_byte = written_bytes as f64 / data as f64;
        assert_eq!(written.metrics["written_per_byte"], per_byte);
        if mode == "journal" {
            // What was written last before the trial is still in the journal, and read from memory.
            assert!((READS - 1..=READS).contains(&reads), "{reads} reads");
            assert!(written_bytes >= 2 * data + checksums, "{written_bytes} bytes");
            assert!(per_byte < 2.5, "{per_byte}");
        } else {
            assert_eq!(reads, READS);
            assert_eq!(written_bytes, data + checksums);
            let what = format!("integrity {mode}, 4 KiB written");
            is_about(&what, written.metrics["latency_p50"] / 1e9, request_s(4096));
        }
    }
}

#[test]
fn volumes_cost_nothing_and_stripes_read_at_once() {
    let test = "volumes_cost_nothing_and_stripes_read_at_once";
    let Some(kernel) = kernel(test, LabKernels::Every, &["dmsetup"]) else { return };
    let tools = ["dmsetup"];
    reads_go_to_one_device(test, &kernel, "[[layer]]\nkind = \"linear\"", &tools, 1);
    long_reads_take(test, &kernel, "[[layer]]\nkind = \"linear\"", &tools, request_s(STRIPE));
    let striped = "[[layer]]\nkind = \"striped\"\ndevices = 4\nchunk = \"512KiB\"";
    reads_go_to_one_device(test, &kernel, striped, &tools, 4);
    long_reads_take(test, &kernel, striped, &tools, request_s(CHUNK));
}

#[test]
fn luks_adds_the_time_of_its_cipher_and_nothing_else() {
    let test = "luks_adds_the_time_of_its_cipher_and_nothing_else";
    let Some(kernel) = kernel(test, LabKernels::Layers, &["dmsetup"]) else { return };
    let tools = ["dmsetup"];
    let layer = "[[layer]]\nkind = \"crypt\"";
    reads_go_to_one_device(test, &kernel, layer, &tools, 1);
    long_reads_take(test, &kernel, layer, &tools, request_s(STRIPE));
    let work = WorkCharge { cipher: 5_000, ..WorkCharge::default() };
    let charge = CpuCharge { work, ..CpuCharge::default() };
    let record = run_charged(&kernel, &plan(layer, "raw", RANDOM_READS), &tools, charge);
    let theory_s = request_s(4096) + 4.0 * 5e-6;
    is_about("luks at 5 us a KiB", step(&record, "seek").metrics["latency_mean"] / 1e9, theory_s);
    let record = run_charged(&kernel, &plan(layer, "raw", RANDOM_WRITES), &tools, charge);
    let seek = step(&record, "seek");
    assert_eq!(members(seek).written_bytes, READS * 4096);
    is_about("luks at 5 us a KiB, written", seek.metrics["latency_mean"] / 1e9, theory_s);
    // Many blocks are enciphered while requests are under way.
    let mail = plan(layer, "ext4", MAIL);
    let unpack = |record: &Record| step(record, "unpack").metrics.clone();
    let (free, charged) =
        (run(&kernel, &mail, &tools), run_charged(&kernel, &mail, &tools, charge));
    let (free, charged) = (unpack(&free), unpack(&charged));
    let longer_s = charged["elapsed_durable"] - free["elapsed_durable"];
    let least_s = charged["app_bytes"] / 1024.0 * 5e-6;
    assert!(longer_s >= least_s, "{longer_s} s longer, {least_s} s of work");
}

/// A mail store of a few files, checked at the end.
const MAIL: &str = "kind = \"mail\"\nfiles = 40\nsteps = [\"read_archive\"]\n[trial]\nfsck = true";

const FAST: &str = "fast.model = { name = \"fixed\", size = \"256MiB\" }";

/// Kinds that every test run tries; `SEEKWELL_LAYERS=all` tries the others too.
const SAMPLE: [&str; 2] = ["bcache", "zram"];

/// Kinds of layers, with the devices that they join, caches included.
fn each_kind() -> Vec<(&'static str, String, usize)> {
    let all = std::env::var_os("SEEKWELL_LAYERS").is_some();
    let definitions = LAYER_KINDS.iter().map(|kind| kind.definition());
    let layers = definitions.filter(|one| all || SAMPLE.contains(&one.name)).map(|definition| {
        let has_fast = matches!(definition.fast, Fast::Must(_));
        let fast = if has_fast { FAST } else { "" };
        let text = format!("[[layer]]\nkind = \"{}\"\n{fast}", definition.name);
        // One in memory takes the place of its device.
        let joined = if definition.is_volatile { 0 } else { definition.usual_devices as usize };
        (definition.name, text, joined + usize::from(has_fast))
    });
    layers.collect()
}

#[test]
fn every_layer_carries_a_filesystem_made_in_the_trial_and_made_before_it() {
    let test = "every_layer_carries_a_filesystem_made_in_the_trial_and_made_before_it";
    let tools = ["mdadm", "dmsetup", "make-bcache", "mkfs.ext4"];
    let Some(kernel) = kernel(test, LabKernels::Layers, &tools) else { return };
    for (name, layer, devices) in each_kind() {
        // A fifth of it keeps what a snapshot copies, the journal that mkfs writes included.
        let mut plan = plan_sized("1GiB", &layer, "ext4", MAIL);
        let made_in_it = run(&kernel, &plan, &tools[..3]);
        plan.lab.trial.make_once = true;
        let made_before = run(&kernel, &plan, &tools[..3]);
        for record in [&made_in_it, &made_before] {
            let unpack = step(record, "unpack");
            assert_eq!(unpack.members.len(), devices, "{name}");
            assert!(unpack.device.unwrap().written_bytes > 0, "{name}");
            assert!(record.steps.iter().any(|step| step.name == "fsck"), "{name}");
            assert!(record.warnings.iter().all(|one| one.code != "fsck-damage"), "{name}");
        }
        let below = members(step(&made_in_it, "unpack")).written_bytes;
        assert_eq!(below == 0, name == "zram", "{name}");
    }
}

#[test]
fn layers_stack_in_either_order() {
    let test = "layers_stack_in_either_order";
    let tools = ["mdadm", "dmsetup", "mkfs.ext4"];
    let Some(kernel) = kernel(test, LabKernels::Layers, &tools) else { return };
    for (lower, upper) in [("raid1", "crypt"), ("crypt", "raid1")] {
        let layer = format!("[[layer]]\nkind = \"{lower}\"\n[[layer.then]]\nkind = \"{upper}\"");
        let record = run(&kernel, &plan(&layer, "ext4", MAIL), &tools[..2]);
        assert_eq!(step(&record, "unpack").members.len(), 2, "{lower} below {upper}");
        let ciphers = record.in_force.layers.iter().filter(|line| line.contains("create seekwell"));
        assert_eq!(ciphers.count(), if lower == "crypt" { 2 } else { 1 });
    }
}

/// ext4 behind a link of 1 Gbit/s and 100 us in each direction.
fn exported(version: &str) -> String {
    format!("ext4\"\nnfs = {{ version = \"{version}\", delay = \"100us\" }}\nname = \"nfs")
}

const NFS_VERSIONS: [&str; 2] = ["3", "4.2"];
const NFS_TOOLS: [&str; 2] = ["ip", "tc"];

#[test]
fn a_read_over_nfs_takes_a_round_trip_and_the_disk_of_the_server() {
    let test = "a_read_over_nfs_takes_a_round_trip_and_the_disk_of_the_server";
    let Some(kernel) = kernel(test, LabKernels::Layers, &["ip", "tc", "mkfs.ext4"]) else { return };
    for version in NFS_VERSIONS {
        let record = run(&kernel, &plan("", &exported(version), RANDOM_READS), &NFS_TOOLS);
        let seek = step(&record, "seek");
        // A block that comes twice is in the cache of the server.
        let DeviceTotals { reads, read_bytes, .. } = seek.device.unwrap();
        assert!((READS - 6..=READS).contains(&reads), "{reads} reads");
        assert_eq!(read_bytes, reads * 4096);
        let theory_s = 2.0 * 100e-6 + WIRE_BYTES / LINK_BYTES_PER_S + request_s(4096);
        let what = format!("nfs {version}, 4 KiB at random");
        is_about(&what, seek.metrics["latency_mean"] / 1e9, theory_s);
        let link = "tc qdisc replace dev lo root netem delay 100us rate 1000mbit limit 100000";
        let said = &record.in_force.layers;
        assert!(said.iter().any(|line| line == link), "{said:?}");
        let mount = format!("vers={version},");
        assert!(said.iter().any(|line| line.contains(&mount)), "{said:?}");
    }
}

/// Bytes of a read's call and of its answer with 4 KiB, headers of TCP and IP included.
const WIRE_BYTES: f64 = 4096.0 + 440.0;
/// 1 Gbit/s.
const LINK_BYTES_PER_S: f64 = 125e6;

#[test]
fn a_mail_store_over_nfs_reaches_the_disk_of_the_server_and_starts_cold() {
    let test = "a_mail_store_over_nfs_reaches_the_disk_of_the_server_and_starts_cold";
    let Some(kernel) = kernel(test, LabKernels::Layers, &["ip", "tc", "mkfs.ext4"]) else { return };
    let local = run(&kernel, &plan("", "ext4", MAIL), &[]);
    let served =
        NFS_VERSIONS.map(|version| run(&kernel, &plan("", &exported(version), MAIL), &NFS_TOOLS));
    for record in served.iter().chain([&local]) {
        assert!(step(record, "unpack").device.unwrap().written_bytes > 0);
        assert!(step(record, "read_archive").metrics["read_per_byte"] > 0.9);
        assert!(record.warnings.iter().all(|one| one.code != "fsck-damage"));
    }
    let elapsed = |record: &Record| step(record, "unpack").metrics["elapsed_durable"];
    for record in &served {
        assert!(elapsed(record) > 40.0 * 200e-6, "a round trip for each of 40 files at least");
        assert!(elapsed(record) > elapsed(&local));
    }
}

#[test]
fn files_in_memory_need_no_disk() {
    let test = "files_in_memory_need_no_disk";
    let Some(kernel) = kernel(test, LabKernels::Every, &["mkfs.ext4"]) else { return };
    let record = run(&kernel, &plan("", "tmpfs", MAIL), &[]);
    let unpack = step(&record, "unpack");
    assert_eq!(unpack.device, None, "no device is attached");
    assert_eq!(record.in_force.mkfs, [""; 0]);
}

/// Files of all kinds of addresses, read back after a remount, then a filesystem filled to its end.
const OF_UFS: &str = r#"kind = "command"
prepare = """
set -e
stat -f -c 'made %f %b' . > made
mkdir -p deep/er
for i in $(seq 300); do echo "file $i" > deep/er/$i; done
mkdir many; cd many; seq 2000 | xargs touch; cd ..
seq 800000 > large
echo part > sparse; dd if=large of=sparse bs=4096 seek=9000 count=3 conv=notrunc status=none
ln large linked; ln -s deep/er/7 soft; ln -s $(seq -s / 100) long
mv deep/er/9 many/9; rm deep/er/8
sha256sum large linked sparse soft many/9 deep/er/[0-7]* > sums
"""
run = """
set -e
cat made
sha256sum -c --quiet sums
test $(ls many | wc -l) = 2000 && test $(ls deep/er | wc -l) = 298
test $(readlink long) = $(seq -s / 100)
stat -f -c 'before %f' .
dd if=/dev/zero of=fill bs=64k count=4000 status=none 2>/dev/null || true
echo "filled $(stat -c %s fill)"
rm fill; sync
stat -f -c 'after %f' .
rm -r deep many large linked sparse soft long sums; sync
stat -f -c 'empty %f' .
"""
[workload.metrics]
made = 'made (\d+)'
usable = 'made \d+ (\d+)'
before = 'before (\d+)'
filled = 'filled (\d+)'
after = 'after (\d+)'
empty = 'empty (\d+)'
"#;

#[test]
fn ufs2_of_every_size_is_written_and_read_by_linux() {
    let test = "ufs2_of_every_size_is_written_and_read_by_linux";
    let tools = ["stat", "seq", "xargs", "touch", "ln", "sha256sum", "wc", "readlink"];
    let Some(kernel) = kernel(test, LabKernels::Full, &tools) else { return };
    // The last has more than the four groups that every smaller one has, and is not filled.
    for (size, mib) in [("64MiB", 64), ("200MiB", 200), ("4GiB", 4096)] {
        let record = run(&kernel, &plan_sized(size, "", "ufs2", OF_UFS), &tools);
        assert_eq!(record.in_force.mkfs, ["newfs -O 2 -f 4096 /dev/vda"]);
        let found = |name: &str| step(&record, "command").metrics[name];
        let superblock = superblock_of_ufs2(mib);
        assert_eq!(found("usable"), superblock.0, "{size}");
        assert_eq!(found("made"), superblock.1, "{size}: the free space that newfs counted");
        assert_eq!(found("before"), found("after"), "{size}: all comes back");
        // The list `made` is left, and the root directory has grown to its own block.
        assert!((1.0..=8.0).contains(&(found("made") - found("empty"))), "{size}");
        let (filled, before) = (found("filled"), found("before") * 4096.0);
        println!("ufs2 on {size}: filled {filled} of {before} bytes");
        let wanted = (before * 0.9).min(4000.0 * 65_536.0);
        assert!(filled <= before && filled >= wanted, "{size}: {filled} of {before}");
    }
}

/// Fragments that files can have and those that are free, as a new superblock says.
fn superblock_of_ufs2(mib: u64) -> (f64, f64) {
    let device = seekwell_model::units::Bytes::mib(mib);
    let last = seekwell_model::filesystems::ufs2::pieces(device, &[], 0).unwrap().last().unwrap();
    let field = |at: usize| u64::from_le_bytes(last.bytes[at..at + 8].try_into().unwrap()) as f64;
    (field(1088), field(1016) * 8.0 + field(1032))
}
