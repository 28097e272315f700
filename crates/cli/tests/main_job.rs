//! The main job from outside: real labs on real block devices of this kernel, through the program
//! alone. Loop devices stand for disks: no spare disk exists on a test machine.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

#[path = "main_job/again.rs"]
mod again;
#[path = "main_job/bad_input.rs"]
mod bad_input;
#[path = "main_job/children.rs"]
mod children;
#[path = "main_job/race.rs"]
mod race;
#[path = "main_job/replayed.rs"]
mod replayed;
#[path = "main_job/stacks.rs"]
mod stacks;
#[path = "main_job/trouble.rs"]
mod trouble;
#[path = "main_job/why.rs"]
mod why;
#[path = "main_job/words.rs"]
mod words;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Two stacks in memory, twelve trials; its run file is `small.seekwell`.
const SMALL_LAB: &str = r#"
[lab]
name = "small"
[[device]]
name = "scratch"
ram = { size = "64MiB" }
[[filesystem]]
type = "ext4"
[scheduler]
choose = ["none", "mq-deadline"]
[[workload]]
kind = "mail"
files = 50
steps = []
[judge]
metric = "unpack.elapsed_durable"
rounds = 6
"#;

/// The program in a directory, with an environment that changes nothing.
fn seekwell(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
    command.current_dir(directory).env("NO_COLOR", "1").env("TERM", "dumb");
    command
}

fn talk(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn data(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A machine takes one run at a time.
static MACHINE: Mutex<()> = Mutex::new(());

/// The machine for a run on this kernel; counts a skip when none is possible.
fn can_run(test: &str, tools: &[&str]) -> Option<MutexGuard<'static, ()>> {
    if !seekwell_testing::root() {
        seekwell_testing::skip(test, "needs root for loop devices and mounts");
        return None;
    }
    for tool in tools {
        if seekwell_testing::tool(tool).is_none() {
            seekwell_testing::skip(test, &format!("{tool} is not installed"));
            return None;
        }
    }
    Some(MACHINE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Writes a lab and runs it; the run as JSON.
fn run_lab(directory: &Path, lab: &str) -> Value {
    std::fs::write(directory.join("lab.toml"), lab).unwrap();
    let output = seekwell(directory).args(["run", "lab.toml", "--json"]).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{:?}\n{}", output.status, talk(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn trials(run: &Value) -> &Vec<Value> {
    run["trials"].as_array().unwrap()
}

/// Every trial must have ended well; says which did not and why.
fn assert_all_ok(run: &Value) {
    let bad: Vec<_> = trials(run).iter().filter(|trial| trial["status"] != "ok").collect();
    assert!(bad.is_empty(), "{bad:#?}\nwarnings: {:#?}", run["warnings"]);
}

fn stacks(run: &Value) -> std::collections::BTreeSet<String> {
    trials(run).iter().map(|trial| trial["stack"].as_str().unwrap().to_owned()).collect()
}
