use super::*;
use crate::fidelity::{Difference, Fidelity};
use crate::fixture::{DIRECTORY, REGULAR, Script};
use crate::planner::Choice;
use crate::rebuild::rebuild;
use seekwell_trace::calls::CallId;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

mod hostile;
mod rings;
mod semantics;

fn asap() -> Options {
    Options { speed: Speed::AsFastAsPossible, ..Options::default() }
}

/// Rebuilds and replays a script in a new directory.
fn run_script(script: &Script, options: &Options) -> (tempfile::TempDir, Plan, Replayed) {
    let plan = script.plan(&Choice::default()).unwrap();
    let target = tempfile::tempdir().unwrap();
    rebuild(&plan, target.path(), Content::Zeros, None).unwrap();
    let replayed = replay(&plan, target.path(), options).unwrap();
    (target, plan, replayed)
}

fn root(test: &str) -> bool {
    let root = seekwell_testing::root();
    if !root {
        seekwell_testing::skip(test, "needs root to change the root directory");
    }
    root
}

/// A program that reads 5000 bytes, writes 3 MiB with one call, and replaces a file.
fn program() -> Script {
    let mut script = Script::default();
    script.known("/w/in", REGULAR, 5000);
    script.open(1, "/w/in", libc::O_RDONLY, 3);
    for (offset, result) in [(0, 4096), (4096, 904)] {
        let read = script.on(1, "read", (3, "/w/in"), result);
        (read.offset, read.length) = (Some(offset), Some(4096));
    }
    script.open(1, "/w/new", libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 4);
    let write = script.on(1, "write", (4, "/w/new"), 3 << 20);
    (write.offset, write.length) = (Some(0), Some(3 << 20));
    script.on(1, "fdatasync", (4, "/w/new"), 0);
    let to = script.file("/w/in");
    script.at(1, "rename", "/w/new", 0).to_file = Some(to);
    script.at(1, "newfstatat", "/w/new", -i64::from(libc::ENOENT));
    script
}

#[test]
fn a_program_is_repeated_with_its_results() {
    if !root("a_program_is_repeated") {
        return;
    }
    let (target, plan, replayed) = run_script(&program(), &asap());
    assert_eq!(replayed.differences, BTreeMap::new());
    assert_eq!((replayed.issued, replayed.not_open, replayed.stopped), (8, 0, false));
    assert_eq!((replayed.bytes_read, replayed.bytes_written), (5000, 3 << 20));
    assert_eq!(std::fs::metadata(target.path().join("w/in")).unwrap().len(), 3 << 20);
    assert!(!target.path().join("w/new").exists());
    let counts: Vec<(&str, u64)> =
        replayed.latencies.iter().map(|(name, all)| (*name, all.count())).collect();
    assert_eq!(counts, [("fsync", 1), ("other", 4), ("read", 2), ("write", 1)]);
    let fidelity = Fidelity::of(plan.recorded(), &replayed);
    assert_eq!((fidelity.share(), fidelity.calls), (Some(1.0), 8));
}

#[test]
fn another_result_is_counted_by_call_and_error() {
    if !root("another_result") {
        return;
    }
    let mut script = program();
    // Results that no replay can have.
    script.at(1, "newfstatat", "/w/in", -i64::from(libc::EACCES));
    script.events[1].result = Some(4000);
    let seek = script.on(1, "lseek", (3, "/w/in"), 100);
    (seek.offset, seek.flags) = (Some(0), Some(0));
    let (_target, plan, replayed) = run_script(&script, &asap());
    let call = |name| CallId::named(name).unwrap();
    let differences = BTreeMap::from([
        (Difference { call: call("read"), recorded: 0, replayed: 1 }, 1),
        // Zero is another number, too.
        (Difference { call: call("lseek"), recorded: 0, replayed: 1 }, 1),
        (
            Difference {
                call: call("newfstatat"),
                recorded: -i64::from(libc::EACCES),
                replayed: 0,
            },
            1,
        ),
    ]);
    assert_eq!(replayed.differences, differences);
    assert_eq!(Fidelity::of(plan.recorded(), &replayed).share(), Some(7.0 / 10.0));
}

#[test]
fn nothing_outside_of_the_target_is_reached() {
    if !root("nothing_outside") {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let canary = outside.path().join("canary");
    std::fs::write(&canary, "alive").unwrap();
    let real = canary.to_str().unwrap().to_owned();
    let folder = outside.path().to_str().unwrap().to_owned();
    let mut script = Script::default();
    script.at(1, "unlink", &real, 0);
    script.at(1, "truncate", &format!("/../../../..{real}"), 0).length = Some(0);
    // A link out, a link up, and a directory that moves so that a relative link would lead out.
    let up = script.file(&folder);
    script.at(1, "symlink", "/out", 0).to_file = Some(up);
    script.at(1, "unlink", "/out/canary", 0);
    script.open(1, "/out/canary", libc::O_WRONLY | libc::O_TRUNC | libc::O_CREAT, 5);
    let write = script.on(1, "write", (5, "/out/canary"), 4);
    (write.offset, write.length) = (Some(0), Some(4));
    let to = script.file(&real);
    script.at(1, "rename", "/out", 0).to_file = Some(to);
    let to = script.file(&folder);
    script.at(1, "rename", &folder, 0).to_file = Some(to);
    script.at(1, "chmod", &real, 0).flags = Some(0o777);
    script.at(1, "fchmodat", "/", 0).flags = Some(0o700);
    script.at(1, "mknod", "/sda", 0).flags = Some((libc::S_IFBLK | 0o600).into());
    script.at(1, "unlinkat", &folder, 0).flags = Some(0x200);
    let before = std::fs::metadata(&canary).unwrap();
    let (target, _, _) = run_script(&script, &asap());
    let after = std::fs::metadata(&canary).unwrap();
    assert_eq!(std::fs::read_to_string(&canary).unwrap(), "alive");
    assert_eq!(before.permissions(), after.permissions());
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
    assert!(!target.path().join("sda").exists());
}

#[test]
fn hostile_numbers_do_no_harm() {
    if !root("hostile_numbers") {
        return;
    }
    let mut script = Script::default();
    script.open(1, "/a", libc::O_RDWR | libc::O_CREAT | libc::O_EXCL, 3);
    for (name, offset, length) in [
        ("pwrite64", u64::MAX, 10),
        ("pread64", u64::MAX - 5, u64::MAX),
        ("lseek", u64::MAX, 0),
        ("ftruncate", 0, u64::MAX),
        ("fallocate", u64::MAX, u64::MAX),
        ("mmap", u64::MAX, u64::MAX),
        ("page_fault", u64::MAX, u64::MAX),
        ("fadvise64", u64::MAX, u64::MAX),
        ("sync_file_range", u64::MAX, u64::MAX),
        ("getdents64", 0, u64::MAX),
        ("flock", 0, 0),
    ] {
        let event = script.on(1, name, (3, "/a"), i64::MIN);
        (event.offset, event.length) = (Some(offset), Some(length));
        event.flags = Some(u64::MAX);
        event.duration_ns = Some(u64::MAX);
    }
    let (target, plan, replayed) = run_script(&script, &asap());
    assert_eq!(
        (replayed.issued, replayed.not_open, plan.recorded().skipped.clone()),
        (12, 0, [].into())
    );
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 1);
}

#[test]
fn threads_keep_the_recorded_order_and_pauses() {
    if !root("threads_keep_the_order") {
        return;
    }
    let mut script = Script::default();
    // Each process makes a file that the next one removes, 5 ms after.
    for process in 1..9_u32 {
        let path = format!("/{process}");
        script.open(process, &path, libc::O_CREAT | libc::O_EXCL | libc::O_WRONLY, 3);
        script.now_ns += 5_000_000;
        script.at(process % 8 + 1, "unlink", &path, 0);
    }
    for speed in [Speed::Recorded(1.0), Speed::Open(1.0), Speed::Recorded(0.5)] {
        let options = Options { speed, ..Options::default() };
        let (target, plan, replayed) = run_script(&script, &options);
        assert_eq!((replayed.differing(), replayed.issued), (0, 16));
        let half = if speed == Speed::Recorded(0.5) { 2 } else { 1 };
        let recorded_ns = plan.recorded().elapsed_ns;
        let elapsed_ns = replayed.elapsed_ns;
        assert!(elapsed_ns >= recorded_ns / half, "{speed:?}: {elapsed_ns} of {recorded_ns} ns");
        assert!(replayed.lateness.count() > 0);
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
    }
}

/// Replays a script and stops it after 100 ms.
fn stopped_early(script: &Script) -> Replayed {
    let stop = Arc::new(AtomicBool::new(false));
    let options = Options { stop: Some(Arc::clone(&stop)), ..Options::default() };
    std::thread::scope(|scope| {
        let replayed = scope.spawn(|| run_script(script, &options).2);
        std::thread::sleep(Duration::from_millis(100));
        stop.store(true, Ordering::Relaxed);
        replayed.join().unwrap()
    })
}

#[test]
fn a_stop_ends_a_replay_that_would_take_a_year() {
    if !root("a_stop_ends") {
        return;
    }
    let mut script = program();
    script.now_ns += 365 * 86_400 * 1_000_000_000;
    script.at(1, "newfstatat", "/w/in", 0);
    // Another thread waits for it.
    script.at(2, "unlink", "/w/in", 0);
    let ended = stopped_early(&script);
    assert!(ended.stopped);
    assert!(ended.issued <= 8);
}

#[test]
fn the_threads_of_this_process_keep_their_root_and_their_rights() {
    if !root("the_threads_of_this_process") {
        return;
    }
    let before = rustix::thread::capabilities(None).unwrap();
    let (target, _, _) = run_script(&program(), &asap());
    assert_eq!(rustix::thread::capabilities(None).unwrap().effective, before.effective);
    assert!(target.path().join("w").is_dir());
}

#[test]
fn a_thread_that_was_woken_goes_on_when_the_other_is_done() {
    const MINUTE_NS: u64 = 60_000_000_000;
    if !root("a_thread_that_was_woken") {
        return;
    }
    let mut script = Script::default();
    script.known("/a", REGULAR, 0);
    script.open(1, "/a", libc::O_WRONLY, 3);
    script.on(1, "fstat", (3, "/a"), 0);
    let sync = script.on(1, "fsync", (3, "/a"), 0);
    (sync.thread, sync.duration_ns) = (2, Some(MINUTE_NS));
    script.now_ns += MINUTE_NS;
    let write = script.on(1, "write", (3, "/a"), 1);
    (write.offset, write.length) = (Some(0), Some(1));
    (write.cpu_ns, write.waited_ns) = (Some(1000), Some(MINUTE_NS));
    (write.waker, write.woken_ns, write.awaited_ns) = (Some(2), Some(900), Some(MINUTE_NS));
    // A sync that takes no minute: the thread that waited for it sleeps no minute either.
    let (_target, _plan, replayed) = run_script(&script, &Options::default());
    assert_eq!((replayed.issued, replayed.differing()), (4, 0));
    assert!(replayed.elapsed_ns < MINUTE_NS, "{} ns", replayed.elapsed_ns);
}

/// CPU time of a replay of two calls with 20 ms between them, of which a thread computed so much.
fn cpu_ns(computed_ns: Option<u64>) -> u64 {
    const GAP_NS: u64 = 20_000_000;
    let mut script = Script::default();
    script.known("/a", REGULAR, 0);
    script.at(1, "newfstatat", "/a", 0);
    script.now_ns += GAP_NS;
    let last = script.at(1, "newfstatat", "/a", 0);
    last.cpu_ns = computed_ns;
    last.waited_ns = computed_ns.map(|ns| GAP_NS - ns);
    let (_target, _plan, replayed) = run_script(&script, &Options::default());
    assert!(replayed.elapsed_ns >= GAP_NS, "{} ns", replayed.elapsed_ns);
    replayed.cpu_ns
}

#[test]
fn a_thread_computes_as_long_as_the_recorded_one() {
    if !root("a_thread_computes") {
        return;
    }
    // A machine that is interrupted counts a little less than the clock.
    assert!(cpu_ns(Some(20_000_000)) >= 15_000_000);
    assert!(cpu_ns(Some(0)) < 10_000_000);
    assert!(cpu_ns(None) < 10_000_000);
}

#[test]
fn a_thread_that_only_sleeps_makes_a_replay_no_longer() {
    const GAP_NS: u64 = 2_000_000_000;
    if !root("a_thread_that_only_sleeps") {
        return;
    }
    let mut script = program();
    // It looks at a timer until two seconds after the last call of the other thread.
    script.open(2, "/w/in", libc::O_RDONLY, 5);
    script.now_ns += GAP_NS;
    let timer = script.on(2, "read", (6, "anon_inode:[timerfd]"), 8);
    (timer.cpu_ns, timer.waited_ns) = (Some(1_000_000), Some(GAP_NS - 1_000_000));
    let (_target, plan, replayed) = run_script(&script, &Options::default());
    assert!(replayed.elapsed_ns < GAP_NS / 2, "{replayed:?} {:?}", plan.recorded());
}

#[test]
fn calls_that_are_due_at_once_are_late_by_those_before_them() {
    if !root("calls_that_are_due_at_once") {
        return;
    }
    let mut script = program();
    for _ in 0..20 {
        script.on(1, "fdatasync", (4, "/w/new"), 0);
    }
    let options = Options { speed: Speed::Open(0.0), ..Options::default() };
    let (_target, _plan, replayed) = run_script(&script, &options);
    assert_eq!(replayed.lateness.count(), replayed.issued);
    let longest_ns = replayed.latencies.values().filter_map(|all| all.max_ns()).max().unwrap();
    let last_ns = replayed.lateness.max_ns().unwrap();
    // The last call is as late as all others took; a histogram rounds.
    let least_ns = replayed.elapsed_ns.saturating_sub(longest_ns) * 9 / 10;
    assert!(last_ns >= least_ns, "{last_ns} {least_ns} ns");
    let asap = run_script(&script, &asap()).2;
    assert!(asap.lateness.is_empty());
}

/// A filesystem in memory, unmounted when dropped.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn make(size: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("size={size}");
        let mut mount = std::process::Command::new("mount");
        let mount = mount.args(["-t", "tmpfs", "-o", &options, "none"]).arg(folder.path());
        assert!(mount.status().unwrap().success());
        Self(folder)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let unmounted = std::process::Command::new("umount").arg(self.0.path()).status().unwrap();
        assert!(unmounted.success());
    }
}

#[test]
fn a_replay_stops_before_a_filesystem_of_others_is_full() {
    if !root("a_replay_stops_before_a_filesystem_of_others_is_full") {
        return;
    }
    // Writes of 1 MiB, with pauses, to 48 of 64 MiB.
    let mut script = Script::default();
    script.known("/w", DIRECTORY, 0);
    script.open(1, "/w/new", libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 3);
    for part in 0..48_u64 {
        let write = script.on(1, "pwrite64", (3, "/w/new"), 1 << 20);
        (write.offset, write.length) = (Some(part << 20), Some(1 << 20));
        write.start_ns = (part + 1) * 30_000_000;
        write.duration_ns = Some(1_000_000);
    }
    let plan = script.plan(&Choice::default()).unwrap();
    let kept = 32 << 20;
    for (kept, written) in [(0, 48_u64), (kept, 32)] {
        let mounted = Mounted::make("64m");
        rebuild(&plan, mounted.0.path(), Content::Zeros, None).unwrap();
        let options = Options { kept, ..Options::default() };
        let replayed = replay(&plan, mounted.0.path(), &options);
        let bytes = std::fs::metadata(mounted.0.path().join("w/new")).unwrap().len();
        if kept == 0 {
            assert_eq!((replayed.unwrap().issued, bytes), (49, written << 20));
            continue;
        }
        let error = replayed.unwrap_err();
        assert!(matches!(error, ReplayError::Filling { .. }), "{error}");
        // Another program may take some, and the look comes a moment later.
        assert!((16..48).contains(&(bytes >> 20)), "{bytes}");
    }
}
