//! Results go to standard output, messages to standard error.

use std::io::{IsTerminal, Write, stderr, stdout};

/// Columns of the terminal; 80 when there is none.
pub fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(stdout());
    size.map_or(80, |size| usize::from(size.ws_col)).clamp(40, 160)
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
