mod edits;

use super::*;
use crate::fixture::{environment, plan, record, trial};
use rusqlite::Connection;
use std::path::PathBuf;

/// A run of twelve trials with a failed one and a verdict.
fn run(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("run.seekwell");
    let mut file = RunFile::create(&path, &plan(), &environment()).unwrap();
    for index in 0..12 {
        let mut kept = record(index);
        if index == 5 {
            kept.status = seekwell_model::record::Status::Failed {
                stage: "unpack".to_owned(),
                reason: "EIO".to_owned(),
            };
        }
        kept.steps[1].histograms.insert("write".to_owned(), vec![index as u8; 50]);
        file.append(&trial(index), &kept).unwrap();
    }
    file.set_verdict(&crate::fixture::verdict()).unwrap();
    path
}

#[test]
fn what_was_written_is_intact() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(&folder);
    let intact = |verdict| Integrity::Intact { attempts: 12, verdict };
    assert_eq!(RunFile::open(&path).unwrap().verify().unwrap(), intact(true));
    Connection::open(&path).unwrap().execute_batch("VACUUM").unwrap();
    assert_eq!(RunFile::open(&path).unwrap().verify().unwrap(), intact(true));
    let mut file = RunFile::open_for_append(&path).unwrap();
    file.append(&trial(0), &record(0)).unwrap();
    let longer = Integrity::Intact { attempts: 13, verdict: false };
    assert_eq!(file.verify().unwrap(), longer);
}

type Verified = (Vec<(PlannedTrial, Record)>, Integrity);

fn whole_records(file: &RunFile) -> Result<Verified> {
    file.verified(&Wanted::default(), &mut |_, record| record)
}

/// One pass gives what two gave, of intact files and of damaged ones, also when the last attempt at a trial is not the
/// first.
#[test]
fn records_and_verification_in_one_pass_are_those_of_two() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(&folder);
    let mut file = RunFile::open_for_append(&path).unwrap();
    file.append(&trial(3), &record(7)).unwrap();
    let both = whole_records(&file).unwrap();
    assert_eq!(both, (file.records().unwrap(), file.verify().unwrap()));
    assert_eq!(both.0[3].1, record(7));
    let light = file.verified(&Wanted::default(), &mut |_, record| record.elapsed_ns).unwrap();
    assert!(light.0.iter().zip(&both.0).all(|(ns, whole)| ns.1 == whole.1.elapsed_ns));
    assert_eq!(light.1, both.1);
    let mut each = Vec::new();
    file.each_record(&Wanted::default(), &mut |trial, record| each.push((trial, record))).unwrap();
    assert_eq!(each, both.0);
    let few = Wanted {
        histograms: false,
        series: false,
        timeline: crate::Timeline::Told,
        metrics: Some(["unpack.elapsed".to_owned()].into()),
    };
    let few = file.verified(&few, &mut |_, record| record).unwrap();
    assert_eq!(few.1, both.1);
    for ((_, few), (_, whole)) in few.0.iter().zip(&both.0) {
        assert_eq!(few.metric("unpack.elapsed"), whole.metric("unpack.elapsed"));
        let metrics: usize = few.steps.iter().map(|step| step.metrics.len()).sum();
        assert!(metrics <= 1 && few.steps.iter().all(|step| step.histograms.is_empty()));
        assert_eq!(few.timeline, whole.timeline);
        assert!(few.journal_timeline.is_empty() && few.block_events.is_none());
    }
    drop(file);
    let edit = |id| format!("UPDATE attempt SET record = zeroblob(9) WHERE id = {id}");
    Connection::open(&path).unwrap().execute_batch(&edit(4)).unwrap();
    let file = RunFile::open(&path).unwrap();
    let both = whole_records(&file).unwrap();
    assert_eq!(both, (file.records().unwrap(), file.verify().unwrap()));
    assert!(matches!(both.1, Integrity::Changed(_)), "an attempt that does not count");
    Connection::open(&path).unwrap().execute_batch(&edit(13)).unwrap();
    let words = |error: crate::StoreError| error.to_string();
    assert_eq!(
        whole_records(&file).map_err(words),
        Err(file.records().map_err(words).unwrap_err())
    );
}

#[test]
fn every_edit_by_sql_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(&folder);
    let whole = std::fs::read(&path).unwrap();
    let edits = [
        "UPDATE verdict SET value = replace(value, 'winner', 'tie')",
        "UPDATE verdict SET value = replace(value, 'because', 'BECAUSE')",
        "UPDATE meta SET value = replace(value, '6.18.44', '6.18.45') WHERE key = 'environment'",
        "UPDATE meta SET value = replace(value, 'unpacks', 'packs') WHERE key = 'plan'",
        "UPDATE meta SET value = replace(value, '\"tie\":0.02', '\"tie\":0.20') WHERE key = 'plan'",
        "UPDATE meta SET value = 'seekwell 9.9' WHERE key = 'tool'",
        "UPDATE meta SET value = '2020-01-01T00:00:00Z' WHERE key = 'created_at'",
        // The first digit, whichever it is: a seal may lack any given one.
        "UPDATE meta SET value = iif(value LIKE '0%', '1', '0') || substr(value, 2)
            WHERE key = 'seal'",
        "UPDATE candidate SET stack = 'zfs/none' WHERE id = 0",
        "UPDATE candidate SET workload = 'none' WHERE id = 1",
        "DELETE FROM attempt WHERE id = 12",
        "DELETE FROM attempt WHERE id = 3",
        "UPDATE attempt SET id = id + 100 WHERE id = 3",
        "UPDATE attempt SET trial = 11 WHERE id = 3",
        "UPDATE attempt SET round = 0 WHERE id = 12",
        "UPDATE attempt SET candidate = 0 WHERE id = 12",
        "UPDATE attempt SET seed = 9 WHERE id = 12",
        "UPDATE attempt SET status = 'ok', stage = NULL, reason = NULL WHERE status = 'failed'",
        "UPDATE attempt SET reason = 'nothing' WHERE status = 'failed'",
        "UPDATE attempt SET stage = 'mkfs' WHERE status = 'failed'",
        "UPDATE attempt SET elapsed_ns = 1 WHERE id = 2",
        "UPDATE attempt SET written_at = '2020-01-01T00:00:00Z' WHERE id = 2",
        "UPDATE attempt SET record = (SELECT record FROM attempt WHERE id = 6) WHERE id = 2",
        "UPDATE attempt SET histograms = NULL WHERE id = 2",
        "UPDATE attempt SET timeline = x'0113' WHERE id = 2",
        "UPDATE metric_block SET v0 = v0 / 2 WHERE id = 2 * 4096",
        "UPDATE metric_name SET metric = 'iops' WHERE id = 0",
        "DELETE FROM metric_block WHERE id = 2 * 4096",
        "DELETE FROM prefix",
    ];
    for edit in edits {
        let connection = Connection::open(&path).unwrap();
        connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
        assert!(connection.execute(edit, []).unwrap() > 0, "{edit}");
        drop(connection);
        let found = RunFile::open(&path).unwrap().verify().unwrap();
        assert!(matches!(found, Integrity::Changed(_)), "{edit}: {found:?}");
        std::fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn what_was_edited_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(&folder);
    let edit = "UPDATE attempt SET elapsed_ns = 1 WHERE id = 2;
                UPDATE metric_block SET v0 = 7 WHERE id = 3 * 4096;
                UPDATE candidate SET stack = 'zfs/none' WHERE id = 0;
                UPDATE verdict SET value = replace(value, 'winner', 'tie');";
    Connection::open(&path).unwrap().execute_batch(edit).unwrap();
    let expected = [
        "the table of candidates differs from the plan",
        "column elapsed_ns of trial 1 differs from its record",
        "the record of trial 2 does not match its checksum",
        "the verdict is not the one that was written for these trials",
    ];
    let found = RunFile::open(&path).unwrap().verify().unwrap();
    assert_eq!(found, Integrity::Changed(expected.map(str::to_owned).to_vec()));
}

/// Words of the problems that a change by SQL leaves.
fn problems_after(change: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = run(&folder);
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    match RunFile::open(&path).unwrap().verify().unwrap() {
        Integrity::Changed(parts) => parts,
        other => panic!("{change}: {other:?}"),
    }
}

#[test]
fn a_removed_verdict_and_what_was_added_are_noticed() {
    for (change, words) in [
        ("DELETE FROM verdict", "the verdict that was written for these trials was removed"),
        ("CREATE TABLE notes (text)", "it has the table `notes`, which no run file has"),
        ("CREATE VIEW mine AS SELECT 1", "it has the view `mine`, which no run file has"),
        (
            "CREATE INDEX extra ON attempt (status)",
            "it has the index `extra`, which no run file has",
        ),
    ] {
        assert_eq!(problems_after(change), [words], "{change}");
    }
    let deleted = problems_after("DELETE FROM attempt WHERE trial = 3");
    assert!(deleted[0].contains("a trial was added, removed or moved"), "{deleted:?}");
}

/// A verdict that a run has forgotten, because a trial came later, was not removed.
#[test]
fn a_run_that_goes_on_has_no_verdict_that_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(&folder);
    let mut file = RunFile::open_for_append(&path).unwrap();
    file.append(&trial(5), &record(5)).unwrap();
    assert_eq!(file.verify().unwrap(), Integrity::Intact { attempts: 13, verdict: false });
    file.set_verdict(&crate::fixture::verdict()).unwrap();
    assert_eq!(file.verify().unwrap(), Integrity::Intact { attempts: 13, verdict: true });
}

#[test]
fn records_of_a_changed_file_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(&folder);
    assert_eq!(RunFile::open(&path).unwrap().intact_records().unwrap().len(), 12);
    let change = "DELETE FROM attempt WHERE trial = 3";
    Connection::open(&path).unwrap().execute_batch(change).unwrap();
    let refused = RunFile::open(&path).unwrap().intact_records().unwrap_err();
    assert!(matches!(refused, StoreError::Changed { .. }), "{refused}");
}

#[test]
fn a_fifo_is_refused_without_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.seekwell");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
    let (done, result) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        // A test that has failed no longer listens.
        let _ = done.send([RunFile::open(&path).err(), RunFile::open_for_append(&path).err()]);
    });
    let refused = result.recv_timeout(std::time::Duration::from_secs(20)).expect("it waits");
    for error in refused {
        let text = error.unwrap().to_string();
        assert!(text.ends_with("it is a FIFO, not a regular file"), "{text}");
    }
}
