//! Import of fio's I/O logs, versions 2 and 3 (`write_iolog`).

use super::{Imported, lines};
use crate::calls::CallId;
use crate::error::TraceError;
use crate::event::{Event, FileEntry, FileId};
use crate::meta::Meta;
use crate::write::{Limits, TraceWriter};
use std::collections::HashMap;
use std::path::Path;

/// The log names no process; all of it is this one.
const PROCESS: u32 = 1;
/// `FALLOC_FL_PUNCH_HOLE` and `FALLOC_FL_KEEP_SIZE`: what fio's trim does to a file.
const PUNCH_HOLE: u64 = 3;

/// Writes the trace `output` from the log in `input`.
///
/// # Errors
/// When a file cannot be read or written, and when the log has no head that is known.
pub fn iolog(input: &Path, output: &Path) -> Result<Imported, TraceError> {
    let file = lines::open(input)?;
    let mut reader = std::io::BufReader::with_capacity(1 << 18, file);
    let mut bytes = Vec::new();
    let mut next = |bytes: &mut Vec<u8>| {
        lines::next(&mut reader, bytes).map_err(TraceError::io("read", input))
    };
    next(&mut bytes)?;
    let version = match String::from_utf8_lossy(&bytes).trim() {
        "fio version 2 iolog" => 2,
        "fio version 3 iolog" => 3,
        _ => {
            let problem =
                "the head \"fio version 2 iolog\" or 3 is missing; give the file of write_iolog";
            let (path, problem) = (input.to_owned(), problem.to_owned());
            return Err(TraceError::Import { path, line: 1, problem });
        }
    };
    let unit = if version == 3 { Unit::of(input)? } else { Unit::Microseconds };
    let mut meta = Meta { gaps: gaps(version, unit), ..Meta::new("iolog") };
    let writer = TraceWriter::create(output, &meta, Limits::default())?;
    let counts = Imported::default();
    let mut import = Import { writer, unit, now_ns: 0, files: HashMap::new(), counts };
    while let Some(is_whole) = next(&mut bytes)? {
        if !is_whole {
            import.counts.damaged += 1;
            continue;
        }
        let text = String::from_utf8_lossy(&bytes);
        let words: Vec<&str> = text.split_whitespace().collect();
        match (words.is_empty(), version) {
            (true, _) => continue,
            (_, 2) => import.line(&words)?,
            _ => import.timed(&words)?,
        }
    }
    meta.duration_ns = Some(import.now_ns);
    let counts = Imported { events: import.writer.events(), ..import.counts };
    import.writer.finish(&meta)?;
    Ok(counts)
}

/// Unit of the times in a log of version 3. fio writes microseconds; other programs that write its
/// logs write nanoseconds at times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Microseconds,
    Nanoseconds,
    /// Taken for microseconds.
    Unknown,
}

/// Lines that are looked at to find the unit of their times.
const SAMPLE: u64 = 100_000;
/// No program issues two operations in so many nanoseconds.
const SHORTEST: u64 = 100;
/// Times from which on a common factor of 1000 is no chance.
const ENOUGH: u64 = 16;

impl Unit {
    /// Finds the unit: steps that are too short for nanoseconds, or times without any digit below a
    /// microsecond.
    fn of(input: &Path) -> Result<Self, TraceError> {
        let file = lines::open(input)?;
        let mut reader = std::io::BufReader::with_capacity(1 << 18, file);
        let (mut bytes, mut before, mut thousands) = (Vec::new(), None, true);
        let (mut steps, mut short, mut equal) = (0_u64, 0_u64, 0_u64);
        for _ in 0..SAMPLE {
            let read = lines::next(&mut reader, &mut bytes);
            let Some(_) = read.map_err(TraceError::io("read", input))? else { break };
            let text = String::from_utf8_lossy(&bytes);
            let Some(Ok(time)) = text.split_whitespace().next().map(str::parse::<u64>) else {
                continue;
            };
            // Heads that other programs write begin at 0 throughout.
            if time == 0 {
                continue;
            }
            thousands &= time.is_multiple_of(1_000);
            if let Some(before) = before.replace(time) {
                steps += 1;
                equal += u64::from(time == before);
                short += u64::from(time.abs_diff(before) < SHORTEST && time != before);
            }
        }
        Ok(match () {
            () if steps == 0 || short.saturating_mul(100) > steps => Self::Microseconds,
            () if thousands && steps >= ENOUGH && equal.saturating_mul(100) < steps => {
                Self::Nanoseconds
            }
            () => Self::Unknown,
        })
    }

    fn ns(self, time: u64) -> u64 {
        if self == Self::Nanoseconds { time } else { time.saturating_mul(1_000) }
    }
}

fn gaps(version: u32, unit: Unit) -> Vec<String> {
    let time = match (version, unit) {
        (2, _) => "times are the sums of the log's waits; without waits everything begins at 0",
        (_, Unit::Microseconds) => "times are those of the submission",
        (_, Unit::Nanoseconds) => {
            "times are those of the submission; all are multiples of 1000: they were read as \
             nanoseconds, not as the microseconds that fio writes"
        }
        (_, Unit::Unknown) => {
            "times are those of the submission, read as microseconds; the log could as well hold \
             nanoseconds: then everything took a thousandth of the time"
        }
    };
    [
        time,
        "an I/O log has no durations, results, threads and metadata calls: each read and write is \
         taken as complete",
    ]
    .map(str::to_owned)
    .to_vec()
}

struct Import {
    writer: TraceWriter,
    unit: Unit,
    now_ns: u64,
    files: HashMap<String, FileId>,
    counts: Imported,
}

impl Import {
    /// `wait MICROSECONDS`, or an action without a time.
    fn line(&mut self, words: &[&str]) -> Result<(), TraceError> {
        // The number is the second or, as fio writes it, the third word.
        if let Some(at) = words.iter().take(2).position(|word| *word == "wait") {
            match words.get(at + 1).and_then(|word| word.parse::<u64>().ok()) {
                Some(us) => self.now_ns = self.now_ns.saturating_add(us.saturating_mul(1000)),
                None => self.counts.damaged += 1,
            }
            return Ok(());
        }
        self.action(words)
    }

    /// A time and an action.
    fn timed(&mut self, words: &[&str]) -> Result<(), TraceError> {
        let time = words.split_first().map(|(time, rest)| (time.parse::<u64>(), rest));
        let Some((Ok(time), rest)) = time else {
            self.counts.damaged += 1;
            return Ok(());
        };
        self.now_ns = self.now_ns.max(self.unit.ns(time));
        self.action(rest)
    }

    /// `FILE ACTION [OFFSET LENGTH]`.
    fn action(&mut self, words: &[&str]) -> Result<(), TraceError> {
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        let (Some(path), Some(action)) = (words.first(), words.get(1)) else {
            self.counts.damaged += 1;
            return Ok(());
        };
        let (name, has_place) = match *action {
            "open" => ("openat", false),
            "close" => ("close", false),
            "read" => ("pread64", true),
            "write" => ("pwrite64", true),
            "trim" => ("fallocate", true),
            "sync" => ("fsync", false),
            "datasync" => ("fdatasync", false),
            "add" | "wait" => {
                self.counts.other += 1;
                return Ok(());
            }
            _ => {
                self.counts.damaged += 1;
                return Ok(());
            }
        };
        let place = number(2).zip(number(3));
        let (true, Some(call)) = (place.is_some() || !has_place, CallId::named(name)) else {
            self.counts.damaged += 1;
            return Ok(());
        };
        let Some(file) = self.file(path) else {
            self.counts.damaged += 1;
            return Ok(());
        };
        let place = place.filter(|_| has_place);
        let moved = place.map(|(_, length)| length.cast_signed());
        self.writer.event(Event {
            file: Some(file),
            offset: place.map(|(offset, _)| offset),
            length: place.map(|(_, length)| length),
            result: if name == "fallocate" { None } else { moved },
            flags: (name == "fallocate").then_some(PUNCH_HOLE),
            ..Event::new(self.now_ns, PROCESS, PROCESS, call)
        })
    }

    fn file(&mut self, path: &str) -> Option<FileId> {
        if let Some(id) = self.files.get(path) {
            return Some(*id);
        }
        let id = FileId(u32::try_from(self.files.len()).ok()?);
        self.files.insert(path.to_owned(), id);
        self.writer.file(FileEntry {
            id,
            path: Some(path.to_owned()),
            device: None,
            inode: None,
            mode: None,
            bytes: None,
        });
        Some(id)
    }
}

#[cfg(test)]
mod tests;
