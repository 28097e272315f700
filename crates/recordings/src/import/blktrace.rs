//! Import of blktrace's binary files: one per CPU (`sda.blktrace.0` and so on), or the sorted one of
//! `blkparse -d`.

use super::Imported;
use super::block::{Action, Joiner, Step};
use seekwell_trace::meta::Meta;
use seekwell_trace::{Limits, Operation, ProcessEntry, RequestFlags, TraceError, TraceWriter};
use std::collections::HashSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// `BLK_IO_TRACE_MAGIC` above the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const HEAD: usize = 48;

/// Categories of `include/uapi/linux/blktrace_api.h`, in the upper half of the action.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const SYNC: u32 = 1 << 3;
const NOTIFY: u32 = 1 << 10;
const AHEAD: u32 = 1 << 11;
const META: u32 = 1 << 12;
const DISCARD: u32 = 1 << 13;
const FUA: u32 = 1 << 15;
const READ: u32 = 1;
/// `__BLK_TA_CGROUP`: the payload begins with the cgroup.
const OF_CGROUP: u32 = 1 << 8;

/// A record without its payload.
#[derive(Clone, Copy, Debug)]
struct Record {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    process: u32,
    device: u32,
}

/// One file and its next record.
struct Source {
    reader: BufReader<File>,
    path: PathBuf,
    big_endian: Option<bool>,
    next: Option<(Record, Vec<u8>)>,
    /// Bytes after the last whole record.
    damaged: bool,
}

/// Writes the trace `output` from the files of blktrace at `input`: one of them, or their common name.
///
/// # Errors
/// When a file cannot be read or written, or is not of blktrace.
pub fn blktrace(input: &Path, output: &Path) -> Result<Imported, TraceError> {
    let paths = files(input);
    let mut sources = Vec::new();
    for path in &paths {
        let file = seekwell_trust::open(path, super::LARGEST_BYTES)
            .map_err(TraceError::io("read", path))?;
        let reader = BufReader::with_capacity(1 << 18, file);
        let mut source =
            Source { reader, path: path.clone(), big_endian: None, next: None, damaged: false };
        source.advance()?;
        sources.push(source);
    }
    let mut meta = Meta { requests: true, ..Meta::new("blktrace") };
    let mut writer = TraceWriter::create(output, &meta, Limits::default())?;
    let mut joiner = Joiner::default();
    if let Err(error) = join(&mut sources, &mut joiner, &mut writer) {
        writer.abandon();
        return Err(error);
    }
    joiner.counts.damaged += sources.iter().filter(|source| source.damaged).count() as u64;
    meta.gaps.push(
        "events that blktrace dropped are not in its files: it prints their number".to_owned(),
    );
    joiner.write(writer, meta, input, "give the binary files of blktrace")
}

/// Joins the records of all sources in the order of time.
fn join(
    sources: &mut [Source],
    joiner: &mut Joiner,
    writer: &mut TraceWriter,
) -> Result<(), TraceError> {
    let mut named = HashSet::new();
    loop {
        let time_ns = |source: &Source| source.next.as_ref().map(|(record, _)| record.time_ns);
        let earliest = sources.iter_mut().filter(|source| source.next.is_some());
        let Some(source) = earliest.min_by_key(|source| time_ns(source)) else { break };
        let Some((record, payload)) = source.next.take() else { break };
        source.advance()?;
        if record.action >> 16 & NOTIFY != 0 {
            joiner.counts.other += 1;
            // Notification 0 names a process.
            if kind(record.action) == 0 && named.insert(record.process) {
                writer.process(process(record.process, &payload));
            }
        } else if let Some(step) = step(&record) {
            joiner.add(step, writer)?;
        } else {
            joiner.counts.other += 1;
        }
    }
    joiner.finish(writer)
}

/// The files of all CPUs that belong to this one or to this name.
fn files(input: &Path) -> Vec<PathBuf> {
    let text = input.to_string_lossy();
    let base = match text.rsplit_once(".blktrace.") {
        Some((base, _)) => base,
        None if input.exists() => return vec![input.to_owned()],
        None => &text,
    };
    let file = |cpu: u32| PathBuf::from(format!("{base}.blktrace.{cpu}"));
    // Offline CPUs have none.
    let all: Vec<PathBuf> = (0..4096).map(file).filter(|path| path.exists()).collect();
    if all.is_empty() { vec![input.to_owned()] } else { all }
}

impl Source {
    /// Reads the next record.
    fn advance(&mut self) -> Result<(), TraceError> {
        let mut head = [0; HEAD];
        let read = fill(&mut self.reader, &mut head).map_err(TraceError::io("read", &self.path))?;
        if read < HEAD {
            self.damaged |= read > 0;
            return Ok(());
        }
        let magic = [head[0], head[1], head[2], head[3]];
        let big_endian =
            *self.big_endian.get_or_insert(u32::from_be_bytes(magic) & 0xffff_ff00 == MAGIC);
        let word = |at: usize| {
            let four = [head[at], head[at + 1], head[at + 2], head[at + 3]];
            if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
        };
        let long = |at: usize| {
            let (first, second) = (u64::from(word(at)), u64::from(word(at + 4)));
            if big_endian { first << 32 | second } else { second << 32 | first }
        };
        if word(0) != MAGIC | VERSION {
            let problem = format!(
                "no record of blktrace (version {VERSION}) at this place; give its binary file, or \
                 import text with `blkparse`"
            );
            return Err(TraceError::Import { path: self.path.clone(), line: 1, problem });
        }
        let tail = [head[46], head[47]];
        let length = if big_endian { u16::from_be_bytes(tail) } else { u16::from_le_bytes(tail) };
        let mut payload = vec![0; length.into()];
        let read =
            fill(&mut self.reader, &mut payload).map_err(TraceError::io("read", &self.path))?;
        payload.truncate(read);
        let record = Record {
            time_ns: long(8),
            sector: long(16),
            bytes: word(24),
            action: word(28),
            process: word(32),
            device: word(36),
        };
        self.next = Some((record, payload));
        Ok(())
    }
}

/// Reads until the buffer is full or the file ends; the number of bytes.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut at = 0;
    while at < buffer.len() {
        match reader.read(&mut buffer[at..]) {
            Ok(0) => break,
            Ok(read) => at += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(at)
}

fn process(process: u32, payload: &[u8]) -> ProcessEntry {
    let name = payload.split(|byte| *byte == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();
    ProcessEntry { process, parent: None, start_ns: 0, name: Some(name) }
}

/// Number of the event without its categories.
fn kind(action: u32) -> u32 {
    action & 0xffff & !OF_CGROUP
}

/// The step of a record; `None` for one that is of no use.
fn step(record: &Record) -> Option<Step> {
    let category = record.action >> 16;
    let action = match kind(record.action) {
        1 => Action::Queue,
        6 => Action::Requeue,
        7 => Action::Issue,
        8 => Action::Complete,
        _ => return None,
    };
    let is = |bit: u32| category & bit != 0;
    let operation = if is(DISCARD) {
        Operation::Discard
    } else if record.bytes == 0 && is(FLUSH) {
        Operation::Flush
    } else if is(WRITE) {
        Operation::Write
    } else if is(READ) {
        Operation::Read
    } else {
        Operation::Other
    };
    let known = [
        (SYNC, RequestFlags::SYNC),
        (META, RequestFlags::META),
        (FUA, RequestFlags::FUA),
        (AHEAD, RequestFlags::AHEAD),
    ];
    let set = known.into_iter().filter(|(bit, _)| is(*bit));
    let flags = set.fold(RequestFlags::default(), |all, (_, flag)| all.with(flag));
    let is_preflush = is(FLUSH) && operation != Operation::Flush;
    Some(Step {
        time_ns: record.time_ns,
        action,
        device: record.device,
        process: Some(record.process),
        operation,
        flags: if is_preflush { flags.with(RequestFlags::PREFLUSH) } else { flags },
        sector: (operation != Operation::Flush).then_some(record.sector),
        bytes: record.bytes.into(),
    })
}

#[cfg(test)]
mod tests;
