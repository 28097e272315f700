//! The library example as a user builds it: a lab becomes a verdict without a terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use seekwell_store::RunFile;
use std::process::Command;

/// The drives differ tenfold in seeks, so the verdict names a winner on every machine.
const LAB: &str = r#"
[lab]
name = "library"
question = "which device reads at random sooner?"
[[device]]
name = "disk"
model = { name = "maxtor-6y080l0", size = "64MiB" }
[[device]]
name = "ram"
model = { name = "ram", size = "64MiB" }
[[filesystem]]
type = "raw"
[scheduler]
choose = ["none"]
[[workload]]
kind = "seek"
file_size = "16MiB"
count = 60
[judge]
metric = "seek.iops"
rounds = 6
"#;

#[test]
fn a_library_program_runs_a_lab_on_modelled_devices_and_reads_the_verdict() {
    let test = "a_library_program_runs_a_lab_on_modelled_devices_and_reads_the_verdict";
    let directory = tempfile::tempdir().unwrap();
    let lab = directory.path().join("lab.toml");
    std::fs::write(&lab, LAB).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_seekwell-library-example"))
        .arg(&lab)
        .arg(directory.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    if wrong.contains("seekwell kernel build") {
        return seekwell_testing::skip(test, wrong.trim());
    }
    assert!(output.status.success(), "{said}{wrong}");
    assert_eq!(said.matches(": Ok").count(), 12, "{said}");
    let file = RunFile::open(&directory.path().join("verdict.seekwell")).unwrap();
    let verdict = file.verdict().unwrap().unwrap();
    assert!(said.trim_end().ends_with(&verdict.reason), "{said}");
    assert!(verdict.stacks.iter().any(|stack| stack.contains("ram")), "{:?}", verdict.stacks);
}
