//! Steps against the catalogue that outlines them, on a real directory and on a real loop device.

#![allow(clippy::unwrap_used, reason = "a failing helper is a failing test")]

use seekwell_model::field::{Value, Values};
use seekwell_model::units::{Bytes, Nanos};
use seekwell_model::workloads::seekrw::LOOKUP_METRICS;
use seekwell_model::workloads::{StepOutline, WORKLOAD_KINDS, WorkloadParams, workload_kind};
use seekwell_workload::{StepContext, StepOutcome, steps};
use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Metrics that an outline names and that only the caller of a step can know, since they compare
/// the step with the device's counters or with the time of the flush.
const METRICS_OF_THE_CALLER: &[&str] = &["mb_per_s_durable", "read_per_byte", "latency_ratio"];

fn params(kind: &str, values: &[(&'static str, Value)]) -> WorkloadParams {
    let mut given = Values::default();
    for (name, value) in values {
        given.set(name, value.clone());
    }
    workload_kind(kind).unwrap().params(&given).unwrap()
}

fn context(directory: &Path) -> StepContext<'_> {
    StepContext {
        directory: Some(directory),
        device: Path::new("/dev/null"),
        device_file: None,
        raw: false,
        seed: 5,
        stop: None,
        device_bytes: 0,
        sector_bytes: 512,
        scratch: None,
        acknowledged: None,
    }
}

/// A folder on the filesystem of the build: direct I/O does not work in memory everywhere.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn open_files_below(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir("/proc/self/fd")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| target.starts_with(directory))
        .collect()
}

fn run_all(params: &WorkloadParams, context: &StepContext<'_>) -> Vec<(StepOutline, StepOutcome)> {
    let mut found = Vec::new();
    for mut step in steps(params) {
        let outcome = step.run(context).unwrap();
        if let Some(directory) = context.directory {
            assert_eq!(open_files_below(directory), Vec::<PathBuf>::new());
        }
        found.push((step.outline().clone(), outcome));
    }
    found
}

/// Appends with a group commit, by one thread and by three.
fn a_log(file_size: &(&'static str, Value)) -> Vec<(&'static str, Value)> {
    let text = |word: &str| Value::Text(word.into());
    vec![
        file_size.clone(),
        ("size", Value::Size(Bytes(512))),
        ("count", Value::Integer(50)),
        ("write", Value::Bool(true)),
        ("append", Value::Bool(true)),
        ("sync", text("fsync")),
        ("group_commit", Value::Bool(true)),
        ("threads", Value::Integers(vec![1, 3])),
        ("cache", text("warm")),
        ("step", text("log")),
    ]
}

fn numbers(values: &[(&'static str, u64)]) -> Vec<(&'static str, Value)> {
    values.iter().map(|(name, value)| (*name, Value::Integer(*value))).collect()
}

fn a_verified_copy(size: &(&'static str, Value)) -> Vec<(&'static str, Value)> {
    vec![
        size.clone(),
        ("count", Value::Integer(5)),
        ("write", Value::Bool(true)),
        ("verify", Value::Integer(50)),
        ("step", Value::Text("copy".into())),
    ]
}

/// A small workload of every kind, with all that adds steps or metrics.
fn every_kind() -> Vec<(&'static str, Vec<(&'static str, Value)>)> {
    let small = ("file_size", Value::Size(Bytes::mib(3)));
    let list = ["read_archive", "read_directory", "remove"].map(String::from).to_vec();
    vec![
        ("seek", vec![small.clone(), ("count", Value::Integer(50))]),
        (
            "seek",
            vec![
                small.clone(),
                ("count", Value::Integer(50)),
                ("mix", Value::Integer(50)),
                ("step", Value::Text("mixed".into())),
            ],
        ),
        (
            "seek",
            vec![
                small.clone(),
                ("count", Value::Integer(60)),
                ("threads", Value::Integers(vec![1, 2, 3])),
            ],
        ),
        ("stream", vec![small.clone(), ("count", Value::Integer(5)), ("write", Value::Bool(true))]),
        ("stream", a_log(&small)),
        ("stream", a_verified_copy(&small)),
        (
            "sweep",
            vec![
                small.clone(),
                ("count", Value::Integer(20)),
                ("sizes", Value::Sizes(vec![Bytes(512), Bytes::kib(64), Bytes::mib(1)])),
            ],
        ),
        ("seekrw", vec![small, ("count", Value::Integer(40))]),
        ("chunk", vec![("size", Value::Size(Bytes::kib(100))), ("repeats", Value::Integer(3))]),
        (
            "iozone",
            vec![
                ("tests", Value::Integers(vec![0, 1, 2])),
                ("threads", Value::Integer(2)),
                // Else one thread may be done before the other begins.
                ("stonewall", Value::Bool(false)),
                ("size", Value::Sizes(vec![Bytes::kib(256)])),
            ],
        ),
        (
            "mail",
            vec![
                ("files", Value::Integer(30)),
                ("directories", Value::Integer(3)),
                ("steps", Value::List(list)),
                ("verify", Value::Integer(100)),
            ],
        ),
        ("maildir", numbers(&[("mailboxes", 4), ("mails", 8), ("threads", 2), ("count", 6)])),
        ("calls", vec![("run", Value::List(vec!["creat a; write a 0 4096; fsync a".into()]))]),
        (
            "command",
            vec![
                ("run", Value::Text("echo n=7".into())),
                ("prepare", Value::Text("true".into())),
                ("metrics", Value::Table([("n".to_owned(), r"n=(\d)".to_owned())].into())),
            ],
        ),
    ]
}

/// Kinds that need a tool, a device of their own or more time than the rest together: the tests in
/// their own files run them, and do not compare every outlined metric.
const TESTED_ELSEWHERE: &[&str] = &[
    "age", "bonnie", "capacity", "db_bench", "defragment", "fio", "layout", "pgbench", "rrd",
    "sqlite", "replay", "requests",
];

#[test]
fn every_kind_runs_the_outlined_steps_and_reports_the_outlined_metrics() {
    let every = every_kind();
    let kinds: BTreeSet<&str> = every.iter().map(|(kind, _)| *kind).collect();
    for (kind, values) in every {
        let folder = folder();
        let params = params(kind, &values);
        let found = run_all(&params, &context(folder.path()));
        let outlines: Vec<StepOutline> = found.iter().map(|(outline, _)| outline.clone()).collect();
        assert_eq!(outlines, params.steps());
        for (outline, outcome) in found {
            let name = &outline.name;
            let outlined: BTreeSet<&str> = outline
                .metrics
                .iter()
                .map(String::as_str)
                .filter(|metric| !METRICS_OF_THE_CALLER.contains(metric))
                .collect();
            // What a filesystem or a device may not tell is told or absent.
            let told = |metric: &&str| !LOOKUP_METRICS.contains(metric);
            let outlined: BTreeSet<&str> = outlined.into_iter().filter(told).collect();
            let reported = outcome.metrics.keys().map(String::as_str);
            let reported: BTreeSet<&str> = reported.filter(told).collect();
            assert_eq!(reported, outlined, "{name}");
            let writes_data = outline.writes && kind != "command" && name != "remove";
            assert_eq!(outcome.app_bytes_written > 0, writes_data, "{name}");
            assert!(outcome.elapsed_ns > 0 && !outcome.stopped, "{name}");
        }
    }
    let all = WORKLOAD_KINDS.iter().map(|kind| kind.name);
    assert_eq!(kinds, all.filter(|kind| !TESTED_ELSEWHERE.contains(kind)).collect());
}

#[test]
fn populate_writes_the_file_in_full_and_odd_sizes_too() {
    for bytes in [Bytes::kib(4), Bytes(1_000_448), Bytes::mib(2), Bytes((2 << 20) + 512)] {
        let folder = folder();
        let values = [("file_size", Value::Size(bytes)), ("count", Value::Integer(1))];
        let populated = &run_all(&params("seek", &values), &context(folder.path()))[0].1;
        assert_eq!(populated.app_bytes_written, bytes.0);
        let data = std::fs::read(folder.path().join("seek.data")).unwrap();
        assert_eq!(data.len() as u64, bytes.0);
        for (length, window) in [(4096, data.len()), (512, 1 << 20)] {
            for part in data.chunks(window) {
                let mut blocks: Vec<&[u8]> = part.chunks(length).collect();
                let count = blocks.len();
                blocks.sort_unstable();
                blocks.dedup();
                assert_eq!(blocks.len(), count, "{length} bytes repeat");
            }
        }
        assert!(!data.chunks(512).any(|sector| sector.iter().all(|byte| *byte == 0)));
    }
}

#[test]
fn a_file_is_as_compressible_and_as_repeated_as_asked_before_and_after_it_is_written_over() {
    for (write, count) in [(false, 1), (true, 512)] {
        let folder = folder();
        let values = [
            ("file_size", Value::Size(Bytes::mib(2))),
            ("size", Value::Size(Bytes::kib(8))),
            ("count", Value::Integer(count)),
            ("write", Value::Bool(write)),
            ("compressible", Value::Integer(50)),
            ("repeated", Value::Integer(25)),
        ];
        run_all(&params("stream", &values), &context(folder.path()));
        let data = std::fs::read(folder.path().join("stream.data")).unwrap();
        let pages: Vec<&[u8]> = data.chunks(4096).collect();
        assert_eq!(pages.len(), 512);
        for page in &pages {
            assert!(page[2048..].iter().all(|byte| *byte == 0));
            assert!(page[..2048].chunks(8).all(|word| word.iter().any(|byte| *byte != 0)));
        }
        let mut different = pages.clone();
        different.sort_unstable();
        different.dedup();
        // Populating writes 1 MiB at a time, so that of its two writes none or one repeats.
        let repeated = pages.len() - different.len();
        if write {
            assert_eq!(repeated, 512 / 4 - 1);
        }
    }
}

/// What the others write is shaped in the same way, and by default not at all.
#[test]
fn files_of_the_named_benchmarks_are_as_compressible_and_as_repeated_as_asked() {
    let shape = [("compressible", Value::Integer(50)), ("repeated", Value::Integer(25))];
    let size = |name| (name, Value::Size(Bytes::mib(1)));
    let sizes = |name, size| (name, Value::Sizes(vec![size]));
    type Fields = Vec<(&'static str, Value)>;
    let kinds: [(&str, &str, Fields); 2] = [
        ("chunk", "chunk.data", vec![size("size"), ("repeats", Value::Integer(1))]),
        (
            "iozone",
            "iozone-0.data",
            vec![
                sizes("size", Bytes::mib(1)),
                sizes("record", Bytes::kib(4)),
                ("tests", Value::Integers(vec![0])),
            ],
        ),
    ];
    for (kind, file, own) in kinds {
        for (values, zeros, repeated) in
            [(own.clone(), 0, 0), ([&own[..], &shape].concat(), 2048, 64 - 1)]
        {
            let folder = folder();
            run_all(&params(kind, &values), &context(folder.path()));
            let data = std::fs::read(folder.path().join(file)).unwrap();
            let mut pages: Vec<&[u8]> = data.chunks(4096).collect();
            assert_eq!(pages.len(), 256, "{kind}");
            for page in &pages {
                assert!(page[4096 - zeros..].iter().all(|byte| *byte == 0), "{kind}");
                let random = &page[..4096 - zeros];
                assert!(random.chunks(8).all(|word| word.iter().any(|byte| *byte != 0)), "{kind}");
            }
            pages.sort_unstable();
            pages.dedup();
            assert_eq!(pages.len(), 256 - repeated, "{kind}");
        }
    }
}

#[test]
fn rrd_alone_has_no_other_tenant() {
    let every = |values: &[(&'static str, Value)]| match params("rrd", values) {
        WorkloadParams::Rrd(rrd) => rrd.tenant_every,
        other => panic!("{other:?}"),
    };
    assert_eq!(every(&[]), Nanos(10_000_000));
    assert_eq!(every(&[("alone", Value::Bool(true))]), Nanos(0));
}

#[test]
fn other_files_are_made_between_those_of_rrd() {
    let folder = folder();
    let values = [
        ("files", Value::Integer(3)),
        ("polls", Value::Integer(1)),
        ("alone", Value::Bool(true)),
        ("between", Value::Size(Bytes(100_001))),
    ];
    let found = run_all(&params("rrd", &values), &context(folder.path()));
    let names = ["0000000.rrd", "0000001.rrd", "0000002.rrd"];
    let others =
        names.map(|name| std::fs::read(folder.path().join("rra/others").join(name)).unwrap());
    assert!(others.iter().all(|content| content.len() == 100_001));
    assert!(others[0] != others[1] && others[1] != others[2]);
    let ours = names.map(|name| folder.path().join("rra").join(name).metadata().unwrap().len());
    assert_eq!(found[0].1.app_bytes_written, 3 * (ours[0] + 100_001));
    assert_eq!(found[1].1.ops, 3, "others are not polled");
}

#[test]
fn the_same_seed_writes_the_same_file() {
    let written = |seed| {
        let folder = folder();
        let values = [("file_size", Value::Size(Bytes::kib(64))), ("count", Value::Integer(1))];
        run_all(&params("seek", &values), &StepContext { seed, ..context(folder.path()) });
        std::fs::read(folder.path().join("seek.data")).unwrap()
    };
    assert!(written(1) == written(1));
    assert!(written(1) != written(2));
}

#[test]
fn a_rate_that_is_not_kept_is_a_doubt() {
    let folder = folder();
    let values = [
        ("file_size", Value::Size(Bytes::mib(1))),
        ("cache", Value::Text("warm".into())),
        ("size", Value::Size(Bytes::kib(64))),
        ("rate", Value::Integer(100_000_000)),
        ("time", Value::Duration(Nanos(50_000_000))),
    ];
    let found = run_all(&params("seek", &values), &context(folder.path()));
    let warning = &found[1].1.warnings[0];
    assert_eq!(warning.code, "rate-not-kept");
    assert!(warning.text.contains("of 100000000 operations per second were achieved"));
    assert!(warning.text.contains("that were due never started"));
}

#[test]
fn direct_operations_must_be_whole_sectors() {
    let folder = folder();
    let values = [("size", Value::Size(Bytes(512))), ("file_size", Value::Size(Bytes::mib(1)))];
    let context = StepContext { sector_bytes: 4096, ..context(folder.path()) };
    let mut steps = steps(&params("seek", &values));
    steps[0].run(&context).unwrap();
    assert_eq!(
        steps[1].run(&context).unwrap_err().to_string(),
        "step seek makes direct operations of 512B on a device with sectors of 4096 B; use a \
         multiple of the sector, or cache = \"cold\""
    );
}

/// A loop device over a file; detached when dropped.
struct Loop {
    device: PathBuf,
}

impl Loop {
    fn attach(backing: &Path) -> Self {
        let attached = Command::new(seekwell_testing::tool("losetup").unwrap())
            .args(["--find", "--show", "--direct-io=on"])
            .arg(backing)
            .output()
            .unwrap();
        assert!(attached.status.success(), "{attached:?}");
        Self { device: PathBuf::from(String::from_utf8(attached.stdout).unwrap().trim()) }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let detached = Command::new(seekwell_testing::tool("losetup").unwrap())
            .arg("--detach")
            .arg(&self.device)
            .status()
            .unwrap();
        assert!(detached.success(), "{}", self.device.display());
    }
}

fn has_loop(test: &str) -> bool {
    let can = seekwell_testing::root()
        && seekwell_testing::tool("losetup").is_some()
        && Path::new("/dev/loop-control").exists();
    if !can {
        seekwell_testing::skip(test, "needs root, losetup and loop devices");
    }
    can
}

#[test]
fn a_raw_device_is_used_within_the_asked_size_and_written_through_the_checked_descriptor() {
    if !has_loop("a_raw_device_is_used_within_the_asked_size") {
        return;
    }
    let folder = folder();
    let backing = folder.path().join("backing");
    std::fs::write(&backing, vec![0; 8 << 20]).unwrap();
    let attached = Loop::attach(&backing);
    // Whoever checked it holds it exclusively; a step opens it once more all the same.
    let checked = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_EXCL)
        .open(&attached.device)
        .unwrap();
    let raw = StepContext {
        directory: None,
        device: &attached.device,
        device_file: Some(&checked),
        raw: true,
        device_bytes: 8 << 20,
        ..context(folder.path())
    };
    for cache in ["direct", "cold"] {
        let values = [
            ("file_size", Value::Size(Bytes::mib(2))),
            ("count", Value::Integer(100)),
            ("mix", Value::Integer(50)),
            ("cache", Value::Text(cache.into())),
        ];
        let found = run_all(&params("seek", &values), &raw);
        assert_eq!(found[0].1.app_bytes_written, 2 << 20);
        assert_eq!(found[1].1.ops, 100);
    }
    checked.sync_all().unwrap();
    let mut data = vec![0; 8 << 20];
    checked.read_exact_at(&mut data, 0).unwrap();
    assert!(data[..2 << 20].chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)));
    assert!(data[2 << 20..].iter().all(|byte| *byte == 0));

    let unchecked = StepContext { device_file: None, ..raw };
    let values = [("file_size", Value::Size(Bytes::mib(256)))];
    let told = steps(&params("seek", &values))[0].run(&unchecked).unwrap_err().to_string();
    assert!(told.contains("uses 256MiB of a device of 8MiB"), "{told}");
    let values = [("file_size", Value::Size(Bytes::mib(1)))];
    let told = steps(&params("seek", &values))[0].run(&unchecked).unwrap_err().to_string();
    assert!(told.contains("which was not opened for writing; claim the device first"), "{told}");
}

/// A filesystem in memory of 256 KiB; unmounted when dropped.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Self {
        let mounted = Command::new(seekwell_testing::tool("mount").unwrap())
            .args(["-t", "tmpfs", "-o", "size=256k", "seekwell-test"])
            .arg(at)
            .status()
            .unwrap();
        assert!(mounted.success());
        Self(at.to_owned())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let unmounted =
            Command::new(seekwell_testing::tool("umount").unwrap()).arg(&self.0).status().unwrap();
        assert!(unmounted.success(), "a step left a file open in {}", self.0.display());
    }
}

#[test]
fn a_full_filesystem_is_told_with_the_place_and_left_to_be_unmounted() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("a_full_filesystem_is_told", "needs root to mount");
    }
    let folder = folder();
    let small = Small::mount(folder.path());
    let values = [("file_size", Value::Size(Bytes::mib(1)))];
    let told = steps(&params("seek", &values))[0].run(&context(&small.0)).unwrap_err().to_string();
    assert!(told.starts_with("seek-populate on ") && told.contains("seek.data: write "), "{told}");
    std::fs::remove_file(small.0.join("seek.data")).unwrap();

    let values = [("size", Value::Size(Bytes::mib(1)))];
    let told = steps(&params("chunk", &values))[0].run(&context(&small.0)).unwrap_err().to_string();
    let end = "No space left on device (os error 28); it is full: use less data or a larger device";
    let start = format!("cannot write to {}/chunk.data: ", small.0.display());
    assert!(told.starts_with(&start) && told.ends_with(end), "{told}");
    std::fs::remove_file(small.0.join("chunk.data")).unwrap();

    let values = [("size", Value::Sizes(vec![Bytes::mib(1)])), ("threads", Value::Integer(2))];
    let told =
        steps(&params("iozone", &values))[0].run(&context(&small.0)).unwrap_err().to_string();
    let start = format!("cannot write to {}/iozone-", small.0.display());
    assert!(told.starts_with(&start) && told.contains("it is full"), "{told}");
    for thread in 0..2 {
        std::fs::remove_file(small.0.join(format!("iozone-{thread}.data"))).unwrap();
    }

    let values = [("files", Value::Integer(500)), ("directories", Value::Integer(2))];
    let told = steps(&params("mail", &values))[0].run(&context(&small.0)).unwrap_err().to_string();
    let start = format!("cannot write to {}/mail/f0000", small.0.display());
    let end = "No space left on device (os error 28); it is full: use less data or a larger device";
    assert!(told.starts_with(&start) && told.ends_with(end), "{told}");
}

fn append(folder: &Path, more: &[(&'static str, Value)]) -> StepOutcome {
    let text = |word: &str| Value::Text(word.into());
    let mut values = vec![
        ("write", Value::Bool(true)),
        ("append", Value::Bool(true)),
        ("size", Value::Size(Bytes::kib(4))),
        ("file_size", Value::Size(Bytes::kib(400))),
        ("cache", text("warm")),
        ("step", text("log")),
    ];
    values.extend_from_slice(more);
    let mut found = run_all(&params("stream", &values), &context(folder));
    assert_eq!(found.len(), 1, "nothing is written before");
    found.remove(0).1
}

#[test]
fn an_append_grows_the_file_and_ends_where_it_is_full() {
    let folder = folder();
    let path = folder.path().join("log.data");
    let text = |word: &str| Value::Text(word.into());
    let facts = || {
        use std::os::unix::fs::MetadataExt;
        let facts = std::fs::metadata(&path).unwrap();
        (facts.len(), facts.blocks() * 512)
    };
    let twenty = ("count", Value::Integer(20));
    for sync in ["fsync", "fdatasync"] {
        let found = append(folder.path(), &[twenty.clone(), ("sync", text(sync))]);
        assert_eq!((found.ops, facts().0), (20, 20 * 4096));
        let count = |kind: &str| found.histograms[kind].count();
        assert_eq!([count("write"), count("fsync"), count("commit")], [20; 3]);
        let metric = |name: &str| found.metrics[name];
        assert_eq!(metric("latency_p50"), metric("commit_latency_p50"));
        assert!(metric("commit_latency_p50") > metric("sync_latency_p50"));
    }
    for sync in ["O_DSYNC", "RWF_DSYNC"] {
        let found = append(folder.path(), &[twenty.clone(), ("sync", text(sync))]);
        assert_eq!((found.ops, facts().0), (20, 20 * 4096));
        assert!(!found.histograms.contains_key("fsync"));
        assert_eq!(found.histograms["commit"], found.histograms["write"]);
    }
    // Bound by its time, it ends with the room that it was given.
    let day = ("time", Value::Duration(Nanos::seconds(86_400)));
    let found = append(folder.path(), &[day, ("threads", Value::Integer(3))]);
    assert_eq!((found.ops, facts().0), (100, 400 * 1024));
    let keep = append(folder.path(), &[twenty.clone(), ("preallocate", text("keep-size"))]);
    assert_eq!((keep.ops, facts().0), (20, 20 * 4096));
    assert!(facts().1 >= 400 * 1024, "{:?}", facts());
    append(folder.path(), &[twenty, ("preallocate", text("size"))]);
    assert_eq!(facts().0, 400 * 1024);
}
