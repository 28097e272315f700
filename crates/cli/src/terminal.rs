//! Results go to standard output, messages to standard error.

use std::io::{IsTerminal, Write, stderr, stdout};

/// Columns of the terminal; 80 when there is none.
pub fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(stdout());
    size.map_or(80, |size| usize::from(size.ws_col)).clamp(40, 160)
}

/// Lines of the terminal that standard output is; `None` for a file or a pipe, where nothing scrolls.
pub fn height() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stdout()).ok()?;
    (size.ws_row > 0).then(|| usize::from(size.ws_row))
}

/// Columns of the terminal that standard output is; `None` for a file or a pipe, where lines stay whole.
pub fn columns() -> Option<usize> {
    stdout().is_terminal().then(width)
}

/// A line that begins with `first`, whose text continues below itself where the columns end. A word is
/// never broken.
pub fn hanging(first: &str, text: &str, columns: Option<usize>) -> String {
    let indent = first.chars().count();
    let room = columns.map_or(usize::MAX, |columns| columns.saturating_sub(indent).max(20));
    let mut out = first.to_owned();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > room {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += length;
    }
    out.push('\n');
    out
}

/// A table with its last column, which begins below the heading `last`, wrapped to the columns.
pub fn wrap_last(table: &str, last: &str, columns: Option<usize>) -> String {
    let Some(at) = table.lines().next().and_then(|line| line.find(last)) else {
        return table.to_owned();
    };
    let wrapped = table.lines().map(|line| match line.split_at_checked(at) {
        Some((first, text)) => hanging(first, text, columns),
        None => format!("{line}\n"),
    });
    wrapped.collect()
}

/// Returns true if standard output shows colours: a terminal that is not dumb, without `NO_COLOR`.
pub fn colour() -> bool {
    stdout().is_terminal() && !plain()
}

fn plain() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
        || std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Prints data. A closed pipe is the reader's choice and no error.
pub fn data(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// As [`data`], piece by piece.
///
/// # Errors
/// Those of `write`, and of an output that is not closed and yet takes nothing.
pub fn data_piecewise(
    write: &dyn Fn(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Prints a line of talk.
pub fn talk(text: &str) {
    let _ = writeln!(stderr().lock(), "{text}");
}

/// The text without characters that would steer a terminal: names of devices and labels come from
/// outside.
pub fn harmless(text: &str) -> String {
    let safe = |c: char| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c };
    text.chars().map(safe).collect()
}

/// Standard error as something to write to, for questions.
pub struct Talk;

impl Write for Talk {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        stderr().lock().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        stderr().lock().flush()
    }
}

#[cfg(test)]
mod tests;
