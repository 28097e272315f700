//! Rewrites run files in the current format: writes each to a new file, compares every trial with the
//! old file, then replaces the old file.
//!
//! `cargo run -p seekwell-store --example repack -- FILE…`

#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use seekwell_store::{Integrity, RunFile};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut before, mut after, mut trials) = (0, 0, 0);
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let (old, new, attempts) = repack(&path)?;
        println!("{} {old} -> {new} bytes, {attempts} trials", path.display());
        (before, after, trials) = (before + old, after + new, trials + attempts);
    }
    let each = after / (trials as u64).max(1);
    println!("in all {before} -> {after} bytes, {trials} trials, {each} bytes per trial");
    Ok(())
}

/// Sizes before and after, and the number of attempts.
fn repack(path: &Path) -> Result<(u64, u64, usize), Box<dyn Error>> {
    let beside = path.with_extension("repacked");
    let old = RunFile::open(path)?;
    old.repack(&beside)?;
    let attempts = compared(&old, &RunFile::open(&beside)?);
    let sizes = (fs::metadata(path)?.len(), fs::metadata(&beside)?.len());
    match attempts {
        Ok(attempts) => {
            fs::rename(&beside, path)?;
            Ok((sizes.0, sizes.1, attempts))
        }
        Err(error) => {
            fs::remove_file(&beside)?;
            Err(error)
        }
    }
}

/// Number of attempts, when everything of the two files is equal.
fn compared(old: &RunFile, new: &RunFile) -> Result<usize, Box<dyn Error>> {
    let attempts = old.attempts()?;
    let equal = attempts == new.attempts()?
        && old.records()? == new.records()?
        && old.plan()? == new.plan()?
        && old.environment()? == new.environment()?
        && old.verdict()? == new.verdict()?
        && old.tool()? == new.tool()?
        && old.created_at()? == new.created_at()?;
    let intact = matches!(new.verify()?, Integrity::Intact { .. });
    match equal && intact {
        true => Ok(attempts.len()),
        false => Err(format!("{} does not come back", old.path().display()).into()),
    }
}
