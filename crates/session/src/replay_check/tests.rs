use super::*;
use seekwell_host::recorded::Absent;
use seekwell_model::units::Nanos;
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Event, FileEntry, FileId, Limits, TraceWriter};
use std::os::unix::fs::MetadataExt as _;

/// A program that wrote a file ten times, with 10 ms of sleep between, as recorded by this kernel.
fn write_trace(folder: &Path, file: &Path, inode: u64) {
    write_trace_of(folder, file, inode, &["pwrite64"; 10], 10_000_000);
}

/// A program that made these calls on a file, one every so many nanoseconds.
fn write_trace_of(folder: &Path, file: &Path, inode: u64, calls: &[&str], every_ns: u64) {
    let mut meta = Meta::new("test");
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    meta.kernel = Some(kernel.trim().to_owned());
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    let device = file.metadata().unwrap().dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    writer.file(FileEntry {
        id: FileId(0),
        path: Some(file.to_str().unwrap().to_owned()),
        device: Some(major << 20 | minor),
        inode: Some(inode),
        mode: Some(0o100_644),
        bytes: Some(0),
    });
    let call_ns = every_ns.min(50_000);
    let mut call = |nth: u64, name: &str, result: i64, length: Option<u64>| {
        let event = Event::new(nth * every_ns, 7, 7, CallId::named(name).unwrap());
        let event = Event { cpu_ns: Some(0), waited_ns: Some(every_ns - call_ns), ..event };
        let (duration_ns, result) = (Some(call_ns), Some(result));
        let (file, fd, offset) = (Some(FileId(0)), Some(3), length.map(|_| 0));
        let event =
            Event { duration_ns, result, file, fd, offset, length, flags: Some(0o102), ..event };
        writer.event(event).unwrap();
    };
    call(0, "openat", 3, None);
    for (nth, name) in (1..).zip(calls) {
        let writes = *name == "pwrite64";
        call(nth, name, if writes { 4096 } else { 0 }, writes.then_some(4096));
    }
    meta.duration_ns = Some((calls.len() as u64 + 1) * every_ns);
    writer.finish(&meta).unwrap();
}

fn params(trace: &Path) -> ReplayParams {
    seekwell_fixtures::replay_params(trace, CacheState::Cold)
}

fn workload(params: ReplayParams) -> Workload {
    Workload {
        name: "load".to_owned(),
        parts: vec![WorkloadParams::Replay(params)],
        ..seekwell_fixtures::mail()
    }
}

#[test]
fn a_replay_on_its_own_filesystem_is_compared_and_leaves_nothing() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("replay_check", "needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let (work, trace) = (folder.path().join("work"), folder.path().join("trace"));
    std::fs::create_dir(&work).unwrap();
    let file = work.join("file");
    std::fs::write(&file, "").unwrap();
    let inode = file.metadata().unwrap().ino();
    write_trace(&trace, &file, inode);
    let lists = folder.path().join("lists");
    let workloads = [workload(params(&trace)), workload(params(&trace))];
    let (goes, stopped) = (AtomicBool::new(false), AtomicBool::new(true));
    let bounds = |effort| Bounds { lists: &lists, effort, stop: &goes };
    let checks = check(&workloads, &bounds(Effort::Budget(Nanos(410_000_000)))).unwrap();
    assert_eq!(checks.len(), 2);
    let found = checks[1].compared().unwrap();
    assert_eq!(checks[0].compared(), Some(found));
    assert!((found.elapsed_s.recorded - 0.100_050).abs() < 1e-9, "{found:?}");
    assert!(found.elapsed_s.replayed >= 0.0995, "{found:?}");
    assert_eq!(found.computing_s.unwrap().recorded, 0.0);
    // The trace has no block requests.
    assert_eq!((found.requests, found.device_read_bytes), (None, None));
    assert!(found.stack.contains(" on "), "{}", found.stack);
    let names = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!((names, std::fs::read_dir(&lists).unwrap().count()), (3, 0));
    assert_eq!(std::fs::read_dir(&work).unwrap().count(), 1);

    let short = check(&workloads, &bounds(Effort::Budget(Nanos(390_000_000)))).unwrap();
    let reason = "that takes more than a quarter of the time of the run".to_owned();
    assert_eq!(short[0].result, CheckResult::Unchecked(reason));
    let unlimited = bounds(Effort::Rounds(6));
    assert_eq!(check(&workloads, &Bounds { stop: &stopped, ..unlimited }), None);
    let elsewhere = folder.path().join("elsewhere");
    write_trace(&elsewhere, &file, inode + 1);
    let checks = check(&[workload(params(&elsewhere))], &unlimited).unwrap();
    assert_eq!(checks[0].result, CheckResult::Unchecked(Absent::Elsewhere.to_string()));
}

/// `f_type` of a filesystem in memory, `statfs(2)`.
const TMPFS_MAGIC: i64 = 0x0102_1994;

#[test]
fn a_load_of_syncs_is_replayed_with_one_for_ten_of_them_too() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("replay_check", "needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    if rustix::fs::statfs(folder.path()).unwrap().f_type == TMPFS_MAGIC {
        return seekwell_testing::skip("replay_check", "a sync takes no time in memory");
    }
    let (file, trace) = (folder.path().join("file"), folder.path().join("trace"));
    std::fs::write(&file, "").unwrap();
    let inode = file.metadata().unwrap().ino();
    let lists = folder.path().join("lists");
    let stop = AtomicBool::new(false);
    let bounds = Bounds { lists: &lists, effort: Effort::Rounds(6), stop: &stop };
    let fewer = |count: usize| {
        let calls = ["pwrite64", "fsync"].repeat(count);
        write_trace_of(&trace, &file, inode, &calls, 20_000);
        let checks = check(&[workload(params(&trace))], &bounds).unwrap();
        std::fs::remove_dir_all(&trace).unwrap();
        checks[0].compared().unwrap().fewer_syncs
    };
    let found = fewer(40).unwrap();
    assert_eq!(found.every, SYNC_EVERY);
    assert!(found.elapsed_s > 0.0, "{found:?}");
    assert_eq!(fewer(10), None);
    write_trace_of(&trace, &file, inode, &["fsync"; 40], 20_000);
    let plan = plan(&Trace::open(&trace).unwrap(), &params(&trace), SYNC_EVERY).unwrap();
    assert_eq!(plan.recorded().planned, 1 + 4);
}

#[test]
fn only_replays_with_recorded_pauses_are_compared_and_not_those_of_a_lab_that_says_so() {
    let other = |speed, scale| ReplayParams { speed, scale, ..params(Path::new("/trace")) };
    let workloads = [
        workload(other(ReplaySpeed::Asap, 1.0)),
        workload(other(ReplaySpeed::Recorded, 0.5)),
        workload(other(ReplaySpeed::Recorded, 1.0)),
        workload(ReplayParams { unchecked: true, ..params(Path::new("/trace")) }),
    ];
    assert_eq!(replayed(&workloads).count(), 1);
}
