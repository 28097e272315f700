//! Reads a lab from its bytes.

use crate::build::{self, Positions};
use crate::diagnostic::Diagnostic;
use crate::source::{Problem, Source, Span};
use crate::tables;
use crate::walk::Walker;
use seekwell_model::lab::Lab;
use toml::de::DeTable;

/// Largest lab that is read. A lab is written by hand; something larger is another file.
pub const MAX_LAB_BYTES: usize = 1 << 20;

/// A lab with the text that it was read from, so that a later error (about the machine) can still show
/// the line.
#[derive(Clone, Debug, PartialEq)]
pub struct LabFile {
    /// The lab.
    pub lab: Lab,
    pub(crate) source: Source,
    pub(crate) positions: Positions,
}

impl LabFile {
    /// A lab without a text, such as one that a run file holds. Messages about it have this name and no line.
    #[must_use]
    pub fn without_text(lab: Lab, name: &str) -> Self {
        Self { lab, source: Source::new(name, ""), positions: Positions::default() }
    }

    /// Returns true if the lab sets its seed.
    #[must_use]
    pub fn gives_seed(&self) -> bool {
        self.positions.gives_seed
    }
}

/// Reads a lab from text. `file_name` is only used in messages and for the lab's default name.
///
/// # Errors
///
/// The first mistake.
pub fn read_lab(source: &str, file_name: &str) -> Result<Lab, Diagnostic> {
    read_lab_bytes(source.as_bytes(), file_name).map(|file| file.lab)
}

/// Reads a lab from the bytes of a file. `file_name` is only used in messages and for the lab's
/// default name.
///
/// # Errors
///
/// The first mistake, also when the bytes are no text or more than [`MAX_LAB_BYTES`].
pub fn read_lab_bytes(bytes: &[u8], file_name: &str) -> Result<LabFile, Diagnostic> {
    let refuse = |problem| Source::new(file_name, "").diagnostic(problem);
    if bytes.len() > MAX_LAB_BYTES {
        let megabytes = bytes.len() as f64 / 1e6;
        let message = format!("the file has {megabytes:.1} MB; a lab has at most 1 MiB");
        return Err(refuse(Problem::new(None, message, "write the path of a lab, a TOML file")));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text,
        Ok(text) => return Err(refuse(binary(text.find('\0').unwrap_or(0)))),
        Err(error) => return Err(refuse(binary(error.valid_up_to()))),
    };
    let source = Source::new(file_name, text);
    let read = || {
        let table = DeTable::parse(&source.text).map_err(|error| syntax(&source, &error))?;
        let root = Walker { source: &source }.table(table.get_ref(), &tables::ROOT, None)?;
        build::lab(&root, &source)
    };
    match read() {
        Ok((lab, positions)) => Ok(LabFile { lab, source, positions }),
        Err(problem) => Err(source.diagnostic(problem)),
    }
}

fn binary(offset: usize) -> Problem {
    let message = format!("not a text file: the byte at offset {offset} is not UTF-8 text");
    Problem::new(None, message, "write the path of a lab, a TOML file in UTF-8")
}

/// Puts the parser's message into the house's form and adds what to write.
fn syntax(source: &Source, error: &toml::de::Error) -> Problem {
    let span = error.span().map(Span::from);
    let text = error.message();
    let parser = text.lines().next().unwrap_or("not TOML");
    let remedy = if parser.contains("duplicate key") {
        "keep one of them; several tables of an axis have double brackets: [[device]]"
    } else if parser.contains("invalid basic string") {
        "end the text with \" on the same line"
    } else if parser.contains("string values must be quoted") {
        "put texts in quotes: name = \"…\""
    } else if parser.contains("recurs") {
        "write lists without lists inside"
    } else {
        "write TOML: KEY = VALUE on a line of its own below its [table]"
    };
    let message = format!("not TOML: {parser}");
    // An error at the end of the file points at its last line, which can be shown.
    let end = source.text.trim_end().len();
    let span = span.map(|span| Span { start: span.start.min(end), end: span.end.max(span.start) });
    Problem::new(span, message, remedy)
}
