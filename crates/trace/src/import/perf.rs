//! Import of `perf trace -o FILE COMMAND`: its lines as calls of strace, whose import follows
//! descriptors, directories and processes.

use super::strace::Import;
use super::{Imported, lines};
use crate::calls::Call;
use crate::error::TraceError;
use crate::meta::{LOST_CALLS, Lost, Meta};
use crate::write::{Limits, TraceWriter};
use std::collections::HashMap;
use std::path::Path;

/// Calls under way; a machine has at most some ten thousand threads.
const UNDER_WAY: usize = 1 << 16;

/// Latest first call of times that count from the start of the recording. Later ones count from the start of
/// the machine (`-T`).
const GAP_NS: u64 = 60_000_000_000;

/// Writes the trace `output` from the output of `perf trace` in `input`.
///
/// # Errors
/// When a file cannot be read or written, and when no line is a call with its time.
pub fn perf(input: &Path, output: &Path) -> Result<Imported, TraceError> {
    let file = lines::open(input)?;
    let mut reader = std::io::BufReader::with_capacity(1 << 18, file);
    let mut meta = Meta::new("perf trace");
    let mut import = Import::new(TraceWriter::create(output, &meta, Limits::default())?);
    let (mut bytes, mut started, mut lost) = (Vec::new(), HashMap::new(), 0_u64);
    let (mut seen, mut first_ns) = (false, None);
    while let Some(is_whole) =
        lines::next(&mut reader, &mut bytes).map_err(TraceError::io("read", input))?
    {
        let text = String::from_utf8_lossy(&bytes);
        if let Some(count) = lost_events(&text) {
            lost = lost.saturating_add(count);
            continue;
        }
        let Some(mut line) = line(&text).filter(|_| is_whole) else {
            import.counts.other += u64::from(text.trim().is_empty() || text.starts_with('#'));
            import.counts.damaged += u64::from(!text.trim().is_empty() && !text.starts_with('#'));
            continue;
        };
        if !line.is_before {
            let start_ns = line.start_ns;
            let since_ns = *first_ns.get_or_insert(if start_ns > GAP_NS { start_ns } else { 0 });
            line.start_ns = start_ns.saturating_sub(since_ns);
        }
        seen = true;
        add(&line, &mut started, &mut import)?;
    }
    if !seen {
        import.writer.abandon();
        let problem = "no call with a time; record with `perf trace -o FILE COMMAND`".to_owned();
        return Err(TraceError::Import { path: input.to_owned(), line: 1, problem });
    }
    if lost > 0 {
        meta.lost.push(Lost { cpu: None, kind: LOST_CALLS.to_owned(), count: lost });
    }
    meta.duration_ns = Some(import.last_ns);
    meta.gaps = gaps(import.unnamed);
    let imported = Imported { events: import.writer.events(), ..import.counts };
    import.writer.finish(&meta)?;
    Ok(imported)
}

fn gaps(unnamed: u64) -> Vec<String> {
    let mut gaps = vec![
        "perf trace does not see block requests and single operations of io_uring".to_owned(),
        "perf trace leaves out arguments that are 0, and tells of a process only its threads: \
         threads that started before are taken for processes"
            .to_owned(),
        "offsets of reads and writes at a file's position are followed from its opening; after dup \
         and fork they are unknown"
            .to_owned(),
    ];
    if unnamed > 0 {
        gaps.push(format!(
            "{unnamed} calls name their file by an address alone: perf reads names only where the \
             kernel has the probe vfs_getname or perf was built with its BPF programs"
        ));
    }
    gaps
}

/// `LOST 12 events!`
fn lost_events(text: &str) -> Option<u64> {
    let mut words = text.trim().strip_prefix("LOST ")?.split_whitespace();
    words.next()?.parse().ok()
}

/// A line: `  1.091 ( 0.020 ms): sh/13968 close(fd: 4)   = 0`.
struct Line<'a> {
    start_ns: u64,
    /// True for a call that began before the recording.
    is_before: bool,
    /// `None` for a call that has not ended.
    duration_ns: Option<u64>,
    name: &'a str,
    thread: u32,
    text: &'a str,
}

fn line(text: &str) -> Option<Line<'_>> {
    let (time, rest) = text.trim_start().split_once('(')?;
    let (duration, rest) = rest.split_once("):")?;
    let time = time.trim();
    let is_before = time == "?";
    let start_ns = if is_before { 0 } else { milliseconds(time)? };
    let duration_ns = match duration.trim() {
        "" => None,
        duration => Some(milliseconds(duration.strip_suffix("ms")?.trim_end())?),
    };
    let rest = rest.trim_start();
    let (name, thread, text) = match rest.split_once(' ').and_then(|(who, text)| {
        // The name of a program may have slashes.
        let (name, thread) = who.rsplit_once('/')?;
        Some((name, thread.parse().ok()?, text))
    }) {
        Some(found) => found,
        // Of a single thread.
        None => ("", 1, rest),
    };
    Some(Line { start_ns, is_before, duration_ns, name, thread, text: text.trim() })
}

fn milliseconds(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.')?;
    let part = format!("{part:0<6}");
    let ns: u64 = part.get(..6)?.parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(ns)
}

fn add(
    line: &Line<'_>,
    started: &mut HashMap<u32, String>,
    import: &mut Import,
) -> Result<(), TraceError> {
    if let Some(text) = line.text.strip_suffix("...") {
        if started.len() < UNDER_WAY {
            started.insert(line.thread, text.trim_end().to_owned());
        } else {
            import.counts.damaged += 1;
        }
        return Ok(());
    }
    let continued = line.text.strip_prefix("... [continued]: ");
    let before = continued.and_then(|_| started.remove(&line.thread));
    let Some((call, result)) = parts(continued.unwrap_or(line.text)) else {
        // Page faults and events of other kinds.
        import.counts.other += 1;
        return Ok(());
    };
    let whole = before.as_deref().unwrap_or(call);
    let Some((name, arguments)) = whole.split_once('(') else {
        import.counts.damaged += 1;
        return Ok(());
    };
    // The first half of a call may have no bracket at its end.
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    let Some(known) = super::strace::known(name) else {
        import.counts.other += 1;
        return Ok(());
    };
    import.name(line.thread, line.start_ns, line.name);
    let text = format!("{name}({}) = {result}", said(known.call(), arguments, &mut import.unnamed));
    let end_ns = line.duration_ns.map(|duration_ns| line.start_ns.saturating_add(duration_ns));
    import.whole(&text, line.thread, line.start_ns, end_ns)
}

/// A call, and its result: `3`, `-1 ENOENT`.
fn parts(text: &str) -> Option<(&str, String)> {
    let (call, result) = text.rsplit_once("= ")?;
    let call = call.trim_end().strip_suffix(')')?;
    let mut words = result.split_whitespace();
    let first = words.next()?;
    let result = match words.next() {
        Some(error) if first == "-1" => format!("-1 {error}"),
        // The name of a process after its number.
        _ => first.to_owned(),
    };
    Some((call, result))
}

/// Part of an argument's name, and the place of the argument in the call.
fn place(call: &Call, name: &str) -> Option<u8> {
    match name {
        "fd" | "fildes" | "fd_in" => call.fd,
        "oldfd" if call.path.is_none() => call.fd,
        "newfd" | "fd_out" => call.to_fd,
        "in_fd" => call.fd,
        "out_fd" => call.to_fd,
        "dfd" | "olddfd" => call.directory,
        "newdfd" => call.to_directory,
        "filename" | "pathname" | "path" | "oldname" | "name" => call.path,
        "newname" => call.to_path,
        "count" | "len" | "length" | "size" => call.length,
        "pos" | "offset" | "off" | "pgoff" => call.offset,
        "flags" | "flag" | "cmd" | "clone_flags" => call.flags,
        "mode" if !call.opens => call.flags,
        _ => None,
    }
}

/// Arguments as strace prints them, in the order of the call.
fn said(call: &Call, text: &str, unnamed: &mut u64) -> String {
    let mut all = vec!["0".to_owned(); 6];
    // Left out when it is 0, so that a missing one is not taken for a file.
    for at in [call.path, call.to_path].into_iter().flatten() {
        all[usize::from(at) % 6] = "NULL".to_owned();
    }
    for argument in arguments(text) {
        let Some((name, value)) = argument.split_once(": ") else { continue };
        let Some(at) = place(call, name) else { continue };
        let value = match name {
            "dfd" | "olddfd" | "newdfd" if value == "CWD" => "AT_FDCWD".to_owned(),
            "flags" | "cmd" => prefixed(call.name, value),
            _ => value.to_owned(),
        };
        let is_path = Some(at) == call.path || Some(at) == call.to_path;
        *unnamed += u64::from(is_path && value.starts_with("0x"));
        all[usize::from(at) % 6] = value;
    }
    all.join(", ")
}

/// Arguments at commas outside of strings and brackets.
fn arguments(text: &str) -> Vec<&str> {
    let (mut all, mut from, mut in_string, mut depth) = (Vec::new(), 0, false, 0_u32);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'"' => in_string = !in_string,
            b'<' | b'{' if !in_string => depth += 1,
            b'>' | b'}' if !in_string => depth = depth.saturating_sub(1),
            b',' if !in_string && depth == 0 => {
                all.push(text[from..at].trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    all.push(text[from..].trim());
    all
}

/// Flags with the prefix that perf leaves out.
fn prefixed(call: &str, flags: &str) -> String {
    let prefix = match call {
        "open" | "openat" | "dup3" => "O_",
        "mmap" => "MAP_",
        "fcntl" => "F_",
        "flock" => "LOCK_",
        "msync" => "MS_",
        "madvise" => "MADV_",
        "unlinkat" | "newfstatat" | "statx" | "fchownat" | "utimensat" | "linkat" => "AT_",
        "renameat2" => "RENAME_",
        "clone" => "CLONE_",
        _ => "",
    };
    let is_number = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    let words = flags.split('|').map(|word| {
        let has = prefix.is_empty() || is_number(word) || word.starts_with(prefix);
        if has { word.to_owned() } else { format!("{prefix}{word}") }
    });
    words.collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests;
