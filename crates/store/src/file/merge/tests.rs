use super::*;
use crate::Integrity;
use crate::fixture::{environment, plan, record, trial};
use proptest::prelude::*;
use seekwell_model::record::Sample;
use std::collections::BTreeSet;

/// A part with these trials.
fn part(folder: &tempfile::TempDir, name: &str, trials: &[u32]) -> PathBuf {
    let path = folder.path().join(name);
    let mut file = RunFile::create(&path, &plan(), &environment()).unwrap();
    trials.iter().for_each(|index| file.append(&trial(*index), &record(*index)).unwrap());
    path
}

fn merge(folder: &tempfile::TempDir, parts: &[PathBuf]) -> Result<(RunFile, Merged)> {
    let target = folder.path().join("all.seekwell");
    let merged = RunFile::merge(parts, &target, &|_, _| None)?;
    Ok((RunFile::open(&target).unwrap(), merged))
}

#[test]
fn parts_become_one_run_and_nothing_is_doubled() {
    let folder = tempfile::tempdir().unwrap();
    let first = part(&folder, "a", &[0, 1, 2, 3]);
    // A copy that was continued elsewhere.
    let second = folder.path().join("b");
    std::fs::copy(&first, &second).unwrap();
    let mut file = RunFile::open_for_append(&second).unwrap();
    (6..10).for_each(|index| file.append(&trial(index), &record(index)).unwrap());
    drop(file);
    let (all, merged) = merge(&folder, &[first.clone(), second.clone()]).unwrap();
    assert_eq!(merged, Merged { kept: 8, shared: 4, missing: 4 });
    let expected = [0, 1, 2, 3, 6, 7, 8, 9].map(|index| (trial(index), record(index)));
    assert_eq!(all.records().unwrap(), expected);
    assert_eq!(all.attempts().unwrap(), expected);
    assert_eq!(all.verify().unwrap(), Integrity::Intact { attempts: 8, verdict: false });
    let seal =
        |path: &Path| RunFile::open(path).unwrap().required_meta(super::super::SEAL).unwrap();
    let from = json!([
        {"file": "a", "attempts": 4, "seal": seal(&first)},
        {"file": "b", "attempts": 8, "seal": seal(&second)},
    ]);
    assert_eq!(all.environment().unwrap()[PARTS], from);
    let digests = |path: &Path| -> Vec<Vec<u8>> {
        let file = RunFile::open(path).unwrap();
        let mut rows =
            file.connection.prepare("SELECT digest FROM attempt ORDER BY trial").unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(std::result::Result::unwrap).collect()
    };
    assert_eq!(digests(&folder.path().join("all.seekwell")), digests(&second));
}

#[test]
fn a_failure_of_one_part_gives_way_to_the_result_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let failed = Record {
        status: Status::Failed { stage: "unpack".to_owned(), reason: "EIO".to_owned() },
        ..record(0)
    };
    let (first, second) = (part(&folder, "a", &[1]), part(&folder, "b", &[0]));
    RunFile::open_for_append(&first).unwrap().append(&trial(0), &failed).unwrap();
    for (order, attempts) in [([first.clone(), second.clone()], 3), ([second, first], 2)] {
        let (all, merged) = merge(&folder, &order).unwrap();
        assert_eq!((merged.kept, merged.missing), (attempts, 10));
        assert_eq!(all.records().unwrap()[0], (trial(0), record(0)));
        std::fs::remove_file(all.path()).unwrap();
    }
}

#[test]
fn a_trial_in_virtual_time_that_ran_twice_is_one_trial() {
    let folder = tempfile::tempdir().unwrap();
    let with = |print: &str, clock: f64| Record {
        fingerprint: Some(print.to_owned()),
        clock_cost_ns: Some(clock),
        ..record(0)
    };
    let of = |name: &str, record: &Record| {
        let path = part(&folder, name, &[]);
        RunFile::open_for_append(&path).unwrap().append(&trial(0), record).unwrap();
        path
    };
    let (first, second) = (of("a", &with("x", 1.0)), of("b", &with("x", 2.0)));
    let (all, merged) = merge(&folder, &[first.clone(), second]).unwrap();
    assert_eq!(merged, Merged { kept: 1, shared: 1, missing: 11 });
    assert_eq!(all.attempts().unwrap(), [(trial(0), with("x", 1.0))]);
    std::fs::remove_file(all.path()).unwrap();
    let other = of("c", &with("y", 1.0));
    let message = merge(&folder, &[first, other.clone()]).unwrap_err().to_string();
    let expected = format!(
        "cannot merge {}: trial 0 has one result there and another in {}; parts of one run share no trials",
        other.display(),
        folder.path().join("a").display()
    );
    assert_eq!(message, expected);
    assert!(!folder.path().join("all.seekwell").exists());
}

#[test]
fn files_that_are_no_parts_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = part(&folder, "a", &[0]);
    let message =
        |other: &Path| merge(&folder, &[first.clone(), other.to_owned()]).unwrap_err().to_string();
    let mut longer = plan();
    longer.lab.name = "other".to_owned();
    let other = folder.path().join("b");
    RunFile::create(&other, &longer, &environment()).unwrap();
    let ending = "it has another plan than the first file";
    assert_eq!(message(&other), format!("cannot merge {}: {ending}", other.display()));
    let edited = part(&folder, "c", &[1]);
    let statement = "UPDATE attempt SET elapsed_ns = 5";
    rusqlite::Connection::open(&edited).unwrap().execute(statement, []).unwrap();
    let ending = "changed after it was written: column elapsed_ns of trial 1 differs from its record; take another copy";
    assert_eq!(message(&edited), format!("{} was {ending}", edited.display()));
    let target = folder.path().join("all.seekwell");
    let elsewhere = |_: &Value, _: &Value| Some("kernel (5 then, 6 now)".to_owned());
    let error = RunFile::merge(std::slice::from_ref(&first), &target, &elsewhere).unwrap_err();
    let ending = "another kernel (5 then, 6 now) than the first file";
    assert_eq!(error.to_string(), format!("cannot merge {}: {ending}", first.display()));
    assert!(!target.exists());
}

/// A record with these metrics of its step, a histogram and a timeline, so that all rows of an attempt are filled.
fn with_metrics(index: u32, names: &BTreeSet<u8>) -> Record {
    let mut record = record(index);
    for name in names {
        let value = f64::from(index) + f64::from(*name) / 1024.0;
        record.steps[usize::from(name % 2)].metrics.insert(format!("m{name}"), value);
    }
    record.steps[1].histograms.insert("read".to_owned(), vec![index as u8; 40]);
    let sample = |at_ns| Sample { at_ns, reads_per_s: f64::from(index), ..Sample::default() };
    record.timeline = (1..4).map(sample).collect();
    record
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Rows that are copied as they are give what a file has to which every record was appended by itself. Names of
    /// metrics have other numbers in each part, and prefixes are other ones.
    #[test]
    fn copied_rows_are_those_of_appended_records(
        of_trials in prop::collection::vec((0_usize..3, prop::collection::btree_set(0_u8..40, 0..30), 0_u8..4), 12)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let paths = [0, 1, 2].map(|part| part_with(&folder, part, &of_trials));
        let (all, merged) = merge(&folder, &paths).unwrap();
        prop_assert_eq!(merged, Merged { kept: 12, shared: 0, missing: 0 });
        let mut expected: Vec<(PlannedTrial, Record)> = Vec::new();
        for part in &paths {
            expected.extend(RunFile::open(part).unwrap().attempts().unwrap());
        }
        prop_assert_eq!(all.attempts().unwrap(), expected.clone());
        prop_assert_eq!(all.verify().unwrap(), Integrity::Intact { attempts: 12, verdict: false });
        let naive = folder.path().join("naive.seekwell");
        let mut file = RunFile::create(&naive, &plan(), &environment()).unwrap();
        expected.iter().for_each(|(trial, record)| file.append(trial, record).unwrap());
        prop_assert_eq!(values(&all), values(&file));
    }
}

/// The trials of one part; a third of them failed.
fn part_with(
    folder: &tempfile::TempDir,
    part: usize,
    of_trials: &[(usize, BTreeSet<u8>, u8)],
) -> PathBuf {
    let path = folder.path().join(format!("part{part}"));
    let mut file = RunFile::create(&path, &plan(), &environment()).unwrap();
    for (index, (_, names, fails)) in (0..).zip(of_trials).filter(|(_, one)| one.0 == part) {
        let mut record = with_metrics(index, names);
        if *fails == 0 {
            record.status =
                Status::Failed { stage: "unpack".to_owned(), reason: format!("EIO {index}") };
        }
        file.append(&trial(index), &record).unwrap();
    }
    path
}

/// The rows that people read.
fn values(file: &RunFile) -> Vec<(u32, String, String, f64)> {
    let query = "SELECT trial, step, metric, value FROM value ORDER BY trial, step, metric";
    let mut statement = file.connection.prepare(query).unwrap();
    let rows =
        statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)));
    rows.unwrap().map(std::result::Result::unwrap).collect()
}

/// A merged file can be continued: what is appended has a prefix and names of its own file.
#[test]
fn a_merged_file_can_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (part(&folder, "a", &[0, 1]), part(&folder, "b", &[2]));
    let (all, _) = merge(&folder, &[first, second]).unwrap();
    let path = all.path().to_owned();
    drop(all);
    let mut all = RunFile::open_for_append(&path).unwrap();
    let more = with_metrics(3, &BTreeSet::from([1, 2, 3]));
    all.append(&trial(3), &more).unwrap();
    let expected = [(0, record(0)), (1, record(1)), (2, record(2)), (3, more)];
    assert_eq!(all.records().unwrap(), expected.map(|(index, record)| (trial(index), record)));
    assert_eq!(all.verify().unwrap(), Integrity::Intact { attempts: 4, verdict: false });
}
