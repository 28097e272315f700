//! `seekwell init` from outside: flags, standard input, and a file that exists.

use super::{data, seekwell, talk};
use std::io::Write;
use std::process::Stdio;

#[test]
fn flags_alone_write_a_lab_that_plan_accepts_and_nothing_is_written_over() {
    let directory = tempfile::tempdir().unwrap();
    let init = |file: &str| {
        seekwell(directory.path())
            .args(["init", file, "--runs", "log", "--filesystems", "ext4", "--vary", "nothing"])
            .args(["--time", "5min", "--defaults", "--estimate"])
            .output()
            .unwrap()
    };
    let output = init("mine.toml");
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let written = std::fs::read_to_string(directory.path().join("mine.toml")).unwrap();
    assert!(
        written.contains("name = \"mine\"") && written.contains("log.elapsed_durable"),
        "{written}"
    );
    let planned = seekwell(directory.path()).args(["plan", "mine.toml"]).output().unwrap();
    assert_eq!(planned.status.code(), Some(0), "{}", talk(&planned));
    assert!(data(&planned).contains("trials"));

    let again = init("mine.toml");
    assert_eq!(again.status.code(), Some(1));
    assert!(talk(&again).contains("is not overwritten"), "{}", talk(&again));
    let kept = std::fs::read_to_string(directory.path().join("mine.toml")).unwrap();
    assert_eq!(kept, written);
}

#[test]
fn answers_come_from_standard_input_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = seekwell(directory.path())
        .args(["init", "typed.toml", "--estimate"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"desktop\n\next4\n4\nwaiting\n20min\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    let written = std::fs::read_to_string(directory.path().join("typed.toml")).unwrap();
    assert!(written.contains("small-reads.latency_p99"), "{written}");
    assert!(written.contains("budget = \"20min\""), "{written}");
}

#[test]
fn without_answers_nothing_is_written_and_the_flag_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let output = seekwell(directory.path())
        .args(["init", "none.toml"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(talk(&output).contains("--runs"), "{}", talk(&output));
    assert!(!directory.path().join("none.toml").exists());
}
