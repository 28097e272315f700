//! Import of blkparse's text: `blkparse -i sda`, in its own format.

use super::block::{Action, Joiner, Step};
use super::strace_line::seconds;
use super::{Imported, lines};
use seekwell_trace::meta::{LOST_STEPS, Lost, Meta};
use seekwell_trace::{Limits, Operation, RequestFlags, TraceError, TraceWriter};
use std::path::Path;
use std::str::SplitWhitespace;

const SECTOR: u64 = 512;

/// Writes the trace `output` from the text in `input`.
///
/// # Errors
/// When a file cannot be read or written, and when no line is one of blkparse.
pub fn blkparse(input: &Path, output: &Path) -> Result<Imported, TraceError> {
    let mut reader = std::io::BufReader::new(lines::open(input)?);
    let mut meta = Meta { requests: true, ..Meta::new("blkparse") };
    let mut writer = TraceWriter::create(output, &meta, Limits::default())?;
    let mut joiner = Joiner::default();
    let (mut lost, mut bytes) = (0, Vec::new());
    while let Some(is_whole) =
        lines::next(&mut reader, &mut bytes).map_err(TraceError::io("read", input))?
    {
        match if is_whole { line(&String::from_utf8_lossy(&bytes)) } else { Line::Damaged } {
            Line::Step(step) => joiner.add(step, &mut writer)?,
            Line::Other => joiner.counts.other += 1,
            Line::Lost(count) => lost = u64::max(lost, count),
            Line::Damaged => joiner.counts.damaged += 1,
            Line::Empty => {}
        }
    }
    joiner.finish(&mut writer)?;
    if lost > 0 {
        meta.lost.push(Lost { cpu: None, kind: LOST_STEPS.to_owned(), count: lost });
    }
    joiner.write(writer, meta, input, "give the text of `blkparse -i DEVICE`, without -f")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Step(Step),
    /// A step that is of no use, or a line of the summary at the end.
    Other,
    /// Events that blktrace dropped.
    Lost(u64),
    Damaged,
    Empty,
}

/// Reads `  8,16   1       42     0.000123456  1234  D  WS 2048 + 8 [name]`.
fn line(text: &str) -> Line {
    let mut words = text.split_whitespace();
    let Some(first) = words.next() else { return Line::Empty };
    let Some(device) = device(first) else { return other(text) };
    match step(device, words) {
        None => Line::Damaged,
        Some(None) => Line::Other,
        Some(Some(step)) => Line::Step(step),
    }
}

/// A line without a device: of the summary, or the remark about drops.
fn other(text: &str) -> Line {
    let dropped = text
        .contains("dropped events")
        .then(|| text.split_whitespace().find_map(|word| word.parse::<u64>().ok()));
    dropped.flatten().map_or(Line::Other, Line::Lost)
}

/// The words after the device; `Some(None)` for a step that is of no use.
fn step(device: u32, mut words: SplitWhitespace<'_>) -> Option<Option<Step>> {
    let _cpu: u64 = words.next()?.parse().ok()?;
    let _sequence: u64 = words.next()?.parse().ok()?;
    let time_ns = words.next().filter(|word| word.contains('.')).and_then(seconds)?;
    let process = words.next()?.parse::<u64>().ok()?;
    let action = match words.next()? {
        "Q" => Action::Queue,
        "D" => Action::Issue,
        "R" => Action::Requeue,
        "C" => Action::Complete,
        _ => return Some(None),
    };
    let (operation, flags) = purpose(words.next()?.as_bytes())?;
    let sector = words.next().and_then(|word| word.parse::<u64>().ok());
    let place = match (sector, words.next()) {
        (Some(sector), Some("+")) => {
            let sectors: u64 = words.next()?.parse().ok()?;
            Some((sector, sectors.checked_mul(SECTOR)?))
        }
        _ => None,
    };
    // A write without a place is a flush alone, `FWS`.
    let operation = match place {
        None if flags.has(RequestFlags::PREFLUSH) => Operation::Flush,
        _ => operation,
    };
    if place.is_none() && operation != Operation::Flush {
        return Some(None);
    }
    // A flush without data has no place; some kernels print sector 0 with 0 sectors.
    let place = place.filter(|(_, bytes)| *bytes > 0 || operation != Operation::Flush);
    Some(Some(Step {
        time_ns,
        action,
        device,
        process: u32::try_from(process).ok(),
        operation,
        flags,
        sector: place.map(|(sector, _)| sector),
        bytes: place.map_or(0, |(_, bytes)| bytes),
    }))
}

/// `8,16` as major number << 20 | minor number.
fn device(word: &str) -> Option<u32> {
    let (major, minor) = word.split_once(',')?;
    let (major, minor): (u32, u32) = (major.parse().ok()?, minor.parse().ok()?);
    (major < 1 << 12 && minor < 1 << 20).then_some(major << 20 | minor)
}

/// Operation and flags of letters such as `FWFSM`: an F before the operation is a flush before the
/// write, one after it is FUA.
fn purpose(letters: &[u8]) -> Option<(Operation, RequestFlags)> {
    let mut operation = None;
    let mut flags = RequestFlags::default();
    let mut flushes = 0;
    for letter in letters {
        match letter {
            b'R' => operation = Some(Operation::Read),
            b'W' => operation = Some(Operation::Write),
            b'D' => operation = Some(Operation::Discard),
            b'F' if operation.is_some() => flags = flags.with(RequestFlags::FUA),
            b'F' => flushes += 1,
            b'S' => flags = flags.with(RequestFlags::SYNC),
            b'M' => flags = flags.with(RequestFlags::META),
            b'A' => flags = flags.with(RequestFlags::AHEAD),
            // N: nothing; E: erased securely; others came later.
            letter if letter.is_ascii_alphabetic() => {}
            _ => return None,
        }
    }
    Some(match operation {
        Some(operation) if flushes > 0 => (operation, flags.with(RequestFlags::PREFLUSH)),
        Some(operation) => (operation, flags),
        None if flushes > 0 => (Operation::Flush, flags),
        None => (Operation::Other, flags),
    })
}

#[cfg(test)]
mod tests;
