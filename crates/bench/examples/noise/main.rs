//! The worth of verdicts under noise: false winners, wrong certificates, coverage, forecasts.
//!
//! ```text
//! cargo run --release -p seekwell-bench --example noise -- COMMAND
//!
//! table [CASES [NOISE [STACKS [ROUNDS]]]]   print the table
//! keep [CASES [MOST [TRIALS]]]              measure the kept table with its raw results into
//!                                           benches/runs/statistics: CASES labs per cell, up to
//!                                           MOST while there are fewer than 1,000 certificates;
//!                                           fewer of labs of more than TRIALS trials
//! forecast [CASES]                          print how often forecasts come true
//! keep-forecasts                            measure the kept forecasts alone
//! ```
//!
//! A noise is one function of `noises.rs`. Every row has the share certified under clean noise of
//! the same size beside it, so that withholding everything does not pass. Called in the root of the
//! source tree.

#![allow(clippy::print_stdout, reason = "a measuring program prints its table")]
#![allow(clippy::expect_used, reason = "a measuring program stops at the first surprise")]

mod cell;
mod forecast;
mod noises;
mod table;

use cell::{Plan, Size};
use forecast::Calibration;
use noises::{NOISES, Noise};
use std::fs;
use std::path::Path;
use table::{Cell, HEAD, Labs, write_lines, write_packed};

/// Seeds of the kept table; development used others.
const SEEDS: &str = "reported noise, method 3";

/// Trials of a lab that is small.
const SMALL: usize = 80;

/// Certificates that tell how many are wrong.
const CERTIFICATES: usize = 1_000;

/// Labs of which a forecast is kept.
const FORECASTS: usize = 6_000;

/// Directory of the kept results.
const FOLDER: &str = "benches/runs/statistics";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, usual: usize| {
        arguments.get(index).and_then(|text| text.parse().ok()).unwrap_or(usual)
    };
    let cases = number(1, 400);
    match arguments.first().map(String::as_str) {
        Some("keep") => keep(cases, number(2, cases), number(3, SMALL)),
        Some("keep-forecasts") => keep_forecasts(),
        Some("forecast") => print!("{}", Calibration::of(cases, "development").text()),
        _ => {
            let filter = arguments.get(2).cloned().unwrap_or_default();
            print_table(cases, &filter, (number(3, 0), number(4, 0)));
        }
    }
}

fn print_table(cases: usize, filter: &str, (stacks, rounds): (usize, usize)) {
    let wanted = |size: &Size| {
        (stacks == 0 || size.stacks == stacks) && (rounds == 0 || size.rounds == rounds)
    };
    println!("{}", HEAD.join(" | "));
    for size in sizes().into_iter().filter(wanted) {
        for plan in [Plan::Fixed, Plan::Looks] {
            let noises = NOISES.iter().filter(|noise| noise.name.contains(filter));
            for cells in of_plan(size, plan, noises, fixed(cases), "development") {
                println!("{}", cells.line.join(" | "));
            }
        }
    }
}

/// A measured row and its raw results.
struct Measured {
    line: Vec<String>,
    raw: Vec<String>,
}

/// The rows of one size and design; the clean noise is measured with them.
fn of_plan<'a>(
    size: Size,
    plan: Plan,
    noises: impl Iterator<Item = &'a Noise>,
    labs: Labs,
    seeds: &str,
) -> Vec<Measured> {
    let clean = Cell::of(&NOISES[0], size, plan, Labs { most: labs.fewest, ..labs }, seeds);
    let measured = |noise: &Noise| {
        let found = Cell::of(noise, size, plan, labs, seeds);
        Measured { line: found.line(noise, size, plan, &clean), raw: found.raw(noise, size, plan) }
    };
    noises.map(measured).collect()
}

/// Measures everything, two halves of the noises at once, and writes it.
fn keep(cases: usize, most: usize, trials: usize) {
    let (mut lines, mut raw) = (Vec::new(), vec![table::RAW_HEAD.to_owned()]);
    let sizes = sizes().into_iter();
    for (size, plan) in sizes.flat_map(|size| [(size, Plan::Fixed), (size, Plan::Looks)]) {
        let labs = Labs {
            fewest: labs_of(size, cases, trials),
            most: labs_of(size, most, trials),
            certificates: CERTIFICATES,
        };
        let half = |noises: &'static [Noise]| of_plan(size, plan, noises.iter(), labs, SEEDS);
        let (first, second) = NOISES.split_at(NOISES.len() / 2);
        let both = std::thread::scope(|scope| {
            let first = scope.spawn(|| half(first));
            let second = half(second);
            [first.join().expect("noises that do not panic"), second]
        });
        for measured in both.into_iter().flatten() {
            println!("{}", measured.line.join(" | "));
            lines.push(measured.line);
            raw.extend(measured.raw);
        }
    }
    let folder = Path::new(FOLDER);
    fs::create_dir_all(folder.join("raw")).expect("a writable folder");
    let head: Vec<String> = HEAD.iter().map(|name| (*name).to_owned()).collect();
    write_lines(&folder.join("table/noise.csv"), &head, &lines).expect("a writable table");
    write_packed(&folder.join("raw/noise.csv.gz"), &raw).expect("a writable file");
    keep_forecasts();
}

/// Measures the forecasts and writes them.
fn keep_forecasts() {
    let folder = Path::new(FOLDER);
    let calibration = Calibration::of(FORECASTS, SEEDS);
    print!("{}", calibration.text());
    let (head, lines) = calibration.lines();
    write_lines(&folder.join("table/forecast.csv"), &head, &lines).expect("a writable table");
    write_packed(&folder.join("raw/forecast.csv.gz"), &calibration.raw()).expect("a file");
}

/// Labs of this size when so many are simulated of those with up to `trials` trials.
fn labs_of(size: Size, cases: usize, trials: usize) -> usize {
    cases * trials / (size.stacks * size.rounds).max(trials)
}

/// So many labs in every cell.
fn fixed(cases: usize) -> Labs {
    Labs { fewest: cases, most: cases, certificates: CERTIFICATES }
}

fn sizes() -> Vec<Size> {
    let size = |stacks, rounds, spread| Size { stacks, rounds, spread, tie: 0.05 };
    vec![
        size(2, 6, 0.05),
        size(2, 20, 0.1),
        size(2, 40, 0.1),
        size(3, 10, 0.05),
        size(4, 20, 0.1),
        size(8, 6, 0.05),
        size(8, 6, 0.3),
        size(8, 10, 0.1),
        size(8, 40, 0.16),
        size(24, 10, 0.1),
        size(48, 20, 0.1),
    ]
}
