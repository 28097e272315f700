use std::os::unix::fs::symlink;
use std::time::Instant;

use rustix::fs::{MemfdFlags, memfd_create};

use super::*;

/// A "guest" that is a shell.
struct Stage {
    directory: tempfile::TempDir,
    console: File,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        symlink("/bin/sh", directory.path().join("linux")).unwrap();
        let console = File::from(memfd_create(c"console", MemfdFlags::CLOEXEC).unwrap());
        Self { directory, console }
    }

    fn start(&self, script: &str) -> GuestProcess {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let console = self.console.try_clone().unwrap();
        GuestProcess::start(self.directory.path(), &arguments, console).unwrap()
    }

    fn printed(&self) -> String {
        let mut bytes = vec![0; self.console.metadata().unwrap().len() as usize];
        std::os::unix::fs::FileExt::read_exact_at(&self.console, &mut bytes, 0).unwrap();
        String::from_utf8(bytes).unwrap()
    }
}

#[test]
fn names_with_blanks_and_parentheses_do_not_hide_the_numbers() {
    let stat = "42 (a) b (c)) S 1 77 42 0 -1 0 0 0 0 0 300 21 5 5 20 0 1 0 1 1 1";
    assert_eq!(parse_stat(stat), Some((77, 321)));
    assert_eq!(parse_stat("42 (a"), None);
    assert_eq!(parse_stat("42 (a) S 1"), None);
}

#[test]
fn exit_status_and_output_are_those_of_the_program() {
    let stage = Stage::new();
    let mut process = stage.start("echo out; echo err >&2; exit 7");
    let exit = process.wait_or_end(Duration::from_secs(60)).unwrap();
    assert_eq!(exit.status.code(), Some(7));
    assert_eq!(stage.printed(), "out\nerr\n");
    assert_eq!(process.poll_exit().unwrap().unwrap().status.code(), Some(7));
}

#[test]
fn nothing_of_this_machine_is_in_the_environment() {
    let stage = Stage::new();
    let mut process = stage.start("/usr/bin/env | /usr/bin/sort");
    process.wait_or_end(Duration::from_secs(60)).unwrap();
    let printed = stage.printed();
    let kept = |line: &&str| !line.starts_with("PWD=") && !line.starts_with("_=");
    let lines: Vec<&str> = printed.lines().filter(kept).collect();
    assert_eq!(lines, ["GLIBC_TUNABLES=glibc.pthread.rseq=0", "PATH=", "TMPDIR=memory"]);
}

#[test]
fn everything_it_started_ends_with_it() {
    let stage = Stage::new();
    let mut process = stage.start("/bin/sleep 600 & echo $!; /bin/sleep 600");
    let begun = Instant::now();
    while stage.printed().is_empty() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let child: i32 = stage.printed().trim().parse().unwrap();
    let exit = process.end().unwrap();
    assert_eq!(exit.status.signal(), Some(9));
    let gone = || match fs::read_to_string(format!("/proc/{child}/stat")) {
        Err(_) => true,
        Ok(stat) => stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim().starts_with('Z')),
    };
    while !gone() && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(gone(), "the child outlived its guest");
}

#[test]
fn cpu_time_of_programs_is_told_from_the_kernels() {
    let stage = Stage::new();
    let mut process = stage.start("while :; do :; done & while :; do :; done & wait");
    let begun = Instant::now();
    while process.cpu_ticks().programs < 20 && begun.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let ticks = process.cpu_ticks();
    process.end().unwrap();
    assert!(ticks.programs >= 20 && ticks.kernel < ticks.programs, "{ticks:?}");
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let stage = Stage::new();
    fs::remove_file(stage.directory.path().join("linux")).unwrap();
    let console = stage.console.try_clone().unwrap();
    let started = GuestProcess::start(stage.directory.path(), &[], console);
    assert_eq!(started.unwrap_err().kind(), io::ErrorKind::NotFound);
}

#[test]
fn pinning_ends_with_its_guard() {
    let before = sched_getaffinity(None).unwrap();
    let cpu = (0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).unwrap();
    let pinned = Pinned::to(cpu).unwrap();
    assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
    drop(pinned);
    assert_eq!(sched_getaffinity(None).unwrap(), before);
    assert!(Pinned::to(CpuSet::MAX_CPU).is_err());
}
