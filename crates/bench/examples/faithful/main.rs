//! Programs against their replays: `cargo run -p seekwell-bench --example faithful -- [--pairs 10]
//! [--cache cold|warm] [--from ext4] [--on ext4] [--raw FILE] [PROGRAM …]`, as root.
//!
//! Each program is captured once on a fresh filesystem `--from`. Then every pair runs, on fresh
//! filesystems `--on` in alternating order: the program, its replay with the recorded pauses, the
//! program again, and the replay without pauses. A filesystem is in an image on a loop device. Elapsed
//! time is that from exec to exit. A replay has no exec and no exit: it gets the recorded time before
//! its first and after its last call. The table goes to standard output, raw values to `--raw`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints its results")]
#![allow(clippy::cast_precision_loss, reason = "times in seconds")]

mod measure;
mod programs;
mod scratch;
mod table;

use measure::{Recording, Sample};
use programs::Program;
use std::io::Write as _;
use std::path::PathBuf;

/// Choices of the command line.
pub struct Asked {
    pairs: u32,
    cold: bool,
    from: String,
    on: String,
    raw: Option<PathBuf>,
    programs: Vec<String>,
}

fn asked() -> Asked {
    let mut asked = Asked {
        pairs: 10,
        cold: true,
        from: "ext4".to_owned(),
        on: "ext4".to_owned(),
        raw: None,
        programs: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value after the option");
        match word.as_str() {
            "--pairs" => asked.pairs = value().parse().unwrap(),
            "--cache" => asked.cold = value() == "cold",
            "--from" => asked.from = value(),
            "--on" => asked.on = value(),
            "--raw" => asked.raw = Some(value().into()),
            name => asked.programs.push(name.to_owned()),
        }
    }
    asked
}

fn main() {
    let asked = asked();
    let folder = tempfile::tempdir().unwrap();
    let sources = programs::sources(folder.path());
    table::head();
    for program in programs::all(&sources) {
        if !asked.programs.is_empty() && !asked.programs.contains(&program.name.to_owned()) {
            continue;
        }
        if !program.is_installed() {
            eprintln!("{}: {} is not installed", program.name, program.words[0]);
            continue;
        }
        let samples = pairs(&asked, &program, folder.path());
        table::row(&asked, &samples.0, &samples.1);
        keep(&asked, &samples.1);
    }
}

fn pairs(asked: &Asked, program: &Program, folder: &std::path::Path) -> (Recording, Vec<Sample>) {
    let mut run = measure::Runs { asked, program, folder };
    let recording = run.record();
    let mut samples = Vec::new();
    for pair in 0..asked.pairs {
        let mut sides = ["program", "replay", "again", "asap"];
        if pair % 2 == 1 {
            sides.reverse();
        }
        for side in sides {
            let (elapsed_s, inside_s) = match side {
                "replay" => run.replay(&recording, true),
                "asap" => run.replay(&recording, false),
                _ => (run.program(), None),
            };
            samples.push(Sample { program: program.name, pair, side, elapsed_s, inside_s });
        }
    }
    (recording, samples)
}

/// Adds the raw values to the file.
fn keep(asked: &Asked, samples: &[Sample]) {
    let Some(path) = &asked.raw else { return };
    let is_new = !path.exists();
    let mut file = std::fs::File::options().append(true).create(true).open(path).unwrap();
    if is_new {
        writeln!(file, "program,from,on,cache,pair,side,elapsed_s,inside_s").unwrap();
    }
    let cache = if asked.cold { "cold" } else { "warm" };
    for one in samples {
        let inside = one.inside_s.map(|inside| format!("{inside:.6}")).unwrap_or_default();
        let Sample { program, pair, side, elapsed_s, .. } = one;
        let (from, on) = (&asked.from, &asked.on);
        writeln!(file, "{program},{from},{on},{cache},{pair},{side},{elapsed_s:.6},{inside}")
            .unwrap();
    }
}
