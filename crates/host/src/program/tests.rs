use super::*;
use std::path::PathBuf;

#[test]
fn a_failure_carries_the_command_line_and_its_first_and_last_lines() {
    let script = "seq 1 30 >&2; exit 3";
    let error = run(&System::host(), "sh", "dash", &["-c", script]).unwrap_err();
    let Error::Program { command, status, stderr } = &error else { panic!("{error}") };
    assert_eq!(command, "sh -c 'seq 1 30 >&2; exit 3'");
    assert_eq!(status, "exit status 3");
    assert_eq!(stderr, "1\n2\n3\n…\n26\n27\n28\n29\n30");
}

#[test]
fn a_program_that_is_killed_says_so() {
    let error = run(&System::host(), "sh", "dash", &["-c", "kill -9 $$"]).unwrap_err();
    assert_eq!(error.to_string(), "'sh -c 'kill -9 $$'' failed (killed by signal 9)");
}

#[test]
fn nothing_of_the_callers_environment_is_inherited() {
    let output = run(&System::host(), "env", "coreutils", &[]).unwrap();
    let mut names: Vec<&str> = output.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["LC_ALL", "PATH"]);
    assert_eq!(run(&System::host(), "pwd", "coreutils", &[]).unwrap(), "/\n");
}

#[test]
fn a_program_reads_nothing() {
    assert_eq!(run(&System::host(), "cat", "coreutils", &[]).unwrap(), "");
}

#[test]
fn a_missing_program_names_its_package() {
    let mut system = System::host();
    system.programs = vec![PathBuf::from("/nowhere")];
    insta::assert_snapshot!(run(&system, "mkfs.xfs", "xfsprogs", &[]).unwrap_err(), @"mkfs.xfs is not installed; install it with: apt-get install xfsprogs");
}

#[test]
fn words_are_quoted_for_a_shell_only_where_needed() {
    let words = ["mkfs.ext4", "-O", "^has_journal", "-L", "my disk", "it's", ""];
    assert_eq!(line(words.into_iter()), r"mkfs.ext4 -O ^has_journal -L 'my disk' 'it'\''s' ''");
}
