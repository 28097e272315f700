//! Programs against their replays: `cargo run --release -p seekwell-bench --example faithful -- [--pairs
//! 10] [--cache cold|warm] [--from ext4] [--on ext4] [--raw FILE] [--asap] [--show] [PROGRAM …]`, as
//! root. An engine that is not optimised is late by more than programs pause. `--show` tells where the
//! time of recording and replay goes. `--tables FILE` runs nothing and makes the tables of raw values.
//!
//! Each program is captured three times on a fresh filesystem `--from`; the recording of middle length
//! is replayed. Then every pair runs, on fresh filesystems `--on` (both may be lists such as
//! `ext4,xfs`) in alternating order: the program, its replay with the recorded pauses, the program
//! again, and with `--asap` the replay without pauses. A filesystem is in an image on a loop device, in
//! the folder for temporary files; `directory` is a plain directory there, `ext4+bfq` a filesystem with
//! an I/O scheduler. `cold` empties the filesystem's cache before each run, except for what the
//! capture's walk of the files then reads.
//!
//! Elapsed time is that from exec to exit. A replay has no exec and no exit: it gets the recorded time
//! before its first call. The tables go to standard output, raw values to `--raw`,
//! after each program and filesystem: those that are there already are kept and not run again, so that
//! `--for SECONDS` makes them in parts.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a program for developers")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it prints its results")]
#![allow(clippy::cast_precision_loss, reason = "times in seconds")]

mod measure;
mod programs;
mod raw;
mod scratch;
mod table;

use measure::Recording;
use raw::Sample;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Choices of the command line.
pub struct Asked {
    pairs: u32,
    cold: bool,
    from: Vec<String>,
    on: Vec<String>,
    raw: Option<PathBuf>,
    show: bool,
    asap: bool,
    tables: Option<PathBuf>,
    /// No further filesystem is begun afterwards.
    until: Option<Instant>,
    programs: Vec<String>,
}

impl Asked {
    fn cache(&self) -> &'static str {
        if self.cold { "cold" } else { "warm" }
    }
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
        tables: None,
        until: None,
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
            "--for" => {
                let time = Duration::from_secs(value().parse().unwrap());
                asked.until = Some(Instant::now() + time);
            }
            "--tables" => asked.tables = Some(value().into()),
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
    if let Some(path) = &asked.tables {
        return table::markdown(&table::cells(&raw::read(path)));
    }
    let folder = tempfile::tempdir().unwrap();
    let sources = programs::sources(folder.path());
    // The server of a database runs as another user.
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).unwrap();
    let mut all = match &asked.raw {
        Some(path) if path.exists() => raw::read(path),
        _ => Vec::new(),
    };
    for program in programs::all(&sources) {
        if !asked.programs.is_empty() && !asked.programs.contains(&program.name.to_owned()) {
            continue;
        }
        if !program.is_installed() {
            eprintln!("{}: {} is not installed", program.name, program.words[0]);
            continue;
        }
        for from in &asked.from {
            let is_known = |on: &String| {
                all.iter().any(|one| {
                    (&*one.program, &one.from, &one.on, &*one.cache)
                        == (program.name, from, on, asked.cache())
                })
            };
            let missing: Vec<&String> = asked.on.iter().filter(|on| !is_known(on)).collect();
            let is_over = asked.until.is_some_and(|until| Instant::now() > until);
            if missing.is_empty() || is_over {
                continue;
            }
            let run = measure::Runs { asked: &asked, program: &program, folder: folder.path() };
            let recording = run.record_middle(from);
            for on in missing {
                if asked.until.is_some_and(|until| Instant::now() > until) {
                    break;
                }
                let samples = pairs(&run, &recording, (from, on));
                eprintln!("{}", table::cells(&samples)[0].line());
                all.extend(samples);
                if let Some(path) = &asked.raw {
                    raw::write(path, &all);
                }
            }
        }
    }
    table::markdown(&table::cells(&all));
}

fn pairs(run: &measure::Runs<'_>, recording: &Recording, (from, on): (&str, &str)) -> Vec<Sample> {
    let sample = |pair, side: &str, elapsed_s| Sample {
        program: run.program.name.to_owned(),
        from: from.to_owned(),
        on: on.to_owned(),
        cache: run.asked.cache().to_owned(),
        pair,
        side: side.to_owned(),
        elapsed_s,
        inside_s: None,
        fidelity: None,
    };
    let recorded = recording.plan.recorded();
    let inside_s = Some(recorded.inside_ns as f64 / 1e9);
    let elapsed_s = recorded.elapsed_ns as f64 / 1e9 + recording.before_s;
    let mut samples = vec![Sample { inside_s, ..sample(0, "recorded", elapsed_s) }];
    for pair in 0..run.asked.pairs {
        let mut sides = vec!["program", "replay", "again"];
        if run.asked.asap {
            sides.push("asap");
        }
        if pair % 2 == 1 {
            sides.reverse();
        }
        for side in sides {
            samples.push(match side {
                "replay" | "asap" => {
                    let (elapsed_s, inside_s, fidelity) =
                        run.replay(recording, on, side == "replay");
                    Sample { inside_s: Some(inside_s), fidelity, ..sample(pair, side, elapsed_s) }
                }
                _ => sample(pair, side, run.program(on)),
            });
        }
    }
    samples
}
