//! Operations of an io_uring, in a ring and as calls of threads.

use super::*;
use crate::plan::Plan;

/// Writes four pages at a depth of two, syncs and reads them; another process comes between.
fn ring() -> Script {
    let mut script = Script::default();
    script.known("/a", REGULAR, 0);
    script.open(1, "/a", libc::O_RDWR, 3);
    let mut operation = |name: &str, offset: u64, (start_ns, end_ns): (u64, u64), result: i64| {
        let event = script.on(1, name, (3, "/a"), result);
        (event.start_ns, event.duration_ns) = (start_ns, Some(end_ns - start_ns));
        if result > 0 {
            (event.offset, event.length) = (Some(offset), Some(4096));
        }
    };
    for nth in 0..4 {
        operation("io_uring_write", nth * 4096, (2000 + nth * 1000, 4000 + nth * 1000), 4096);
    }
    operation("io_uring_fsync", 0, (8000, 9000), 0);
    script.now_ns = 10_000;
    // It needs what was written, and the last read needs its write.
    script.open(2, "/a", libc::O_RDWR, 3);
    let write = script.on(2, "pwrite64", (3, "/a"), 4096);
    (write.offset, write.length) = (Some(16_384), Some(4096));
    script.now_ns = 20_000;
    let read = script.on(1, "io_uring_read", (3, "/a"), 4096);
    (read.offset, read.length) = (Some(16_384), Some(4096));
    script.on(1, "close", (3, "/a"), 0);
    script
}

/// The number of threads of a replay.
fn count(plan: &Plan, ring: fn() -> std::io::Result<Ring>) -> usize {
    threads(plan, ring).len()
}

fn refused() -> std::io::Result<Ring> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// False where every replay falls back to threads, which is counted as a skip.
fn has_rings(test: &str) -> bool {
    let has_rings = Ring::new().is_ok();
    if !has_rings {
        seekwell_testing::skip(test, "no io_uring here");
    }
    has_rings
}

#[test]
fn operations_share_the_thread_that_submitted_them_where_there_are_rings() {
    let plan = ring().plan(&Choice::default()).unwrap();
    assert_eq!((plan.lanes(), count(&plan, refused)), (4, 4));
    if has_rings("operations_share_the_thread") {
        assert_eq!(count(&plan, Ring::new), 2);
    }
}

#[test]
fn a_ring_does_what_threads_do() {
    if !root("a_ring_does_what_threads_do") || !has_rings("a_ring_does_what_threads_do") {
        return;
    }
    let plan = ring().plan(&Choice::default()).unwrap();
    for ring in [Ring::new, refused] {
        for speed in [Speed::AsFastAsPossible, Speed::Recorded(1.0), Speed::Open(1.0)] {
            for awake in [true, false] {
                let target = tempfile::tempdir().unwrap();
                rebuild(&plan, target.path(), Content::Zeros, None).unwrap();
                let options = Options { speed, awake, ..Options::default() };
                let done = replay_by(&plan, target.path(), &options, ring).unwrap();
                assert_eq!(done.differences, BTreeMap::new(), "{speed:?}");
                assert_eq!((done.issued, done.not_open, done.stopped), (10, 0, false));
                assert_eq!((done.bytes_read, done.bytes_written), (4096, 20_480));
                let counts = ["fsync", "other", "read", "write"];
                assert_eq!(counts.map(|name| done.latencies[name].count()), [1, 3, 1, 5]);
                let length = std::fs::metadata(target.path().join("a")).unwrap().len();
                assert_eq!(length, 20_480);
            }
        }
    }
}

#[test]
fn a_stop_ends_a_ring_that_waits() {
    if !root("a_stop_ends_a_ring") || !has_rings("a_stop_ends_a_ring") {
        return;
    }
    let mut script = ring();
    script.now_ns += 365 * 86_400 * 1_000_000_000;
    script.at(2, "unlink", "/a", 0);
    let read = script.on(1, "io_uring_read", (3, "/a"), 4096);
    (read.offset, read.length) = (Some(0), Some(4096));
    let ended = stopped_early(&script);
    assert!(ended.stopped && ended.issued <= 10, "{}", ended.issued);
}

#[test]
fn an_operation_on_a_file_that_is_not_open_is_counted() {
    if !root("an_operation_on_a_file_that_is_not_open") {
        return;
    }
    let plan = ring().plan(&Choice::default()).unwrap();
    let target = tempfile::tempdir().unwrap();
    // The tree was not rebuilt: no file can be opened.
    let done = replay_by(&plan, target.path(), &asap(), Ring::new).unwrap();
    assert_eq!((done.not_open, done.issued), (8, 2));
}
