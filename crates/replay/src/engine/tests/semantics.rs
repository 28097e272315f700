//! Calls whose meaning depends on other calls: appending, positions that processes share, locks that
//! are taken, names of open files, and files from outside of the folder.

use super::*;
use crate::plan::Reason;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeSet;
use std::path::Path;

/// A process that another one makes, with the files that are open there.
fn fork(script: &mut Script, parent: u32, child: u32) {
    script.call(parent, "clone", child.into());
}

#[test]
fn appending_processes_write_behind_each_other_in_the_recorded_order() {
    if !root("appending_processes") {
        return;
    }
    let mut script = Script::default();
    script.known("/log", REGULAR, 100);
    let flags = libc::O_WRONLY | libc::O_APPEND;
    script.open(1, "/log", flags, 3);
    script.open(2, "/log", flags, 3);
    for (process, length) in [(1, 1000), (2, 200), (1, 30)] {
        let write = script.on(process, "write", (3, "/log"), length);
        // Not the place of the write, as the position of the descriptor is not.
        (write.offset, write.length) = (Some(0), Some(length.unsigned_abs()));
    }
    let (target, plan, replayed) = run_script(&script, &asap());
    assert_eq!((replayed.issued, replayed.differing()), (5, 0));
    assert_eq!(std::fs::metadata(target.path().join("log")).unwrap().len(), 1330);
    // The second one's write comes after the first one's, and the last after both.
    assert_eq!(plan.operations(1)[1].after, [(0, 2)]);
    assert_eq!(plan.operations(0)[2].after, [(1, 2)]);
}

#[test]
fn processes_that_share_a_position_read_one_behind_the_other() {
    if !root("processes_that_share") {
        return;
    }
    let mut script = Script::default();
    script.known("/a", REGULAR, 10_000);
    script.open(1, "/a", libc::O_RDONLY, 3);
    fork(&mut script, 1, 2);
    // Had each its own position, no read would come to the end.
    for (process, offset, result) in
        [(1, 0, 4096), (2, 4096, 4096), (1, 8192, 1808), (2, 10_000, 0)]
    {
        let read = script.on(process, "read", (3, "/a"), result);
        (read.offset, read.length) = (Some(offset), Some(4096));
    }
    script.on(1, "close", (3, "/a"), 0);
    let at = script.on(2, "lseek", (3, "/a"), 10_000);
    (at.offset, at.flags) = (Some(0), Some(1));
    for _ in 0..5 {
        let (_target, _plan, replayed) = run_script(&script, &asap());
        assert_eq!(replayed.differences, BTreeMap::new());
        assert_eq!((replayed.bytes_read, replayed.not_open), (10_000, 0));
    }
}

#[test]
fn a_lock_that_was_taken_is_taken_again() {
    if !root("a_lock_that_was_taken") {
        return;
    }
    const EXCLUSIVE: u64 = 2;
    const UNLOCK: u64 = 8;
    const AT_ONCE: u64 = 4;
    let busy = -i64::from(libc::EAGAIN);
    let mut script = Script::default();
    script.known("/a", REGULAR, 0);
    for process in [1, 2] {
        script.open(process, "/a", libc::O_RDWR, 3);
    }
    for (process, flags, result) in [
        (1, EXCLUSIVE, 0),
        (2, EXCLUSIVE | AT_ONCE, busy),
        (1, UNLOCK, 0),
        (2, EXCLUSIVE | AT_ONCE, 0),
        (1, EXCLUSIVE | AT_ONCE, busy),
        (2, UNLOCK, 0),
    ] {
        script.on(process, "flock", (3, "/a"), result).flags = Some(flags);
    }
    for _ in 0..5 {
        let (_target, _plan, replayed) = run_script(&script, &asap());
        assert_eq!((replayed.issued, replayed.differences), (8, BTreeMap::new()));
    }
}

/// The one that waited returned before the close that made way: neither comes after the other.
#[test]
fn a_lock_that_was_waited_for_is_had_when_its_owner_closes() {
    if !root("a_lock_that_was_waited_for") {
        return;
    }
    let exclusive = Some(2);
    let mut script = Script::default();
    script.known("/a", REGULAR, 0);
    for process in [1, 2] {
        script.open(process, "/a", libc::O_RDWR, 3);
    }
    script.on(1, "flock", (3, "/a"), 0).flags = exclusive;
    let waiting = script.on(2, "flock", (3, "/a"), 0);
    waiting.flags = exclusive;
    let makes_way_ns = waiting.start_ns + 500;
    let close = script.on(1, "close", (3, "/a"), 0);
    (close.start_ns, close.duration_ns) = (makes_way_ns, Some(5_000));
    script.on(1, "flock", (3, "/a"), -i64::from(libc::EBADF));
    for _ in 0..5 {
        let (_target, plan, replayed) = run_script(&script, &asap());
        assert_eq!((replayed.issued, replayed.differences), (5, BTreeMap::new()));
        assert_eq!(plan.operations(1)[1].after, [(0, 2)]);
        assert_eq!(plan.operations(0)[2].after, []);
    }
}

/// A trace does not hold the ranges of record locks: those that were free are free again, and one that was busy is busy.
#[test]
fn a_record_lock_that_was_busy_is_busy_again() {
    if !root("a_record_lock_that_was_busy") {
        return;
    }
    let set = Some(libc::F_SETLK as u64);
    let busy = -i64::from(libc::EAGAIN);
    for flags in [libc::O_RDWR, libc::O_RDONLY] {
        let mut script = Script::default();
        script.known("/a", REGULAR, 0);
        script.open(1, "/a", libc::O_RDWR, 3);
        for process in [2, 3] {
            script.open(process, "/a", flags, 3);
        }
        for (process, result) in [(1, 0), (2, busy), (3, 0), (2, busy), (1, 0)] {
            script.on(process, "fcntl", (3, "/a"), result).flags = set;
        }
        for _ in 0..5 {
            let (_target, _plan, replayed) = run_script(&script, &asap());
            assert_eq!((replayed.issued, replayed.differences), (8, BTreeMap::new()));
        }
    }
}

/// Without a descriptor that locked anything nothing is busy: that is told, and the next lock is free.
#[test]
fn a_record_lock_that_only_others_held_is_another_result() {
    if !root("a_record_lock_that_only_others_held") {
        return;
    }
    let set = Some(libc::F_SETLK as u64);
    let mut script = Script::default();
    script.known("/a", REGULAR, 0);
    for process in [1, 2] {
        script.open(process, "/a", libc::O_RDWR, 3);
    }
    for (process, result) in [(1, -i64::from(libc::EAGAIN)), (2, 0)] {
        script.on(process, "fcntl", (3, "/a"), result).flags = set;
    }
    let (_target, _plan, replayed) = run_script(&script, &asap());
    assert_eq!((replayed.issued, replayed.differences.values().sum::<u64>()), (4, 1));
}

#[test]
fn an_open_file_without_a_name_gets_one() {
    if !root("an_open_file_without_a_name") {
        return;
    }
    let target = tempfile::tempdir().unwrap();
    let nameless = OFlags::RDWR | OFlags::TMPFILE;
    if rustix::fs::open(target.path(), nameless, Mode::from_raw_mode(0o600)).is_err() {
        return seekwell_testing::skip(
            "an_open_file_without",
            "no O_TMPFILE in the folder for temporary files",
        );
    }
    let script = Script::nameless("/proc/self/fd/5", libc::AT_SYMLINK_FOLLOW);
    let (target, _plan, replayed) = run_script(&script, &asap());
    assert_eq!(replayed.differences, BTreeMap::new());
    assert_eq!(std::fs::read_dir(target.path().join("w")).unwrap().count(), 1);
    assert!(target.path().join("w/final").is_file());
}

#[test]
fn a_file_from_outside_replaces_the_one_in_the_folder() {
    if !root("a_file_from_outside") {
        return;
    }
    let mut script = Script::default();
    script.known("/w/a", REGULAR, 100);
    script.known("/tmp/b", REGULAR, 5000);
    let to = script.file("/w/a");
    script.at(1, "rename", "/tmp/b", 0).to_file = Some(to);
    script.open(1, "/w/a", libc::O_RDONLY, 3);
    let read = script.on(1, "read", (3, "/w/a"), 5000);
    (read.offset, read.length) = (Some(0), Some(8192));
    let to = script.file("/tmp/a");
    script.at(1, "rename", "/w/a", 0).to_file = Some(to);
    let plan = script.plan(&Choice { only: Some("/w".to_owned()), ..Choice::default() }).unwrap();
    let target = tempfile::tempdir().unwrap();
    rebuild(&plan, target.path(), Content::Zeros, None).unwrap();
    let replayed = replay(&plan, target.path(), &asap()).unwrap();
    assert_eq!((replayed.issued, replayed.differences), (4, BTreeMap::new()));
    assert_eq!(plan.recorded().skipped.get(&Reason::Outside), None);
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
}

/// Threads of this process with this name.
fn threads_named(name: &str) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir("/proc/self/task").unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| {
        std::fs::read_to_string(path.join("comm")).is_ok_and(|comm| comm.trim() == name)
    })
    .collect()
}

/// Sets of capabilities of a thread and its root; `None` when it has ended.
fn rights(thread: &Path) -> Option<(BTreeSet<String>, std::path::PathBuf)> {
    let status = std::fs::read_to_string(thread.join("status")).ok()?;
    let sets = status.lines().filter(|line| line.starts_with("Cap") && !line.starts_with("CapBnd"));
    let sets = sets.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    Some((sets, std::fs::read_link(thread.join("root")).ok()?))
}

#[test]
fn a_replaying_thread_has_its_root_and_three_capabilities() {
    if !root("a_replaying_thread_has") {
        return;
    }
    // No other test has so many threads.
    const THREADS: u32 = 58;
    let mut script = Script::default();
    script.known("/a", REGULAR, 0);
    for process in 0..THREADS {
        script.at(process + 1, "newfstatat", "/a", 0);
    }
    script.now_ns += 3600 * 1_000_000_000;
    for process in 0..THREADS {
        script.at(process + 1, "newfstatat", "/a", 0);
    }
    let plan = script.plan(&Choice::default()).unwrap();
    let target = tempfile::tempdir().unwrap();
    rebuild(&plan, target.path(), Content::Zeros, None).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let options = Options { stop: Some(Arc::clone(&stop)), ..Options::default() };
    // CHOWN is 0, DAC_OVERRIDE 1, FOWNER 3.
    let kept = [
        "CapInh: 0000000000000000", "CapAmb: 0000000000000000", "CapEff: 000000000000000b",
        "CapPrm: 000000000000000b",
    ];
    let expected = (kept.map(str::to_owned).into(), target.path().canonicalize().unwrap());
    std::thread::scope(|scope| {
        let replayed = scope.spawn(|| replay(&plan, target.path(), &options).unwrap());
        // It sleeps for an hour between its calls. Before them it gives up its rights.
        let has_it =
            || threads_named("replay 57").iter().any(|one| rights(one) == Some(expected.clone()));
        let begin = std::time::Instant::now();
        let mut has = has_it();
        while !has && !replayed.is_finished() && begin.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
            has = has_it();
        }
        let found: Vec<_> = threads_named("replay 57").iter().map(|one| rights(one)).collect();
        stop.store(true, Ordering::Relaxed);
        let replayed = replayed.join().unwrap();
        assert!(has, "{found:?} {replayed:?}");
        assert!(replayed.stopped);
    });
}

#[test]
fn a_position_from_the_end_is_looked_for_after_the_writes_of_others() {
    const FROM_END: u64 = 2;
    let mut script = Script::default();
    script.known("/a", REGULAR, 0);
    for process in [1, 2] {
        script.open(process, "/a", libc::O_WRONLY | libc::O_APPEND, 3);
    }
    script.on(1, "write", (3, "/a"), 5000).length = Some(5000);
    let seek = script.on(2, "lseek", (3, "/a"), 5000);
    (seek.offset, seek.flags) = (Some(0), Some(FROM_END));
    let plan = script.plan(&Choice::default()).unwrap();
    let operations = plan.operations(1);
    let seek = operations.iter().find(|one| one.action == crate::Action::Seek).unwrap();
    assert_eq!(seek.after, [(0, 2)]);
    if root("a_position_from_the_end") {
        for _ in 0..5 {
            let (_target, _plan, replayed) = run_script(&script, &asap());
            assert_eq!((replayed.issued, replayed.differences), (4, BTreeMap::new()));
        }
    }
}

#[test]
fn links_are_read_whole_and_their_own_times_set() {
    if !root("links_are_read_whole") {
        return;
    }
    const NO_FOLLOW: u64 = 0x100;
    let mut script = Script::default();
    script.known("/w/link", libc::S_IFLNK | 0o777, 7);
    // Captures do not tell the length of the buffer.
    script.at(1, "readlink", "/w/link", 7);
    let to = script.file("/nowhere/at/all");
    script.at(1, "symlink", "/w/new", 0).to_file = Some(to);
    script.at(1, "utimensat", "/w/new", 0).flags = Some(NO_FOLLOW);
    let (_target, _plan, replayed) = run_script(&script, &asap());
    assert_eq!((replayed.issued, replayed.differences), (3, BTreeMap::new()));
}

/// btrfs logs the changes of several threads at another pace than those of one.
#[test]
fn a_process_that_follows_another_in_its_lane_has_a_thread_of_its_own() {
    const PROCESSES: u32 = 70;
    let mut script = Script::default();
    for process in 1..=PROCESSES {
        let path = format!("/made-{process}");
        script.at(process, "mkdir", &path, 0);
        script.at(process, "newfstatat", &path, 0);
    }
    let plan = script.plan(&Choice::default()).unwrap();
    assert_eq!(plan.lanes(), 64);
    let lanes: Vec<_> = (0..plan.lanes()).map(|lane| plan.operations(lane)).collect();
    let renewed: Vec<usize> =
        lanes.iter().map(|all| all.iter().filter(|one| one.renews).count()).collect();
    assert_eq!(renewed.iter().sum::<usize>(), 6);
    assert!(lanes.iter().all(|all| !all[0].renews));
    if !root("a_process_that_follows_another") {
        return;
    }
    let (target, _, replayed) = run_script(&script, &asap());
    assert_eq!((replayed.issued, replayed.differences), (140, BTreeMap::new()));
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 70);
}
