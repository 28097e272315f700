//! The figures behind the statistics: one command, fixed seeds.
//!
//! `cargo run --release -p seekwell-stats --example statistics -- whole [FOLDER]` measures every
//! row and writes table and raw results (by default into `benches/runs/statistics`);
//! `small [PART]` prints a quick version; `replay FILE higher|lower TIE [TIMES]` replays the race over
//! recorded trials.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its table")]
#![allow(clippy::expect_used, reason = "a benchmark stops at the first surprise")]

#[path = "suite.rs"]
mod suite;

use seekwell_stats::Better;
use std::error::Error;
use std::path::Path;
use suite::row::{HEAD, Row, write};
use suite::{PARTS, Scale, replay};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["small"] => {
            measure(Scale::SMALL, &PARTS);
        }
        ["small", parts @ ..] => {
            measure(Scale::SMALL, parts);
        }
        ["whole", rest @ ..] => {
            let folder = rest.first().copied().unwrap_or("benches/runs/statistics");
            let rows = measure(Scale::WHOLE, &PARTS);
            let command = "cargo run --release -p seekwell-stats --example statistics -- whole";
            write(Path::new(folder), command, &rows)?;
        }
        ["replay", file, better, tie, rest @ ..] => {
            let better = if *better == "higher" { Better::Higher } else { Better::Lower };
            let times = rest.first().map_or(Ok(1000), |times| times.parse())?;
            print_replay(&std::fs::read_to_string(file)?, better, tie.parse()?, times)?;
        }
        _ => return Err("say small, whole [FOLDER], or replay FILE higher|lower TIE".into()),
    }
    Ok(())
}

fn measure(scale: Scale, parts: &[&str]) -> Vec<Row> {
    println!("{HEAD}");
    let mut rows = Vec::new();
    suite::run(scale, parts, |row| {
        println!("{}", row.markdown());
        rows.push(row);
    });
    let judged = rows.iter().filter(|row| row.reached.is_some()).count();
    let reached = rows.iter().filter(|row| row.reached == Some(true)).count();
    println!("\nreached: {reached} of {judged} rows with a target");
    rows
}

fn print_replay(text: &str, better: Better, tie: f64, times: usize) -> Result<(), Box<dyn Error>> {
    let recorded = replay::read(text)?;
    let found = replay::replay(&recorded, better, tie, times)?;
    let percent = |count: usize| 100.0 * count as f64 / found.of as f64;
    println!("stacks {}, rounds {}", recorded.labels.len(), recorded.values[0].len());
    println!("standard deviation of a log paired ratio: {:.3}", found.paired_spread);
    println!(
        "the exhaustive run resolves its best two to ±{:.1} %",
        100.0 * found.exhaustive_resolves
    );
    println!("choice within the tie width of the exhaustive best: {:.1} %", percent(found.agree));
    println!("not resolved: {:.1} %", percent(found.unresolved));
    println!("trials: {:.1} % of the exhaustive run", 100.0 * found.cost);
    Ok(())
}
