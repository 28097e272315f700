//! The text of a lab and places in it.

use crate::diagnostic::Diagnostic;
use std::ops::Range;

/// A range of bytes in the text of a lab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        Self { start: range.start, end: range.end }
    }
}

/// A mistake, not yet tied to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// The position; `None` if the mistake is something that the lab leaves out.
    pub(crate) span: Option<Span>,
    pub(crate) message: String,
    pub(crate) remedy: String,
}

impl Problem {
    pub(crate) fn new(
        span: impl Into<Option<Span>>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { span: span.into(), message: message.into(), remedy: remedy.into() }
    }
}

/// Longest piece of a line that an excerpt shows, in characters.
const EXCERPT_WIDTH: usize = 100;

/// Longest value that a message repeats, in characters.
const VALUE_WIDTH: usize = 60;

/// Longest message or remedy, in characters: the longest lists of names fit, a lab's own text that
/// came in unshortened is cut.
const MESSAGE_WIDTH: usize = 600;

/// The text of a lab with the name of its file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn new(file: &str, text: &str) -> Self {
        Self { file: printable(file), text: text.to_owned() }
    }

    /// The text of the lab there, shortened and safe to print.
    pub(crate) fn slice(&self, span: Span) -> String {
        let text = self.text.get(span.start..span.end).unwrap_or_default();
        let line = text.lines().next().unwrap_or_default();
        let shown = shorten(line, VALUE_WIDTH);
        if text.lines().nth(1).is_some() && !shown.ends_with('…') {
            shown + " …"
        } else {
            shown
        }
    }

    /// The message of a mistake in this text.
    pub(crate) fn diagnostic(&self, problem: Problem) -> Diagnostic {
        let Problem { span, message, remedy } = problem;
        let mut diagnostic = Diagnostic {
            file: self.file.clone(),
            line: 1,
            column: 1,
            message: shorten(&message, MESSAGE_WIDTH),
            value: None,
            remedy: shorten(&remedy, MESSAGE_WIDTH),
            excerpt: String::new(),
        };
        let Some(span) = span else { return diagnostic };
        let start = self.boundary(span.start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let column = self.text[line_start..start].chars().count();
        diagnostic.line = count(before.matches('\n').count());
        diagnostic.column = count(column);
        let value = self.slice(span);
        let marked =
            span.end.saturating_sub(start).min(line.len().saturating_sub(start - line_start));
        let marked = self.text.get(start..start + marked).map_or(1, |text| text.chars().count());
        if !value.is_empty() {
            diagnostic.value = Some(value.into());
        }
        if !self.text.trim().is_empty() {
            diagnostic.excerpt = excerpt(diagnostic.line, line, column, marked.max(1));
        }
        diagnostic
    }

    /// The offset, moved back to the beginning of a character inside the text.
    fn boundary(&self, offset: usize) -> usize {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        offset
    }
}

/// Zero-based to one-based; texts are far below 4 G lines.
fn count(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

/// Control characters replaced, so that a lab cannot steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            c if c.is_control() => '\u{fffd}',
            // Characters that reverse the direction of text could show something else than is there.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// At most `width` characters, printable.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let mut shown: String = printable(&text.chars().take(width).collect::<String>());
    if text.chars().nth(width).is_some() {
        shown.push('…');
    }
    shown
}

/// The line with carets under `marked` characters from `column`, both cut to a readable width.
fn excerpt(number: u32, line: &str, column: usize, marked: usize) -> String {
    let skipped = if column < EXCERPT_WIDTH * 3 / 4 { 0 } else { column - EXCERPT_WIDTH / 4 };
    let rest: String = line.chars().skip(skipped).collect();
    let (lead, indent) = if skipped > 0 { ("…", column - skipped + 1) } else { ("", column) };
    let shown = format!("{lead}{}", shorten(&rest, EXCERPT_WIDTH));
    let room = shown.chars().count().saturating_sub(indent).max(1);
    let carets = "^".repeat(marked.min(room));
    let gutter = number.to_string().len();
    let text = format!("{number} | {shown}");
    format!("{:gutter$} |\n{}\n{:gutter$} | {:indent$}{carets}", "", text.trim_end(), "", "")
}

#[cfg(test)]
mod tests;
