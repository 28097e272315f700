//! A writer that is killed at any moment leaves a run with every record that it said was kept.
#![cfg(test)]

use seekwell_store::RunFile;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[path = "../src/fixture.rs"]
mod fixture;

/// Names the run file for the child; the test of that name is a child only when it is set.
const CHILD: &str = "SEEKWELL_STORE_TEST_CHILD";

/// Goes on with the run, or begins it, and says after each record that it was kept.
#[test]
fn child_appends_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let path = Path::new(&path);
    let mut file = match path.exists() {
        true => RunFile::open_for_append(path).unwrap(),
        false => RunFile::create(path, &fixture::plan(), &fixture::environment()).unwrap(),
    };
    let first = file.completed().unwrap().len() as u32;
    for index in first.. {
        let mut record = fixture::record(index);
        record.steps[0].histograms.insert("read".to_owned(), random_bytes(index));
        file.append(&fixture::trial(index), &record).unwrap();
        println!("kept {index}");
    }
}

/// Bytes that do not deflate, so that a record is several pages.
fn random_bytes(seed: u32) -> Vec<u8> {
    let mut state = u64::from(seed) + 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    (0..20_000).map(|_| next()).collect()
}

/// Starts a child, waits until it said so often that a record was kept, kills it `delay` later,
/// and gives the last index that it said was kept.
fn kill_after(path: &Path, records: u64, delay: Duration) -> Option<u32> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_appends_until_it_is_killed", "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let mut kept = lines.filter_map(|line| line.rsplit_once("kept ")?.1.parse().ok());
    let mut last = None;
    for _ in 0..records {
        last = kept.next();
    }
    std::thread::sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
    kept.last().or(last)
}

#[test]
fn killed_writers_lose_nothing_and_leave_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.seekwell");
    let mut kept = 0;
    let mut inside_a_write = 0;
    // At least so many kills, and so many more until some hit a write.
    for round in 0..400_u64 {
        if round >= 40 && inside_a_write >= 5 {
            break;
        }
        let delay = Duration::from_micros(round * 1_237 % 6_000);
        let said = kill_after(&path, round % 4, delay);
        inside_a_write += u32::from(folder.path().join("run.seekwell-journal").exists());
        if !path.exists() {
            assert_eq!(said, None);
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
            continue;
        }
        let file = RunFile::open(&path).unwrap();
        let records = file.records().unwrap();
        let indices: Vec<u32> = records.iter().map(|(trial, _)| trial.index).collect();
        assert_eq!(indices, (0..records.len() as u32).collect::<Vec<_>>());
        let least = said.map_or(kept, |index| index + 1);
        assert!(indices.len() as u32 >= least, "{} records, {least} were kept", indices.len());
        kept = indices.len() as u32;
        drop(file);
        // A journal that was not yet complete needs no rollback; the next writer removes it.
        drop(RunFile::open_for_append(&path).unwrap());
        let names =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["run.seekwell"]);
    }
    assert!(inside_a_write >= 5, "only {inside_a_write} kills hit a write");
}
