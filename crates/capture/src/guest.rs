//! Captures inside guests whose kernel, a lab kernel, records calls itself.
//!
//! In the guest, [`Recording`] says what to record. The kernel writes records like those of the eBPF
//! programs to a file outside of the guest; [`trace_of`] makes a trace of them there.

use crate::error::CaptureError;
use crate::resolve::Resolver;
use crate::{load, walk};
use seekwell_trace::meta::{LOST_RECORDS, Lost, Meta, Tree};
use seekwell_trace::{Content, DataRange, InitialAttribute, InitialEntry, Limits, TraceWriter};
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// File of a kernel that records; it takes messages.
const CONTROL: &str = "/proc/seekwell-record";
/// First words of the messages.
const SET_CALLS: u32 = 1;
const BEGIN: u32 = 2;
const END: u32 = 3;
const ADD: u32 = 4;
const BEGIN_OWN: u32 = 5;
const COUNT: u32 = 6;
/// Numbers of calls that the kernel knows.
const CALLS: usize = 512;
/// Types of records besides those of [`crate::record::Record`]: two of this room, two of the kernel.
const INITIAL: u32 = 33;
const BEGUN: u32 = 34;
const ENDED: u32 = 35;
const TREE: u32 = 36;
const DATA: u32 = 37;
const COUNTED: u32 = 38;
/// Longest record: a path of 4096 bytes and its head, or an entry of a tree.
const LONGEST: usize = 16 << 10;

/// A recording, seen from the guest.
#[derive(Debug)]
pub struct Recording {
    control: File,
}

impl Recording {
    /// Prepares a recording.
    ///
    /// # Errors
    /// When the kernel does not record.
    pub fn open() -> Result<Self, CaptureError> {
        let control = File::options().write(true).open(CONTROL).map_err(|source| {
            if source.kind() == ErrorKind::NotFound {
                let said = "this lab kernel does not record calls; build one that does: seekwell kernel \
                            build --set layers";
                return CaptureError::NotStarted(said.to_owned());
            }
            CaptureError::Target { path: CONTROL.into(), source }
        })?;
        let recording = Self { control };
        let mut flags = [0_u32; CALLS];
        for (number, own) in load::recorded_calls() {
            if let Some(place) = flags.get_mut(number as usize) {
                *place = own;
            }
        }
        recording.say(SET_CALLS, flags.map(u32::to_ne_bytes).as_flattened())?;
        Ok(recording)
    }

    /// Records the state of a tree. Its names and samples of its files are then in the page cache.
    ///
    /// # Errors
    /// The kernel's.
    pub fn walk(&self, root: &Path) -> Result<(), CaptureError> {
        let nowhere = Path::new("");
        let trees =
            walk::visit(&[root.to_owned()], nowhere, &AtomicBool::new(false), &mut |entry| {
                self.add(INITIAL, &initial_value(&entry))
            })?;
        trees.iter().try_for_each(|tree| self.add(TREE, &json!([tree.root, tree.complete])))
    }

    /// Records the programs that this thread starts from now on, with all that they start.
    ///
    /// # Errors
    /// The kernel's.
    pub fn begin(&self) -> Result<(), CaptureError> {
        self.say(BEGIN, &[])
    }

    /// Records this thread itself from now on, with all that it starts and with the data of writes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn begin_own(&self) -> Result<(), CaptureError> {
        self.say(BEGIN_OWN, &[])
    }

    /// Records a number of the caller's own with the time.
    ///
    /// # Errors
    /// The kernel's.
    pub fn count(&self, number: u32) -> Result<(), CaptureError> {
        self.say(COUNT, &number.to_ne_bytes())
    }

    /// Starts no further recording. Programs that run still are recorded on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn end(&self) -> Result<(), CaptureError> {
        self.say(END, &[])
    }

    fn add(&self, kind: u32, value: &Value) -> Result<(), CaptureError> {
        let mut record = kind.to_ne_bytes().to_vec();
        record.extend(value.to_string().into_bytes());
        self.say(ADD, &record)
    }

    fn say(&self, message: u32, rest: &[u8]) -> Result<(), CaptureError> {
        let mut bytes = message.to_ne_bytes().to_vec();
        bytes.extend_from_slice(rest);
        let failed = |source| CaptureError::Target { path: CONTROL.into(), source };
        (&self.control).write_all(&bytes).map_err(failed)
    }
}

fn initial_value(entry: &InitialEntry) -> Value {
    let content = match entry.content {
        None => Value::Null,
        Some(Content::Zero) => json!(0),
        Some(Content::Compressible(percent)) => json!(percent),
        Some(Content::Random) => json!(100),
    };
    let named = |one: &InitialAttribute| json!([one.name, one.bytes]);
    let attributes: Vec<Value> = entry.attributes.iter().map(named).collect();
    let data: Vec<Value> = entry.data.iter().map(|one| json!([one.start, one.bytes])).collect();
    json!([
        entry.path, entry.device, entry.inode, entry.mode, entry.owner, entry.group, entry.bytes,
        entry.allocated_bytes, content, entry.birth_ms, entry.target, attributes, data
    ])
}

fn list(value: &Value, at: usize) -> impl Iterator<Item = &Value> {
    value.get(at).and_then(Value::as_array).into_iter().flatten()
}

fn range(value: &Value) -> Option<DataRange> {
    Some(DataRange { start: value.get(0)?.as_u64()?, bytes: value.get(1)?.as_u64()? })
}

fn attribute(value: &Value) -> Option<InitialAttribute> {
    let bytes = value.get(1)?.as_u64().and_then(|bytes| u32::try_from(bytes).ok())?;
    Some(InitialAttribute { name: value.get(0)?.as_str()?.to_owned(), bytes })
}

fn initial_entry(value: &Value) -> Option<InitialEntry> {
    let number = |at: usize| value.get(at)?.as_u64();
    let word = |at: usize| u32::try_from(number(at)?).ok();
    let content = match number(8) {
        None => None,
        Some(0) => Some(Content::Zero),
        Some(100..) => Some(Content::Random),
        Some(percent) => u8::try_from(percent).ok().map(Content::Compressible),
    };
    Some(InitialEntry {
        path: value.get(0)?.as_str()?.to_owned(),
        device: word(1),
        inode: number(2),
        mode: word(3)?,
        owner: word(4),
        group: word(5),
        bytes: number(6)?,
        allocated_bytes: number(7)?,
        content,
        birth_ms: number(9),
        target: value.get(10).and_then(Value::as_str).map(str::to_owned),
        attributes: list(value, 11).filter_map(attribute).collect(),
        data: list(value, 12).filter_map(range).collect(),
    })
}

/// Data of a write, or a number that was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra<'a> {
    /// Data of the write that this thread began at this time, from one of its bytes on.
    Data {
        /// Thread.
        thread: u32,
        /// Start of the call, in nanoseconds of the guest.
        start_ns: u64,
        /// First byte, counted from the start of the write.
        at: u64,
        /// Data.
        data: &'a [u8],
    },
    /// A number of [`Recording::count`].
    Counted {
        /// Time, in nanoseconds of the guest.
        at_ns: u64,
        /// Number.
        number: u32,
    },
    /// The recording begins: times of the trace count from here.
    Begun {
        /// Time, in nanoseconds of the guest.
        at_ns: u64,
    },
    /// The recording ends.
    Ended {
        /// Time, in nanoseconds of the guest.
        at_ns: u64,
        /// Records that were lost.
        lost: u32,
    },
}

/// Reads what the records of a guest have beyond a trace.
///
/// # Errors
/// When the records are damaged.
pub fn extras(records: &mut dyn Read, each: &mut dyn FnMut(Extra<'_>)) -> Result<(), CaptureError> {
    each_of(records, &mut |record| {
        extra(record).map(&mut *each);
        Ok(())
    })
}

fn extra(bytes: &[u8]) -> Option<Extra<'_>> {
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let long = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
    Some(match word(0)? {
        DATA => Extra::Data {
            thread: word(4)?,
            start_ns: long(16)?,
            at: long(24)?,
            data: bytes.get(32..)?,
        },
        COUNTED => Extra::Counted { number: word(4)?, at_ns: long(8)? },
        BEGUN => Extra::Begun { at_ns: long(8)? },
        ENDED => Extra::Ended { lost: word(4)?, at_ns: long(8)? },
        _ => return None,
    })
}

/// Makes a trace at `folder` of the records of a guest with this kernel. Returns the number of its events.
///
/// # Errors
/// When the records are damaged, or the trace cannot be written.
pub fn trace_of(records: &mut dyn Read, folder: &Path, kernel: &str) -> Result<u64, CaptureError> {
    let meta = description(kernel);
    let writer = TraceWriter::create(folder, &meta, Limits::default())?;
    let mut received =
        Received { writer, resolver: Resolver::of_guest(), meta, begun_ns: None, ended_ns: None };
    match each_of(records, &mut |record| received.add(record)) {
        Ok(()) => received.finish(),
        Err(error) => {
            received.writer.abandon();
            Err(error)
        }
    }
}

/// Gives every record to `each`.
fn each_of(
    records: &mut dyn Read,
    each: &mut dyn FnMut(&[u8]) -> Result<(), CaptureError>,
) -> Result<(), CaptureError> {
    let mut records = BufReader::with_capacity(1 << 16, records);
    let mut bytes = Vec::new();
    let failed =
        |source| CaptureError::Target { path: PathBuf::from("the guest's records"), source };
    while next(&mut records, &mut bytes).map_err(failed)? {
        each(&bytes)?;
    }
    Ok(())
}

/// Reads a record with its length before it; false at the end.
fn next(records: &mut dyn Read, bytes: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut length = [0; 4];
    match records.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        read => read?,
    }
    let length = u32::from_ne_bytes(length) as usize;
    if length > LONGEST {
        let said = format!("a record of {length} bytes: none is longer than {LONGEST}");
        return Err(std::io::Error::new(ErrorKind::InvalidData, said));
    }
    bytes.resize(length, 0);
    records.read_exact(bytes)?;
    Ok(true)
}

/// The trace under way.
struct Received {
    writer: TraceWriter,
    resolver: Resolver,
    meta: Meta,
    begun_ns: Option<u64>,
    ended_ns: Option<u64>,
}

impl Received {
    fn add(&mut self, bytes: &[u8]) -> Result<(), CaptureError> {
        let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
        let time = || bytes.get(8..16)?.try_into().ok().map(u64::from_ne_bytes);
        let value = || serde_json::from_slice::<Value>(bytes.get(4..)?).ok();
        match word(0) {
            Some(INITIAL) => {
                if let Some(entry) = value().as_ref().and_then(initial_entry) {
                    self.writer.initial(entry)?;
                }
            }
            Some(TREE) => self.meta.initial.extend(value().as_ref().and_then(tree)),
            Some(BEGUN) => {
                if let (None, Some(at_ns)) = (self.begun_ns, time()) {
                    self.begun_ns = Some(at_ns);
                    self.resolver.origin_ns = at_ns;
                }
            }
            Some(ENDED) => {
                self.ended_ns = time();
                self.meta.lost = word(4).filter(|count| *count > 0).map(lost).into_iter().collect();
            }
            _ => self.resolver.add_bytes(bytes, &mut self.writer)?,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<u64, CaptureError> {
        self.resolver.write_all_held(None, &mut self.writer)?;
        let times = self.begun_ns.zip(self.ended_ns);
        self.meta.duration_ns = times.map(|(begun, ended)| ended.saturating_sub(begun));
        let events = self.writer.events();
        self.writer.finish(&self.meta)?;
        Ok(events)
    }
}

fn tree(value: &Value) -> Option<Tree> {
    let root = value.get(0)?.as_str()?.to_owned();
    Some(Tree { root, complete: value.get(1)?.as_bool()? })
}

fn lost(count: u32) -> Lost {
    Lost { cpu: Some(0), kind: LOST_RECORDS.to_owned(), count: count.into() }
}

fn description(kernel: &str) -> Meta {
    let gaps = [
        "recorded in a guest, in virtual time: a call takes the CPU time that the run charges, and \
         programs take none between calls",
        "page faults: the kernel maps up to 16 pages around one from the page cache, and no fault tells of \
         those; pages of the programs themselves are not recorded",
        "io_uring and libaio: the single operations are not recorded, only the calls that submit and await",
        "block requests are not recorded",
        "names in calls that open nothing are as the program gave them: links are not followed",
        "contents of files before the recording are not recorded",
    ];
    Meta {
        kernel: Some(kernel.to_owned()),
        faults: true,
        gaps: gaps.map(str::to_owned).to_vec(),
        ..Meta::new("capture")
    }
}

#[cfg(test)]
mod tests;
