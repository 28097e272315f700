use super::*;
use crate::fixture::context;
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::workloads::io::{EngineKind, Pattern};
use seekwell_model::workloads::{CacheState, CommandParams, Durability, IoParams, MailParams};
use std::path::Path;
use std::time::Duration;

fn io() -> WorkloadParams {
    WorkloadParams::Io(IoParams {
        kind: "stream".to_owned(),
        step: "bulk".to_owned(),
        size: Bytes::kib(64),
        count: Some(1),
        time: Some(Nanos(1)),
        threads: 1,
        curve: Vec::new(),
        depth: 1,
        engine: EngineKind::Psync,
        pattern: Pattern::Sequential,
        read_percent: 0,
        cache: CacheState::Warm,
        rate: None,
        file_size: Some(Bytes::mib(1)),
        fsync_every: 0,
        content: seekwell_model::workloads::io::FileContent::Random,
        compressible: 0,
        repeated: 0,
        verify: 0,
        durability: Durability::default(),
    })
}

fn mail(steps: &[&str]) -> WorkloadParams {
    WorkloadParams::Mail(MailParams {
        compressible: 0,
        repeated: 0,
        verify: 0,
        files: 20,
        directories: 2,
        largest: None,
        median_size: Bytes::kib(1),
        spread: 1.0,
        tar: None,
        steps: steps.iter().map(|step| (*step).to_owned()).collect(),
        cache: CacheState::Warm,
        pipe: false,
    })
}

/// Runs a workload beside nothing until `enough` says so of the directory.
fn run_until(
    params: &WorkloadParams,
    directory: &Path,
    enough: impl Fn(&Path) -> bool,
) -> Vec<BesideStep> {
    let (mut beside, _) = Beside::prepare(params, 0, &context(directory)).unwrap();
    beside.start(&context(directory)).unwrap();
    while !enough(directory) && !beside.has_failed() {
        std::thread::sleep(Duration::from_micros(200));
    }
    beside.stop().unwrap()
}

/// Returns true when a second copy of the tree was begun: copies are numbered.
fn second_turn(directory: &Path) -> bool {
    let names = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    names.into_iter().any(|name| name.to_string_lossy().starts_with("beside-0-mail-"))
}

#[test]
fn an_io_workload_writes_its_own_file_and_runs_until_it_is_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path());
    let (mut beside, prepared) = Beside::prepare(&io(), 3, &context).unwrap();
    assert_eq!(prepared.len(), 1);
    assert_eq!(prepared[0].outline.name, "bulk-populate");
    assert_eq!(prepared[0].outcome.app_bytes_written, 1 << 20);
    assert!(folder.path().join("beside-3-bulk.data").exists());
    for _ in 0..2 {
        // It returns when the first operation is complete: no need to wait.
        beside.start(&context).unwrap();
        std::thread::sleep(Duration::from_millis(1));
        let found = beside.stop().unwrap();
        assert_eq!(found.len(), 1);
        let BesideStep { outline, outcome } = &found[0];
        assert_eq!(outline.name, "bulk");
        assert!(outcome.stopped && outcome.ops >= 1, "{outcome:?}");
        assert_eq!(outcome.metrics["ops"], outcome.ops as f64);
    }
    assert!(beside.stop().unwrap().is_empty());
}

#[test]
fn neither_its_count_nor_its_time_ends_an_io_workload_beside() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path());
    // The parameters say one operation and 1 ns.
    let (mut beside, _) = Beside::prepare(&io(), 0, &context).unwrap();
    beside.start(&context).unwrap();
    let progress = beside.progress().unwrap();
    while progress.total().0 < 100 {
        assert!(!beside.has_failed());
        std::thread::sleep(Duration::from_micros(200));
    }
    assert!(beside.stop().unwrap()[0].outcome.ops >= 100);
}

#[test]
fn steps_follow_each_other_in_turn_and_are_added_up() {
    let folder = tempfile::tempdir().unwrap();
    let found = run_until(&mail(&["read_archive", "remove"]), folder.path(), second_turn);
    let names: Vec<&str> = found.iter().map(|step| step.outline.name.as_str()).collect();
    assert_eq!(names, ["unpack", "read_archive", "remove"]);
    let unpack = &found[0].outcome;
    assert!(unpack.ops >= 20, "{} files: not even one turn", unpack.ops);
    assert_eq!(unpack.metrics["ops"], unpack.ops as f64);
    assert_eq!(unpack.histograms["create"].count(), unpack.ops);
    let per_second = unpack.ops as f64 * 1e9 / unpack.elapsed_ns as f64;
    assert!((unpack.metrics["files_per_s"] / per_second - 1.0).abs() < 1e-12);
}

#[test]
fn a_tree_that_was_cut_short_by_a_stop_does_not_disturb_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path());
    let params = mail(&["read_archive", "remove"]);
    let (mut beside, _) = Beside::prepare(&params, 0, &context).unwrap();
    for pause_us in (0..20).map(|turn| turn * 170) {
        beside.start(&context).unwrap();
        std::thread::sleep(Duration::from_micros(pause_us));
        beside.stop().unwrap();
    }
}

#[test]
fn a_mail_workload_that_never_removes_does_not_fill_the_device() {
    let folder = tempfile::tempdir().unwrap();
    let found = run_until(&mail(&[]), folder.path(), second_turn);
    let names: Vec<&str> = found.iter().map(|step| step.outline.name.as_str()).collect();
    assert_eq!(names, ["unpack"]);
    assert!(found[0].outcome.ops >= 20);
    // The turn that the stop ended is all that is left.
    assert!(std::fs::read_dir(folder.path()).unwrap().count() <= 1);
}

fn runs(folder: &Path) -> usize {
    std::fs::read_to_string(folder.join("runs")).unwrap().lines().count()
}

#[test]
fn a_command_is_repeated_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let params = WorkloadParams::Command(CommandParams {
        step: "backup".to_owned(),
        prepare: Some("echo 0 > runs".to_owned()),
        run: "echo x >> runs; echo speed 5".to_owned(),
        cache: CacheState::Warm,
        metrics: [("speed".to_owned(), r"speed (\d)".to_owned())].into(),
        expect_status: 0,
        timeout: None,
        raw: false,
        privileged: false,
    });
    let found = run_until(&params, folder.path(), |folder| runs(folder) > 2);
    assert!(runs(folder.path()) > 2);
    assert_eq!(found[0].outcome.metrics["speed"], 5.0);
}

#[test]
fn a_failure_is_seen_while_it_runs_and_told_at_the_stop() {
    let folder = tempfile::tempdir().unwrap();
    let context = context(folder.path());
    let (mut beside, _) = Beside::prepare(&io(), 0, &context).unwrap();
    std::fs::remove_file(folder.path().join("beside-0-bulk.data")).unwrap();
    beside.start(&context).unwrap();
    while !beside.has_failed() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let told = beside.stop().unwrap_err().to_string();
    assert!(told.contains("beside-0-bulk.data: No such file"), "{told}");
}
