//! A row of the table, and the files it is kept in.

use super::cell::{Ended, Plan, Size, Truth, run};
use super::noises::Noise;
use flate2::{Compression, GzBuilder};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Columns of the table.
pub const HEAD: [&str; 9] = [
    "noise",
    "stacks × rounds, σ",
    "design",
    "false winner",
    "certified (clean)",
    "wrong of certified (95 % bound)",
    "coverage",
    "trials",
    "labs",
];

/// Columns of the raw results: one line per cell and truth. `labs` counts the simulated labs by the
/// way they ended, each way a letter and behind it the labs. The letter is the one so many after `A`:
/// 1 if anything was certified, plus 2 if it was a winner, plus 4 if it was wrong, plus 8 if the
/// interval contains the truth, 16 if it does not.
pub const RAW_HEAD: &str = "noise,stacks,rounds,sigma,design,truth,trials on average,labs";

/// One cell of the table.
pub struct Cell {
    equal: Vec<Ended>,
    unequal: Vec<Ended>,
}

/// Labs of one cell.
#[derive(Clone, Copy, Debug)]
pub struct Labs {
    /// Labs of equal stacks, and the fewest of unequal ones.
    pub fewest: usize,
    /// Most labs of unequal stacks: so many are simulated while there are too few certificates.
    pub most: usize,
    /// Certificates after which no more labs are simulated. Their number says nothing of how many
    /// are wrong.
    pub certificates: usize,
}

impl Cell {
    /// Simulates labs of equal and of unequal stacks.
    pub fn of(noise: &Noise, size: Size, plan: Plan, labs: Labs, seeds: &str) -> Self {
        let one = |truth: Truth, case: usize| run(noise, size, plan, truth, case, seeds);
        let equal = (0..labs.fewest).map(|case| one(Truth::Equal, case)).collect();
        let (mut unequal, mut certified) = (Vec::new(), 0);
        while unequal.len() < labs.fewest
            || (unequal.len() < labs.most && certified < labs.certificates)
        {
            let ended = one(Truth::Unequal, unequal.len());
            certified += usize::from(ended.certified);
            unequal.push(ended);
        }
        Self { equal, unequal }
    }

    fn certified(&self) -> f64 {
        share(&self.unequal, |one| one.certified)
    }

    /// The row as it is shown.
    pub fn line(&self, noise: &Noise, size: Size, plan: Plan, clean: &Self) -> Vec<String> {
        let certified = self.unequal.iter().filter(|one| one.certified).count();
        let wrong = self.unequal.iter().filter(|one| one.wrong).count();
        let known: Vec<Ended> = self.equal.iter().chain(&self.unequal).copied().collect();
        let covered = known.iter().filter(|one| one.covered == Some(true)).count();
        let with_interval = known.iter().filter(|one| one.covered.is_some()).count();
        let trials: usize = self.unequal.iter().map(|one| one.trials).sum();
        let percent = |part: f64| format!("{:.1} %", 100.0 * part);
        let of = |part: usize, whole: usize| part as f64 / whole.max(1) as f64;
        vec![
            noise.name.to_owned(),
            format!("{} × {}, {:.0} %", size.stacks, size.rounds, 100.0 * size.spread),
            format!("{plan:?}").to_lowercase(),
            percent(share(&self.equal, |one| one.winner)),
            format!("{:.0} % ({:.0} %)", 100.0 * self.certified(), 100.0 * clean.certified()),
            match certified {
                0 => "no certificate".to_owned(),
                _ => format!(
                    "{} of {certified} (≤ {})",
                    percent(of(wrong, certified)),
                    percent(upper_bound(wrong, certified))
                ),
            },
            percent(of(covered, with_interval)),
            format!("{:.0}", trials as f64 / self.unequal.len().max(1) as f64),
            self.unequal.len().to_string(),
        ]
    }

    /// One line per truth.
    pub fn raw(&self, noise: &Noise, size: Size, plan: Plan) -> Vec<String> {
        let line = |truth: &str, all: &[Ended]| {
            let trials: usize = all.iter().map(|one| one.trials).sum();
            let mut ways: BTreeMap<char, usize> = BTreeMap::new();
            for ended in all {
                *ways.entry(letter(ended)).or_default() += 1;
            }
            let labs: String = ways.iter().map(|(way, labs)| format!("{way}{labs}")).collect();
            let Size { stacks, rounds, spread, .. } = size;
            let trials = trials as f64 / all.len().max(1) as f64;
            format!(
                "\"{}\",{stacks},{rounds},{spread},{plan:?},{truth},{trials:.2},{labs}",
                noise.name
            )
        };
        vec![line("equal", &self.equal), line("unequal", &self.unequal)]
    }
}

fn letter(one: &Ended) -> char {
    let covered = one.covered.map_or(0, |covered| if covered { 8 } else { 16 });
    let flags = [one.certified, one.winner, one.wrong].map(u8::from);
    char::from(b'A' + flags[0] + 2 * flags[1] + 4 * flags[2] + covered)
}

fn share(all: &[Ended], is: fn(&Ended) -> bool) -> f64 {
    all.iter().filter(|one| is(one)).count() as f64 / all.len().max(1) as f64
}

/// One-sided 95 % bound of a share (Wilson 1927).
fn upper_bound(hits: usize, of: usize) -> f64 {
    const SCORE: f64 = 1.645;
    let (n, p) = (of as f64, hits as f64 / of as f64);
    let square = SCORE * SCORE;
    let reach = SCORE * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt();
    (p + square / (2.0 * n) + reach) / (1.0 + square / n)
}

/// Writes lines of quoted comma-separated values.
///
/// # Errors
/// When the file cannot be written.
pub fn write_lines(path: &Path, head: &[String], lines: &[Vec<String>]) -> io::Result<()> {
    let line = |cells: &[String]| {
        let quoted: Vec<String> = cells.iter().map(|cell| format!("\"{cell}\"")).collect();
        quoted.join(",") + "\n"
    };
    let all: String = lines.iter().map(|cells| line(cells)).collect();
    fs::write(path, line(head) + &all)
}

/// Writes lines of text, deflated. The same lines give the same bytes.
///
/// # Errors
/// When the file cannot be written.
pub fn write_packed(path: &Path, lines: &[String]) -> io::Result<()> {
    let mut file = GzBuilder::new().mtime(0).write(fs::File::create(path)?, Compression::best());
    for line in lines {
        writeln!(file, "{line}")?;
    }
    file.finish()?;
    Ok(())
}
