//! `seekwell bench` from outside: what it does with targets that are fit, and what it says of those
//! that are not. The messages and exit codes are golden.

#![allow(clippy::unwrap_used, reason = "a failing helper is a failing test")]

use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// `seekwell bench` with these words, in a directory.
fn bench(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
    command.current_dir(directory).env("NO_COLOR", "1").env("TERM", "dumb");
    command.arg("bench").args(words).output().unwrap()
}

/// Exit code and what was said on standard error, the directory as `DIR`.
fn said(directory: &Path, output: &Output) -> (Option<i32>, String) {
    let text = String::from_utf8_lossy(&output.stderr);
    let text = text.replace(&directory.display().to_string(), "DIR");
    (output.status.code(), text.trim_end().to_owned())
}

fn json(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A file with data in every block.
fn file(directory: &Path, name: &str, bytes: usize) -> PathBuf {
    let path = directory.join(name);
    let mut made = File::create(&path).unwrap();
    made.write_all(&vec![7; bytes]).unwrap();
    made.sync_all().unwrap();
    path
}

/// A loop device; detached when dropped.
struct Loop(PathBuf);

impl Loop {
    fn attach(backing: &Path, flags: &[&str]) -> Self {
        let attached = Command::new(seekwell_testing::tool("losetup").unwrap())
            .args(["--find", "--show"])
            .args(flags)
            .arg(backing)
            .output()
            .unwrap();
        assert!(attached.status.success(), "{attached:?}");
        Self(PathBuf::from(String::from_utf8(attached.stdout).unwrap().trim()))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let losetup = seekwell_testing::tool("losetup").unwrap();
        let detached = Command::new(losetup).arg("--detach").arg(&self.0).status().unwrap();
        assert!(detached.success(), "{}", self.0.display());
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
fn a_target_smaller_than_a_record_is_an_error_with_its_size() {
    let folder = tempfile::tempdir().unwrap();
    file(folder.path(), "small", 1000);
    let told = bench(folder.path(), &["seek", "small", "--cache", "warm"]);
    assert_eq!(
        said(folder.path(), &told),
        (
            Some(1),
            "seekwell: error: seek on small: the target has 1000 bytes, less than one operation \
             of 4096 bytes; use a larger target, a smaller size or fewer threads"
                .to_owned()
        )
    );
    let words = ["sweep", "small", "--cache", "cold", "--sizes", "512,2KiB", "--count", "3"];
    let (code, text) = said(folder.path(), &bench(folder.path(), &words));
    assert_eq!(code, Some(1));
    assert!(text.starts_with("seekwell: error: sweep-2KiB on small: the target has 1000 bytes"));
    let words = ["iozone", ".", "--size", "4KiB", "--record", "64KiB"];
    assert_eq!(
        said(folder.path(), &bench(folder.path(), &words)),
        (
            Some(2),
            "seekwell: usage: --record: every record is larger than every file; make size at least \
             as large as record"
                .to_owned()
        )
    );
    assert_eq!(std::fs::read(folder.path().join("small")).unwrap(), vec![7; 1000]);
}

#[test]
fn what_is_read_only_or_not_ours_is_refused_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "mine", 1 << 20);
    for words in [&["seek", "mine", "--write"][..], &["seekrw", "mine", "--write"]] {
        assert_eq!(
            said(folder.path(), &bench(folder.path(), words)),
            (
                Some(3),
                "seekwell: refused: mine is not written: it is not a block device, and existing files are \
                 never written; name a disk or a partition"
                    .to_owned()
            )
        );
    }
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
    if !has_loop("what_is_read_only_is_refused") {
        return;
    }
    let device = Loop::attach(&path, &["--read-only"]);
    let words = ["sweep", device.path(), "--write"];
    let (code, text) = said(folder.path(), &bench(folder.path(), &words));
    assert_eq!(code, Some(3), "{text}");
    assert!(text.contains("read-only"), "{text}");
    // Reading it is another matter.
    let words = ["sweep", device.path(), "--count", "5", "--sizes", "4KiB", "--json"];
    assert_eq!(json(&bench(folder.path(), &words))["steps"][0]["ops"], 5);
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
}

#[test]
fn a_device_that_cannot_read_part_of_itself_is_an_error_with_the_place() {
    if !has_loop("a_device_that_cannot_read_part_of_itself") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "backing", 4 << 20);
    let device = Loop::attach(&path, &[]);
    OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 20).unwrap();
    for kind in ["seek", "stream", "seekrw"] {
        let words = [kind, device.path(), "--count", "100000", "--cache", "direct", "--size", "4k"];
        let (code, text) = said(folder.path(), &bench(folder.path(), &words));
        assert_eq!(code, Some(1), "{text}");
        let start =
            format!("seekwell: error: {kind} on {}: read of 4096 bytes at offset ", device.path());
        assert!(text.starts_with(&start), "{text}");
        assert!(
            text.contains(" operations: Input/output error (os error 5); the device could not"),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

/// A filesystem in memory; unmounted when dropped.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Self {
        let mount = seekwell_testing::tool("mount").unwrap();
        let words = ["-t", "tmpfs", "-o", "size=1m", "seekwell-test"];
        assert!(Command::new(mount).args(words).arg(at).status().unwrap().success());
        Self(at.to_owned())
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let umount = seekwell_testing::tool("umount").unwrap();
        assert!(Command::new(umount).arg(&self.0).status().unwrap().success());
    }
}

#[test]
fn a_full_filesystem_is_an_error_and_nothing_stays_behind() {
    if !seekwell_testing::root() {
        return seekwell_testing::skip("a_full_filesystem_is_an_error", "needs root to mount");
    }
    let folder = tempfile::tempdir().unwrap();
    let small = Small::mount(folder.path());
    file(&small.0, "mine", 1000);
    // What can be known before is said before.
    let words = ["chunk", ".", "--size", "4MiB"];
    let (code, text) = said(folder.path(), &bench(folder.path(), &words));
    assert_eq!(code, Some(1));
    let start = "seekwell: error: step chunk needs 4194304 bytes and . has ";
    let end = " free; use less data or a larger device";
    assert!(text.starts_with(start) && text.ends_with(end), "{text}");
    // What cannot: more and larger files than there is room for.
    let words = ["mail", ".", "--files", "300", "--median-size", "1", "--spread", "0"];
    let (code, text) = said(folder.path(), &bench(folder.path(), &words));
    assert_eq!(code, Some(1), "{text}");
    let end = "No space left on device (os error 28); it is full: use less data or a larger device";
    assert!(text.starts_with("seekwell: error: cannot ") && text.ends_with(end), "{text}");
    let left: Vec<_> =
        std::fs::read_dir(&small.0).unwrap().map(|one| one.unwrap().path()).collect();
    assert_eq!(left, [small.0.join("mine")]);
}

#[test]
fn each_kind_runs_in_a_directory_and_leaves_nothing() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let kinds: [(&[&str], &[&str]); 6] = [
        (
            &["seek", ".", "--file-size", "1MiB", "--count", "30", "--threads", "1..3"],
            &["seek-populate", "seek-t1", "seek-t2", "seek-t3"],
        ),
        (
            &["seek", ".", "--file-size", "1MiB", "--count", "30", "--mix", "70"],
            &["seek-populate", "seek"],
        ),
        (
            &["sweep", ".", "--file-size", "1MiB", "--count", "9", "--sizes", "4KiB,64KiB"],
            &["sweep-populate", "sweep-4KiB", "sweep-64KiB"],
        ),
        (
            &["seekrw", ".", "--file-size", "1MiB", "--count", "30"],
            &["seekrw-populate", "seekrw-direct", "seekrw-cold"],
        ),
        (
            &["chunk", ".", "--size", "100000", "--repeats", "3"],
            &["chunk-characters", "chunk-whole"],
        ),
        (
            &["iozone", ".", "--size", "256KiB", "--tests", "0,1", "--threads", "2"],
            &["write", "rewrite", "read", "reread"],
        ),
    ];
    for (words, names) in kinds {
        let result = json(&bench(folder.path(), &[words, &["--json"]].concat()));
        let steps = result["steps"].as_array().unwrap();
        let found: Vec<&str> = steps.iter().map(|step| step["name"].as_str().unwrap()).collect();
        assert_eq!(found, names, "{words:?}");
        assert!(steps.iter().all(|step| step["ops"].as_u64() > Some(0)), "{result:#}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{words:?}");
    }
}

/// The calls of five appends of 4 KiB that reach the kernel, for each way to make them durable.
#[test]
fn appends_make_the_calls_that_their_sync_asks_for() {
    let test = "appends_make_the_calls_that_their_sync_asks_for";
    let Some(strace) = seekwell_testing::tool("strace") else {
        return seekwell_testing::skip(test, "strace is not installed");
    };
    let append = ["bench", "stream", ".", "--write", "--append", "--size", "4KiB"];
    let bounds = ["--file-size", "1MiB", "--count", "5"];
    let traced = |sync: &[&str]| -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        let output = Command::new(&strace)
            .args(["-f", "-o", "calls", "-e"])
            .arg("trace=fsync,fdatasync,openat,pwrite64,pwritev2")
            .arg(env!("CARGO_BIN_EXE_seekwell"))
            .args([&append[..], &bounds, sync].concat())
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let calls = std::fs::read_to_string(directory.path().join("calls")).unwrap();
        calls.lines().map(str::to_owned).collect()
    };
    // fsync, fdatasync, opened with O_DSYNC, plain writes, writes with RWF_DSYNC. The new file and its
    // folder are synced before the first append.
    for (sync, expected) in [
        (&[][..], [2, 0, 0, 5, 0]),
        (&["--sync", "fsync"][..], [7, 0, 0, 5, 0]),
        (&["--sync", "fdatasync"][..], [2, 5, 0, 5, 0]),
        (&["--sync", "O_DSYNC"][..], [2, 0, 1, 5, 0]),
        (&["--sync", "RWF_DSYNC"][..], [2, 0, 0, 0, 5]),
    ] {
        let calls = traced(sync);
        let count = |call: &str, with: &str| {
            calls.iter().filter(|line| line.contains(call) && line.contains(with)).count()
        };
        let found = [
            count(" fsync(", ""),
            count(" fdatasync(", ""),
            count(" openat(", "O_DSYNC"),
            count(" pwrite64(", ", 4096, "),
            count(" pwritev2(", "RWF_DSYNC"),
        ];
        assert_eq!(found, expected, "{sync:?}: {calls:#?}");
    }
}

/// As SQLite of distributions does: an fsync would also wait for the times of the file.
#[test]
fn sqlite_syncs_by_fdatasync() {
    let Some(strace) = seekwell_testing::tool("strace") else {
        return seekwell_testing::skip("sqlite_syncs_by_fdatasync", "strace is not installed");
    };
    let directory = tempfile::tempdir().unwrap();
    let words = ["bench", "sqlite", ".", "--rows", "0", "--warm-up", "0", "--count", "5"];
    let output = Command::new(strace)
        .args(["-f", "-o", "calls", "-e", "trace=fsync,fdatasync"])
        .arg(env!("CARGO_BIN_EXE_seekwell"))
        .args(words)
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let calls = std::fs::read_to_string(directory.path().join("calls")).unwrap();
    let count = |call: &str| calls.lines().filter(|line| line.contains(call)).count();
    // Journal, its header, the database and the folder of the journal, for each transaction; the table
    // before them too.
    assert_eq!((count(" fsync("), count(" fdatasync(")), (0, 24), "{calls}");
}

/// Names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_bench_that_is_ended_removes_its_folder() {
    for (signal, words) in [
        ("-INT", &["seek", ".", "--file-size", "16MiB", "--time", "10min"][..]),
        ("-TERM", &["maildir", ".", "--time", "10min"]),
        ("-HUP", &["seek", ".", "--file-size", "16MiB", "--time", "10min", "--write"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_seekwell"));
        command.current_dir(folder.path()).arg("bench").args(words);
        command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::piped());
        let mut running = command.spawn().unwrap();
        let begun = std::time::Instant::now();
        // Its folder, with something in it.
        while !names(folder.path()).iter().any(|name| !names(&folder.path().join(name)).is_empty())
        {
            assert_eq!(running.try_wait().unwrap(), None, "{words:?}");
            assert!(begun.elapsed().as_secs() < 120, "{words:?}: nothing was written");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let pid = running.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
        let output = running.wait_with_output().unwrap();
        let said = said(folder.path(), &output);
        assert_eq!(said, (Some(1), "seekwell: error: stopped; nothing was kept".to_owned()));
        assert_eq!(names(folder.path()), [""; 0], "{signal}");
    }
}
