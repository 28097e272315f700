//! A small version of the figures behind the statistics, on every test run.
//!
//! The limits here are those of the whole table, loosened by what so few cases can show; the
//! whole table is `cargo run --release -p seekwell-stats --example statistics -- whole`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of a test stop at the first surprise"
)]
#![allow(dead_code, reason = "the example uses more of the suite than this test")]

#[path = "../examples/statistics/suite.rs"]
mod suite;

use suite::row::Row;
use suite::{Scale, run};

const SCALE: Scale = Scale { matrices: 40, largest: 48, cases: 200, timed: 16 };

fn rows(part: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    run(SCALE, &[part], |row| rows.push(row));
    rows
}

fn case(row: &Row) -> String {
    format!("{}, {}: {}", row.what, row.case, row.figures)
}

#[test]
fn races_choose_well_and_certify_honestly() {
    for row in rows("choice") {
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
fn table_and_raw_results_are_written() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let rows = rows("coverage");
    suite::row::write(folder.path(), "a command", &rows).expect("a writable folder");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
    let table = read("table.md");
    assert!(table.starts_with("Command: `a command`"));
    assert_eq!(table.lines().count(), rows.len() + 4);
    let raw = read("coverage.csv").lines().count() + read("dependence.csv").lines().count();
    assert_eq!(raw, rows.len() + 2, "one line per row and two heads");
}

/// A recorded matrix of 2 × 12 stacks and 40 rounds with known effects.
fn recorded_text() -> String {
    let mut rng = seekwell_stats::seeded(1);
    let mut text = "label,filesystem,scheduler,round,value\n".to_owned();
    for round in 0..40 {
        for fs in 0..4 {
            for scheduler in 0..6 {
                let log = 0.1 * f64::from(fs) + 0.02 * f64::from(scheduler) + 0.05 * rng.normal();
                let value = log.exp();
                text.push_str(&format!(
                    "fs{fs}/s{scheduler},fs{fs},s{scheduler},{round},{value}\n"
                ));
            }
        }
    }
    text
}

#[test]
fn recorded_trials_are_replayed() {
    let text = recorded_text();
    let recorded = suite::replay::read(&text).expect("a readable file");
    assert_eq!((recorded.labels.len(), recorded.values[0].len()), (24, 40));
    assert_eq!(recorded.design.size(1), 6);
    let found = suite::replay::replay(&recorded, seekwell_stats::Better::Lower, 0.05, 50)
        .expect("positive values");
    assert!(found.agree >= 45, "{} of {}", found.agree, found.of);
    assert!(found.cost < 0.5, "{}", found.cost);
    assert!((found.paired_spread - 0.07).abs() < 0.02);
    let holes = text.replace("fs0/s0,fs0,s0,3,", "# ");
    assert_eq!(suite::replay::read(&holes).expect("readable").values[0].len(), 39);
    assert!(suite::replay::read("head\nx,y\n").is_err());
    assert!(suite::replay::read("head\nx,0,first,1.0\n").is_err());
}
