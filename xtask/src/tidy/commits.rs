//! The subjects of the commits in a range.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Longest subject, in characters.
const SUBJECT: usize = 72;

/// Prints the commits of `range` whose subject is too long; whether there was none.
///
/// # Errors
///
/// When git does not know the range.
pub fn command(root: &Path, range: &str) -> Result<bool> {
    let output = Command::new("git")
        .args(["log", "--format=%h %s", "--end-of-options", range])
        .current_dir(root)
        .output()
        .context("cannot run git to list the commits")?;
    if !output.status.success() {
        bail!("git log {range}: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let findings = check(&String::from_utf8_lossy(&output.stdout));
    for finding in &findings {
        println!("{finding}");
    }
    Ok(findings.is_empty())
}

/// Findings in lines of `HASH SUBJECT`.
pub(super) fn check(log: &str) -> Vec<String> {
    let subjects = log.lines().filter_map(|line| line.split_once(' '));
    let sized = subjects.map(|(hash, subject)| (hash, subject, subject.chars().count()));
    sized
        .filter(|(_, _, length)| *length > SUBJECT)
        .map(|(hash, subject, length)| {
            format!(
                "{hash}: subject of {length} characters (limit {SUBJECT}), it does not fit a line \
                 of the log, say one thing and move the rest to the body: {subject}"
            )
        })
        .collect()
}
