use super::*;
use crate::Integrity;
use crate::fixture::{environment, plan, record, trial};
use std::path::PathBuf;

/// A run of twelve trials, closed.
fn run(folder: &tempfile::TempDir) -> PathBuf {
    run_with_lengths(folder).0
}

/// The same, and the length of the file after each trial.
fn run_with_lengths(folder: &tempfile::TempDir) -> (PathBuf, Vec<u64>) {
    let path = folder.path().join("run.seekwell");
    let mut file = RunFile::create(&path, &plan(), &environment()).unwrap();
    let mut lengths = Vec::new();
    for index in 0..12 {
        let mut kept = record(index);
        // Histograms that do not compress give every attempt pages of its own.
        let mut random = u64::from(index) + 1;
        let noise = (0..6_000).map(|_| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random >> 32) as u8
        });
        kept.steps[1].histograms.insert("write".to_owned(), noise.collect());
        file.append(&trial(index), &kept).unwrap();
        lengths.push(std::fs::metadata(&path).unwrap().len());
    }
    (path, lengths)
}

/// Repairs damaged bytes; every trial of the new file must be one that was written.
fn repaired(folder: &tempfile::TempDir, bytes: &[u8]) -> Result<Repaired> {
    let damaged = folder.path().join("damaged.seekwell");
    let target = folder.path().join("new.seekwell");
    let _ = std::fs::remove_file(&target);
    std::fs::write(&damaged, bytes).unwrap();
    let done = RunFile::repair(&damaged, &target);
    assert_eq!(std::fs::read(&damaged).unwrap(), bytes, "the damaged file stays as it is");
    assert_eq!(done.is_ok(), target.exists(), "no empty file is left");
    if done.is_ok() {
        let file = RunFile::open_for_append(&target).unwrap();
        assert!(matches!(file.verify().unwrap(), Integrity::Intact { .. }));
        assert_eq!(file.plan().unwrap(), plan());
        for (planned, mut kept) in file.attempts().unwrap() {
            assert_eq!(planned, trial(planned.index));
            kept.steps[1].histograms.clear();
            assert_eq!(kept, record(planned.index));
        }
    }
    done
}

#[test]
fn a_good_file_is_saved_whole_with_its_times() {
    let folder = tempfile::tempdir().unwrap();
    let path = run(&folder);
    let done = repaired(&folder, &std::fs::read(&path).unwrap()).unwrap();
    assert_eq!((done.saved, done.lost), (12, vec![]));
    let times = |path: &Path| -> Vec<String> {
        let connection = Connection::open(path).unwrap();
        let mut query = connection.prepare("SELECT written_at FROM attempt ORDER BY id").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().map(rusqlite::Result::unwrap).collect()
    };
    assert_eq!(times(&path), times(&folder.path().join("new.seekwell")));
}

#[test]
fn a_truncated_file_keeps_every_trial_that_is_whole_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let (path, lengths) = run_with_lengths(&folder);
    let whole = std::fs::read(path).unwrap();
    for percent in (30..100).step_by(2) {
        let cut = whole.len() * percent / 100;
        let written = lengths.iter().filter(|length| **length <= cut as u64).count();
        let done = repaired(&folder, &whole[..cut]);
        let saved = done.as_ref().map_or(0, |done| done.saved);
        // The ninth trial split the root of the table: the first page with rows was written then, at 79 % of
        // this file. What is cut before that page has no row of any trial.
        let expected = if percent < 80 { 0 } else { written };
        assert_eq!(saved, expected, "{percent} % of the file, {written} trials in it: {done:?}");
    }
}

#[test]
fn a_page_of_zeroes_costs_few_trials() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(run(&folder)).unwrap();
    let page = crate::schema::PAGE_BYTES as usize;
    let pages = whole.len() / page;
    let mut saved: Vec<usize> = (0..pages)
        .step_by(5)
        .map(|number| {
            let mut torn = whole.clone();
            torn[number * page..(number + 1) * page].fill(0);
            repaired(&folder, &torn).map_or(0, |done| done.saved)
        })
        .collect();
    saved.sort_unstable();
    // The pages of the tables' roots, the plan and what all trials share cost the whole run.
    assert!(saved[saved.len() / 2] >= 11, "half of all pages cost one trial at most: {saved:?}");
}

#[test]
fn a_flipped_bit_never_lets_a_changed_trial_through() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(run(&folder)).unwrap();
    let at_json = |text: &str| whole.windows(text.len()).position(|part| part == text.as_bytes());
    // Plan and environment have no checksum of their own: flips there are not this test's.
    let (begin, end) = (at_json("\"lab\":").unwrap() - 1, at_json("\"control\":null").unwrap());
    let mut random = 7_u64;
    for _ in 0..60 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (random >> 33) as usize % whole.len();
        let near_plan = (begin.saturating_sub(2048)..end + 2048).contains(&at);
        if near_plan {
            continue;
        }
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (random >> 61);
        // Whatever is saved was written: `repaired` compares.
        let _ = repaired(&folder, &flipped);
    }
}

#[test]
fn what_is_no_run_file_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    assert!(repaired(&folder, b"").is_err());
    assert!(repaired(&folder, &[7; 5000]).is_err());
    let whole = std::fs::read(run(&folder)).unwrap();
    let said = repaired(&folder, &whole[..1024]).unwrap_err().to_string();
    assert!(said.contains("lost") || said.contains("malformed"), "{said}");
}
