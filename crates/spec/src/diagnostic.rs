//! The one message that a mistake in a lab gets.

use std::fmt;

/// A mistake in a lab: where it is, what is wrong, and what to write instead.
///
/// Printed as plain text:
///
/// ```text
/// mail.toml:4:8: unknown filesystem "etx4"
///   |
/// 4 | type = "etx4"
///   |        ^^^^^^
///   = write type = "ext4"
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The file as the caller named it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The mistake and its reason, a lower-case fragment.
    pub message: String,
    /// The offending value as written in the file, shortened; `None` where there is none to show.
    pub value: Option<Box<str>>,
    /// The fix, a lower-case fragment.
    pub remedy: String,
    /// The lines shown between message and remedy; empty where no line can be shown.
    pub excerpt: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, message, remedy, excerpt, .. } = self;
        write!(formatter, "{file}:{line}:{column}: {message}")?;
        if !excerpt.is_empty() {
            write!(formatter, "\n{excerpt}")?;
        }
        let indent = if excerpt.is_empty() { 1 } else { line.to_string().len() + 1 };
        write!(formatter, "\n{:indent$}= {remedy}", "")
    }
}

impl std::error::Error for Diagnostic {}
