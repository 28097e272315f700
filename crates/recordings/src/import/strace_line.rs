//! Lines of strace: who, when, which call with which arguments and result.

use super::constants::{error, number};

/// Clock of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// Seconds since 1970 (`-ttt`), nanoseconds.
    Epoch(u64),
    /// Time of day (`-t`, `-tt`), nanoseconds since midnight.
    Day(u64),
    /// Time since the line before (`-r`), nanoseconds.
    Relative(u64),
}

/// A line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// Thread, with `-f`.
    pub(super) thread: Option<u32>,
    pub(super) clock: Option<Clock>,
    pub(super) text: &'a str,
}

/// A call with its result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) arguments: Vec<&'a str>,
    /// `None` for `?`.
    pub(super) result: Option<i64>,
    /// File of the descriptor that is the result, with `-y`.
    pub(super) opened: Option<String>,
    /// With `-T`.
    pub(super) duration_ns: Option<u64>,
}

/// A descriptor argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) fd: i32,
    /// With `-y`.
    pub(super) path: Option<String>,
}

/// Splits off thread and time, and what other options put before a call: the time since the line
/// before (`-r` with a clock), the number of the call (`-n`), the address of its instruction (`-i`).
pub(super) fn line(text: &str) -> Line<'_> {
    let (thread, text) = thread(text.trim());
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let clock = clock(word);
    let mut text = if clock.is_some() { rest.trim_start() } else { text };
    if let Some((since, rest)) = text.strip_prefix("(+").and_then(|rest| rest.split_once(')'))
        && seconds(since.trim()).is_some()
    {
        text = rest.trim_start();
    }
    while let Some((inner, rest)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && inner.bytes().all(|byte| byte.is_ascii_hexdigit() || b" ?".contains(&byte))
    {
        text = rest.trim_start();
    }
    Line { thread, clock, text }
}

fn thread(text: &str) -> (Option<u32>, &str) {
    let (number, rest) = if let Some(rest) = text.strip_prefix("[pid") {
        rest.split_once(']').unwrap_or(("", text))
    } else {
        text.split_once(' ').unwrap_or(("", text))
    };
    // With the name of its program, of --decode-pids=comm.
    let number = number.split('<').next().unwrap_or(number);
    match number.trim().parse() {
        Ok(thread) => (Some(thread), rest.trim_start()),
        Err(_) => (None, text),
    }
}

fn clock(word: &str) -> Option<Clock> {
    // Seconds before a date in 1973 are not those of a clock.
    const EPOCH_NS: u64 = 100_000_000_000_000_000;
    let mut parts = word.rsplit(':');
    let seconds_ns = seconds(parts.next()?.trim_start_matches('+'))?;
    match (parts.next(), parts.next(), parts.next()) {
        (Some(minutes), Some(hours), None) => {
            let minutes = hours.parse::<u64>().ok()? * 60 + minutes.parse::<u64>().ok()?;
            Some(Clock::Day(minutes.checked_mul(60_000_000_000)?.checked_add(seconds_ns)?))
        }
        (None, ..) if !word.contains('.') => None,
        (None, ..) if seconds_ns >= EPOCH_NS => Some(Clock::Epoch(seconds_ns)),
        (None, ..) => Some(Clock::Relative(seconds_ns)),
        _ => None,
    }
}

/// Decimal seconds as nanoseconds, without the rounding of floating point.
pub(super) fn seconds(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || (text.contains('.') && !digits(fraction)) || fraction.len() > 9 {
        return None;
    }
    let fraction: u64 = format!("{fraction:0<9}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(fraction)
}

/// Reads `name(arguments) = result <duration>`.
pub(super) fn call(text: &str) -> Option<Call<'_>> {
    let (name, rest) = text.split_once('(')?;
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
        return None;
    }
    let (arguments, rest) = arguments(rest)?;
    let rest = rest.trim_start().strip_prefix('=')?.trim();
    let (rest, duration_ns) = match rest.rsplit_once(" <") {
        Some((before, last)) => match last.strip_suffix('>').and_then(seconds) {
            Some(duration_ns) => (before, Some(duration_ns)),
            None => (rest, None),
        },
        None => (rest, None),
    };
    let (result, opened) = result(rest);
    Some(Call { name, arguments, result, opened, duration_ns })
}

/// Splits at commas outside of strings and brackets, up to the closing bracket.
fn arguments(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut all, mut from, mut depth) = (Vec::new(), 0, 0_u32);
    let (mut in_string, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            continue;
        }
        match byte {
            b'"' => in_string = true,
            // Paths of descriptors are in angle brackets; "=>" and shifts are not.
            b'(' | b'[' | b'{' => depth += 1,
            b'<' if at > 0 && !text[..at].ends_with([' ', '<']) => depth += 1,
            b'>' if depth > 0 && !text[..at].ends_with(['=', '-']) => depth -= 1,
            b')' if depth == 0 => {
                all.push(text[from..at].trim());
                return Some((all, &text[at + 1..]));
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                all.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    None
}

fn result(text: &str) -> (Option<i64>, Option<String>) {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or("?");
    if first == "-1"
        && let Some(name) = words.next()
    {
        return (error(name).map(|number| -number), None);
    }
    if let Some(opened) = descriptor(text) {
        return (Some(opened.fd.into()), opened.path);
    }
    (number(first).map(u64::cast_signed), None)
}

/// Reads `3`, `3</path>`, `AT_FDCWD` and `AT_FDCWD</path>`.
pub(super) fn descriptor(text: &str) -> Option<Descriptor> {
    let (value, rest) = text.split_once('<').unwrap_or((text, ""));
    let value = value.split_whitespace().next()?;
    let fd = match value {
        "AT_FDCWD" => -100,
        _ => {
            let wide = number(value)?;
            // The kernel takes the lower half of the register.
            i32::try_from(wide.cast_signed())
                .ok()
                .or_else(|| u32::try_from(wide).ok().map(u32::cast_signed))?
        }
    };
    // A second bracket is a remark: </dev/pts/0<char 136:0>>.
    let path = rest.split(['<', '>']).next().filter(|path| !path.is_empty());
    Some(Descriptor { fd, path: path.map(unescaped) })
}

/// Reads a string in quotes; `None` for pointers. What strace cut off stays cut off.
pub(super) fn string(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?;
    let end = inner.rfind('"')?;
    Some(unescaped(&inner[..end]))
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut left = text.bytes().peekable();
    while let Some(byte) = left.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match left.next() {
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'v') => bytes.push(11),
            Some(b'f') => bytes.push(12),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(digit @ b'0'..=b'7') = left.peek().copied() else { break };
                    value = value * 8 + u32::from(digit - b'0');
                    left.next();
                }
                bytes.push(u8::try_from(value).unwrap_or(b'?'));
            }
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests;
