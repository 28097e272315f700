//! Import of blkparse's text: `blkparse -i sda`, in its own format.

use super::block::{Action, Joiner, Step};
use super::head::{Wish, head};
use super::words::Words;
use super::{Imported, lines};
use crate::error::TraceError;
use crate::event::{Operation, RequestFlags};
use crate::meta::{LOST_STEPS, Lost, Meta};
use crate::write::{Limits, TraceWriter};
use std::path::Path;

const SECTOR: u64 = 512;
/// Bytes that are read at once: they stay in a CPU's own cache.
const BUFFER: usize = 256 << 10;

/// Writes the trace `output` from the text in `input`.
///
/// # Errors
/// When a file cannot be read or written, and when no line is one of blkparse.
pub fn blkparse(input: &Path, output: &Path) -> Result<Imported, TraceError> {
    let file = lines::open(input)?;
    let mut reader = std::io::BufReader::with_capacity(BUFFER, file);
    let mut meta = Meta { requests: true, ..Meta::new("blkparse") };
    let mut writer = TraceWriter::create(output, &meta, Limits::default())?;
    let mut joiner = Joiner::new();
    let (mut lost, mut devices) = (0, Devices::default());
    lines::each(&mut reader, input, |whole| {
        match whole.map_or(Line::Damaged, |line| devices.line(line, &joiner)) {
            Line::Step(step) => joiner.add(step, &mut writer)?,
            Line::Passed(time_ns) => joiner.pass(time_ns),
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
        meta.lost.push(Lost { cpu: None, kind: LOST_STEPS.to_owned(), count: lost });
    }
    meta.duration_ns = Some(joiner.duration_ns());
    meta.gaps = joiner.gaps();
    writer.finish(&meta)?;
    Ok(joiner.counts)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    Step(Step),
    /// A queueing of a device that has issues, at this time.
    Passed(u64),
    /// A step that is of no use, or a line of the summary at the end.
    Other,
    /// Events that blktrace dropped.
    Lost(u64),
    Damaged,
    Empty,
}

/// The device of the last line: the next one has most likely the same.
#[derive(Default)]
struct Devices {
    /// Its word as [`head`] gives it.
    word: u64,
    device: Option<u32>,
}

impl Devices {
    /// Reads `  8,16   1       42     0.000123456  1234  D  WS 2048 + 8 [name]`.
    #[inline]
    fn line(&mut self, bytes: &[u8], joiner: &Joiner) -> Line {
        let mut of_use = None;
        let head = head(bytes, |word, letter| {
            self.look(word);
            of_use = action(letter);
            match of_use {
                None => Wish::Nothing,
                Some(Action::Queue) if joiner.has_issues(self.device) => Wish::Time,
                Some(_) => Wish::TimeAndProcess,
            }
        });
        let (Some(head), Some(device)) = (head, self.device) else { return line(bytes) };
        match (head.wish, of_use) {
            (Wish::Nothing, _) | (_, None) => Line::Other,
            (Wish::Time, _) => Line::Passed(head.time_ns),
            (Wish::TimeAndProcess, Some(action)) => {
                let (time_ns, process) = (head.time_ns, Some(head.process));
                Begun { time_ns, device, process, action }.line(&mut Words::of(head.rest))
            }
        }
    }

    /// Reads the word of a device, unless it is the last one.
    #[inline]
    fn look(&mut self, word: u64) {
        if word == self.word && self.device.is_some() {
            return;
        }
        let bytes = word.to_le_bytes();
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        (self.word, self.device) = (word, device(&mut Words::of(&bytes[..end])));
    }
}

/// Reads a line word by word.
fn line(bytes: &[u8]) -> Line {
    let mut words = Words::of(bytes);
    let before = words.clone();
    let Some(device) = device(&mut words) else {
        return if before.is_empty() { Line::Empty } else { other(bytes) };
    };
    match begun(device, &mut words) {
        None => Line::Damaged,
        Some(None) => Line::Other,
        Some(Some(begun)) => begun.line(&mut words),
    }
}

/// A line without a device: of the summary, or the remark about drops.
fn other(bytes: &[u8]) -> Line {
    let text = String::from_utf8_lossy(bytes);
    let dropped = text
        .contains("dropped events")
        .then(|| text.split_whitespace().find_map(|word| word.parse::<u64>().ok()));
    dropped.flatten().map_or(Line::Other, Line::Lost)
}

/// The first words of a step.
struct Begun {
    time_ns: u64,
    device: u32,
    process: Option<u32>,
    action: Action,
}

/// The first words after the device; `Some(None)` for a step that is of no use.
fn begun(device: u32, words: &mut Words<'_>) -> Option<Option<Begun>> {
    let _cpu = words.number()?;
    let _sequence = words.number()?;
    let time_ns = words.seconds()?;
    let process = u32::try_from(words.number()?).ok();
    let &[letter] = words.word()? else { return Some(None) };
    Some(action(letter).map(|action| Begun { time_ns, device, process, action }))
}

/// The action of a letter, if it is of use.
fn action(letter: u8) -> Option<Action> {
    Some(match letter {
        b'Q' => Action::Queue,
        b'D' => Action::Issue,
        b'R' => Action::Requeue,
        b'C' => Action::Complete,
        _ => return None,
    })
}

impl Begun {
    /// The line with the words after the action.
    #[inline]
    fn line(self, words: &mut Words<'_>) -> Line {
        match self.step(words) {
            None => Line::Damaged,
            Some(step) => step.map_or(Line::Other, Line::Step),
        }
    }

    /// The same; `Some(None)` for a step that is of no use.
    #[inline]
    fn step(self, words: &mut Words<'_>) -> Option<Option<Step>> {
        let (operation, flags) = purpose(words.word()?)?;
        let place = match (words.number(), words.word()) {
            (Some(sector), Some(&[b'+'])) => Some((sector, words.number()?.checked_mul(SECTOR)?)),
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
            time_ns: self.time_ns,
            action: self.action,
            device: self.device,
            process: self.process,
            operation,
            flags,
            sector: place.map(|(sector, _)| sector),
            bytes: place.map_or(0, |(_, bytes)| bytes),
        }))
    }
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
