//! Captures of real programs whose work is known: the summary has to tell the truth about it. They
//! need root and eBPF, and skip programs that are not installed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod common;
#[path = "common/loads.rs"]
mod loads;

use common::{Row, captured, of_command, rows};
use seekwell_capture::{Options, Target};
use seekwell_recordings::info::{By, Summary};
use seekwell_trace::Trace;
use std::path::{Path, PathBuf};

/// A recorded program: its calls below the traced directory, and their summary.
struct Recorded {
    rows: Vec<Row>,
    summary: Summary,
}

impl Recorded {
    /// Successful calls with one of these names.
    fn calls<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a Row> {
        let wanted = |row: &&Row| names.contains(&row.0.call.call().name) && !row.0.failed();
        self.rows.iter().filter(wanted)
    }

    /// Calls of a purpose in the summary.
    fn count(&self, class: &str) -> u64 {
        let found = self.summary.classes.iter().find(|found| found.class == class);
        found.map_or(0, |found| found.count)
    }
}

/// A capture of a shell script, of its calls below `work` alone.
fn of_script(work: &Path, script: &str) -> Options {
    let mut options = of_command(&work.with_extension("trace"), &["sh", "-ec", script]);
    options.ring_bytes = 32 << 20;
    options.paths.push(work.to_owned());
    options
}

/// Records the target, which has to succeed; `None` after a skip.
fn record(test: &str, options: &Options) -> Option<Recorded> {
    let captured = captured(test, options)?;
    let status = captured.status.expect("the script has ended");
    assert!(status.success(), "{status}");
    assert_eq!(captured.lost, []);
    let trace = Trace::open(&options.output).unwrap();
    Some(Recorded { rows: rows(&trace), summary: Summary::of(&trace).unwrap() })
}

/// A directory to work in, with room for the trace next to it.
fn directory() -> (tempfile::TempDir, PathBuf) {
    let outer = tempfile::tempdir().unwrap();
    let work = outer.path().canonicalize().unwrap().join("work");
    std::fs::create_dir(&work).unwrap();
    (outer, work)
}

/// The programs that are not installed, as a skip.
fn lacks(test: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|program| seekwell_testing::tool(program).is_none());
    if let Some(missing) = missing {
        seekwell_testing::skip(test, &format!("{missing} is not installed"));
    }
    missing.is_some()
}

#[test]
fn tar_reads_and_writes_every_file_once_and_syncs_nothing() {
    let test = "tar_reads_and_writes_every_file_once_and_syncs_nothing";
    if lacks(test, &["tar"]) {
        return;
    }
    let (_outer, work) = directory();
    let files = loads::sized(400);
    let script = loads::tar(&work, files);
    let Some(tar) = record(test, &of_script(&work, &script)) else { return };
    let archive = std::fs::metadata(work.join("archive")).unwrap().len();
    assert_eq!(tar.summary.reads.bytes, archive + files as u64 * 3000);
    assert_eq!(tar.summary.writes.bytes, archive + files as u64 * 3000);
    assert_eq!(tar.summary.reads.sequential, tar.summary.reads.located);
    assert_eq!(tar.summary.writes.sequential, tar.summary.writes.located);
    assert_eq!((tar.summary.created, tar.summary.removed), (files as u64 + 1, 0));
    assert_eq!(tar.count("sync"), 0);
    assert_eq!(tar.summary.bytes_between_syncs, None);
    assert!(!tar.summary.sentences().concat().contains("sync"), "{:?}", tar.summary.sentences());
    let top = &tar.summary.top_processes[0];
    assert!(top.name.ends_with(" tar"), "{top:?}");
}

#[test]
fn a_maildir_delivery_syncs_and_renames_each_message() {
    let test = "a_maildir_delivery_syncs_and_renames_each_message";
    let (_outer, work) = directory();
    let messages = loads::sized(100);
    let script = loads::maildir(&work, messages);
    let Some(delivery) = record(test, &of_script(&work, &script)) else { return };
    assert_eq!(std::fs::read_dir(work.join("new")).unwrap().count(), messages);
    assert_eq!(delivery.summary.created, messages as u64);
    assert_eq!(delivery.summary.writes.bytes, messages as u64 * 2000);
    assert_eq!(delivery.count("sync"), messages as u64);
    assert_eq!(delivery.summary.bytes_between_syncs, Some(2000));
    let renamed = delivery.calls(&["rename", "renameat", "renameat2"]);
    let moved = |row: &&Row| {
        row.1.starts_with(work.join("tmp").to_str().unwrap())
            && row.2.starts_with(work.join("new").to_str().unwrap())
    };
    assert_eq!(renamed.filter(moved).count(), messages);
    let directories: Vec<_> =
        delivery.summary.top_directories.iter().map(|top| top.name.as_str()).collect();
    assert!(directories.contains(&format!("{}/tmp/", work.display()).as_str()), "{directories:?}");
}

#[test]
fn rrdtool_updates_through_shared_mappings() {
    let test = "rrdtool_updates_through_shared_mappings";
    if lacks(test, &["rrdtool"]) {
        return;
    }
    let (_outer, work) = directory();
    // A summary speaks of mappings from 1 MiB on.
    let files = loads::sized(1000).max(250);
    let script = loads::rrdtool(&work, files, 1);
    let Some(rrdtool) = record(test, &of_script(&work, &script)) else { return };
    let log = std::fs::read_to_string(work.with_extension("log")).unwrap();
    assert_eq!(log.lines().filter(|line| line.starts_with("OK")).count(), files, "{log}");
    assert_eq!(rrdtool.count("open"), files as u64);
    assert_eq!(rrdtool.count("close"), files as u64);
    assert_eq!((rrdtool.summary.created, rrdtool.summary.removed), (0, 0));
    // The values are stored through mappings: no call writes them.
    assert_eq!(rrdtool.calls(&["mmap"]).count(), files);
    assert_eq!(rrdtool.summary.writes.bytes, 0);
    assert!(rrdtool.summary.shared_mapping);
    assert_ne!(rrdtool.summary.bound().by, By::Device, "page faults are recorded");
    // Each update writes at least to the head and to one page of data.
    let faults = rrdtool.summary.faults.unwrap();
    assert!(faults.written >= files as u64, "{faults:?}");
}

/// Files of loose objects below `objects`.
fn loose(objects: &Path) -> usize {
    let folders = std::fs::read_dir(objects).unwrap().map(|entry| entry.unwrap().path());
    let loose = folders.filter(|path| path.file_name().unwrap().len() == 2);
    loose.map(|folder| std::fs::read_dir(folder).unwrap().count()).sum()
}

#[test]
fn git_links_objects_when_it_clones_and_packs_them_in_gc() {
    let test = "git_links_objects_when_it_clones_and_packs_them_in_gc";
    if lacks(test, &["git"]) {
        return;
    }
    let (_outer, work) = directory();
    let make = "git init -q from; cd from; for n in $(seq 60); do echo $n >file$n; done; git add .
                git -c user.name=a -c user.email=a@b commit -q -m first";
    loads::shell(&work, &format!("{}\n{make}", loads::GIT_ALONE));
    let objects = loose(&work.join("from/.git/objects"));
    assert!(objects > 60, "{objects}");
    let Some(git) = record(test, &of_script(&work, &loads::git(&work))) else { return };
    assert_eq!(loose(&work.join("to/.git/objects")), 0);
    let is_object = |path: &str| {
        let name = path.strip_prefix(work.join("to/.git/objects/").to_str().unwrap());
        name.is_some_and(|name| name.len() == 41 && name.as_bytes()[2] == b'/')
    };
    let linked = git.calls(&["link", "linkat"]).filter(|row| is_object(&row.2)).count();
    assert_eq!(linked, objects);
    let removed = git.calls(&["unlink", "unlinkat"]).filter(|row| is_object(&row.1)).count();
    assert_eq!(removed, objects);
    assert!(git.summary.removed >= objects as u64, "{}", git.summary.removed);
    assert!(git.summary.created >= 60, "{}", git.summary.created);
    // The pack is safe before the objects in it are removed.
    let end_ns = |row: &Row| row.0.start_ns + row.0.duration_ns.unwrap();
    let packs = git.calls(&["fsync", "fdatasync"]).filter(|row| row.1.contains("/objects/pack/"));
    let unlinks = git.calls(&["unlink", "unlinkat"]).filter(|row| is_object(&row.1));
    let synced_ns = packs.map(end_ns).min().expect("a sync of the pack");
    assert!(synced_ns < unlinks.map(|row| row.0.start_ns).min().unwrap());
    assert!(git.count("sync") >= 1);
    assert!(git.summary.processes > 3, "{}", git.summary.processes);
}

#[test]
fn postgresql_syncs_its_log_at_every_commit() {
    let test = "postgresql_syncs_its_log_at_every_commit";
    let (_outer, work) = directory();
    let commits = loads::sized(150);
    let options = format!("-c 1 -t {commits}");
    let server = seekwell_testing::root().then(|| loads::Server::create(&work, 1, &options));
    let Some(server) = server.flatten() else {
        return seekwell_testing::skip(test, "needs root and a PostgreSQL server");
    };
    let mut options = of_script(&work, &server.bench);
    if let Target::Command(command) = &mut options.target {
        command.user = Some((loads::NOBODY, loads::NOBODY));
    }
    let Some(pgbench) = record(test, &options) else { return };
    let log = work.join("data/pg_wal");
    let in_log = |row: &&Row| row.1.starts_with(log.to_str().unwrap());
    let syncs = pgbench.calls(&["fsync", "fdatasync"]).filter(in_log).count();
    // One at each commit, and a few of start, checkpoint and end.
    assert!((commits..commits + 100).contains(&syncs), "{syncs}");
    assert!(pgbench.count("sync") >= commits as u64);
    let first = &pgbench.summary.sentences()[0];
    assert!(first.contains("syncs (fsync and the like)"), "{first}");
    let third = &pgbench.summary.sentences()[2];
    assert!(third.contains("journal"), "{third}");
    // A slow sync of the control file can take longer than all of a few commits.
    let top = pgbench.summary.top_directories.iter().take(2);
    let top: Vec<&str> = top.map(|directory| directory.name.as_str()).collect();
    assert!(top.contains(&format!("{}/", log.display()).as_str()), "{top:?}");
    // Blocks of the log are 8 KiB, and a commit writes whole ones.
    let writes = pgbench.calls(&["write", "pwrite64", "pwritev"]).filter(in_log);
    let sizes: Vec<i64> = writes.filter_map(|row| row.0.result).collect();
    assert!(sizes.len() >= commits, "{} writes", sizes.len());
    assert!(sizes.iter().all(|size| size % 8192 == 0), "{sizes:?}");
    // Pages are as large. Of few commits, start and end of the server have more and smaller writes.
    if commits >= 100 {
        assert_eq!(pgbench.summary.writes.sizes.p50, Some(8192));
    }
}
