use super::*;
use crate::fixture::{environment, plan, record, trial, verdict};
use seekwell_model::record::{BlockEvent, BlockEvents, Sample, Status};
use std::os::unix::fs::FileExt;

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn create(folder: &tempfile::TempDir) -> RunFile {
    RunFile::create(&folder.path().join("mail.seekwell"), &plan(), &environment()).unwrap()
}

fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Path, instead of the temporary folder, for golden messages.
fn told<T: std::fmt::Debug>(result: Result<T>, path: &Path) -> String {
    result.unwrap_err().to_string().replace(&path.display().to_string(), "RUN")
}

#[test]
fn everything_comes_back_after_closing() {
    let folder = folder();
    let mut file = create(&folder);
    let records: Vec<(PlannedTrial, Record)> =
        (0..4).map(|index| (trial(index), record(index))).collect();
    // Not in order: a run that was resumed fills holes.
    for index in [2, 0, 3, 1] {
        file.append(&records[index].0, &records[index].1).unwrap();
    }
    file.set_verdict(&verdict()).unwrap();
    drop(file);
    assert_eq!(names(&folder), ["mail.seekwell"]);

    let file = RunFile::open(&folder.path().join("mail.seekwell")).unwrap();
    assert_eq!(file.plan().unwrap(), plan());
    assert_eq!(file.environment().unwrap(), environment());
    assert_eq!(file.backend().unwrap(), "host");
    assert_eq!(file.records().unwrap(), records);
    assert_eq!(file.verdict().unwrap(), Some(verdict()));
    assert!(file.tool().unwrap().starts_with("seekwell "));
    chrono::DateTime::parse_from_rfc3339(&file.created_at().unwrap()).unwrap();
}

/// The fake clock steps back by years, stops, and leaps ahead: attempts keep the order in which they were written.
#[test]
fn a_clock_that_steps_changes_no_trial_and_not_which_attempt_counts() {
    let folder = folder();
    let mut file = create(&folder);
    let clock = ["2026-11-23T01:00:00Z", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z"];
    let mut failed = record(1);
    failed.status =
        Status::Failed { stage: "mount".to_owned(), reason: "tried before the step".to_owned() };
    file.append_at(&trial(1), &failed, "2099-01-01T00:00:00Z").unwrap();
    for (index, now) in (0..).zip(clock) {
        file.append_at(&trial(index), &record(index), now).unwrap();
    }
    drop(file);
    let file = RunFile::open(&folder.path().join("mail.seekwell")).unwrap();
    let expected: Vec<_> = (0..3).map(|index| (trial(index), record(index))).collect();
    assert_eq!(file.records().unwrap(), expected);
    assert_eq!(file.completed().unwrap(), BTreeSet::from([0, 1, 2]));
    assert!(matches!(file.verify().unwrap(), crate::Integrity::Intact { .. }));
}

#[test]
fn blobs_and_odd_numbers_survive() {
    let folder = folder();
    let mut file = create(&folder);
    let mut full = record(0);
    full.timeline = vec![Sample { at_ns: 5, reads_per_s: 0.1 + 0.2, ..Sample::default() }];
    full.journal_timeline = vec![Sample { dirty_bytes: Some(7), ..Sample::default() }];
    let event =
        BlockEvent { at_ns: 1, complete: true, sector: 2, sectors: 3, operation: 'W', pid: 4 };
    full.block_events = Some(BlockEvents { events: vec![event], lost: 9 });
    full.steps[0].histograms.insert("read".to_owned(), vec![1, 2, 3]);
    full.steps[1].histograms.insert("write".to_owned(), vec![0; 1000]);
    full.steps[1].metrics.insert("elapsed".to_owned(), 1.000_000_000_000_000_2);
    let planned = PlannedTrial { seed: u64::MAX, ..trial(0) };
    file.append(&planned, &full).unwrap();
    assert_eq!(file.records().unwrap(), vec![(planned, full)]);
}

#[test]
fn a_metric_that_is_no_number_is_left_out_with_a_warning() {
    let folder = folder();
    let mut file = create(&folder);
    let mut odd = record(0);
    odd.steps[0].metrics.insert("iops".to_owned(), f64::NAN);
    file.append(&trial(0), &odd).unwrap();
    let (_, back) = &file.records().unwrap()[0];
    assert_eq!(back.steps[0].metrics.get("iops"), None);
    assert_eq!(back.steps[0].warnings[0].code, "not-a-number");
    assert_eq!(back.steps[0].warnings[0].text, "mkfs.iops was NaN and is left out");
}

#[test]
fn a_failed_trial_is_kept_and_not_completed_and_a_retry_counts() {
    let folder = folder();
    let mut file = create(&folder);
    let failed = Record {
        status: Status::Failed { stage: "unpack".to_owned(), reason: "EIO".to_owned() },
        ..record(1)
    };
    let marked = Record { status: Status::Marked, ..record(2) };
    file.append(&trial(0), &record(0)).unwrap();
    file.append(&trial(1), &failed).unwrap();
    file.append(&trial(2), &marked).unwrap();
    assert_eq!(file.completed().unwrap(), BTreeSet::from([0, 2]));
    assert_eq!(file.records().unwrap()[1].1, failed);

    file.append(&trial(1), &record(1)).unwrap();
    assert_eq!(file.completed().unwrap(), BTreeSet::from([0, 1, 2]));
    assert_eq!(file.records().unwrap().len(), 3);
    assert_eq!(file.records().unwrap()[1].1, record(1));
    let statuses: Vec<_> =
        file.attempts().unwrap().iter().map(|(_, record)| record.status.word()).collect();
    assert_eq!(statuses, ["ok", "failed", "marked", "ok"]);
}

#[test]
fn a_record_after_the_verdict_forgets_the_verdict() {
    let folder = folder();
    let mut file = create(&folder);
    file.set_verdict(&verdict()).unwrap();
    assert_eq!(file.verdict().unwrap(), Some(verdict()));
    file.append(&trial(0), &record(0)).unwrap();
    assert_eq!(file.verdict().unwrap(), None);
}

#[test]
fn sql_users_find_values_by_name() {
    let folder = folder();
    let mut file = create(&folder);
    file.append(&trial(0), &record(0)).unwrap();
    file.append(&trial(1), &record(1)).unwrap();
    let query = "SELECT stack, workload, round, value FROM value
                 WHERE step = 'unpack' AND metric = 'elapsed_durable' ORDER BY trial";
    let mut statement = file.connection.prepare(query).unwrap();
    let rows: Vec<(String, String, u32, f64)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap()
        .map(|row| row.unwrap())
        .collect();
    let mail = || "mail".to_owned();
    assert_eq!(
        rows,
        vec![("ext4/none".to_owned(), mail(), 0, 2.0), ("xfs/none".to_owned(), mail(), 0, 2.125)]
    );
}

#[test]
fn nothing_is_overwritten() {
    let folder = folder();
    let path = folder.path().join("taken");
    std::fs::write(&path, "a letter").unwrap();
    assert_eq!(
        told(RunFile::create(&path, &plan(), &environment()), &path),
        "RUN exists and is not overwritten; name another file with -o, continue it with --resume, or move it away"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "a letter");
    assert_eq!(names(&folder), ["taken"]);
    let mut file = create(&folder);
    assert!(matches!(file.export(&path), Err(StoreError::Exists { .. })));
}

#[test]
fn files_without_nameless_neighbours_are_made_by_name() {
    let folder = folder();
    let path = folder.path().join("run");
    let lock = write_named(&path, b"bytes").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"bytes");
    assert!(WriterLock::open(&path).unwrap().is_none());
    drop(lock);
    let again = write_named(&path, b"other").unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(&path).unwrap(), b"bytes");
}

#[test]
fn an_export_is_a_run_of_its_own() {
    let folder = folder();
    let mut file = create(&folder);
    file.append(&trial(0), &record(0)).unwrap();
    let copy = folder.path().join("copy.seekwell");
    file.export(&copy).unwrap();
    file.append(&trial(1), &record(1)).unwrap();
    let copy = RunFile::open_for_append(&copy).unwrap();
    assert_eq!(copy.records().unwrap(), vec![(trial(0), record(0))]);
}

#[test]
fn one_writer_at_a_time_and_readers_beside() {
    let folder = folder();
    let mut file = create(&folder);
    let path = file.path().to_owned();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let refused = told(RunFile::open_for_append(&path), &path);
    let begin = format!("RUN is being written by process {} on {host} (since ", std::process::id());
    assert!(refused.starts_with(&begin), "{refused}");
    assert!(refused.ends_with("); wait for it, or end it with its own Ctrl-C"), "{refused}");
    let reader = RunFile::open(&path).unwrap();
    file.append(&trial(0), &record(0)).unwrap();
    assert_eq!(reader.records().unwrap().len(), 1);
    drop(reader);
    drop(file);
    drop(RunFile::open_for_append(&path).unwrap());
}

#[test]
fn a_reader_cannot_append() {
    let folder = folder();
    let path = create(&folder).path().to_owned();
    let mut reader = RunFile::open(&path).unwrap();
    assert!(matches!(reader.append(&trial(0), &record(0)), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(reader.set_verdict(&verdict()), Err(StoreError::ReadOnly { .. })));
    assert_eq!(reader.records().unwrap(), vec![]);
}

#[test]
fn what_is_no_run_is_told_apart() {
    let folder = folder();
    let path = folder.path().join("x");
    assert_eq!(told(RunFile::open(&path), &path), "run file RUN not found; check the path");
    assert_eq!(
        told(RunFile::open_for_append(&path), &path),
        "run file RUN not found; check the path"
    );
    std::fs::write(&path, "").unwrap();
    assert_eq!(
        told(RunFile::open(&path), &path),
        "RUN is empty: no run was ever written to it; remove it and start the run again"
    );
    std::fs::write(&path, "[lab]\nname = \"mail\"\n".repeat(300)).unwrap();
    assert_eq!(
        told(RunFile::open(&path), &path),
        "RUN is not an SQLite file, so it is not a run file; give the path of a file that 'seekwell run' wrote"
    );
    std::fs::remove_file(&path).unwrap();
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TABLE letters (text)").unwrap();
    drop(other);
    assert_eq!(
        told(RunFile::open(&path), &path),
        "RUN is an SQLite file of another program, so it is not a run file; give the path of a file that 'seekwell run' wrote"
    );
    assert_eq!(
        told(RunFile::open(folder.path()), folder.path()),
        "cannot open RUN: it is a directory, not a regular file"
    );
    assert_eq!(names(&folder), ["x"]);
}

fn with_format(folder: &tempfile::TempDir, version: i64) -> PathBuf {
    let path = create(folder).path().to_owned();
    let raw = Connection::open(&path).unwrap();
    raw.pragma_update(None, "user_version", version).unwrap();
    raw.execute("UPDATE meta SET value = 'seekwell 7.1.0' WHERE key = 'tool'", []).unwrap();
    path
}

#[test]
fn a_newer_major_format_is_refused_in_words() {
    let folder = folder();
    let path = with_format(&folder, (3 << 16) + 3);
    let expected = "RUN has format 3.3 (written by seekwell 7.1.0), and this program reads up to 2.0; update seekwell to read it";
    assert_eq!(told(RunFile::open(&path), &path), expected);
    assert_eq!(told(RunFile::open_for_append(&path), &path), expected);
}

#[test]
fn a_newer_minor_format_is_read() {
    let folder = folder();
    let path = with_format(&folder, (2 << 16) + 9);
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch("ALTER TABLE attempt ADD COLUMN temperature REAL").unwrap();
    drop(raw);
    let mut file = RunFile::open_for_append(&path).unwrap();
    file.append(&trial(0), &record(0)).unwrap();
    assert_eq!(file.records().unwrap(), vec![(trial(0), record(0))]);
}

#[test]
fn a_format_of_before_the_first_release_is_refused_in_words() {
    let folder = folder();
    let path = with_format(&folder, 1 << 16);
    let expected = "RUN has format 1.0, which was written before seekwell 0.1.0 and is no longer read; run its lab again";
    assert_eq!(told(RunFile::open(&path), &path), expected);
    assert_eq!(told(RunFile::open_for_append(&path), &path), expected);
}

#[test]
fn an_impossible_format_is_damage() {
    let folder = folder();
    let path = with_format(&folder, 5);
    assert!(
        told(RunFile::open(&path), &path)
            .starts_with("RUN is damaged: it states the impossible format number 5;")
    );
}

/// A run with twelve trials.
fn filled(folder: &tempfile::TempDir) -> (PathBuf, Vec<(PlannedTrial, Record)>) {
    let mut file = create(folder);
    let mut records = Vec::new();
    for index in 0..12 {
        let mut full = record(index);
        full.steps[0].histograms.insert("read".to_owned(), (0..=255).cycle().take(3000).collect());
        file.append(&trial(index), &full).unwrap();
        records.push((trial(index), full));
    }
    (file.path().to_owned(), records)
}

#[test]
fn a_file_cut_anywhere_is_refused_and_never_half_read() {
    let folder = folder();
    let (path, records) = filled(&folder);
    let whole = std::fs::read(&path).unwrap();
    for step in 0..40 {
        let cut = whole.len() * step / 40;
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert!(RunFile::open(&path).is_err(), "cut at {cut} of {}", whole.len());
        assert!(RunFile::open_for_append(&path).is_err(), "cut at {cut}");
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(RunFile::open(&path).unwrap().records().unwrap(), records);
}

#[test]
fn a_changed_byte_is_noticed_or_without_effect() {
    let folder = folder();
    let (path, records) = filled(&folder);
    let length = std::fs::metadata(&path).unwrap().len();
    let (mut refused, mut same) = (0, 0);
    for step in 0..400 {
        let at = length * step / 400 + 37 % (length / 400).max(1);
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 0x11], at).unwrap();
        match RunFile::open(&path).and_then(|run| run.records()) {
            Ok(read) => {
                // Records carry their checksum; rows that no longer are found make fewer records.
                assert!(read.iter().all(|pair| records.contains(pair)), "byte {at}");
                same += 1;
            }
            Err(_) => refused += 1,
        }
        file.write_all_at(&byte, at).unwrap();
    }
    assert!(refused > 100 && same > 0, "{refused} refused, {same} without effect");
    assert_eq!(RunFile::open(&path).unwrap().records().unwrap(), records);
}

#[test]
fn a_full_disk_is_said_and_what_was_kept_stays() {
    let folder = folder();
    let mut file = create(&folder);
    file.append(&trial(0), &record(0)).unwrap();
    let pages: i64 =
        file.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    // SQLite's own limit fails as a full disk does (SQLITE_FULL).
    file.connection.pragma_update(None, "max_page_count", pages).unwrap();
    let mut large = record(1);
    large.steps[0].name = "x".repeat(100_000);
    let path = file.path().to_owned();
    assert_eq!(
        told(file.append(&trial(1), &large), &path),
        "no space left to write RUN: free some space, then run the lab again, with --resume if the file is there; it has every completed trial"
    );
    file.connection.pragma_update(None, "max_page_count", 1_000_000).unwrap();
    assert_eq!(file.records().unwrap(), vec![(trial(0), record(0))]);
    file.append(&trial(1), &record(1)).unwrap();
    assert_eq!(file.completed().unwrap(), BTreeSet::from([0, 1]));
}

#[test]
fn the_bytes_are_those_of_the_file_and_a_copy_can_lack_the_series() {
    let folder = folder();
    let mut file = create(&folder);
    for index in 0..4 {
        let timeline = vec![Sample { at_ns: 100_000_000, ..Sample::default() }; 3];
        file.append(&trial(index), &Record { timeline, ..record(index) }).unwrap();
    }
    let path = folder.path().join("mail.seekwell");
    let bytes = file.bytes().unwrap();
    assert_eq!(bytes, std::fs::read(&path).unwrap());
    let lean = file.bytes_without_series().unwrap();
    assert_eq!(file.bytes().unwrap(), bytes, "the file stays as it is");

    let copy = folder.path().join("lean");
    std::fs::write(&copy, &lean).unwrap();
    let count = |path: &Path, what: &str| -> i64 {
        let query = format!("SELECT count({what}) FROM attempt, metric_block, metric_name");
        Connection::open(path).unwrap().query_row(&query, [], |row| row.get(0)).unwrap()
    };
    assert!(count(&path, "timeline") > 0);
    assert_eq!(count(&copy, "timeline"), 0);
    assert_eq!(count(&copy, "*"), count(&path, "*"));
    let told = told(RunFile::open(&copy).unwrap().records(), &copy);
    assert!(told.contains("damaged"), "{told}");
}

/// Bytes that this thread has read by system calls.
fn bytes_read() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.trim().parse().unwrap()
}

/// A long plan is not read with every record: in a run of 100,000 trials that took far more time than all the rest.
#[test]
fn keeping_a_record_reads_nothing_of_the_plan() {
    let mut long = plan();
    long.trials = (0..100_000).map(trial).collect();
    let folder = folder();
    let path = folder.path().join("long.seekwell");
    let mut file = RunFile::create(&path, &long, &environment()).unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length > 4_000_000, "{length}");
    // The first record brings tables into memory.
    file.append(&trial(0), &record(0)).unwrap();
    let before = bytes_read();
    for index in 1..20 {
        file.append(&trial(index), &record(index)).unwrap();
    }
    let read = bytes_read() - before;
    assert!(read < length, "{read} bytes for 19 records, the file had {length}");

    // A file of an earlier version is as good once it is continued.
    drop(file);
    let raw = rusqlite::Connection::open(&path).unwrap();
    assert_eq!(raw.execute("DELETE FROM meta WHERE key LIKE 'plan.%'", []).unwrap(), 3);
    drop(raw);
    let mut file = RunFile::open_for_append(&path).unwrap();
    file.append(&trial(20), &record(20)).unwrap();
    let before = bytes_read();
    for index in 21..40 {
        file.append(&trial(index), &record(index)).unwrap();
    }
    let read = bytes_read() - before;
    assert!(read < length, "{read} bytes for 19 records, the file had {length}");
    assert_eq!(file.records().unwrap().len(), 40);
}

/// Records that are put are there for others with the next one that is appended, or with `settle`, and not before.
#[test]
fn records_that_are_put_become_durable_together() {
    let folder = folder();
    let mut file = create(&folder);
    let path = file.path().to_owned();
    let seen = || RunFile::open(&path).unwrap().records().unwrap().len();
    file.put(&trial(0), &record(0)).unwrap();
    file.put(&trial(1), &record(1)).unwrap();
    assert_eq!(seen(), 0);
    file.append(&trial(2), &record(2)).unwrap();
    assert_eq!(seen(), 3);
    file.put(&trial(3), &record(3)).unwrap();
    file.settle().unwrap();
    file.settle().unwrap();
    assert_eq!(seen(), 4);
    file.put(&trial(4), &record(4)).unwrap();
    drop(file);
    assert_eq!(seen(), 4, "a process that dies loses what the backend has");
    assert!(matches!(RunFile::open(&path).unwrap().verify(), Ok(Integrity::Intact { .. })));
}

#[test]
fn a_disk_that_is_full_keeps_none_of_those_that_were_put_and_all_before() {
    let folder = folder();
    let mut file = create(&folder);
    file.append(&trial(0), &record(0)).unwrap();
    let pages: i64 =
        file.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    file.connection.pragma_update(None, "max_page_count", pages + 8).unwrap();
    file.put(&trial(1), &record(1)).unwrap();
    let mut large = record(2);
    large.steps[0].name = "x".repeat(100_000);
    let error = file.put(&trial(2), &large).unwrap_err();
    assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
    let path = file.path().to_owned();
    drop(file);
    assert_eq!(RunFile::open(&path).unwrap().records().unwrap(), [(trial(0), record(0))]);
}
