//! `cargo xtask tidy`: the budgets and house rules that the compiler and clippy do not know.
//!
//! Each finding reads `file:line: what, why, what to do [rule]`. A limit that is wrong for a case gets an entry
//! with its reason in `xtask/tidy.toml` (see [`exceptions`]); an entry that fits nothing any more is a finding.

use std::fmt;
use std::path::Path;

use anyhow::Result;

use crate::tree::Tree;

mod calls;
mod exceptions;
mod layout;
mod manifests;
mod rust_file;
mod safety;
mod size;
mod test_modules;
mod words;

#[cfg(test)]
mod tests;

pub use exceptions::EXCEPTIONS_FILE;

/// What a check stands for: its name in `xtask/tidy.toml`, why it exists and how to get right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// A Rust file that does not parse cannot be judged.
    Syntax,
    /// A function of more than [`size::FUNCTION_LINES`] lines.
    FunctionLength,
    /// A production file of more than [`size::FILE_LINES`] lines.
    FileLength,
    /// `unwrap` or `expect` in production code without a reason beside it.
    Unwrap,
    /// A lint switched off without a reason.
    AllowReason,
    /// An unsafe block or impl without a SAFETY comment.
    Safety,
    /// A crate outside the workspace's lints, or a lint missing there.
    Lints,
    /// `missing_docs` switched off.
    Docs,
    /// A dependency against the arrows of the design.
    Arrow,
    /// Printing, ending the process or reading the environment outside `cli`.
    Door,
    /// A `mod.rs` with more than declarations.
    ModRs,
    /// A module named after no concept.
    VagueName,
    /// Unit tests inside a production file.
    InlineTests,
    /// A path, tool or host of the place where the code was written.
    Workplace,
    /// A lock file that points anywhere but the public registry.
    Lock,
    /// An entry of `xtask/tidy.toml` that is wrong or fits nothing.
    Exceptions,
}

impl Rule {
    const ALL: [Self; 16] = [
        Self::Syntax,
        Self::FunctionLength,
        Self::FileLength,
        Self::Unwrap,
        Self::AllowReason,
        Self::Safety,
        Self::Lints,
        Self::Docs,
        Self::Arrow,
        Self::Door,
        Self::ModRs,
        Self::VagueName,
        Self::InlineTests,
        Self::Workplace,
        Self::Lock,
        Self::Exceptions,
    ];

    /// Name, why, what to do.
    fn text(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Syntax => ("syntax", "no other rule can look at it", "mend the syntax"),
            Self::FunctionLength => (
                "function-length",
                "a reader should see the whole function at once",
                "split it where the story has chapters",
            ),
            Self::FileLength => (
                "file-length",
                "a file should hold one concept",
                "move a concept, with its tests, to a file of its own",
            ),
            Self::Unwrap => (
                "unwrap",
                "a panic tells the user neither where nor what to do",
                "return a typed error, or state on the statement why it cannot fail: #[allow(..., reason = \"...\")]",
            ),
            Self::AllowReason => (
                "allow-reason",
                "the next reader cannot tell whether the exception still holds",
                "add reason = \"...\" or remove the attribute",
            ),
            Self::Safety => (
                "safety",
                "nobody can check an unsafe block whose conditions are not written down",
                "write // SAFETY: and the reason directly above it",
            ),
            Self::Lints => (
                "lints",
                "the compiler checks only what is switched on",
                "write the entry named",
            ),
            Self::Docs => (
                "docs",
                "a public item without its shape, units and errors cannot be used safely",
                "document the items instead",
            ),
            Self::Arrow => (
                "arrow",
                "dependencies point one way, from cli down to model",
                "move what both need to a lower room",
            ),
            Self::Door => (
                "door",
                "a library that talks to the terminal, the environment or ends the process cannot be used or tested by others",
                "return the value and let cli do it",
            ),
            Self::ModRs => (
                "mod-rs",
                "editors show many files of that name and none says what it holds",
                "move the logic to a file named after its concept",
            ),
            Self::VagueName => (
                "vague-name",
                "such a module attracts everything that has no home",
                "name it after what it holds",
            ),
            Self::InlineTests => (
                "inline-tests",
                "the file's length must show its production code",
                "write `#[cfg(test)] mod tests;` and move the tests to the sibling file",
            ),
            Self::Workplace => (
                "workplace",
                "it means nothing on any other machine",
                "say it without that name",
            ),
            Self::Lock => (
                "lock",
                "a build must not depend on one place's mirror",
                "restore the lock file with the public registry",
            ),
            Self::Exceptions => (
                "exceptions",
                "a list of exceptions is only worth something while each of them is true",
                "mend or remove the entry",
            ),
        }
    }

    /// The name used in `xtask/tidy.toml`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.text().0
    }

    fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// Whether an exception states how far over the limit it reaches.
    fn has_limit(self) -> bool {
        matches!(self, Self::FunctionLength | Self::FileLength)
    }
}

/// One thing to mend.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the root of the tree.
    pub file: String,
    /// Line, counted from 1.
    pub line: usize,
    /// The check that found it.
    pub rule: Rule,
    /// What an exception names it by: a function, a method, a dependency.
    pub item: String,
    /// What was found, as a fragment.
    pub what: String,
    /// The measured size in lines, where the rule has a limit.
    pub size: Option<usize>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, why, remedy) = self.rule.text();
        write!(f, "{}:{}: {}, {why}, {remedy} [{name}]", self.file, self.line, self.what)
    }
}

impl Finding {
    fn new(rule: Rule, file: &str, line: usize, item: &str, what: String) -> Self {
        Self { file: file.to_owned(), line, rule, item: item.to_owned(), what, size: None }
    }
}

/// Checks the tree below `root` and prints what it finds; whether nothing was found.
///
/// # Errors
///
/// When the tree cannot be read.
pub fn command(root: &Path) -> Result<bool> {
    let findings = check(&Tree::read(root)?);
    for finding in &findings {
        println!("{finding}");
    }
    let plural = if findings.len() == 1 { "" } else { "s" };
    eprintln!("tidy: {} finding{plural}", findings.len());
    Ok(findings.is_empty())
}

/// All findings in `tree`, by file and line, exceptions applied.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = rust_file::parse_all(tree, &mut findings);
    for file in &files {
        size::check(file, &mut findings);
        calls::check(file, &mut findings);
        safety::check(file, &mut findings);
        layout::check(file, &mut findings);
    }
    manifests::check(tree, &mut findings);
    words::check(tree, &mut findings);
    let mut findings = exceptions::apply(tree, findings);
    findings.sort();
    findings.dedup();
    findings
}
