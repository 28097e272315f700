//! The table of what a capture costs, from the rows of `cargo bench -p seekwell-capture --bench cost`.

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Head of the rows.
#[allow(dead_code, reason = "the test makes no rows")]
pub const HEAD: &str =
    "round,case,program_s,program_cpu_s,own_cpu_s,events,lost,bytes,whole_s,recorder_cpu_s";
/// Lines around the table in the document.
const BEGIN: &str = "<!-- made by the bench cost: begin -->\n";
const END: &str = "<!-- made by the bench cost: end -->\n";
const DRAWS: usize = 10_000;

/// Names of the cases in the table.
const CASES: [(&str, &str); 6] = [
    ("untar", "untar of 120,000 small files in memory, the worst case"),
    ("untar-disk", "the same to a fresh ext4 on a disk"),
    ("sqlite-disk", "SQLite, 2,000 inserts with a sync each"),
    ("pgbench", "PostgreSQL, 6,000 transactions of pgbench"),
    ("reads", "2,000,000 reads of 4 KiB from the page cache"),
    ("reads2", "the same from each of two CPUs"),
];

/// A row: its case without `-traced`, and its numbers; empty ones are not there.
pub struct Row {
    round: u32,
    case: String,
    is_traced: bool,
    numbers: Vec<Option<f64>>,
}

/// Places of the numbers of a row.
const PROGRAM: usize = 0;
const PROGRAM_CPU: usize = 1;
const EVENTS: usize = 3;
const WHOLE: usize = 6;
const RECORDER: usize = 7;

/// The rows of these files, one after the other.
pub fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let mut words = line.split(',');
        let (round, case) = (words.next()?.parse().ok()?, words.next()?);
        let numbers = words.map(|word| word.parse().ok()).collect();
        let name = case.strip_suffix("-traced");
        let (is_traced, case) = (name.is_some(), name.unwrap_or(case).to_owned());
        Some(Row { round, case, is_traced, numbers })
    };
    text.lines().filter_map(row).collect()
}

/// The median of positive numbers, and the 95 % interval of medians of samples of them.
pub fn median(values: &[f64]) -> Option<(f64, f64, f64)> {
    let middle = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        let half = values.len() / 2;
        let above = *values.get(half)?;
        let below = if values.len().is_multiple_of(2) { values[half - 1] } else { above };
        Some(f64::midpoint(below, above))
    };
    let mut random = 1_u64;
    let mut draw = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        values[(random >> 33) as usize % values.len()]
    };
    let found = middle(values.to_vec())?;
    let mut medians: Vec<f64> =
        (0..DRAWS).filter_map(|_| middle((0..values.len()).map(|_| draw()).collect())).collect();
    medians.sort_by(f64::total_cmp);
    Some((found, medians[DRAWS / 40], medians[DRAWS - DRAWS / 40 - 1]))
}

/// A number of each round in which the case was measured on both sides.
fn pairs<T>(rows: &[Row], case: &str, number: impl Fn(&Row, &Row) -> Option<T>) -> Vec<T> {
    let of = |is_traced: bool| {
        rows.iter()
            .enumerate()
            .filter(move |(_, row)| row.case == case && row.is_traced == is_traced)
    };
    let of_round = |(at, traced): (usize, &Row)| {
        // Files are one after the other: the other side is next to it.
        let near =
            |(other, row): &(usize, &Row)| row.round == traced.round && other.abs_diff(at) == 1;
        number(traced, of(false).find(near)?.1)
    };
    of(true).filter_map(of_round).collect()
}

fn range(values: &[f64], digits: usize, unit: &str) -> String {
    match median(values) {
        Some((middle, low, high)) => {
            format!("{middle:.digits$}{unit} ({low:.digits$} to {high:.digits$})")
        }
        None => String::new(),
    }
}

/// Cost of a recorded call over that of a pair of programs that do nothing, of each round that has both.
fn over_empty(rows: &[Row], call: impl Fn(&Row, &Row) -> Option<f64>) -> Vec<f64> {
    let of = |case| {
        let in_round = |traced: &Row, plain: &Row| Some((traced.round, call(traced, plain)?));
        pairs(rows, case, in_round)
    };
    let (reads, empty) = (of("reads"), of("empty"));
    let over = |(round, read): &(u32, f64)| {
        let found = empty.iter().find(|(other, _)| other == round);
        found.map(|(_, empty)| read / empty)
    };
    reads.iter().filter_map(over).collect()
}

/// The table.
pub fn short(rows: &[Row]) -> String {
    let ns = |case: &str, number: fn(&Row, &Row) -> Option<f64>| {
        range(&pairs(rows, case, number), 0, " ns")
    };
    // What is in memory waits for nothing: its CPU time tells the same on a busy machine.
    let times = |case: &str| {
        let waits = case.contains("disk") || case == "pgbench";
        let (at, unit) =
            if waits { (PROGRAM, " times as long") } else { (PROGRAM_CPU, " times the CPU time") };
        let ratio = |traced: &Row, plain: &Row| Some(traced.numbers[at]? / plain.numbers[at]?);
        range(&pairs(rows, case, ratio), 2, unit)
    };
    let call = |traced: &Row, plain: &Row| {
        let more_s = traced.numbers[PROGRAM_CPU]? - plain.numbers[PROGRAM_CPU]?;
        Some(more_s * 1e9 / traced.numbers[EVENTS]?)
    };
    let read = |traced: &Row, plain: &Row| {
        Some(plain.numbers[PROGRAM_CPU]? * 1e9 / traced.numbers[EVENTS]?)
    };
    let recorder =
        |traced: &Row, _: &Row| Some(traced.numbers[RECORDER]? * 1e9 / traced.numbers[EVENTS]?);
    let load = pairs(rows, "load", |traced, _| traced.numbers[WHOLE]);
    let mut out = String::from("| cost on two CPUs, median and 95 % interval | |\n| --- | --- |\n");
    // Without a measurement there is no line.
    let mut line = |what: &str, cost: String, more: &str| {
        if !cost.is_empty() {
            let _ = writeln!(out, "| {what} | {cost}{more} |");
        }
    };
    line("start", range(&load, 2, " s"), "");
    line("a call of the program", ns("reads", call), " of CPU time more");
    line("a read of 4 KiB from the page cache, for comparison", ns("reads", read), "");
    line("a pair of programs that do nothing, for comparison", ns("empty", call), "");
    line("a call of the program, over that", range(&over_empty(rows, call), 1, " times"), "");
    line("the recorder, for a read", ns("reads", recorder), " of CPU time, on any CPU");
    line("the recorder, for a call of an untar with its paths", ns("untar", recorder), "");
    for (case, name) in CASES {
        line(name, times(case), "");
    }
    out
}

/// The workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files with the rows of the table; one that was not measured yet is not there.
pub const FILES: [&str; 2] =
    ["benches/runs/capture/cost-memory.csv", "benches/runs/capture/cost-disk.csv"];

/// Document with the table.
pub const DOCUMENT: &str = "benches/runs/capture/cost.md";

/// The document with this table in the place of its own.
pub fn replaced(document: &str, table: &str) -> String {
    let (before, rest) = document.split_once(BEGIN).expect("the line before the table");
    let (_, after) = rest.split_once(END).expect("the line after the table");
    format!("{before}{BEGIN}{table}{END}{after}")
}

/// The rows of the kept runs as text.
pub fn kept() -> String {
    let files = FILES.map(|name| workspace().join(name));
    files.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect()
}

/// Makes the table of the document from the kept runs.
#[allow(dead_code, reason = "the test writes nothing")]
pub fn write() {
    let path = workspace().join(DOCUMENT);
    let document = std::fs::read_to_string(&path).unwrap();
    std::fs::write(path, replaced(&document, &short(&rows(&kept())))).unwrap();
}
