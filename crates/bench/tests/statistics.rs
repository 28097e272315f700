//! A small version of the figures behind the statistics, on every test run.
//!
//! The limits here are those of the whole table, loosened by what so few cases can show; the
//! whole table is `cargo run --release -p seekwell-bench --example statistics -- whole`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of a test stop at the first surprise"
)]
#![allow(dead_code, reason = "the example uses more of the suite than this test")]

#[path = "../examples/statistics/suite.rs"]
mod suite;

use std::fs;
use std::path::{Path, PathBuf};
use suite::row::{Row, kept_table, page, read_csv, read_raw, table_path, write};
use suite::{DEVELOPMENT, PARTS, Scale, recorded, replay, run};

const SCALE: Scale = Scale { matrices: 30, cases: 200, timed: 16, seeds: DEVELOPMENT };

fn rows(part: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    run(SCALE, part, &mut |row| rows.push(row));
    rows
}

fn case(row: &Row) -> String {
    format!("{}, {}: {}", row.what, row.case, row.figures)
}

#[test]
fn races_choose_well_and_certify_honestly() {
    for row in rows("choice-48") {
        let trouble = row.case.contains("tails") || row.case.contains("over");
        let share = row.share.value();
        if row.what.starts_with("chosen") {
            assert!(share >= if trouble { 0.8 } else { 0.9 }, "{}", case(&row));
        } else {
            assert!(share <= 0.15, "{}", case(&row));
        }
        assert!(row.unresolved.is_some(), "every such row says how much was not resolved");
    }
}

#[test]
fn equal_stacks_have_no_winner_and_unequal_ones_do() {
    for row in rows("equal") {
        let share = row.share.value();
        match row.what {
            "a true 5 % difference is found" => assert!(share >= 0.9, "{}", case(&row)),
            "identical stacks" if row.case.contains("CoV 5 %") => {
                assert!(share <= 0.6, "{}", case(&row));
            }
            "identical stacks" => assert!(share >= 0.9, "{}", case(&row)),
            _ => assert!(share <= 0.10, "{}", case(&row)),
        }
    }
}

#[test]
fn intervals_cover_and_dependence_is_marked() {
    for row in rows("coverage") {
        let share = row.share.value();
        match row.what {
            "coverage of 95 % intervals" => {
                assert!((0.90..=0.99).contains(&share), "{}", case(&row));
            }
            "dependent rounds are marked" if row.reached.is_some() => {
                assert!(share >= 0.8, "{}", case(&row));
            }
            "dependent rounds are marked" if row.case.contains("autoregressive 0,") => {
                assert!(share <= 0.11, "{}", case(&row));
            }
            _ => {}
        }
    }
}

#[test]
fn times_are_predicted() {
    for row in rows("timing") {
        let floor = match row.case.as_str() {
            text if text.contains("forecast") => 0.25,
            text if text.contains("likely") => 0.4,
            _ => 0.85,
        };
        assert!(row.share.value() >= floor, "{}", case(&row));
    }
}

#[test]
fn recorded_trials_agree_with_their_exhaustive_answer() {
    for row in rows("recorded") {
        assert!(row.share.value() >= 0.85, "{}", case(&row));
    }
}

#[test]
fn table_and_raw_results_are_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rows = rows("coverage");
    write(folder.path(), "coverage", &rows).expect("a writable folder");
    let kept = read_csv(&fs::read_to_string(table_path(folder.path(), "coverage")).expect("table"));
    let cells: Vec<Vec<String>> = rows.iter().map(|row| row.cells().to_vec()).collect();
    assert_eq!(kept, cells, "what is kept reads back as it was");
    let lines = |name: &str| {
        let path = folder.path().join("raw").join(name);
        read_raw(&path).expect(name).lines().count()
    };
    assert_eq!(lines("coverage.csv.gz") + lines("dependence.csv.gz"), rows.len() + 2);
    let table = kept_table(folder.path(), &PARTS).expect("a readable folder");
    assert_eq!(table.lines().count(), rows.len() + 2, "parts not measured are left out");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_document_shows_the_kept_table() {
    let document =
        fs::read_to_string(root().join("docs/statistics-table.md")).expect("the document");
    let folder = root().join("benches/runs/statistics");
    for part in PARTS {
        assert!(table_path(&folder, part).exists(), "part {part} was never measured");
    }
    let right = page(&folder, &PARTS).expect("the kept tables");
    assert!(
        document == right,
        "docs/statistics-table.md shows another table than benches/runs/statistics keeps: run \
         `cargo run --release -p seekwell-bench --example statistics -- table`"
    );
}

/// The first number of a cell such as "98.4 % (97.4–99.0); …", in per cent.
fn first_percent(cell: &str) -> f64 {
    cell.split(' ').next().and_then(|number| number.parse().ok()).expect("a number in front")
}

#[test]
fn the_kept_table_follows_from_the_kept_raw_results() {
    let folder = root().join("benches/runs/statistics");
    let mut compared = 0;
    let table: Vec<Vec<String>> = PARTS
        .iter()
        .filter(|part| part.starts_with("choice"))
        .map(|part| fs::read_to_string(table_path(&folder, part)).expect("a kept table"))
        .flat_map(|text| read_csv(&text))
        .collect();
    for (stacks, sigma) in [48, 192, 480].into_iter().flat_map(|k| [(k, "0.25"), (k, "0.05")]) {
        let raw = folder.join(format!("raw/choice-{stacks}-{sigma}-none.csv.gz"));
        let raw = read_raw(&raw).expect("kept raw results");
        for (noise, name) in [("Calm", "calm"), ("Fast17", "FAST'17-like")] {
            let cell = format!("{name}, K = {stacks}, σ(fs) = {sigma}");
            let losses: Vec<f64> = raw
                .lines()
                .filter(|line| line.starts_with(noise))
                .map(|line| line.split(',').nth(2).and_then(|loss| loss.parse().ok()))
                .collect::<Option<_>>()
                .expect("a loss in every line");
            assert!(losses.len() >= 1000, "{cell}: {} matrices", losses.len());
            let good = losses.iter().filter(|loss| **loss <= 0.02).count();
            let share = 100.0 * good as f64 / losses.len() as f64;
            let row = table
                .iter()
                .find(|row| row[0].starts_with("chosen") && row[1] == cell)
                .expect("a line of the table");
            assert!((first_percent(&row[2]) - share).abs() < 0.11, "{cell}: {share}: {row:?}");
            compared += 1;
        }
    }
    assert_eq!(compared, 12);
}

/// A recorded matrix of 4 × 6 stacks and 40 rounds with known effects.
fn recorded_text() -> String {
    let mut rng = seekwell_stats::seeded(1);
    let mut text = "stack,axis.fs,axis.scheduler,round,position,status,value\n".to_owned();
    for round in 0..40 {
        for fs in 0..4 {
            for scheduler in 0..6 {
                let log = 0.1 * f64::from(fs) + 0.02 * f64::from(scheduler) + 0.05 * rng.normal();
                let (position, value) = (6 * fs + scheduler, log.exp());
                text.push_str(&format!(
                    "fs{fs}/s{scheduler},fs{fs},s{scheduler},{round},{position},ok,{value}\n"
                ));
            }
        }
    }
    text
}

#[test]
fn recorded_trials_are_read_and_replayed() {
    let text = recorded_text();
    let found = recorded::read(&text, "value").expect("a readable file");
    assert_eq!((found.labels.len(), found.values[0].len(), found.trials.len()), (24, 40, 960));
    assert_eq!(found.design.size(1), 6);
    let answer = replay::exhaustive(&found, seekwell_stats::Better::Lower).expect("24 stacks");
    assert_eq!(found.labels[answer.best], "fs0/s0");
    assert!((answer.paired_spread - 0.07).abs() < 0.02);
    for rounds in [replay::Rounds::All, replay::Rounds::Half] {
        let better = seekwell_stats::Better::Lower;
        let once = |seed| replay::replay(&found, better, 0.05, rounds, seed).expect("values");
        let good = (0..20).filter(|seed| once(*seed).worse_by <= 0.05).count();
        assert!(good >= 18, "{good} of 20 with {rounds:?}");
        assert!(once(1).trials < 480);
    }
    let failed = text.replace("fs0/s0,fs0,s0,3,0,ok", "fs0/s0,fs0,s0,3,0,failed");
    assert_eq!(recorded::read(&failed, "value").expect("readable").values[0].len(), 39);
    assert!(recorded::read(&text, "seconds").is_err());
    let odd = "stack,round,position,value\nx,first,0,1.0\n";
    let error = recorded::read(odd, "value").err().expect("a round that is a word");
    assert_eq!(error, "line 2: the round is not a number: x,first,0,1.0");
}
