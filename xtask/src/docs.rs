//! `cargo xtask docs`: documents generated from the code's own definitions, so that they cannot
//! drift.
//!
//! To add one: in the room that owns the definitions, write a pure function that returns the whole
//! text, and name it with its file in [`documents`]. `cargo xtask docs` writes it, and `cargo xtask
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

/// A generated file.
pub struct Document {
    /// Path from the root of the tree.
    pub path: &'static str,
    /// Its whole text.
    pub generate: fn() -> String,
}

/// Every generated document of the project.
fn documents() -> Vec<Document> {
    vec![
        Document {
            path: "docs/lab-reference.md",
            generate: seekwell_spec::reference::lab_reference_markdown,
        },
        Document { path: "docs/meaning.md", generate: meaning::markdown },
        Document {
            path: "docs/warnings.md",
            generate: seekwell_spec::reference::warnings_markdown,
        },
    ]
}

/// Writes each document whose text changed.
///
/// # Errors
///
/// When a file cannot be read or written.
pub fn write(root: &Path) -> Result<bool> {
    for path in write_all(root, &documents())? {
        println!("written: {path}");
    }
    let program = built(root)?;
    for (path, flag) in [(COMMAND_REFERENCE, "--reference"), (SCHEMA, "--schema")] {
        if write_asked(root, &program, path, flag)? {
            println!("written: {path}");
        }
    }
    for (path, text) in printed(root, &program)? {
        let whole = root.join(&path);
        if committed(&whole)?.as_ref() != Some(&text) {
            fs::write(&whole, text).with_context(|| format!("cannot write {}", path.display()))?;
            println!("written: {}", path.display());
        }
    }
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

fn write_asked(root: &Path, program: &Path, path: &str, flag: &str) -> Result<bool> {
    let output = Command::new(program)
        .current_dir(root)
        .args(["documents", flag])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run the program for what it says of itself")?;
    if !output.status.success() {
        bail!("the program could not print {path}: {}", output.status);
    }
    let text = String::from_utf8(output.stdout).with_context(|| format!("{path} is no text"))?;
    let path = root.join(path);
    if committed(&path)?.as_ref() == Some(&text) {
        return Ok(false);
    }
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(true)
}

/// Prints each document whose committed text differs from the code's definitions or from what the program prints of
/// kept runs; returns true if there is none.
///
/// # Errors
///
/// When a file cannot be read, or the program fails.
pub fn check(root: &Path) -> Result<bool> {
    let mut all = check_generated(root)?;
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

/// The same for what the code's definitions say, without running the program.
///
/// # Errors
///
/// When a file cannot be read.
pub fn check_generated(root: &Path) -> Result<bool> {
    let stale = stale(root, &documents())?;
    for finding in &stale {
        println!("{finding}");
    }
    Ok(stale.is_empty())
}

fn write_all(root: &Path, documents: &[Document]) -> Result<Vec<&'static str>> {
    let mut written = Vec::new();
    for document in documents {
        let path = root.join(document.path);
        let text = (document.generate)();
        if committed(&path)?.as_ref() == Some(&text) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        written.push(document.path);
    }
    Ok(written)
}

fn stale(root: &Path, documents: &[Document]) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for document in documents {
        let expected = (document.generate)();
        let Some((line, what)) = differs(&root.join(document.path), &expected)? else { continue };
        stale.push(format!(
            "{}:{line}: {what}, the code's definitions say otherwise, run `cargo xtask docs`",
            document.path
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
