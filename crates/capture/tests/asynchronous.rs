//! Single operations of io_uring and libaio, as fio makes them. They need root, eBPF and fio.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{captured, of_command, rows};
use seekwell_recordings::info::Summary;
use seekwell_trace::Trace;
use seekwell_trace::calls::DATA_ALONE;
use std::process::Command;

const OPERATIONS: u64 = 256;

/// Captures fio, which writes a file of 1 MiB in order and syncs every 64 writes. Returns false where
/// this machine cannot.
fn writes_are_single(test: &str, engine: &str, names: [&'static str; 2], more: &[&str]) -> bool {
    if Command::new("fio").arg("--version").output().is_err() {
        seekwell_testing::skip(test, "needs fio");
        return false;
    }
    let work = tempfile::tempdir().unwrap();
    let file = work.path().canonicalize().unwrap().join("file");
    let file = file.to_string_lossy().into_owned();
    let (engine, name) = (format!("--ioengine={engine}"), format!("--filename={file}"));
    let mut words = vec!["fio", "--name=job", "--size=1m", "--bs=4k", "--rw=write", "--thread"];
    words.extend(["--iodepth=8", "--output=/dev/null", &engine, &name]);
    words.extend(more);
    if !more.iter().any(|word| word.contains("sync=")) {
        words.push("--fsync=64");
    }
    let Some(captured) = captured(test, &of_command(&work.path().join("trace"), &words)) else {
        return false;
    };
    assert_eq!(captured.status.and_then(|status| status.code()), Some(0), "{words:?}");
    assert_eq!(captured.lost, []);
    let trace = Trace::open(&work.path().join("trace")).unwrap();
    let is_missing = |gap: &String| gap.starts_with("io_uring: this kernel does not show");
    if names[0].starts_with("io_uring") && trace.meta().gaps.iter().any(is_missing) {
        seekwell_testing::skip(test, "this kernel does not show single operations of io_uring");
        return false;
    }
    let rows = rows(&trace);
    let of = |wanted: &'static str| rows.iter().filter(move |row| row.0.call.call().name == wanted);
    let mut offsets: Vec<u64> = of(names[0])
        .map(|(event, path, _)| {
            assert_eq!((path, event.length, event.result), (&file, Some(4096), Some(4096)));
            assert!(event.duration_ns.is_some_and(|ns| ns > 0));
            event.offset.unwrap()
        })
        .collect();
    offsets.sort_unstable();
    assert_eq!(offsets, (0..OPERATIONS).map(|nth| nth * 4096).collect::<Vec<_>>());
    let syncs: Vec<_> = of(names[1]).map(|(event, path, _)| (path, event.result)).collect();
    assert!(!syncs.is_empty(), "{names:?}: {syncs:?}");
    assert!(syncs.iter().all(|sync| *sync == (&file, Some(0))), "{syncs:?}");
    if names[1].starts_with("io_uring") {
        let leaves_out = more.contains(&"--fdatasync=64");
        let flags: Vec<u64> = of(names[1]).filter_map(|(event, ..)| event.flags).collect();
        assert!(
            flags.iter().any(|flags| (flags & DATA_ALONE != 0) == leaves_out),
            "{more:?}: {flags:?}"
        );
        assert!(leaves_out || flags.iter().all(|flags| flags & DATA_ALONE == 0), "{flags:?}");
    }
    let summary = Summary::of(&trace).unwrap();
    assert!(summary.writes.bytes >= OPERATIONS * 4096, "{:?}", summary.writes);
    true
}

#[test]
fn operations_of_io_uring_are_recorded_one_by_one() {
    let test = "operations_of_io_uring_are_recorded_one_by_one";
    let names = ["io_uring_write", "io_uring_fsync"];
    if writes_are_single(test, "io_uring", names, &[]) {
        writes_are_single(test, "io_uring", names, &["--fdatasync=64"]);
        writes_are_single(test, "io_uring", names, &["--registerfiles=1"]);
        writes_are_single(test, "io_uring", names, &["--sqthread_poll=1"]);
    }
}

#[test]
fn operations_of_libaio_are_recorded_one_by_one() {
    let test = "operations_of_libaio_are_recorded_one_by_one";
    // fio's own engine syncs by the call fsync.
    let names = ["aio_write", "fsync"];
    if writes_are_single(test, "libaio", names, &["--direct=0"]) {
        // More in a call than one run of the recorder's programs takes.
        let many = ["--direct=0", "--iodepth=256", "--iodepth_batch=256", "--fsync=128"];
        writes_are_single(test, "libaio", names, &many);
    }
}
