//! The harness of `make agreement` runs, and both sides of every row do the same work. Their speed
//! is not looked at here.

#![allow(clippy::unwrap_used, reason = "a failing helper is a failing test")]

use std::path::PathBuf;
use std::process::Command;

/// The example, which `cargo test` builds beside the tests.
fn harness() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let program = test.parent()?.parent()?.join("examples/agreement");
    program.exists().then_some(program)
}

#[test]
fn both_sides_of_every_row_do_the_same_work() {
    let test = "both_sides_of_every_row_do_the_same_work";
    let Some(program) = harness() else {
        return seekwell_testing::skip(test, "the example agreement was not built");
    };
    let output = Command::new(program).arg("--quick").output().unwrap();
    let (said, why) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for line in why.lines().filter_map(|line| line.strip_prefix("SKIPPED: ")) {
        seekwell_testing::skip(test, line);
    }
    if output.status.code() == Some(77) {
        return seekwell_testing::skip(test, why.trim());
    }
    assert!(output.status.success(), "{said}{why}");
    assert!(said.contains("seekrw-reference") && !said.contains("NOT THE SAME"), "{said}");
}
