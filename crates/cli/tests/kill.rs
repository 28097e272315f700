//! `kill -9` of runner, agent, guardian and workload, alone and together, at random moments and at
//! chosen ones: inside mkfs, inside mount, while the workload writes, and with much dirty data.
//! Afterwards nothing may be left, and `--resume` completes the run.
//!
//! All 200 pairs of a point and processes: `SEEKWELL_KILLS=0..200 cargo test -p seekwell --test kill
//! seeded` (root); `make layer-kills` does the same with layers.
//!
//! Real processes, loop devices and filesystems; needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "--nocapture shows how far it is")]

#[path = "kill/export.rs"]
mod export;
#[path = "kill/machine.rs"]
mod machine;
#[path = "kill/replayed.rs"]
mod replayed;
#[path = "kill/victims.rs"]
mod victims;

use machine::Machine;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use victims::{Run, Who};

/// Time after the next start in which everything must be as it was.
const SETTLE: Duration = Duration::from_secs(5);
/// The same without a next start: the guardian alone puts everything back.
const SETTLE_ALONE: Duration = Duration::from_secs(10);
/// The same with a gibibyte to write out first: a bound for what hangs, not for a slow disk.
const WRITTEN_OUT: Duration = Duration::from_secs(120);

/// Processes of the pairs that are tried when nothing else is said, as bits of [`Who::ALL`]: most of
/// them leave the guardian alive, which then has to put everything back alone.
const SAMPLE: [u64; 12] = [
    0b0001, 0b0010, 0b0011, 0b1000, 0b1001, 0b1010, 0b1011, 0b0100, 0b0101, 0b0110, 0b0111, 0b1111,
];
/// Kills of one run, before the next begins with a new file.
const KILLS_OF_A_RUN: usize = 4;
/// One run in so many pairs is completed.
const COMPLETED: usize = 8;
/// Trials of the lab.
const TRIALS: usize = 24;

/// A lab of these stacks whose workload writes and syncs, so that most kills find it writing.
fn lab(stacks: &str, rounds: u32) -> String {
    format!(
        r#"{stacks}[[workload]]
kind = "command"
run = "for i in 1 2 3 4 5 6 7 8; do dd if=/dev/zero of={{dir}}/f$i bs=64k count=32 conv=fsync 2>/dev/null; done"
[judge]
metric = "command.elapsed"
rounds = {rounds}
"#
    )
}

const STACKS: &str = r#"
[lab]
name = "kill"
[[device]]
name = "scratch"
loop = { size = "320MiB", directory = "MEMORY" }
[[filesystem]]
type = "ext4"
[[filesystem]]
type = "xfs"
[scheduler]
choose = ["mq-deadline", "bfq"]
"#;

/// Size of a disk in compressed memory that nothing else on a machine has.
const ZRAM_MIB: u64 = 333;

/// ext4 on a disk in compressed memory, plain and under a layer in memory: nothing else of the kernel
/// outlives an agent that is killed.
const IN_MEMORY: &str = r#"
[lab]
name = "memory"
[[device]]
name = "scratch"
loop = { size = "320MiB", directory = "MEMORY" }
[[layer]]
kind = "zram"
size = "333MiB"
[[filesystem]]
type = "ext4"
[[filesystem]]
type = "ext4"
overlay = "64MiB"
[scheduler]
choose = ["none"]
"#;

/// Arrays, mapped devices, and one above the other.
const ARRAYS: &str = r#"
[lab]
name = "arrays"
[[device]]
name = "scratch"
loop = { size = "96MiB", directory = "MEMORY" }
[[layer]]
kind = "raid5"
devices = 3
[[layer]]
name = "mirror-luks"
kind = "raid1"
[[layer.then]]
kind = "crypt"
[[layer]]
kind = "thin"
[[layer]]
kind = "cache"
fast.loop = { size = "32MiB", directory = "MEMORY" }
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none"]
"#;

/// Layers over a disk that was claimed, by a path that `make test-layers` makes.
const ON_A_DISK: &str = r#"
[lab]
name = "disk"
[[device]]
disk = "DISK"
[[layer]]
kind = "crypt"
[[layer]]
name = "thin-luks"
kind = "thin"
[[layer.then]]
kind = "crypt"
[[layer]]
kind = "integrity"
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none"]
"#;

/// Trials of that lab in 8 rounds.
const DISK_TRIALS: usize = 24;

/// Every layer that runs on a host, and arrays that have lost a device.
const KINDS_LAB: &str = r#"
[lab]
name = "kinds"
[[device]]
name = "scratch"
loop = { size = "96MiB", directory = "MEMORY" }
[[layer]]
kind = "raid0"
[[layer]]
kind = "raid1"
[[layer]]
kind = "raid5"
devices = 3
[[layer]]
kind = "raid6"
[[layer]]
kind = "raid10"
[[layer]]
name = "raid6-degraded"
kind = "raid6"
state = "degraded"
[[layer]]
name = "raid10-degraded"
kind = "raid10"
state = "degraded"
[[layer]]
name = "raid5-rebuilding"
kind = "raid5"
devices = 3
state = "rebuilding"
[[layer]]
kind = "linear"
devices = 2
[[layer]]
kind = "striped"
[[layer]]
kind = "thin"
[[layer]]
kind = "snapshot"
[[layer]]
kind = "crypt"
[[layer]]
kind = "integrity"
[[layer]]
kind = "writecache"
fast.loop = { size = "32MiB", directory = "MEMORY" }
[[layer]]
kind = "cache"
fast.loop = { size = "32MiB", directory = "MEMORY" }
[[journal]]
size = "4MiB"
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none"]
[[workload]]
kind = "command"
run = "dd if=/dev/urandom of={dir}/f bs=64k count=16 conv=fsync 2>/dev/null"
[judge]
metric = "command.elapsed"
method = "rounds"
rounds = 6
"#;

/// Trials of that lab: 16 stacks, 6 rounds.
const KINDS_TRIALS: usize = 96;

/// A server and a client of NFS, with what is dirty on both sides.
const OVER_NFS: &str = r#"
[lab]
name = "over-nfs"
[[device]]
name = "scratch"
loop = { size = "96MiB", directory = "MEMORY" }
[[filesystem]]
type = "ext4"
nfs = { version = "4.2", delay = "200us" }
[[filesystem]]
type = "ext4"
nfs = { version = "3", export = "async" }
[scheduler]
choose = ["none"]
[[workload]]
kind = "command"
run = "dd if=/dev/zero of={dir}/dirty bs=64k count=128 2>/dev/null; dd if=/dev/zero of={dir}/synced bs=64k count=16 conv=fsync 2>/dev/null; sleep 1"
[judge]
metric = "command.elapsed"
method = "rounds"
rounds = 6
"#;

/// Trials of that lab.
const TRIALS_OVER_NFS: usize = 12;

/// Writes 1 GiB into the page cache and stays there, so that a kill finds it dirty.
const DIRTY_LAB: &str = r#"
[lab]
name = "dirty"
[[device]]
name = "scratch"
loop = { size = "1536MiB", directory = "MEMORY" }
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["mq-deadline"]
[memory]
choose = ["unlimited"]
[[workload]]
kind = "command"
run = "dd if=/dev/zero of={dir}/dirty bs=1M count=1024 2>/dev/null; touch {dir}/written; sleep 3"
[judge]
metric = "command.elapsed"
rounds = 6
"#;

/// Both tests look at the whole machine: one at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A directory in memory with a copy of the program, so that its processes and images can be told
/// from those of any other run on this machine.
struct Ground {
    directory: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Ground {
    fn new(lab: &str) -> Self {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let directory =
            tempfile::Builder::new().prefix("seekwell-kill").tempdir_in("/dev/shm").unwrap();
        let ground = Self { directory, _alone: alone };
        std::fs::copy(env!("CARGO_BIN_EXE_seekwell"), ground.program()).unwrap();
        let memory = ground.path().to_str().unwrap();
        std::fs::write(ground.path().join("lab.toml"), lab.replace("MEMORY", memory)).unwrap();
        ground
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    fn program(&self) -> PathBuf {
        self.path().join("program")
    }
}

fn can_run(test: &str) -> bool {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root for loop devices and namespaces");
        return false;
    }
    for tool in ["mkfs.ext4", "mkfs.xfs"] {
        if seekwell_testing::tool(tool).is_none() {
            seekwell_testing::skip(test, &format!("{tool} is not installed"));
            return false;
        }
    }
    true
}

/// After everything has died, the next start of any command puts back what the guardian could not.
fn next_start(ground: &Ground) {
    let output = Command::new(ground.program()).arg("doctor").output().unwrap();
    assert!(output.status.success(), "doctor failed: {}", String::from_utf8_lossy(&output.stderr));
}

/// Completes the run of so many trials; at most so many of them may be kept as failed: those whose
/// processes were killed under a runner that lived long enough to say so.
fn complete(ground: &Ground, run_file: &Path, count: usize, failed: usize) {
    let trials = trials(ground, run_file);
    let bad: Vec<_> = trials.iter().filter(|trial| trial["status"] == "failed").collect();
    assert!(bad.len() <= failed, "more than {failed} failed trials: {bad:?}");
    assert_eq!(trials.len(), count);
}

/// All trials of the run, which is continued first if it is not over.
fn trials(ground: &Ground, run_file: &Path) -> Vec<serde_json::Value> {
    let output = Command::new(ground.program())
        .args(["run", "--resume", "--json", "-o"])
        .arg(run_file)
        .current_dir(ground.path())
        .output()
        .unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{:?}: {talk}", output.status);
    let mut run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    match run["trials"].take() {
        serde_json::Value::Array(trials) => trials,
        other => panic!("no list of trials: {other}"),
    }
}

/// Numbers of a variable such as `SEEKWELL_KILLS=0..200`, or those of a sample.
fn pairs(variable: &str, sample: &[u64]) -> Vec<u64> {
    let Ok(text) = std::env::var(variable) else { return sample.into() };
    let (first, end) = text.split_once("..").expect("FIRST..END");
    (first.parse().unwrap()..end.parse().unwrap()).collect()
}

/// The subset of processes of a pair, as bits of [`Who::ALL`], and its further moments.
fn drawn(number: u64) -> (u64, Moments) {
    let mut random = Moments(0x5eed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    (1 + random.draw() % 15, random)
}

/// The processes and the point of a pair, by its number alone.
fn pair(number: u64) -> (Vec<Who>, Moments) {
    let (subset, random) = drawn(number);
    let bits = Who::ALL.into_iter().enumerate();
    (bits.filter(|(bit, _)| subset >> bit & 1 == 1).map(|(_, who)| who).collect(), random)
}

/// Programs that make layers, and a server of NFS with its link.
const LAYER_PROGRAMS: [&str; 5] = ["mdadm", "cryptsetup", "dmsetup", "nsenter", "tc"];

/// Waits for the point of a pair. Layers get further ones: their programs, and a random moment from
/// the first layer on, however slow the machine is.
fn wait_for_point(
    run: &mut Run,
    machine: &Machine,
    with_layers: bool,
    random: &mut Moments,
) -> &'static str {
    match (random.draw() % 5, with_layers) {
        (0, _) => {
            run.wait_for_program(&["mkfs"]);
            "inside mkfs"
        }
        (1, _) => {
            run.wait_for_the_end_of("mkfs");
            "after mkfs"
        }
        (2, _) => {
            run.wait_for_program(&["dd"]);
            "while the workload writes"
        }
        (3, true) => {
            run.wait_for_program(&LAYER_PROGRAMS);
            "inside a program that makes a layer"
        }
        (_, true) => {
            run.wait_until("layer", || !machine.new_layers().is_empty());
            run.wait(random.next_up_to(Duration::from_secs(4)));
            "up to 4 s after the first layer"
        }
        (_, false) => {
            run.wait(random.next_up_to(Duration::from_millis(1500)));
            "at a random moment"
        }
    }
}

#[test]
fn nothing_is_left_after_seeded_kills_and_the_run_completes() {
    if !can_run("nothing_is_left_after_seeded_kills_and_the_run_completes") {
        return;
    }
    let first = |subset| (0..).find(|number| drawn(*number).0 == subset).unwrap();
    kill_at(&lab(STACKS, 6), TRIALS, &pairs("SEEKWELL_KILLS", &SAMPLE.map(first)));
}

#[test]
fn nothing_is_left_of_disks_and_layers_in_memory() {
    let test = "nothing_is_left_of_disks_and_layers_in_memory";
    if !can_run(test) {
        return;
    }
    if !Path::new("/sys/class/zram-control/hot_add").exists() {
        return seekwell_testing::skip(test, "this kernel has no zram");
    }
    // The agent dies while the workload writes, which leaves all to the guardian, and inside mkfs with
    // the guardian, which leaves it to the next start.
    let pairs = pairs("SEEKWELL_LAYER_KILLS", &[756, 17]);
    // Few kills need no long run.
    let (rounds, trials) =
        if pairs.len() > KILLS_OF_A_RUN { (12, TRIALS) } else { (6, TRIALS / 2) };
    kill_some_layers(&pairs, kill(&lab(IN_MEMORY, rounds), trials, &pairs, false));
}

#[test]
fn nothing_is_left_of_arrays_and_mapped_devices() {
    if can_have_layers("nothing_is_left_of_arrays_and_mapped_devices") {
        let pairs = pairs("SEEKWELL_LAYER_KILLS", &[0b0010, 0b1111]);
        kill_layers_at(&lab(ARRAYS, 6), TRIALS, &pairs);
    }
}

/// The disk of `SEEKWELL_LAYER_DISK` loses its content: `make test-layers` gives its guest one. The
/// variable has its path and the end of its serial number.
#[test]
fn nothing_is_left_of_layers_on_a_disk() {
    let test = "nothing_is_left_of_layers_on_a_disk";
    let Ok(disk) = std::env::var("SEEKWELL_LAYER_DISK") else {
        return seekwell_testing::skip(test, "make test-layers has a disk for it");
    };
    if !can_have_layers(test) {
        return;
    }
    let (path, serial) = disk.split_once(' ').expect("PATH SERIAL");
    let pairs = pairs("SEEKWELL_DISK_KILLS", &[0b0010, 0b1111]);
    let lab = lab(ON_A_DISK, 8).replace("DISK", path);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("lab.toml"), &lab).unwrap();
    let done = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
        let output = command.args(arguments).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    done(&["claim", path, "--confirm", serial]);
    // A run that writes to a disk starts only when its plan was shown.
    done(&["plan", "lab.toml"]);
    kill_layers_at(&lab, DISK_TRIALS, &pairs);
    done(&["release", path]);
}

#[test]
fn every_layer_of_a_host_runs_and_leaves_nothing() {
    if !can_have_layers("every_layer_of_a_host_runs_and_leaves_nothing") {
        return;
    }
    let ground = Ground::new(KINDS_LAB);
    let machine = Machine::look(ground.path());
    assert_eq!(trials_of_a_run(&ground, &machine).len(), KINDS_TRIALS);
}

/// Trials of a run that nobody disturbs, none of which fails, and which leaves nothing.
fn trials_of_a_run(ground: &Ground, machine: &Machine) -> Vec<serde_json::Value> {
    let run_file = ground.path().join("undisturbed.seekwell");
    let mut run = Run::start(&ground.program(), ground.path(), &run_file);
    let (status, talk) = run.finish();
    assert!(matches!(status, Some(0 | 4)), "{status:?}: {talk}");
    machine.assert_restored_within(SETTLE, "the run");
    let trials = trials(ground, &run_file);
    let failed: Vec<_> = trials.iter().filter(|trial| trial["status"] == "failed").collect();
    assert!(failed.is_empty(), "{failed:?}");
    trials
}

#[test]
fn nothing_is_left_of_layers_of_nfs() {
    let test = "nothing_is_left_of_layers_of_nfs";
    if !can_run(test) {
        return;
    }
    if let Some(part) = ["nfs", "nfsd", "sch_netem"]
        .iter()
        .find(|name| !Path::new("/sys/module").join(name).exists())
    {
        let reason = format!("the module {part} is not loaded: make test-layers has a kernel");
        return seekwell_testing::skip(test, &reason);
    }
    {
        // Every trial of a run that nobody disturbs ends well.
        let ground = Ground::new(OVER_NFS);
        let machine = Machine::look(ground.path());
        let trials = trials_of_a_run(&ground, &machine);
        assert_eq!(trials.len(), TRIALS_OVER_NFS);
        for trial in &trials {
            let said = trial["in_force"]["layers"].to_string();
            assert!(said.contains("mount -t nfs"), "{trial}");
        }
        println!("{TRIALS_OVER_NFS} trials over NFS: nothing left");
    }
    let pairs = pairs("SEEKWELL_NFS_KILLS", &[0b0010, 0b1111]);
    kill_layers_at(OVER_NFS, TRIALS_OVER_NFS, &pairs);
}

/// Returns true where every layer of these labs can be made.
fn can_have_layers(test: &str) -> bool {
    if !can_run(test) {
        return false;
    }
    let modules = ["raid0", "raid1", "raid10", "raid456", "dm_crypt", "dm_thin_pool"];
    if let Some(module) =
        modules.iter().find(|module| !Path::new("/sys/module").join(module).exists())
    {
        let reason = format!("the module {module} is not loaded: make test-layers has a kernel");
        seekwell_testing::skip(test, &reason);
        return false;
    }
    for tool in ["mdadm", "dmsetup"] {
        if seekwell_testing::tool(tool).is_none() {
            seekwell_testing::skip(test, &format!("{tool} is not installed"));
            return false;
        }
    }
    true
}

/// Kills runs of a lab with so many trials at these pairs; nothing may be left.
fn kill_at(lab: &str, trials: usize, pairs: &[u64]) {
    kill(lab, trials, pairs, false);
}

/// The same for a lab with arrays or mapped devices, at the points of layers.
fn kill_layers_at(lab: &str, trials: usize, pairs: &[u64]) {
    kill_some_layers(pairs, kill(lab, trials, pairs, true));
}

/// Some of the kills must have found layers: a run whose kills all met none shows nothing.
fn kill_some_layers(pairs: &[u64], found: usize) {
    println!("{found} of {} kills found layers", pairs.len());
    assert!(found > 0, "no layer was there at any kill");
}

/// Kills at all pairs; returns the number of kills that found layers.
fn kill(lab: &str, trials: usize, pairs: &[u64], with_layers: bool) -> usize {
    let ground = Ground::new(lab);
    let mut machine = Machine::look(ground.path());
    let (mut hits, mut found) = (0, 0);
    for (position, number) in pairs.iter().copied().enumerate() {
        let run_file = ground.path().join(format!("kill-{}.seekwell", position / KILLS_OF_A_RUN));
        let (who, mut random) = pair(number);
        let mut run = Run::start(&ground.program(), ground.path(), &run_file);
        let point = wait_for_point(&mut run, &machine, with_layers, &mut random);
        // First of all, for a look at the loop devices takes an emulated machine a while.
        let layers = machine.new_layers();
        machine.note_devices();
        found += usize::from(!layers.is_empty());
        hits += usize::from(run.kill(&who) > 0);
        run.end();
        let there = if layers.is_empty() { "no layers".to_owned() } else { layers.join(", ") };
        let after = format!("pair {number}: kill of {who:?} {point} with {there}");
        if who.contains(&Who::Guardian) {
            next_start(&ground);
            machine.assert_restored_within(SETTLE, &after);
        } else {
            machine.assert_restored_within(SETTLE_ALONE, &after);
        }
        let is_last = position + 1 == pairs.len();
        println!("{after}: nothing left");
        // A run that was killed before it made its file has nothing to continue.
        if (position % COMPLETED == COMPLETED - 1 || is_last) && run_file.exists() {
            complete(&ground, &run_file, trials, KILLS_OF_A_RUN);
            machine.assert_restored_within(SETTLE, "the completed run");
            println!("pairs up to {number}: nothing left");
        }
    }
    // A process that is killed alone may not be there at a random moment.
    assert!(hits * 2 > pairs.len(), "only {hits} of {} kills met a process", pairs.len());
    found
}

/// Each process alone, then all of them as a suspended machine stops them (its clocks, which a suspend
/// stops too, go on here).
#[test]
fn a_run_whose_processes_are_stopped_for_a_second_ends_as_any_other() {
    if !can_run("a_run_whose_processes_are_stopped_for_a_second_ends_as_any_other") {
        return;
    }
    let lab = lab(STACKS, 6).replace(r#"["mq-deadline", "bfq"]"#, r#"["mq-deadline"]"#);
    let ground = Ground::new(&lab);
    let run_file = ground.path().join("stopped.seekwell");
    let mut machine = Machine::look(ground.path());
    let mut run = Run::start(&ground.program(), ground.path(), &run_file);
    for who in [&Who::ALL[..1], &Who::ALL[1..2], &Who::ALL[2..3], &Who::ALL[3..], &Who::ALL] {
        run.wait_for_program(&["dd"]);
        machine.note_devices();
        assert!(run.pause(who, Duration::from_secs(1)) > 0, "{who:?}");
    }
    let (status, talk) = run.finish();
    assert!(matches!(status, Some(0 | 4)), "{status:?}: {talk}");
    machine.assert_restored_within(SETTLE, "the run with pauses");
    let trials = trials(&ground, &run_file);
    assert_eq!(trials.len(), TRIALS / 2);
    assert!(trials.iter().all(|trial| trial["status"] != "failed"), "{trials:?}");
}

#[test]
fn nothing_is_left_after_kills_with_a_gibibyte_dirty() {
    if !can_run("nothing_is_left_after_kills_with_a_gibibyte_dirty") {
        return;
    }
    let ground = Ground::new(DIRTY_LAB);
    let mut machine = Machine::look(ground.path());
    let groups: [&[Who]; 3] = [&Who::ALL[..1], &Who::ALL[1..2], &Who::ALL[..3]];
    for (attempt, who) in groups.into_iter().enumerate() {
        let run_file = ground.path().join(format!("dirty-{attempt}.seekwell"));
        let mut run = Run::start(&ground.program(), ground.path(), &run_file);
        run.wait_for_program(&["sleep"]);
        machine.note_devices();
        run.kill(who);
        if who == [Who::Agent] {
            // The runner goes on with the next trial; it is not the subject here.
            run.wait(Duration::from_secs(1));
            run.kill(&[Who::Runner]);
        }
        run.end();
        if who.contains(&Who::Guardian) {
            next_start(&ground);
        }
        machine.assert_restored_within(WRITTEN_OUT, &format!("dirty kill {attempt} of {who:?}"));
    }
}

/// Reproducible moments: a linear congruential sequence (Knuth, MMIX) is random enough.
struct Moments(u64);

impl Moments {
    fn draw(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn next_up_to(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.draw() as f64 / (1_u64 << 31) as f64)
    }
}
