//! The figures behind the statistics: one command, fixed seeds.
//!
//! ```text
//! cargo run --release -p seekwell-bench --example statistics -- COMMAND
//!
//! whole [PART…]    measure the kept table, all parts or some, write it with its raw results into
//!                  benches/runs/statistics, and bring docs/statistics-table.md up to date
//! rehearse [PART…] the same by the seeds of development, only printed: for work on the method
//! small [PART…]    the same with few cases
//! table            only bring docs/statistics-table.md up to date
//! replay FILE [METRIC higher|lower TIE [TIMES]]
//!                  replay the race over recorded trials, and look at them critically
//! ```
//!
//! Called in the root of the source tree.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]
#![allow(clippy::expect_used, reason = "a benchmark stops at the first surprise")]

#[path = "suite.rs"]
mod suite;

use seekwell_stats::Better;
use seekwell_stats::checks::{Trend, check};
use seekwell_stats::effects::effects;
use std::error::Error;
use std::fs;
use std::path::Path;
use suite::recorded::{self, Recorded};
use suite::replay::{self, JUDGED, Replay, Rounds, TIE};
use suite::row::{Row, Share, head, markdown, page, read_raw, write};
use suite::{DEVELOPMENT, PARTS, Scale, each};

/// Folder of the results.
const FOLDER: &str = "benches/runs/statistics";
/// The page of all tables.
const DOCUMENT: &str = "docs/statistics-table.md";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["small", parts @ ..] => measure(Scale::SMALL, parts, None),
        ["rehearse", parts @ ..] => {
            measure(Scale { seeds: DEVELOPMENT, ..Scale::WHOLE }, parts, None)
        }
        ["whole", parts @ ..] => {
            measure(Scale::WHOLE, parts, Some(Path::new(FOLDER)))?;
            table()
        }
        ["table"] => table(),
        ["replay", file] => print_replay(file, JUDGED, Better::Lower, TIE, 1000),
        ["replay", file, metric, better, tie, rest @ ..] => {
            let better = if *better == "higher" { Better::Higher } else { Better::Lower };
            let times = rest.first().map_or(Ok(1000), |times| times.parse())?;
            print_replay(file, metric, better, tie.parse()?, times)
        }
        _ => Err(
            "say whole, rehearse, small, table, or replay FILE [METRIC higher|lower TIE [TIMES]]"
                .into(),
        ),
    }
}

/// Measures some parts, all when none is named, and writes each as soon as it is done.
fn measure(scale: Scale, parts: &[&str], folder: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let parts = if parts.is_empty() { &PARTS[..] } else { parts };
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(part)) {
        return Err(format!("no part {unknown}; there are {}", PARTS.join(", ")).into());
    }
    println!("{}", head());
    let (mut judged, mut reached) = (0, 0);
    for part in parts {
        let mut rows: Vec<Row> = Vec::new();
        suite::run(scale, part, &mut |row: Row| {
            println!("{}", markdown(&row.cells()));
            rows.push(row);
        });
        judged += rows.iter().filter(|row| row.reached.is_some()).count();
        reached += rows.iter().filter(|row| row.reached == Some(true)).count();
        if let Some(folder) = folder {
            write(folder, part, &rows)?;
        }
    }
    println!("\nreached: {reached} of {judged} rows with a target");
    Ok(())
}

/// Brings the document up to date.
fn table() -> Result<(), Box<dyn Error>> {
    Ok(fs::write(DOCUMENT, page(Path::new(FOLDER), &PARTS)?)?)
}

fn print_replay(
    file: &str,
    metric: &str,
    better: Better,
    tie: f64,
    times: usize,
) -> Result<(), Box<dyn Error>> {
    let recorded = recorded::read(&read_raw(Path::new(file))?, metric)?;
    let answer = replay::exhaustive(&recorded, better)?;
    let wide = tie.max(answer.resolves);
    println!("{} stacks, {} trials, {metric}", recorded.labels.len(), answer.trials);
    println!("standard deviation of a log paired ratio: {:.3}", answer.paired_spread);
    println!(
        "best {}, then {}: resolved to ±{:.1} %; tie {:.1} %",
        recorded.labels[answer.best],
        recorded.labels[answer.second],
        100.0 * answer.resolves,
        100.0 * wide
    );
    print_checks(&recorded);
    print_axes(&recorded);
    for rounds in [Rounds::All, Rounds::Half] {
        let runs: Result<Vec<Replay>, String> =
            each(times, |case| replay::replay(&recorded, better, wide, rounds, case as u64))
                .into_iter()
                .collect();
        let runs = runs?;
        let agree = Share::count(&runs, |run| run.worse_by <= wide);
        let open = Share::count(&runs, |run| run.kind == "unresolved");
        let trials: usize = runs.iter().map(|run| run.trials).sum();
        let cost = 100.0 * trials as f64 / (times * answer.trials) as f64;
        println!("{rounds:?}: agrees {agree}, inconclusive {open}, {cost:.1} % of the trials");
        let mut chosen = vec![0_usize; recorded.labels.len()];
        runs.iter().for_each(|run| chosen[run.choice] += 1);
        for (label, count) in recorded.labels.iter().zip(chosen).filter(|(_, count)| *count > 0) {
            println!("  chose {label} {count} times");
        }
    }
    Ok(())
}

/// Prints the checks of a run on recorded trials.
fn print_checks(recorded: &Recorded) {
    let found = check(&recorded.trials);
    let trend = |what: &str, trend: Option<Trend>| match trend {
        Some(trend) => {
            let percent = |factor: f64| 100.0 * (factor - 1.0);
            let (low, high) = (percent(trend.change.low), percent(trend.change.high));
            let centre = percent(trend.change.centre);
            println!("{what}: {centre:+.1} % ({low:+.1} to {high:+.1}), p = {:.4}", trend.p);
        }
        None => println!("{what}: cannot be said"),
    };
    trend("drift from the first round to the last", found.drift);
    trend("from the first place of a round to the last", found.order);
    if let Some(carry) = found.carry_over {
        println!("carry-over: best to worst predecessor × {:.3}, p = {:.4}", carry.factor, carry.p);
    }
    if let Some(p) = found.dependence_p {
        println!("dependence of successive trials: p = {p:.4}");
    }
}

/// Prints the effect of each axis.
fn print_axes(recorded: &Recorded) {
    let values: Vec<Vec<Option<f64>>> =
        recorded.values.iter().map(|row| row.iter().copied().map(Some).collect()).collect();
    let found = effects(&recorded.design, &values, 0.95);
    for axis in found.iter().flat_map(|effects| &effects.axes) {
        println!(
            "{}: × {:.2} ({:.2} to {:.2}) between its extremes, {:.0} % of the differences",
            recorded.axes[axis.axis],
            axis.change.centre,
            axis.change.low,
            axis.change.high,
            100.0 * axis.share
        );
    }
}
