//! `cargo xtask docs`: documents generated from the code's own definitions, so that they cannot
//! drift.
//!
//! To add one: in the room that owns the definitions, write a pure function that returns the whole
//! text, and name it with its file in [`DOCUMENTS`]. `cargo xtask docs` writes it, and `cargo xtask
//! docs --check` fails when the committed file differs.
//!
//! Figures of kept runs are printed by the program: see [`printed`] for blocks in Markdown. `make test` compares
//! those in a test of the program, which it builds anyway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Error, Result, bail};
use seekwell_testing::printed;

use crate::program;

mod meaning;
#[cfg(test)]
mod tests;

/// A generated file: its path from the root of the tree, and what makes its whole text.
type Document = (&'static str, fn() -> String);

/// Every generated document of the project.
const DOCUMENTS: [Document; 3] = [
    ("docs/lab-reference.md", seekwell_spec::reference::lab_reference_markdown),
    ("docs/meaning.md", meaning::markdown),
    ("docs/warnings.md", seekwell_spec::reference::warnings_markdown),
];

/// Writes each document whose text changed.
///
/// # Errors
///
/// When a file cannot be read or written.
pub fn write(root: &Path) -> Result<bool> {
    for (path, generate) in DOCUMENTS {
        write_changed(root, Path::new(path), &generate())?;
    }
    let program = built(root)?;
    for (path, flag) in [(COMMAND_REFERENCE, "--reference"), (SCHEMA, "--schema")] {
        write_changed(root, Path::new(path), &asked(root, &program, path, flag)?)?;
    }
    for (path, text) in printed(root, &program)? {
        write_changed(root, &path, &text)?;
    }
    Ok(true)
}

/// Writes a document and says so; false if it has this text already.
fn write_changed(root: &Path, path: &Path, text: &str) -> Result<bool> {
    let whole = root.join(path);
    if committed(&whole)?.as_deref() == Some(text) {
        return Ok(false);
    }
    if let Some(folder) = whole.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    fs::write(&whole, text).with_context(|| format!("cannot write {}", whole.display()))?;
    println!("written: {}", path.display());
    Ok(true)
}

/// Documents with figures of kept runs, as the program prints them today.
fn printed(root: &Path, built: &Path) -> Result<Vec<(PathBuf, String)>> {
    let scratch = tempfile::tempdir().context("cannot make a folder for printed pages")?;
    let program = || Command::new(built);
    let printer = printed::Printer { root, scratch: scratch.path(), program: &program };
    printer.documents().map_err(Error::msg)
}

fn built(root: &Path) -> Result<PathBuf> {
    program::build(root)?.context("the program does not build")
}

/// Documents that the program prints about its own commands and JSON. The program is run, not
/// linked, so that `tidy` need not build the whole workspace; a test of the program compares the
/// committed text.
const COMMAND_REFERENCE: &str = "docs/command-reference.md";
const SCHEMA: &str = "docs/run.schema.json";

fn asked(root: &Path, program: &Path, path: &str, flag: &str) -> Result<String> {
    let output = Command::new(program)
        .current_dir(root)
        .args(["documents", flag])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run the program for what it says of itself")?;
    if !output.status.success() {
        bail!("the program could not print {path}: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{path} is no text"))
}

/// Prints each document whose committed text differs from the code's definitions or from what the program prints of
/// kept runs; returns true if there is none.
///
/// # Errors
///
/// When a file cannot be read, or the program fails.
pub fn check(root: &Path) -> Result<bool> {
    let stale = stale_generated(root)?;
    for finding in &stale {
        println!("{finding}");
    }
    let mut all = stale.is_empty();
    for (path, text) in printed(root, &built(root)?)? {
        if let Some((line, what)) = differs(&root.join(&path), &text)? {
            println!(
                "{}:{line}: {what}, the program prints something else of its kept runs, run `cargo xtask docs`",
                path.display()
            );
            all = false;
        }
    }
    Ok(all)
}

/// A line for each document whose committed text differs from the code's definitions, without running the program.
///
/// # Errors
///
/// When a file cannot be read.
pub fn stale_generated(root: &Path) -> Result<Vec<String>> {
    stale(root, &DOCUMENTS)
}

fn stale(root: &Path, documents: &[Document]) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for (path, generate) in documents {
        let Some((line, what)) = differs(&root.join(path), &generate())? else { continue };
        stale.push(format!(
            "{path}:{line}: {what}, the code's definitions say otherwise, run `cargo xtask docs`"
        ));
    }
    Ok(stale)
}

/// The first line in which a committed file differs from its text, and how.
fn differs(path: &Path, expected: &str) -> Result<Option<(usize, &'static str)>> {
    Ok(match committed(path)? {
        None => Some((1, "missing")),
        Some(text) if text != expected => Some((first_difference(&text, expected), "out of date")),
        Some(_) => None,
    })
}

fn committed(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The first line, counted from 1, in which two texts differ.
fn first_difference(left: &str, right: &str) -> usize {
    left.lines().zip(right.lines()).take_while(|(left, right)| left == right).count() + 1
}
