//! One frozen file per earlier format: read as it is, rewritten when the run goes on.
#![cfg(test)]

use flate2::read::ZlibDecoder;
use rusqlite::Connection;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use seekwell_store::{Integrity, RunFile};
use std::io::Read;
use std::path::{Path, PathBuf};

fn frozen() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats/run-1.0.seekwell")
}

fn inflated(blob: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    ZlibDecoder::new(blob).read_to_end(&mut plain).unwrap();
    plain
}

/// The records by SQL alone, without timelines: text of the record, then its histograms.
fn by_hand() -> Vec<Record> {
    let connection = Connection::open(frozen()).unwrap();
    let mut statement = connection.prepare("SELECT id, record FROM attempt ORDER BY id").unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
        .unwrap();
    rows.map(|row| {
        let (id, json) = row.unwrap();
        let mut record: Record = serde_json::from_str(&json).unwrap();
        let mut statement = connection
            .prepare("SELECT position, operation, data FROM histogram WHERE attempt = ?")
            .unwrap();
        let histograms = statement
            .query_map([id], |row| Ok((row.get::<_, u32>(0)?, row.get(1)?, row.get(2)?)))
            .unwrap();
        for histogram in histograms {
            let (position, operation, data): (u32, String, Vec<u8>) = histogram.unwrap();
            record.steps[position as usize].histograms.insert(operation, inflated(&data));
        }
        record
    })
    .collect()
}

#[test]
fn format_1_0_is_read_as_it_is() {
    let before = std::fs::read(frozen()).unwrap();
    let file = RunFile::open(&frozen()).unwrap();
    assert_eq!(file.tool().unwrap(), "seekwell 0.1.0");
    assert_eq!(file.plan().unwrap().trials.len(), 6);
    assert!(file.verdict().unwrap().is_some());
    assert_eq!(file.completed().unwrap().len(), 6);
    assert_eq!(file.verify().unwrap(), Integrity::NotVerifiable);

    let records = file.records().unwrap();
    let samples: usize = records.iter().map(|(_, record)| record.timeline.len()).sum();
    assert!(samples > 6, "{samples}");
    let without: Vec<Record> =
        records.iter().map(|(_, one)| Record { timeline: vec![], ..one.clone() }).collect();
    assert_eq!(without, by_hand());
    drop(file);
    assert_eq!(std::fs::read(frozen()).unwrap(), before);
}

fn values(path: &Path) -> Vec<(i64, String, String, f64)> {
    let connection = Connection::open(path).unwrap();
    let query = "SELECT trial, step, metric, value FROM value ORDER BY trial, step, metric";
    let mut statement = connection.prepare(query).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap();
    rows.map(Result::unwrap).collect()
}

#[test]
fn format_1_0_is_repacked_and_smaller() {
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.seekwell");
    let old = RunFile::open(&frozen()).unwrap();
    old.repack(&new).unwrap();
    let file = RunFile::open(&new).unwrap();
    assert_eq!(file.attempts().unwrap(), old.attempts().unwrap());
    assert_eq!(file.plan().unwrap(), old.plan().unwrap());
    assert_eq!(file.environment().unwrap(), old.environment().unwrap());
    assert_eq!(file.verdict().unwrap(), old.verdict().unwrap());
    assert_eq!(file.created_at().unwrap(), old.created_at().unwrap());
    assert_eq!(file.verify().unwrap(), Integrity::Intact { attempts: 6, verdict: true });
    assert!(values(&frozen()).len() > 100);
    assert_eq!(values(&new), values(&frozen()));
    let bytes = |path: &Path| std::fs::metadata(path).unwrap().len();
    assert!(bytes(&new) * 2 < bytes(&frozen()), "{} bytes", bytes(&new));
    assert!(old.repack(&new).is_err(), "nothing is overwritten");
}

#[test]
fn a_run_of_format_1_0_goes_on_in_the_new_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.seekwell");
    std::fs::copy(frozen(), &path).unwrap();
    let records = RunFile::open(&path).unwrap().records().unwrap();
    let mut file = RunFile::open_for_append(&path).unwrap();
    assert!(file.verdict().unwrap().is_some());
    assert_eq!(file.records().unwrap(), records);
    let again = PlannedTrial { seed: 7, ..records[0].0 };
    file.append(&again, &records[0].1).unwrap();
    assert_eq!(file.verdict().unwrap(), None);
    assert_eq!(file.attempts().unwrap().len(), 7);
    assert_eq!(file.records().unwrap()[1..], records[1..]);
    assert_eq!(file.verify().unwrap(), Integrity::Intact { attempts: 7, verdict: false });
    drop(file);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "one file at rest");
}
