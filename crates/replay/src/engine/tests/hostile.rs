//! Traces that were made to harm: extreme numbers, threads that never start, endless names.

use super::*;
use crate::planner::class;
use seekwell_trace::ProcessEntry;
use seekwell_trace::calls::CALLS;

/// The largest offset and length that a call takes.
const LARGEST: u64 = i64::MAX.unsigned_abs();

/// Replays every call of the catalogue on an open file with these numbers.
fn every_call(offset: u64, length: u64, result: i64) -> (tempfile::TempDir, Plan, Replayed) {
    let mut script = Script::default();
    script.open(1, "/a", libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 3);
    for call in CALLS {
        // An allocation of 2^63 bytes has the result of the filesystem, which may take minutes to say no.
        if ["fallocate", "uring_fallocate"].contains(&call.name) {
            continue;
        }
        let event = script.on(1, call.name, (3, "/a"), result);
        (event.offset, event.length) = (Some(offset), Some(length));
    }
    script.open(1, "/a", libc::O_RDWR, 3);
    run_script(&script, &asap())
}

#[test]
fn extreme_offsets_and_lengths_of_every_call_stay_in_the_target() {
    if !root("extreme_offsets_and_lengths") {
        return;
    }
    for (offset, length) in [(LARGEST, LARGEST), (0, LARGEST), (LARGEST, 0), (0, 0)] {
        // Zero of 2^63 bytes is what a trace without results says: 1 GiB is written then.
        let results: &[i64] = if length == 0 { &[0, 5] } else { &[5] };
        for result in results.iter().copied().chain([-i64::from(libc::EFAULT)]) {
            let (target, plan, replayed) = every_call(offset, length, result);
            let names = std::fs::read_dir(target.path()).unwrap().flatten();
            let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
            assert!(names.iter().all(|name| name == "a" || name == "lost+found"), "{names:?}");
            assert!(replayed.bytes_written < 1 << 20, "{}", replayed.bytes_written);
            assert_eq!(replayed.issued > 0, plan.recorded().planned > 0);
        }
    }
}

#[test]
fn a_write_that_was_short_is_repeated_as_long_as_it_was() {
    if !root("a_write_that_was_short") {
        return;
    }
    let mut script = Script::default();
    script.open(1, "/a", libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 3);
    for (name, offset) in [("pwrite64", Some(0)), ("write", Some(0)), ("pwritev", Some(1000))] {
        let write = script.on(1, name, (3, "/a"), 1000);
        (write.offset, write.length) = (offset, Some(LARGEST));
    }
    let (target, _plan, replayed) = run_script(&script, &asap());
    assert_eq!((replayed.bytes_written, replayed.differences), (3000, BTreeMap::new()));
    assert_eq!(std::fs::metadata(target.path().join("a")).unwrap().len(), 2000);
}

#[test]
fn a_call_with_a_bad_address_fails_again() {
    if !root("a_call_with_a_bad_address") {
        return;
    }
    let bad = -i64::from(libc::EFAULT);
    let mut script = Script::default();
    script.known("/a", REGULAR, 5000);
    script.open(1, "/a", libc::O_RDWR, 3);
    for (name, length) in [
        ("read", 4096),
        ("pread64", 4096),
        ("preadv", LARGEST),
        ("write", 4096),
        ("pwrite64", 4096),
        ("pwritev", LARGEST),
    ] {
        let event = script.on(1, name, (3, "/a"), bad);
        (event.offset, event.length) = (Some(0), Some(length));
    }
    let (target, _plan, replayed) = run_script(&script, &asap());
    assert_eq!((replayed.issued, replayed.differences), (7, BTreeMap::new()));
    assert_eq!(std::fs::metadata(target.path().join("a")).unwrap().len(), 5000);
}

#[test]
fn threads_that_never_start_are_not_waited_for() {
    if !root("threads_that_never_start") {
        return;
    }
    let mut script = Script::default();
    script.known("/a", REGULAR, 10);
    for (process, parent) in [(2, 99), (98, 2), (99, 98)] {
        let parent = Some(parent);
        script.processes.push(ProcessEntry { process, parent, start_ns: 0, name: None });
    }
    script.call(1, "fork", 98);
    script.call(1, "vfork", 97);
    for process in [1, 2] {
        let event = script.at(process, "newfstatat", "/a", 0);
        (event.waker, event.woken_ns, event.awaited_ns) = (Some(99), Some(u64::MAX), Some(1));
    }
    script.at(1, "newfstatat", "/a", 0);
    let (_target, _plan, replayed) = run_script(&script, &asap());
    assert_eq!((replayed.issued, replayed.differences), (3, BTreeMap::new()));
}

#[test]
fn endless_names_are_counted_and_not_kept() {
    let long = "a".repeat(100 << 20);
    let mut script = Script::default();
    script.at(1, "newfstatat", "/a", -2);
    for path in [format!("/{long}"), "/b".repeat(50 << 20), format!("/../{long}/..")] {
        script.at(1, "unlink", &path, 0);
    }
    let plan = match script.plan(&Choice::default()) {
        Ok(plan) => plan,
        Err(refused) => {
            let said = refused.to_string();
            assert!(said.len() < 1000 && said.contains("name"), "{}", &said[..said.len().min(300)]);
            return;
        }
    };
    assert_eq!(plan.recorded().skipped[&crate::plan::Reason::LongName], 3);
    assert!(plan.paths.iter().all(|path| path.as_bytes().len() < 4096));
    assert!(plan.tree.iter().all(|entry| entry.path.len() < 4096));
}

/// Calls of every class are among those of the catalogue.
#[test]
fn every_class_of_calls_is_tried() {
    use seekwell_trace::calls::CallId;
    let classes: std::collections::BTreeSet<&str> =
        (0..CALLS.len()).map(|at| class(CallId(u16::try_from(at).unwrap()))).collect();
    assert_eq!(classes.into_iter().collect::<Vec<_>>(), ["fsync", "other", "read", "write"]);
}
