//! The labs that come with Seekwell: each can be planned here, and the real databases run here
//! where they are installed.

use super::{data, seekwell, talk};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../labs")
}

pub(super) fn labs() -> Vec<PathBuf> {
    let of =
        |folder: PathBuf| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let is_lab = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        // Beside the labs of the studies lie what they claim and how it is measured.
        name.ends_with(".toml") && !name.ends_with(".measure.toml") && name != "claims.toml"
    };
    let mut labs: Vec<PathBuf> =
        of(folder()).chain(of(folder().join("replicate"))).filter(is_lab).collect();
    labs.sort();
    labs
}

#[test]
fn each_lab_has_comments_and_can_be_planned() {
    let directory = tempfile::tempdir().unwrap();
    let labs = labs();
    assert!(labs.len() >= 12, "{labs:?}");
    for lab in labs {
        let text = std::fs::read_to_string(&lab).unwrap();
        assert!(text.starts_with("# "), "{} says nothing of itself", lab.display());
        let lab = with_trace(directory.path(), lab, &text);
        let mut plan = seekwell(directory.path());
        plan.arg("plan").arg(&lab);
        // A modelled device belongs to the virtual backend.
        if text.contains("\nmodel = ") {
            plan.args(["--place", "virtual"]);
        }
        let output = plan.output().unwrap();
        let missing = talk(&output);
        if missing.contains("seekwell kernel build") && !output.status.success() {
            seekwell_testing::skip(&format!("plan of {}", lab.display()), missing.trim());
            continue;
        }
        if output.status.code() == Some(1) && missing.contains(": this kernel does not mount ") {
            seekwell_testing::skip(&format!("plan of {}", lab.display()), missing.trim());
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{}:\n{missing}", lab.display());
        assert!(data(&output).contains("trials"), "{}", data(&output));
    }
}

/// The recording that a lab of the folder replays, which its reader makes.
const RECORDING: &str = "/root/load.trace";

/// The one of block requests.
const REQUESTS: &str = "/root/disk.trace";

/// The lab with a recording of one write or of one request, if it replays one.
pub(super) fn with_trace(directory: &Path, lab: PathBuf, text: &str) -> PathBuf {
    if text.contains(REQUESTS) {
        let log = "8,16 0 1 5.000003000 99 D R 4096 + 256 [cat]\n\
                   8,16 0 2 5.000103000 0 C R 4096 + 256 [0]\n";
        return with_import(directory, "blkparse", log, text, REQUESTS);
    }
    if !text.contains(RECORDING) {
        return lab;
    }
    let log = "7 1.000001 openat(AT_FDCWD</srv>, \"a\", O_RDWR|O_CREAT, 0600) = 3</srv/a> <0.00005>\n\
               7 1.000100 write(3</srv/a>, \"x\"..., 4096) = 4096 <0.00001>\n";
    with_import(directory, "strace", log, text, RECORDING)
}

/// The lab with a recording of its own, imported from a log of this format.
fn with_import(directory: &Path, format: &str, log: &str, text: &str, recording: &str) -> PathBuf {
    let imported = import(directory, format, format, log).display().to_string();
    let own = directory.join(format!("{format}.toml"));
    std::fs::write(&own, text.replace(recording, &imported)).unwrap();
    own
}

/// The trace of this name, imported from a log of this format.
pub(super) fn import(directory: &Path, format: &str, name: &str, log: &str) -> PathBuf {
    std::fs::write(directory.join("log"), log).unwrap();
    let trace = format!("{name}.trace");
    let import = ["trace", "import", format, "log", "-o", &trace];
    let output = seekwell(directory).args(import).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", talk(&output));
    directory.join(trace)
}

/// A lab of the folder made small: one filesystem, six rounds, little work.
fn small(name: &str, changes: &[(&str, &str)]) -> String {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let from = text.find("[[filesystem]]").unwrap();
    let to = text.find("[scheduler]").unwrap();
    let mut text = format!("{}[[filesystem]]\ntype = \"ext4\"\n\n{}", &text[..from], &text[to..]);
    for (from, to) in changes {
        assert!(text.contains(from), "{name} no longer holds {from}");
        text = text.replace(from, to);
    }
    text
}

/// Runs a round of the lab; every trial must have ended well, and its database must have said these settings.
fn runs(test: &str, tool: &str, lab: &str, metric: &str, settings: &[(&str, &str)]) {
    if !seekwell_testing::root() {
        return seekwell_testing::skip(test, "needs root for loop devices and mounts");
    }
    if seekwell_testing::tool(tool).is_none() {
        return seekwell_testing::skip(test, &format!("{tool} is not installed"));
    }
    let _alone = super::MACHINE.lock().unwrap_or_else(PoisonError::into_inner);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("small.toml"), lab).unwrap();
    let run = super::marks::run(directory.path(), "host").unwrap();
    let trials = run["trials"].as_array().unwrap();
    assert!(!trials.is_empty(), "{run:#}");
    for trial in trials {
        assert_eq!(trial["status"], "ok", "{trial:#}");
        assert!(trial["metrics"][metric].as_f64().unwrap() > 0.0, "{trial:#}");
        let step = metric.split('.').next().unwrap();
        let steps = trial["steps"].as_array().unwrap();
        let step = steps.iter().find(|found| found["name"] == step).unwrap();
        for (name, value) in settings {
            assert_eq!(step["settings"][name], *value, "{name}: {step:#}");
        }
    }
}

#[test]
fn sqlite_runs_here() {
    let changes = [
        ("loop = \"2GiB\"", "ram = \"64MiB\""),
        ("count = 300", "count = 10"),
        ("rounds = 10", "rounds = 6"),
    ];
    // SQLite is part of the program.
    let lab = small("sqlite.toml", &changes);
    let settings = [("synchronous", "full")];
    runs("sqlite_runs_here", "mkfs.ext4", &lab, "inserts.transactions_per_s", &settings);
}

#[test]
fn rocksdb_runs_here() {
    let changes = [
        ("loop = \"4GiB\"", "ram = \"512MiB\""),
        ("choose = [\"none\", \"mq-deadline\"]", "choose = [\"none\"]"),
        ("time = \"10s\"", "time = \"1s\"\nwarm_up = \"1s\"\nkeys = 5_000"),
        ("rounds = 8", "rounds = 6"),
    ];
    let lab = small("rocksdb.toml", &changes);
    let settings = [("sync", "on"), ("write_ahead_log", "on"), ("sync_call", "fdatasync")];
    runs("rocksdb_runs_here", "db_bench", &lab, "overwrite.transactions_per_s", &settings);
}

#[test]
fn postgresql_runs_here() {
    let changes = [
        ("loop = \"4GiB\"", "ram = \"704MiB\""),
        ("choose = [\"none\", \"mq-deadline\"]", "choose = [\"none\"]"),
        ("scale = 10", "scale = 1"),
        ("time = \"20s\"", "time = \"1s\"\nwarm_up = \"1s\""),
        ("rounds = 8", "rounds = 6"),
    ];
    let lab = small("postgresql.toml", &changes);
    let settings = [("fsync", "on"), ("synchronous_commit", "on"), ("full_page_writes", "on")];
    runs("postgresql_runs_here", "pgbench", &lab, "pgbench.transactions_per_s", &settings);
}
