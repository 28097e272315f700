//! Seekwell's workloads compared with their originals: the same work on the same RAM-backed stack,
//! alternating, pinned to one CPU, as many pairs as a ±5 % interval needs.
//!
//! `cargo run --release -p seekwell-bench --example agreement -- [--quick] [--pairs N]
//! [--seconds N] [--out FOLDER] [--continue] [--table FILE] [ROW…]`
//!
//! Every group of rows is a file of its own in this folder and is listed in [`GROUPS`]: rows of a
//! group are steps of the same runs. A pair is as many runs of both sides as the group says, in
//! the order ours, original, original, ours: what drifts meanwhile meets both alike. Raw values go
//! to `FOLDER/ROW.csv`, with `--continue` behind the pairs that are there; the table of all rows
//! goes to `FILE` as Markdown. `--quick` makes one pair of a tenth of the work and fails when
//! operations or bytes of the two sides differ: that needs no quiet machine. It needs root, for
//! block devices and mounts in a mount namespace of its own.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark is a program of its own that talks to the person who runs it"
)]

mod bonnie;
mod chunk_reference;
mod fio;
mod iozone_fio;
mod mail_tar;
mod place;
mod reference;
mod rrd_rrdtool;
mod seek_fio;
mod seek_ioping;
mod seekrw_reference;
mod steps_of;
mod sweep_fio;
mod table;

use place::Place;
use seekwell_stats::interval::geometric_mean_interval;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// Every comparison. A row is added here and nowhere else.
const GROUPS: &[&Group] = &[
    &seek_fio::GROUP,
    &seek_ioping::GROUP,
    &sweep_fio::GROUP,
    &seekrw_reference::GROUP,
    &chunk_reference::GROUP,
    &iozone_fio::GROUP,
    &bonnie::FILES,
    &bonnie::CHARACTERS,
    &bonnie::BLOCKS,
    &rrd_rrdtool::GROUP,
    &mail_tar::GROUP,
];

/// Comparisons that the same runs make.
pub struct Group {
    /// Rows of the group.
    pub rows: &'static [Row],
    /// The program of the original; the rows are left out, and say so, where it is not installed.
    pub tool: &'static str,
    /// Runs of each side in a pair: more of them where one is short.
    pub turns: u64,
    /// Sets the two sides up.
    pub sides: fn(&Place) -> Box<dyn Sides + '_>,
}

/// One comparison with an original.
pub struct Row {
    /// Name, also of the file with its raw values.
    pub name: &'static str,
    /// Command that Seekwell runs.
    pub ours: &'static str,
    /// The other program, with its version and flags.
    pub original: &'static str,
    /// Compared metric, for example `operations/s`.
    pub metric: &'static str,
    /// Reason of a known difference; empty if the values should agree.
    pub note: &'static str,
    /// Requirement on the ratio.
    pub asked: Asked,
}

/// Requirements on a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The whole interval within ±5 %.
    Within,
    /// Ours at least as fast.
    AtLeast,
    /// The same order of magnitude, and a reason.
    SameOrder,
}

/// The two sides of a group: each gives one value for every row, in their order.
pub trait Sides {
    /// One run of Seekwell's. `round` is to be the seed of what is random.
    fn ours(&mut self, round: u64) -> Vec<Side>;
    /// One run of the original's.
    fn original(&mut self, round: u64) -> Vec<Side>;
}

/// Result of one run of one side.
#[derive(Clone, Copy, Debug)]
pub struct Side {
    /// The compared value, above 0: a rate, or what is the same in every run.
    pub value: f64,
    /// Operations, or files; both sides must have made as many.
    pub ops: u64,
    /// Bytes read and written; both sides must have moved as many.
    pub bytes: u64,
}

impl Side {
    /// Several runs of the same work as one: the rate of all together.
    fn joined(runs: &[Self]) -> Self {
        let inverse: f64 = runs.iter().map(|run| run.value.recip()).sum();
        Self {
            value: runs.len() as f64 / inverse,
            ops: runs.iter().map(|run| run.ops).sum(),
            bytes: runs.iter().map(|run| run.bytes).sum(),
        }
    }
}

/// Result of a row.
pub struct Found {
    row: &'static Row,
    pairs: Vec<(Side, Side)>,
}

/// Confidence of the interval.
const ERROR: f64 = 0.05;
/// Largest distance of the interval from 1.
const WIDTH: f64 = 0.05;
/// Pairs before the interval is checked.
const FEWEST: u64 = 10;

impl Found {
    /// Ours relative to the original: lower end, centre, upper end; `None` with fewer than 2 pairs.
    fn ratio(&self) -> Option<(f64, f64, f64)> {
        let ratios: Vec<f64> =
            self.pairs.iter().map(|(ours, original)| ours.value / original.value).collect();
        let interval = geometric_mean_interval(&ratios, ERROR)?;
        Some((interval.low, interval.centre, interval.high))
    }

    fn agrees(&self) -> bool {
        self.ratio().is_some_and(|(low, _, high)| low >= 1.0 / (1.0 + WIDTH) && high <= 1.0 + WIDTH)
    }

    /// Returns true if both sides did the same work in every pair.
    fn same_work(&self) -> bool {
        self.pairs.iter().all(|(a, b)| (a.ops, a.bytes) == (b.ops, b.bytes))
    }

    fn csv(&self) -> String {
        let mut text =
            "pair,first,ours,original,ours_ops,original_ops,ours_bytes,original_bytes\n".to_owned();
        for (pair, (a, b)) in self.pairs.iter().enumerate() {
            let first = if pair % 2 == 0 { "ours" } else { "original" };
            let _ = writeln!(
                text,
                "{pair},{first},{},{},{},{},{},{}",
                a.value, b.value, a.ops, b.ops, a.bytes, b.bytes
            );
        }
        text
    }
}

struct Arguments {
    quick: bool,
    pairs: u64,
    /// A row ends after this time.
    seconds: u64,
    out: Option<PathBuf>,
    /// Pairs are added to those that are in the folder.
    continues: bool,
    table: Option<PathBuf>,
    rows: Vec<String>,
}

impl Arguments {
    fn wants(&self, group: &Group) -> bool {
        let named = |row: &Row| self.rows.iter().any(|name| name == row.name);
        self.rows.is_empty() || group.rows.iter().any(named)
    }
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        quick: false,
        pairs: 100,
        seconds: 600,
        out: None,
        continues: false,
        table: None,
        rows: Vec::new(),
    };
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        let mut next = || given.next().unwrap();
        match word.as_str() {
            "--quick" => (found.quick, found.pairs) = (true, 1),
            "--pairs" => found.pairs = next().parse().unwrap(),
            "--seconds" => found.seconds = next().parse().unwrap(),
            "--continue" => found.continues = true,
            "--out" => found.out = Some(next().into()),
            "--table" => found.table = Some(next().into()),
            _ => found.rows.push(word),
        }
    }
    found
}

fn main() -> ExitCode {
    let arguments = arguments();
    if let (Some(table), true) = (&arguments.table, arguments.rows == ["from-csv"]) {
        // The table alone, from the raw values that are there.
        table::write(table, arguments.out.as_deref());
        return ExitCode::SUCCESS;
    }
    let place = match Place::make(arguments.quick) {
        Ok(place) => place,
        Err(why) => {
            eprintln!("nothing compared: {why}");
            return ExitCode::from(77);
        }
    };
    let mut bad = false;
    for group in GROUPS.iter().filter(|group| arguments.wants(group)) {
        if seekwell_testing::tool(group.tool).is_none() {
            for row in group.rows {
                eprintln!("SKIPPED: agreement {}: {} is not installed", row.name, group.tool);
            }
            continue;
        }
        for found in compare(group, &place, &arguments) {
            report(&found);
            bad |= !found.same_work();
            if let Some(folder) = &arguments.out {
                std::fs::create_dir_all(folder).unwrap();
                std::fs::write(folder.join(format!("{}.csv", found.row.name)), found.csv())
                    .unwrap();
            }
        }
    }
    if let Some(table) = &arguments.table {
        table::write(table, arguments.out.as_deref());
    }
    ExitCode::from(u8::from(bad))
}

fn compare(group: &'static Group, place: &Place, arguments: &Arguments) -> Vec<Found> {
    let mut sides = (group.sides)(place);
    let before = |row| match &arguments.out {
        Some(folder) if arguments.continues => table::read(row, folder),
        _ => None,
    };
    let mut found: Vec<Found> = group
        .rows
        .iter()
        .map(|row| before(row).unwrap_or(Found { row, pairs: Vec::new() }))
        .collect();
    let begun = std::time::Instant::now();
    let first = found.iter().map(|found| found.pairs.len() as u64).min().unwrap_or(0);
    let turns = if arguments.quick { 1 } else { group.turns };
    if !arguments.quick {
        // What a first run pays for is in no pair.
        sides.ours(u64::from(u32::MAX));
        sides.original(u64::from(u32::MAX));
    }
    for pair in first..arguments.pairs {
        let (mut ours, mut original) = (Vec::new(), Vec::new());
        for turn in 0..turns {
            let seed = pair * turns + turn;
            if (pair + turn) % 2 == 0 {
                ours.push(sides.ours(seed));
                original.push(sides.original(seed));
            } else {
                original.push(sides.original(seed));
                ours.push(sides.ours(seed));
            }
        }
        for (row, found) in found.iter_mut().enumerate() {
            let of = |runs: &[Vec<Side>]| {
                Side::joined(&runs.iter().map(|run| run[row]).collect::<Vec<_>>())
            };
            found.pairs.push((of(&ours), of(&original)));
        }
        let settled = |found: &Found| found.agrees() || found.row.asked != Asked::Within;
        let enough = pair + 1 >= FEWEST && found.iter().all(settled);
        if (!arguments.quick && enough) || begun.elapsed().as_secs() >= arguments.seconds {
            break;
        }
    }
    found
}

fn report(found: &Found) {
    let ratio = found.ratio().map_or("not known".to_owned(), |(low, centre, high)| {
        format!("{centre:.3} ({low:.3} to {high:.3})")
    });
    let work = if found.same_work() { "the same work" } else { "NOT THE SAME WORK" };
    println!(
        "{:16} ours : original = {ratio} of {} in {} pairs, {work}",
        found.row.name,
        found.row.metric,
        found.pairs.len()
    );
    if !found.same_work()
        && let Some((ours, original)) =
            found.pairs.iter().find(|(a, b)| (a.ops, a.bytes) != (b.ops, b.bytes))
    {
        println!("{:16} ours {ours:?}, original {original:?}", "");
    }
}
