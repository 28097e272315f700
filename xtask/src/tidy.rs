//! `cargo xtask tidy`: the limits and house rules that the compiler and clippy do not know.
//!
//! Each finding reads `file:line: what, why, what to do [rule]`. A limit that is wrong for a case
//! gets an entry with its reason in [`EXCEPTIONS_FILE`]; an entry that fits nothing any more is
//! itself a finding.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Result;

use crate::tree::Tree;

mod calls;
mod circles;
pub mod commits;
mod exceptions;
mod language;
mod layout;
mod manifests;
mod phrases;
mod rule;
mod rust_file;
mod size;
mod test_modules;
mod words;

#[cfg(test)]
mod tests;

pub use exceptions::EXCEPTIONS_FILE;
pub use language::PHRASES_FILE;
pub use rule::Rule;

/// One thing to fix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the root of the tree.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// The check that found it.
    pub rule: Rule,
    /// Name used in an exception: a function, a method, a dependency.
    pub item: String,
    /// The violation, as a fragment.
    pub what: String,
    /// The measured size in lines, where the rule has a limit.
    pub size: Option<usize>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (why, remedy, name) = (self.rule.why(), self.rule.remedy(), self.rule.name());
        write!(f, "{}:{}: {}, {why}, {remedy} [{name}]", self.file, self.line, self.what)
    }
}

impl Finding {
    fn new(rule: Rule, file: &str, line: usize, item: &str, what: String) -> Self {
        Self { file: file.to_owned(), line, rule, item: item.to_owned(), what, size: None }
    }
}

/// Checks the tree below `root`, prints the findings, and returns true if there are none.
///
/// # Errors
///
/// When the tree cannot be read.
pub fn command(root: &Path) -> Result<bool> {
    Ok(print(&findings(root)?))
}

/// The findings of the tree below `root`.
///
/// # Errors
///
/// When the tree cannot be read.
pub fn findings(root: &Path) -> Result<Vec<Finding>> {
    let private_words =
        fs::read_to_string(root.join(words::PRIVATE_WORDS_FILE)).unwrap_or_default();
    let private_words: Vec<String> = private_words
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let tree = Tree::read(root)?;
    Ok(check(&tree, &private_words))
}

/// Prints the findings of one crate or folder, and returns true if there are none.
///
/// # Errors
///
/// When the tree cannot be read.
pub fn room(root: &Path, room: &str) -> Result<bool> {
    let mut findings = check(&Tree::read(root)?, &[]);
    findings.retain(|finding| room_of(&finding.file) == room);
    Ok(print(&findings))
}

/// The crate or folder that a path belongs to; `root` for a file at the root.
fn room_of(path: &str) -> &str {
    match (rust_file::room(path), path.split_once('/')) {
        ("", Some((folder, _))) => folder,
        ("", None) => "root",
        (room, _) => room,
    }
}

fn print(findings: &[Finding]) -> bool {
    for finding in findings {
        println!("{finding}");
    }
    let plural = if findings.len() == 1 { "" } else { "s" };
    eprintln!("tidy: {} finding{plural}", findings.len());
    findings.is_empty()
}

/// All findings in `tree`, by file and line, after exceptions. `private_words` must not occur in any
/// text.
#[must_use]
pub fn check(tree: &Tree, private_words: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = rust_file::parse_all(tree, &mut findings);
    let phrases = language::phrases(tree, &mut findings);
    for file in &files {
        size::check(file, &mut findings);
        calls::check(file, &mut findings);
        layout::check(file, &mut findings);
        language::check_rust(file, &phrases, &mut findings);
    }
    language::check_texts(tree, &phrases, &mut findings);
    circles::check(&files, &mut findings);
    manifests::check(tree, &mut findings);
    words::check(tree, private_words, &mut findings);
    let mut findings = exceptions::apply(tree, findings);
    findings.sort();
    findings.dedup();
    findings
}
