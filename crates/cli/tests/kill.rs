//! `kill -9` of runner, agent, guardian, pairs and all, at random moments and at chosen ones:
//! inside mkfs, inside mount, and with much dirty data. Afterwards nothing may be left, and
//! `--resume` completes the run.
//!
//! Real processes, loop devices and filesystems; needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "kill/machine.rs"]
mod machine;
#[path = "kill/victims.rs"]
mod victims;

use machine::Machine;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use victims::{Run, Who};

/// Time after the last death in which everything must be as it was.
const SETTLE: Duration = Duration::from_secs(10);

const SEVEN: [&[Who]; 7] = [
    &[Who::Runner],
    &[Who::Agent],
    &[Who::Guardian],
    &[Who::Runner, Who::Agent],
    &[Who::Runner, Who::Guardian],
    &[Who::Agent, Who::Guardian],
    &[Who::Runner, Who::Agent, Who::Guardian],
];

const LAB: &str = r#"
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
[[workload]]
kind = "mail"
files = 300
[judge]
metric = "unpack.elapsed_durable"
rounds = 6
"#;

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

fn complete(ground: &Ground, run_file: &Path) {
    let output = Command::new(ground.program())
        .args(["run", "--resume", "--json", "-o"])
        .arg(run_file)
        .current_dir(ground.path())
        .output()
        .unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 4)), "{:?}: {talk}", output.status);
    let run: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let trials = run["trials"].as_array().unwrap();
    let bad: Vec<_> = trials.iter().filter(|trial| trial["status"] == "failed").collect();
    assert!(bad.is_empty(), "failed trials after resume: {bad:?}\n{talk}");
    assert_eq!(trials.len(), 24, "{talk}");
}

#[test]
fn nothing_is_left_after_thirty_kills_and_the_run_completes() {
    if !can_run("nothing_is_left_after_thirty_kills_and_the_run_completes") {
        return;
    }
    let ground = Ground::new(LAB);
    let run_file = ground.path().join("kill.seekwell");
    let mut machine = Machine::look(ground.path());
    let mut random = Moments(0x5eed);
    for attempt in 0..30 {
        let who = SEVEN[attempt % SEVEN.len()];
        let mut run = Run::start(&ground.program(), ground.path(), &run_file);
        match attempt {
            // Three kills at each of two chosen places, the rest whenever it happens.
            0..3 => run.wait_for_program("mkfs"),
            3..6 => run.wait_for_the_end_of("mkfs"),
            _ => run.wait(random.next_up_to(Duration::from_millis(2500))),
        }
        machine.note_devices();
        run.kill(who);
        run.end();
        if who.contains(&Who::Guardian) {
            next_start(&ground);
        }
        machine.assert_restored_within(SETTLE, &format!("kill {attempt} of {who:?}"));
    }
    complete(&ground, &run_file);
    machine.assert_restored_within(SETTLE, "the completed run");
}

#[test]
fn nothing_is_left_after_kills_with_a_gibibyte_dirty() {
    if !can_run("nothing_is_left_after_kills_with_a_gibibyte_dirty") {
        return;
    }
    let ground = Ground::new(DIRTY_LAB);
    let mut machine = Machine::look(ground.path());
    for (attempt, who) in [SEVEN[0], SEVEN[1], SEVEN[6]].into_iter().enumerate() {
        let run_file = ground.path().join(format!("dirty-{attempt}.seekwell"));
        let mut run = Run::start(&ground.program(), ground.path(), &run_file);
        run.wait_for_program("sleep");
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
        machine.assert_restored_within(SETTLE, &format!("dirty kill {attempt} of {who:?}"));
    }
}

/// Reproducible moments: a linear congruential sequence (Knuth, MMIX) is random enough.
struct Moments(u64);

impl Moments {
    fn next_up_to(&mut self, most: Duration) -> Duration {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let share = (self.0 >> 33) as f64 / (1_u64 << 31) as f64;
        most.mul_f64(share)
    }
}
