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

/// Columns of the terminal that standard error is; `None` for a file or a pipe.
pub fn talk_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stderr()).ok().filter(|_| stderr().is_terminal())?;
    Some(usize::from(size.ws_col).clamp(40, 160))
}

/// A line that begins with `first`, whose text continues below itself where the columns end. A word is
/// never broken.
pub fn hanging(first: &str, text: &str, columns: Option<usize>) -> String {
    wrapped(first, text, first.chars().count(), columns)
}

/// As [`hanging`], with the following lines indented by `indent`.
fn wrapped(first: &str, text: &str, indent: usize, columns: Option<usize>) -> String {
    let columns = columns.unwrap_or(usize::MAX);
    let mut out = first.to_owned();
    let mut used = first.chars().count();
    let mut is_first = true;
    for word in words(text, columns.saturating_sub(indent)) {
        let length = word.chars().count();
        if !is_first && used + 1 + length > columns.max(indent + 20) {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            used = indent;
        } else if !is_first {
            out.push(' ');
            used += 1;
        }
        is_first = false;
        out.push_str(&word);
        used += length;
    }
    out.push('\n');
    out
}

/// The words of a text. A command in backquotes is one word if it fits `room`, since it is there to be
/// copied, and so is a number with its per cent sign.
fn words(text: &str, room: usize) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in text.split(' ') {
        match all.last_mut() {
            Some(last)
                if (is_open || word.starts_with('%'))
                    && last.chars().count() + 1 + word.chars().count() <= room =>
            {
                last.push(' ');
                last.push_str(word);
            }
            _ => all.push(word.to_owned()),
        }
        is_open ^= word.matches('`').count() % 2 == 1;
    }
    all
}

/// A text whose lines fit the columns. The rest of a line is below its own text: below the item of a list,
/// the last column of a row, else `indent` columns into the paragraph. A command at the end of a line that
/// does not fit gets a line of its own and is not broken.
pub fn fitted(text: &str, indent: usize, columns: Option<usize>) -> String {
    let Some(room) = columns else { return text.to_owned() };
    let fit = |line: &str| {
        if line.chars().count() <= room {
            return format!("{line}\n");
        }
        let (line, command) = match command_at(line) {
            Some(at) => (line[..at].trim_end(), Some(&line[at..])),
            None => (line, None),
        };
        let (first, text) = line.split_at(text_at(line, room));
        let lead = line.len() - line.trim_start().len();
        let below = match first.chars().count() {
            used if used > lead => used,
            _ if lead > 0 => lead + 2,
            _ => indent,
        };
        let mut out = wrapped(first, text, below, columns);
        if let Some(command) = command {
            out.push_str(&format!("{:lead$}  {command}\n", ""));
        }
        out
    };
    text.lines().map(fit).collect()
}

/// Start of a `seekwell` command that ends a line after a colon.
fn command_at(line: &str) -> Option<usize> {
    let starts = [": seekwell ", ": sudo seekwell "];
    starts.iter().filter_map(|start| line.rfind(start)).min().map(|at| at + 2)
}

/// Start of the text that is wrapped: after the mark of a list, or after the last gap of two blanks in the
/// first half of the room.
fn text_at(line: &str, room: usize) -> usize {
    let lead = line.len() - line.trim_start().len();
    if line[lead..].starts_with("- ") {
        return lead + 2;
    }
    let half = line.char_indices().nth(room / 2).map_or(line.len(), |(at, _)| at);
    let gap = line[lead..half.max(lead)].rfind("  ").map(|at| lead + at + 2);
    gap.filter(|at| line[*at..].starts_with(|c: char| c != ' ')).unwrap_or(lead)
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
    stdout().is_terminal()
        && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
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

/// Prints a value as JSON.
///
/// # Errors
/// When JSON has no form for it.
pub fn json(value: &impl serde::Serialize) -> serde_json::Result<()> {
    data(&serde_json::to_string_pretty(value)?);
    Ok(())
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

/// Prints lines of talk, which fit the terminal.
pub fn talk(text: &str) {
    let text = fitted(text, 2, talk_columns());
    let _ = writeln!(stderr().lock(), "{}", text.trim_end_matches('\n'));
}

/// The text without characters that would steer a terminal: names of devices and labels come from
/// outside. Those that reorder or hide the text around them are shown as `\u{202e}`.
pub fn harmless(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            _ if c.is_control() => out.push('\u{fffd}'),
            _ if seekwell_report::is_harmful(c) => out.extend(c.escape_unicode()),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
