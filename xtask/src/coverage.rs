//! Lines of guard, undo and judge that their tests run, by the compiler's own counters.
//!
//! Only the crate under test is built with counters, so nothing else is compiled again. The readers
//! of the counters are the toolchain's component `llvm-tools`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::areas::{AREAS, program};

#[cfg(test)]
mod tests;

/// Least share of lines that tests have to run, in per cent.
const LEAST_PERCENT: f64 = 98.0;

/// Lines of one file: how often each that can be run was run.
type Lines = BTreeMap<u64, u64>;

/// Counts the lines, and lists those that no test ran. False when an area has less than 98 %.
///
/// # Errors
/// When `llvm-tools` is missing, a crate cannot be built, or its tests fail.
pub fn command(root: &Path) -> Result<bool> {
    let tools = tools()?;
    let mut rooms = BTreeMap::new();
    for area in &AREAS {
        if !rooms.contains_key(area.room) {
            rooms.insert(area.room, run(root, &tools, area.room)?);
        }
    }
    let mut enough = true;
    for area in &AREAS {
        let files = area.files.iter().map(|file| format!("crates/{}/src/{file}", area.room));
        let (mut run, mut all) = (0, 0);
        for file in files {
            let lines = rooms[area.room].get(&root.join(&file)).cloned().unwrap_or_default();
            let missed: Vec<u64> =
                lines.iter().filter(|(_, count)| **count == 0).map(|(line, _)| *line).collect();
            run += lines.len() - missed.len();
            all += lines.len();
            for span in spans(&missed) {
                eprintln!("no test runs {file}:{span}");
            }
        }
        ensure!(all > 0, "no line of {} was counted", area.name);
        let percent = 100.0 * run as f64 / all as f64;
        eprintln!("{}: {run} of {all} lines, {percent:.1} %", area.name);
        enough &= percent >= LEAST_PERCENT;
    }
    Ok(enough)
}

/// The folder of the toolchain's `llvm-cov` and `llvm-profdata`.
fn tools() -> Result<PathBuf> {
    let asked = Command::new("rustc").args(["--print", "target-libdir"]).output()?;
    let libraries = PathBuf::from(String::from_utf8(asked.stdout)?.trim());
    let folder = libraries.with_file_name("bin");
    let missing = "no llvm-cov in the toolchain: rustup component add llvm-tools";
    ensure!(folder.join("llvm-cov").exists(), missing);
    Ok(folder)
}

/// Runs the tests of a crate and returns the lines of its files.
fn run(root: &Path, tools: &Path, room: &str) -> Result<BTreeMap<PathBuf, Lines>> {
    let program = build(root, room)?;
    let folder = tempfile::tempdir()?;
    let passed = Command::new(&program)
        .current_dir(root.join("crates").join(room))
        .env("LLVM_PROFILE_FILE", folder.path().join("%p-%m.profraw"))
        .env("PROPTEST_RNG_SEED", "1")
        .stdout(Stdio::null())
        .status()?;
    ensure!(passed.success(), "the tests of {room} fail");
    let merged = folder.path().join("merged");
    let mut counters = Vec::new();
    for entry in std::fs::read_dir(folder.path())? {
        counters.push(entry?.path());
    }
    let merging = Command::new(tools.join("llvm-profdata"))
        .args(["merge", "-sparse"])
        .args(counters)
        .arg("-o")
        .arg(&merged)
        .status()?;
    ensure!(merging.success(), "llvm-profdata cannot merge the counters of {room}");
    let exported = Command::new(tools.join("llvm-cov"))
        .args(["export", "--format=lcov", "--instr-profile"])
        .arg(&merged)
        .arg(&program)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(exported.status.success(), "llvm-cov cannot read the counters of {room}");
    lines(root, &String::from_utf8(exported.stdout)?)
}

/// Builds the tests of a crate with counters.
fn build(root: &Path, room: &str) -> Result<PathBuf> {
    let built = Command::new("cargo")
        .args(["rustc", "--locked", "--lib", "--profile", "test"])
        .args(["--message-format=json", "--package"])
        .arg(format!("seekwell-{room}"))
        .args(["--", "-C", "instrument-coverage"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(built.status.success(), "{room} cannot be built with counters");
    program(&built.stdout, room)
}

/// Reads the lines of `llvm-cov export --format=lcov`: `SF:file`, then `DA:line,count`.
fn lines(root: &Path, text: &str) -> Result<BTreeMap<PathBuf, Lines>> {
    let mut files = BTreeMap::<PathBuf, Lines>::new();
    let mut file = PathBuf::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("SF:") {
            file = root.join(name);
        } else if let Some(counted) = line.strip_prefix("DA:") {
            let Some((number, count)) = counted.split_once(',') else {
                bail!("llvm-cov wrote {line:?}");
            };
            let number = number.parse().with_context(|| format!("llvm-cov wrote {line:?}"))?;
            let count: u64 = count.parse().with_context(|| format!("llvm-cov wrote {line:?}"))?;
            *files.entry(file.clone()).or_default().entry(number).or_default() += count;
        }
    }
    Ok(files)
}

/// Runs of adjacent lines, as `12` or `12-15`.
fn spans(lines: &[u64]) -> Vec<String> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for line in lines {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == *line => *last = *line,
            _ => spans.push((*line, *line)),
        }
    }
    let text = |(first, last)| {
        if first == last { format!("{first}") } else { format!("{first}-{last}") }
    };
    spans.into_iter().map(text).collect()
}
