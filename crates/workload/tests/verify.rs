//! Checks of written data: right on a filesystem that keeps it, wrong where bytes were changed,
//! cut off or removed behind the workload's back.

#![allow(clippy::unwrap_used, reason = "a failing helper is a failing test")]

use seekwell_model::field::{Value, Values};
use seekwell_model::units::Bytes;
use seekwell_model::warning::WarningCode;
use seekwell_model::workloads::{WorkloadParams, workload_kind};
use seekwell_workload::{StepContext, StepOutcome, steps};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

fn params(kind: &str, values: &[(&'static str, Value)]) -> WorkloadParams {
    let mut all = Values::default();
    for (name, value) in values {
        all.set(name, value.clone());
    }
    workload_kind(kind).unwrap().params(&all).unwrap()
}

fn context(directory: &Path) -> StepContext<'_> {
    StepContext {
        directory: Some(directory),
        device: Path::new("/dev/null"),
        device_file: None,
        raw: false,
        seed: 9,
        stop: None,
        device_bytes: 0,
        sector_bytes: 512,
        scratch: None,
        acknowledged: None,
    }
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Runs the steps up to the check; `damage` comes right before it.
fn checked(params: &WorkloadParams, folder: &Path, damage: impl Fn(&Path)) -> StepOutcome {
    for mut step in steps(params) {
        let is_check = step.outline().name.ends_with("-verify");
        if is_check {
            damage(folder);
        }
        let outcome = step.run(&context(folder)).unwrap();
        if is_check {
            return outcome;
        }
    }
    panic!("no step checks anything")
}

fn io(more: &[(&'static str, Value)]) -> WorkloadParams {
    let mut values = vec![
        ("file_size", Value::Size(Bytes::mib(1))),
        ("size", Value::Size(Bytes::kib(4))),
        ("count", Value::Integer(100)),
        ("write", Value::Bool(true)),
        ("cache", Value::Text("warm".into())),
        ("verify", Value::Integer(100)),
    ];
    values.extend_from_slice(more);
    params("stream", &values)
}

fn writable(path: &Path) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

fn assert_wrong(outcome: &StepOutcome, checked: u64, wrong: u64) {
    assert_eq!(outcome.metrics["checked_bytes"], checked as f64);
    assert_eq!(outcome.metrics["wrong_bytes"], wrong as f64);
    let codes: Vec<bool> = outcome.warnings.iter().map(|w| w.is(WarningCode::WrongData)).collect();
    assert_eq!(codes, if wrong > 0 { vec![true] } else { vec![] });
}

const WRITTEN: u64 = 100 * 4096;

#[test]
fn what_was_written_is_found_again_by_every_method() {
    let word = |name: &'static str, word: &str| (name, Value::Text(word.into()));
    let append = [("append", Value::Bool(true)), word("sync", "fdatasync")];
    let threads = [("threads", Value::Integers(vec![3]))];
    let shaped = [("compressible", Value::Integer(50)), ("repeated", Value::Integer(30))];
    for more in [&[][..], &append, &threads, &shaped] {
        let folder = folder();
        assert_wrong(&checked(&io(more), folder.path(), |_| {}), WRITTEN, 0);
    }
}

#[test]
fn a_changed_byte_a_lost_write_and_a_cut_file_are_found() {
    let file = |folder: &Path| folder.join("stream.data");
    let folders = [folder(), folder(), folder()];
    let changed = checked(&io(&[]), folders[0].path(), |folder| {
        writable(&file(folder)).write_all_at(b"!", 5 * 4096 + 7).unwrap();
    });
    assert_wrong(&changed, WRITTEN, 4096);
    let first = format!("first at offset 20480 of {}", file(folders[0].path()).display());
    assert!(changed.warnings[0].text.ends_with(&first), "{}", changed.warnings[0].text);
    // The block of another offset: right data in the wrong place.
    let moved = checked(&io(&[]), folders[1].path(), |folder| {
        let data = std::fs::read(file(folder)).unwrap();
        writable(&file(folder)).write_all_at(&data[..4096], 8 * 4096).unwrap();
    });
    assert_wrong(&moved, WRITTEN, 4096);
    let cut = checked(&io(&[]), folders[2].path(), |folder| {
        writable(&file(folder)).set_len(WRITTEN - 4097).unwrap();
    });
    assert_wrong(&cut, WRITTEN, 8192);
}

#[test]
fn a_share_of_the_writes_is_checked() {
    let folder = folder();
    let share = io(&[("verify", Value::Integer(30))]);
    let outcome = checked(&share, folder.path(), |_| {});
    let checked = outcome.metrics["checked_bytes"] as u64;
    assert!(checked > WRITTEN / 10 && checked < WRITTEN / 2, "{checked}");
    assert_eq!(outcome.app_bytes_read, checked);
}

fn mails(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let is_folder = entry.file_type().unwrap().is_dir();
            if is_folder { &mut folders } else { &mut found }.push(entry.path());
        }
    }
    found.sort();
    found
}

#[test]
fn changed_cut_and_missing_mails_are_found() {
    let values = [
        ("files", Value::Integer(40)),
        ("spread", Value::Number(0.0)),
        ("median_size", Value::Size(Bytes::kib(10))),
        ("repeated", Value::Integer(20)),
        ("verify", Value::Integer(100)),
    ];
    let mail = params("mail", &values);
    let whole = folder();
    assert_wrong(&checked(&mail, whole.path(), |_| {}), 40 * 10_240, 0);
    let damaged = folder();
    let outcome = checked(&mail, damaged.path(), |folder| {
        let mails = mails(folder);
        writable(&mails[3]).write_all_at(b"changed", 4090).unwrap();
        writable(&mails[7]).set_len(5000).unwrap();
        std::fs::remove_file(&mails[11]).unwrap();
        std::fs::write(&mails[20], vec![1; 20_480]).unwrap();
    });
    // Two pieces, a piece and the short last one, and two files in full.
    assert_wrong(&outcome, 40 * 10_240, 8192 + (4096 + 2048) + 2 * 10_240);
}
