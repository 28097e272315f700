//! Programs against their replays: `cargo run --release -p seekwell-bench --example faithful -- [--pairs
//! 10] [--cache cold|warm] [--from ext4] [--on ext4] [--raw FILE] [--asap] [--show] [PROGRAM …]`, as
//! root. An engine that is not optimised is late by more than programs pause. `--show` tells where the
//! time of recording and replay goes.
//!
//! Each program is captured once on a fresh filesystem `--from`. Then every pair runs, on fresh
//! filesystems `--on` (both may be lists such as `ext4,xfs`) in alternating order: the program, its
//! replay with the recorded pauses, the program again, and with `--asap` the replay without pauses. A
//! filesystem is in an image on a loop device, in the folder for temporary files. Elapsed time is that
//! from exec to exit. A replay has no exec and no exit: it gets the recorded time before its first and
//! after its last call. The table goes to standard output, raw values to `--raw`; a list also gets a
//! summary of its predictions on standard error.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints its results")]
#![allow(clippy::cast_precision_loss, reason = "times in seconds")]

mod measure;
mod programs;
mod scratch;
mod table;

use measure::{Recording, Sample};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

/// Choices of the command line.
pub struct Asked {
    pairs: u32,
    cold: bool,
    from: Vec<String>,
    on: Vec<String>,
    raw: Option<PathBuf>,
    show: bool,
    asap: bool,
    programs: Vec<String>,
}

fn asked() -> Asked {
    let mut asked = Asked {
        pairs: 10,
        cold: true,
        from: vec!["ext4".to_owned()],
        on: vec!["ext4".to_owned()],
        raw: None,
        show: false,
        asap: false,
        programs: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value after the option");
        match word.as_str() {
            "--pairs" => asked.pairs = value().parse().unwrap(),
            "--cache" => asked.cold = value() == "cold",
            "--from" => asked.from = list(&value()),
            "--on" => asked.on = list(&value()),
            "--asap" => asked.asap = true,
            "--show" => asked.show = true,
            "--raw" => asked.raw = Some(value().into()),
            name => asked.programs.push(name.to_owned()),
        }
    }
    asked
}

fn list(names: &str) -> Vec<String> {
    names.split(',').map(str::to_owned).collect()
}

fn main() {
    let asked = asked();
    let folder = tempfile::tempdir().unwrap();
    let sources = programs::sources(folder.path());
    // The server of a database runs as another user.
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    table::head();
    let mut rows = Vec::new();
    for program in programs::all(&sources) {
        if !asked.programs.is_empty() && !asked.programs.contains(&program.name.to_owned()) {
            continue;
        }
        if !program.is_installed() {
            eprintln!("{}: {} is not installed", program.name, program.words[0]);
            continue;
        }
        for from in &asked.from {
            let run = measure::Runs { asked: &asked, program: &program, folder: folder.path() };
            let recording = run.record(from);
            for on in &asked.on {
                let samples = pairs(&run, &recording, on);
                rows.push(table::row(&asked, (from, on), &recording, &samples));
                keep(&asked, (from, on), &samples);
            }
        }
    }
    if rows.len() > 1 {
        table::summary(&rows);
    }
}

fn pairs(run: &measure::Runs<'_>, recording: &Recording, on: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    for pair in 0..run.asked.pairs {
        let mut sides = vec!["program", "replay", "again"];
        if run.asked.asap {
            sides.push("asap");
        }
        if pair % 2 == 1 {
            sides.reverse();
        }
        for side in sides {
            let (elapsed_s, inside_s) = match side {
                "replay" => run.replay(recording, on, true),
                "asap" => run.replay(recording, on, false),
                _ => (run.program(on), None),
            };
            samples.push(Sample { program: run.program.name, pair, side, elapsed_s, inside_s });
        }
    }
    samples
}

/// Adds the raw values to the file.
fn keep(asked: &Asked, (from, on): (&str, &str), samples: &[Sample]) {
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
        writeln!(file, "{program},{from},{on},{cache},{pair},{side},{elapsed_s:.6},{inside}")
            .unwrap();
    }
}
