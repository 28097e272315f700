//! Import of blkparse's text: `blkparse -i sda`, in its own format.

use super::block::{Action, Joiner, Step};
use super::words::Words;
use super::{Imported, lines};
use crate::error::TraceError;
use crate::event::{Operation, RequestFlags};
use crate::meta::{Lost, Meta};
use crate::write::{Limits, TraceWriter};
use std::path::Path;

const SECTOR: u64 = 512;

/// Writes the trace `output` from the text in `input`.
///
/// # Errors
/// When a file cannot be read or written, and when no line is one of blkparse.
pub fn blkparse(input: &Path, output: &Path) -> Result<Imported, TraceError> {
    let file = lines::open(input)?;
    let mut reader = std::io::BufReader::with_capacity(1 << 20, file);
    let mut meta = Meta { requests: true, ..Meta::new("blkparse") };
    let mut writer = TraceWriter::create(output, &meta, Limits::default())?;
    let mut joiner = Joiner::new();
    let mut lost = 0;
    lines::each(&mut reader, input, |whole| {
        match whole.map_or(Line::Damaged, line) {
            Line::Step(step) => joiner.add(step, &mut writer)?,
            Line::Other => joiner.counts.other += 1,
            Line::Lost(count) => lost = u64::max(lost, count),
            Line::Damaged => joiner.counts.damaged += 1,
            Line::Empty => {}
        }
        Ok(())
    })?;
    joiner.finish(&mut writer)?;
    if writer.events() == 0 {
        writer.abandon();
        let problem =
            "no request in it; give the text of `blkparse -i DEVICE`, without -f".to_owned();
        return Err(TraceError::Import { path: input.to_owned(), line: 1, problem });
    }
    if lost > 0 {
        meta.lost.push(Lost { cpu: None, kind: "blktrace events".to_owned(), count: lost });
    }
    meta.duration_ns = Some(joiner.duration_ns());
    meta.gaps = joiner.gaps();
    writer.finish(&meta)?;
    Ok(joiner.counts)
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

/// Reads `8,16 1 42 0.000123456 1234 D WS 2048 + 8 [name]`.
fn line(bytes: &[u8]) -> Line {
    let mut words = Words::of(bytes);
    let before = words.clone();
    let Some(device) = device(&mut words) else {
        return if before.is_empty() { Line::Empty } else { other(bytes) };
    };
    let Some(step) = step(device, &mut words) else { return Line::Damaged };
    step.map_or(Line::Other, Line::Step)
}

/// A line without a device: of the summary, or the remark about drops.
fn other(bytes: &[u8]) -> Line {
    let text = String::from_utf8_lossy(bytes);
    let dropped = text
        .contains("dropped events")
        .then(|| text.split_whitespace().find_map(|word| word.parse::<u64>().ok()));
    dropped.flatten().map_or(Line::Other, Line::Lost)
}

/// The step of a line's other words; `Some(None)` for one that is of no use.
fn step(device: u32, words: &mut Words<'_>) -> Option<Option<Step>> {
    let _cpu = words.number()?;
    let _sequence = words.number()?;
    let time_ns = words.seconds()?;
    let process = u32::try_from(words.number()?).ok();
    let action = match words.word()? {
        b"Q" => Action::Queue,
        b"D" => Action::Issue,
        b"R" => Action::Requeue,
        b"C" => Action::Complete,
        _ => return Some(None),
    };
    let (operation, flags) = purpose(words.word()?)?;
    let place = match (words.number(), words.word()) {
        (Some(sector), Some(b"+")) => Some((sector, words.number()?.checked_mul(SECTOR)?)),
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
        process,
        operation,
        flags,
        sector: place.map(|(sector, _)| sector),
        bytes: place.map_or(0, |(_, bytes)| bytes),
    }))
}

/// `8,16` as major number << 20 | minor number.
fn device(words: &mut Words<'_>) -> Option<u32> {
    let (major, minor) = words.pair(b',')?;
    (major < 1 << 12 && minor.0 < 1 << 20)
        .then(|| u32::try_from(major << 20 | minor.0).ok())
        .flatten()
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
