//! The whole way of a skip: from the call, through the environment, into the log. The environment of a running
//! test process cannot be changed safely, so a second copy of this test binary makes the call.

#![allow(clippy::unwrap_used, reason = "a test may panic, its helper functions too")]

use std::env;
use std::path::Path;
use std::process::{Command, Output};

use seekwell_testing::{SKIP_LOG, skip};

/// Set for the copy: it makes the call and nothing else.
const CALL: &str = "SEEKWELL_TESTING_CALL";

fn run_call(log: Option<&Path>) -> Output {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "a_skip_reaches_standard_error_and_the_log", "--nocapture"]);
    command.env(CALL, "1").env_remove(SKIP_LOG);
    if let Some(log) = log {
        command.env(SKIP_LOG, log);
    }
    command.output().unwrap()
}

#[test]
fn a_skip_reaches_standard_error_and_the_log() {
    if env::var_os(CALL).is_some() {
        return skip("mounts_xfs", "needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("skips");
    for _ in 0..2 {
        let output = run_call(Some(&log));
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("SKIPPED: mounts_xfs: needs root\n"), "{said}");
    }
    assert_eq!(
        std::fs::read_to_string(&log).unwrap(),
        "SKIPPED: mounts_xfs: needs root\nSKIPPED: mounts_xfs: needs root\n"
    );
}

#[test]
fn without_a_log_it_is_said_all_the_same() {
    let output = run_call(None);
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("SKIPPED: mounts_xfs: needs root\n"));
}

#[test]
fn a_skip_that_cannot_be_recorded_fails_the_test() {
    let output = run_call(Some(Path::new("/proc/no-such-folder/skips")));
    assert!(!output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("cannot record the skip of mounts_xfs"), "{said}");
}
