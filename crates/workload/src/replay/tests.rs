use super::*;
use crate::fixture;
use seekwell_model::workloads::{CacheState, WorkloadParams};
use seekwell_trace::calls::CallId;
use seekwell_trace::meta::Meta;
use seekwell_trace::{Event, FileEntry, FileId, Limits, TraceWriter};
use std::path::Path;

/// A trace of one process that reads a file of 6000 bytes twice and asks for one that is not there.
fn write_trace(folder: &Path, asynchronous: u64) {
    let meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    for (id, path, bytes) in [(0, "/w/in", Some(6000)), (1, "/w/none", None)] {
        let (id, path) = (FileId(id), Some(path.to_owned()));
        let mode = bytes.map(|_| libc::S_IFREG | 0o600);
        writer.file(FileEntry { id, path, device: None, inode: None, mode, bytes });
    }
    let call = |name: &str, at: u64, result: i64| {
        let call = CallId::named(name).unwrap();
        let file = Some(FileId(u32::from(name == "stat")));
        let (duration_ns, result) = (Some(500), Some(result));
        Event { duration_ns, result, file, ..Event::new(at * 1000, 7, 7, call) }
    };
    let fd = Some(3);
    writer.event(Event { fd, flags: Some(0), ..call("openat", 0, 3) }).unwrap();
    for at in [1, 2] {
        let (offset, length) = (Some(0), Some(8192));
        writer.event(Event { fd, offset, length, ..call("pread64", at, 6000) }).unwrap();
    }
    writer.event(call("stat", 3, -2)).unwrap();
    for at in 0..asynchronous {
        writer.event(call("io_submit", 4 + at, 1)).unwrap();
    }
    writer.finish(&meta).unwrap();
}

fn params(trace: &Path) -> ReplayParams {
    seekwell_fixtures::replay_params(trace, CacheState::Warm)
}

fn context(directory: &Path) -> StepContext<'_> {
    StepContext { seed: 1, ..fixture::context(directory) }
}

fn run(asynchronous: u64) -> Vec<StepOutcome> {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    write_trace(&trace, asynchronous);
    let target = tempfile::tempdir().unwrap();
    // It comes with the filesystem.
    std::fs::create_dir(target.path().join("lost+found")).unwrap();
    let outcomes = run_in(target.path(), &params(&trace));
    assert_eq!(std::fs::metadata(target.path().join("w/in")).unwrap().len(), 6000);
    outcomes
}

fn run_in(target: &Path, params: &ReplayParams) -> Vec<StepOutcome> {
    let mut steps = crate::steps(&WorkloadParams::Replay(params.clone()));
    steps.iter_mut().map(|step| step.run(&context(target)).unwrap()).collect()
}

#[test]
fn a_replay_leaves_the_files_of_others_alone() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_replay_leaves",
            "needs root to change the root directory",
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    write_trace(&trace, 0);
    let target = tempfile::tempdir().unwrap();
    std::fs::write(target.path().join("in"), "kept").unwrap();
    run_in(target.path(), &ReplayParams { only: Some("/w".into()), ..params(&trace) });
    assert_eq!(std::fs::read(target.path().join("in")).unwrap(), b"kept");
    assert_eq!(std::fs::metadata(target.path().join("replay/in")).unwrap().len(), 6000);
}

#[test]
fn a_replay_reports_its_calls_and_its_fidelity() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_replay_reports",
            "needs root to change the root directory",
        );
    }
    let outcomes = run(0);
    assert_eq!((outcomes[0].ops, outcomes[0].app_bytes_written), (2, 6000));
    let replay = &outcomes[1];
    assert_eq!((replay.ops, replay.app_bytes_read, replay.warnings.len()), (4, 12_000, 0));
    let metric = |name: &str| replay.metrics.get(name).copied();
    assert_eq!(metric("fidelity"), Some(1.0));
    assert_eq!((metric("calls_differing"), metric("calls_left_out")), (Some(0.0), Some(0.0)));
    // Four calls of 500 ns in 3.5 µs.
    assert_eq!(metric("concurrency_recorded"), Some(2000.0 / 3500.0));
    assert_eq!(metric("app_bytes"), Some(12_000.0));
    assert!(replay.elapsed_ns >= 2000);
    let outlined = &params(Path::new("/")).steps()[1].metrics.clone();
    let absent: Vec<_> = outlined.iter().filter(|name| metric(name).is_none()).collect();
    // The trace has no syncs and no block requests.
    let expected =
        ["sync_latency_p50", "sync_latency_p99", "device_read_recorded", "device_written_recorded"];
    assert_eq!(absent, expected);
}

#[test]
fn calls_that_were_left_out_mark_the_result() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("calls_left_out", "needs root to change the root directory");
    }
    let replay = &run(6)[1];
    assert_eq!(replay.metrics["fidelity"], 0.4);
    let [warning] = &replay.warnings[..] else { panic!("{:?}", replay.warnings) };
    assert!(warning.keeps_from_ranking());
    assert_eq!(
        warning.text,
        "replay: 6 of 10 recorded calls left out, 0 with another result: 6 × arguments not \
         recorded: asynchronous I/O, attributes, msync"
    );
}

/// The trace of [`write_trace`] with other things in it.
fn write_other(folder: &Path, add: impl FnOnce(&mut TraceWriter, &mut Meta)) {
    let mut meta = Meta::new("test");
    let mut writer = TraceWriter::create(folder, &meta, Limits::default()).unwrap();
    let path = Some("/w/in".to_owned());
    let (mode, bytes) = (Some(libc::S_IFREG | 0o600), Some(6000));
    writer.file(FileEntry { id: FileId(0), path, device: None, inode: None, mode, bytes });
    add(&mut writer, &mut meta);
    writer.finish(&meta).unwrap();
}

fn on_in(name: &str, at: u64, duration_ns: Option<u64>) -> Event {
    let (file, result) = (Some(FileId(0)), Some(0));
    Event { duration_ns, result, file, ..Event::new(at * 1000, 7, 7, CallId::named(name).unwrap()) }
}

#[test]
fn bytes_of_the_recorded_device_are_told() {
    use seekwell_trace::{Operation, Request, RequestFlags};
    if !seekwell_testing::root() {
        return seekwell_testing::skip("bytes_of_the", "needs root to change the root directory");
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    write_other(&trace, |writer, meta| {
        meta.requests = true;
        writer.event(on_in("stat", 0, Some(500))).unwrap();
        let request = |device, operation, bytes| {
            let flags = RequestFlags::default();
            let (process, depth, sector) = (None, None, 0);
            let (start_ns, duration_ns) = (5, Some(1));
            Request {
                start_ns,
                duration_ns,
                process,
                device,
                operation,
                flags,
                sector,
                bytes,
                depth,
            }
        };
        // The first device has fewer requests.
        for one in [
            request(1, Operation::Write, 1 << 20),
            request(2, Operation::Write, 8192),
            request(2, Operation::Write, 4096),
            request(2, Operation::Read, 512),
            request(2, Operation::Discard, 1 << 20),
        ] {
            writer.request(one).unwrap();
        }
    });
    let target = tempfile::tempdir().unwrap();
    let replay = &run_in(target.path(), &params(&trace))[1];
    assert_eq!(replay.metrics["device_written_recorded"], 12_288.0);
    assert_eq!(replay.metrics["device_read_recorded"], 512.0);
}

#[test]
fn what_a_replay_leaves_out_of_its_calls_is_said() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("what_a_replay", "needs root to change the root directory");
    }
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    write_other(&trace, |writer, _| {
        writer.event(Event { flags: Some(0o4755), ..on_in("chmod", 0, Some(500)) }).unwrap();
        writer.event(on_in("unlink", 1, Some(500))).unwrap();
        // A trace cannot have it twice.
        writer.event(on_in("unlink", 2, Some(500))).unwrap();
        writer.event(on_in("stat", 3, None)).unwrap();
    });
    let target = tempfile::tempdir().unwrap();
    let said = |speed| {
        let target = target.path().join(format!("{speed:?}"));
        std::fs::create_dir(&target).unwrap();
        let replay = &run_in(&target, &ReplayParams { speed, ..params(&trace) })[1];
        let [warning] = &replay.warnings[..] else { panic!("{:?}", replay.warnings) };
        warning.text.clone()
    };
    let text = said(ReplaySpeed::Recorded);
    for part in [
        "1 × set-user-ID or set-group-ID bits left out",
        "2 × path that could not be followed",
        "1 × call without a recorded duration",
    ] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!said(ReplaySpeed::Asap).contains("duration"));
}

#[test]
fn a_trace_without_durations_is_not_replayed_as_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("trace");
    write_other(&trace, |writer, _| {
        writer.event(on_in("stat", 0, None)).unwrap();
        writer.event(on_in("stat", 1, None)).unwrap();
        writer.event(on_in("stat", 2, Some(500))).unwrap();
    });
    let target = tempfile::tempdir().unwrap();
    let error = steps(&params(&trace), Place::Main)[0].run(&context(target.path())).unwrap_err();
    assert_eq!(
        error.to_string(),
        "step replay-rebuild: 2 of 3 calls of the trace have no duration, so that pauses between \
         calls are unknown; replay with speed = \"asap\" or \"open\", or record with `seekwell \
         capture` or `strace -T`"
    );
    if !seekwell_testing::root() {
        return seekwell_testing::skip(
            "a_trace_without",
            "needs root to change the root directory",
        );
    }
    let asap = ReplayParams { speed: ReplaySpeed::Asap, ..params(&trace) };
    assert_eq!(run_in(target.path(), &asap)[1].ops, 3);
}

#[test]
fn a_folder_without_a_trace_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut steps = steps(&params(folder.path()), Place::Main);
    let error = steps[0].run(&context(folder.path())).unwrap_err().to_string();
    assert!(error.starts_with("step replay-rebuild: /"), "{error}");
    assert!(error.contains("is not a trace: trace.json not found"), "{error}");
    let error = steps[1].run(&context(folder.path())).unwrap_err().to_string();
    assert!(error.starts_with("cannot find the rebuilt files in"), "{error}");
}

/// The trace of another user names a file outside of it, which this process may read: what parses traces may not.
#[test]
fn a_trace_is_parsed_without_the_right_to_read_other_files() {
    let folder = tempfile::tempdir().unwrap();
    let [trace, outside] = ["trace", "outside"].map(|name| folder.path().join(name));
    write_trace(&trace, 0);
    let segment = trace.join("calls-000000.parquet");
    std::fs::rename(&segment, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &segment).unwrap();
    let target = tempfile::tempdir().unwrap();
    let mut steps = crate::steps(&WorkloadParams::Replay(params(&trace)));
    let ran = steps[0].run(&context(target.path()));
    if !has_landlock() {
        return seekwell_testing::skip("a_trace_is_parsed", "needs a kernel with Landlock");
    }
    let error = chain(&ran.unwrap_err());
    assert!(error.contains("Permission denied"), "{error}");
    assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        text.push_str(&format!(": {next}"));
        cause = next.source();
    }
    text
}

/// True where a thread that gives up its files loses them.
fn has_landlock() -> bool {
    let reach = seekwell_host::confine::Reach::default();
    seekwell_host::confine::read_confined(&reach, || std::fs::read("/etc/passwd").is_err())
}
