//! Reads a trace as a stream: a few row groups are in memory at a time, decoded by a thread of its
//! own.

use crate::calls::CallId;
use crate::columns::{Group, Kind, Reading};
use crate::error::TraceError;
use crate::event::{
    Content, DataRange, Event, FileEntry, FileId, InitialAttribute, InitialEntry, Operation,
    ProcessEntry, Request, RequestFlags,
};
use crate::meta::Meta;
use crate::part::Part;
use crate::write::{CALLS, FILES, INITIAL, PROCESSES, REQUESTS};
use parquet::data_type::ByteArray;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};

/// Most segments of a table that are looked for: a day has some ten thousand, and a hostile description may
/// name any number.
const SEGMENTS: usize = 1 << 17;
/// Lack of a recording without an end.
const NOT_ENDED: &str = "the end: the recording still runs or was killed; what came after its last segment \
                         is lost";
/// Row groups that are decoded while another one is read: each is 25 MiB.
const AHEAD: usize = 2;

/// A trace on disk: a folder, which may still grow.
#[derive(Clone, Debug)]
pub struct Trace {
    path: PathBuf,
    meta: Meta,
    /// First and last segment of each row of them that is missing.
    missing: Vec<(String, String)>,
}

impl Trace {
    /// Opens the trace in the folder `path`.
    ///
    /// # Errors
    /// When it is no trace or of a newer format.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let path = path.to_owned();
        if path.is_file() {
            return Err(TraceError::NotATrace(path));
        }
        let meta = Meta::read(&path)?;
        Self { path, meta, missing: Vec::new() }.completed()
    }

    /// Finds the segments that are missing, and adds what the trace lacks to the gaps of its description.
    fn completed(mut self) -> Result<Self, TraceError> {
        let names: HashSet<String> = self.names()?.into_iter().collect();
        let tables = ["calls", "requests", "files", "processes", "initial"];
        let known =
            tables.into_iter().filter_map(|table| Some((table, self.meta.segments.get(table)?)));
        for (table, runs) in known {
            let mut is_open = false;
            for number in runs.iter().flat_map(|(first, last)| *first..=*last).take(SEGMENTS) {
                let name = format!("{table}-{number:06}");
                let is_missing = !names.contains(&format!("{name}.parquet"));
                match self.missing.last_mut().filter(|_| is_missing && is_open) {
                    Some((_, last)) => *last = name,
                    None if is_missing => self.missing.push((name.clone(), name)),
                    None => {}
                }
                is_open = is_missing;
            }
        }
        if let Some(missing) = self.missing() {
            self.meta.gaps.push(format!("{missing}: what they held is lost"));
        }
        // Parts of such a trace say it already.
        if !self.has_ended() && !self.meta.gaps.iter().any(|gap| gap == NOT_ENDED) {
            self.meta.gaps.push(NOT_ENDED.to_owned());
        }
        Ok(self)
    }

    /// Names of segments that were written and are not there, in words.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        const SHOWN: usize = 4;
        let one = |(first, last): &(String, String)| match first == last {
            true => first.clone(),
            false => format!("{first} to {last}"),
        };
        let mut told: Vec<String> = self.missing.iter().take(SHOWN).map(one).collect();
        if self.missing.len() > SHOWN {
            told.push(format!("{} more gaps", self.missing.len() - SHOWN));
        }
        (!told.is_empty()).then(|| format!("missing segments {}", told.join(", ")))
    }

    /// False for a recording that still runs, or that was killed.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.meta.source != "capture" || self.meta.duration_ns.is_some()
    }

    /// Its folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its description.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Bytes of the folder, segments and description.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn bytes(&self) -> Result<u64, TraceError> {
        let entries = std::fs::read_dir(&self.path);
        let entries = entries.map_err(TraceError::io("list", &self.path))?;
        Ok(entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|m| m.len()).sum())
    }

    /// Calls in the order of their end. Returns the number of calls that this version does not know;
    /// they are skipped.
    ///
    /// # Errors
    /// When a segment is damaged, and those of `each`.
    pub fn events(
        &self,
        each: impl FnMut(Event) -> Result<(), TraceError>,
    ) -> Result<u64, TraceError> {
        self.events_without(&[], each)
    }

    /// The same, with these columns unknown: reading a column takes time.
    ///
    /// # Errors
    /// As those of [`Self::events`].
    pub fn events_without(
        &self,
        left_out: &[&str],
        mut each: impl FnMut(Event) -> Result<(), TraceError>,
    ) -> Result<u64, TraceError> {
        let mut unknown = 0;
        self.groups("calls", &CALLS, left_out, &mut |group| {
            let whole = |name| group.whole(name);
            let (start, duration) = (group.needed("start_ns")?, whole("duration_ns")?);
            let (process, thread) = (group.needed_small("process")?, group.needed_small("thread")?);
            let (fd, file, to_file) = (whole("fd")?, whole("file")?, whole("to_file")?);
            let (offset, length) = (whole("offset")?, whole("length")?);
            let (result, flags) = (whole("result")?, whole("flags")?);
            let (cpu, waited) = (whole("cpu_ns")?, whole("waited_ns")?);
            let (waker, woken) = (whole("waker")?, whole("woken_ns")?);
            let awaited = whole("awaited_ns")?;
            let calls = group.words("call")?;
            // Those that a later version of the format added are unknown.
            let named: Vec<_> = calls.list().iter().map(|name| CallId::named(name)).collect();
            for row in 0..group.rows() {
                let Some(call) = calls.place(row).and_then(|place| named[place]) else {
                    unknown += 1;
                    continue;
                };
                each(Event {
                    start_ns: start[row],
                    duration_ns: number(duration.at(row)),
                    process: process[row],
                    thread: thread[row],
                    call,
                    fd: fd.at(row).and_then(|fd| i32::try_from(fd).ok()),
                    file: small(file.at(row)).map(FileId),
                    to_file: small(to_file.at(row)).map(FileId),
                    offset: number(offset.at(row)),
                    length: number(length.at(row)),
                    result: result.at(row),
                    flags: number(flags.at(row)),
                    cpu_ns: number(cpu.at(row)),
                    waited_ns: number(waited.at(row)),
                    waker: small(waker.at(row)),
                    woken_ns: number(woken.at(row)),
                    awaited_ns: number(awaited.at(row)),
                })?;
            }
            Ok(())
        })?;
        Ok(unknown)
    }

    /// Block requests in the order of their completion.
    ///
    /// # Errors
    /// When a segment is damaged, and those of `each`.
    pub fn requests(
        &self,
        mut each: impl FnMut(Request) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.groups("requests", &REQUESTS, &[], &mut |group| {
            let whole = |name| group.whole(name);
            let (start, duration) = (group.needed("start_ns")?, whole("duration_ns")?);
            let (process, device) = (whole("process")?, group.needed_small("device")?);
            let (sector, bytes) = (group.needed("sector")?, group.needed("bytes")?);
            let depth = whole("depth")?;
            let (operation, flags) = (group.words("operation")?, group.words("flags")?);
            for row in 0..group.rows() {
                let word = operation.at(row).unwrap_or_default();
                each(Request {
                    start_ns: start[row],
                    duration_ns: number(duration.at(row)),
                    process: small(process.at(row)),
                    device: device[row],
                    operation: Operation::named(word).unwrap_or(Operation::Other),
                    flags: RequestFlags::of(flags.at(row).unwrap_or_default()),
                    sector: sector[row],
                    bytes: bytes[row],
                    depth: small(depth.at(row)),
                })?;
            }
            Ok(())
        })
    }

    /// Files by their number. Rows of one file together hold all that is known about it.
    ///
    /// # Errors
    /// When a segment is damaged.
    pub fn files(&self) -> Result<Vec<FileEntry>, TraceError> {
        let mut files = Vec::new();
        self.groups("files", &FILES, &[], &mut |group| {
            let (file, device) = (group.needed_small("file")?, group.whole("device")?);
            let (inode, mode) = (group.whole("inode")?, group.whole("mode")?);
            let (bytes, path) = (group.whole("bytes")?, group.text("path")?);
            for row in 0..group.rows() {
                files.push(FileEntry {
                    id: FileId(file[row]),
                    path: text(path[row].as_ref()),
                    device: small(device.at(row)),
                    inode: number(inode.at(row)),
                    mode: small(mode.at(row)),
                    bytes: number(bytes.at(row)),
                });
            }
            Ok(())
        })?;
        files.sort_by_key(|file| file.id);
        files.dedup_by(|next, first| {
            let same = next.id == first.id;
            if same {
                first.add(next);
            }
            same
        });
        Ok(files)
    }

    /// Files and directories as they were before the start, in the order of the walk.
    ///
    /// # Errors
    /// When a segment is damaged, and those of `each`.
    pub fn initial(
        &self,
        mut each: impl FnMut(InitialEntry) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        self.groups("initial", &INITIAL, &[], &mut |group| {
            let whole = |name| group.whole(name);
            let (path, device, inode) = (group.text("path")?, whole("device")?, whole("inode")?);
            let (mode, bytes) = (group.needed_small("mode")?, group.needed("bytes")?);
            let (owner, owners) = (whole("owner")?, whole("group")?);
            let allocated = group.needed("allocated_bytes")?;
            let (content, percent) = (group.words("content")?, whole("compressed_percent")?);
            let birth = whole("birth_ms")?;
            let (target, attributes) = (group.text("target")?, group.words("attributes")?);
            let data = group.text("data")?;
            for row in 0..group.rows() {
                let percent = percent.at(row).and_then(|percent| u8::try_from(percent).ok());
                let name = content.at(row).unwrap_or_default();
                each(InitialEntry {
                    path: text(path[row].as_ref()).unwrap_or_default(),
                    device: small(device.at(row)),
                    inode: number(inode.at(row)),
                    mode: mode[row],
                    owner: small(owner.at(row)),
                    group: small(owners.at(row)),
                    bytes: bytes[row],
                    allocated_bytes: allocated[row],
                    content: Content::read(name, percent),
                    birth_ms: number(birth.at(row)),
                    target: text(target[row].as_ref()),
                    data: text(data[row].as_ref())
                        .map(|data| DataRange::read(&data))
                        .unwrap_or_default(),
                    attributes: attributes.at(row).map(InitialAttribute::read).unwrap_or_default(),
                })?;
            }
            Ok(())
        })
    }

    /// Processes in the order they were met.
    ///
    /// # Errors
    /// When a segment is damaged.
    pub fn processes(&self) -> Result<Vec<ProcessEntry>, TraceError> {
        let mut processes = Vec::new();
        self.groups("processes", &PROCESSES, &[], &mut |group| {
            let (process, parent) = (group.needed_small("process")?, group.whole("parent")?);
            let (start, name) = (group.needed("start_ns")?, group.words("name")?);
            for row in 0..group.rows() {
                processes.push(ProcessEntry {
                    process: process[row],
                    parent: small(parent.at(row)),
                    start_ns: start[row],
                    name: name.at(row).map(str::to_owned),
                });
            }
            Ok(())
        })?;
        Ok(processes)
    }

    /// Names of the complete segments, in order.
    fn names(&self) -> Result<Vec<String>, TraceError> {
        let entries = std::fs::read_dir(&self.path);
        let entries = entries.map_err(TraceError::io("list", &self.path))?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.retain(|name| name.ends_with(".parquet"));
        names.sort();
        Ok(names)
    }

    /// Complete segments of a table, oldest first.
    fn segments(&self, table: &str) -> Result<Vec<String>, TraceError> {
        let mut names = self.names()?;
        names.retain(|name| name.strip_prefix(table).is_some_and(|rest| rest.starts_with('-')));
        Ok(names)
    }

    fn groups(
        &self,
        table: &str,
        columns: &[(&'static str, Kind)],
        left_out: &[&str],
        each: &mut dyn FnMut(&Group) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let segments = self.segments(table)?;
        std::thread::scope(|scope| {
            let (sender, receiver) = sync_channel(AHEAD);
            scope.spawn(move || {
                // Nothing receives after an error of `each`, which is returned.
                let error = self.decode(&segments, columns, left_out, &sender).err();
                error.map(|error| sender.send(Err(error)))
            });
            receiver.into_iter().try_for_each(|group| each(&group?))
        })
    }

    /// Sends the groups of these segments until the receiver is gone.
    fn decode(
        &self,
        segments: &[String],
        columns: &[(&'static str, Kind)],
        left_out: &[&str],
        sender: &SyncSender<Result<Group, TraceError>>,
    ) -> Result<(), TraceError> {
        for name in segments {
            let path = self.path.join(name);
            let part = Part::whole(&path).map_err(TraceError::io("open", &path))?;
            let reading = Reading::open(&path, part)?;
            for at in 0..reading.groups() {
                if sender.send(Ok(reading.group(at, columns, left_out)?)).is_err() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

fn number(value: Option<i64>) -> Option<u64> {
    value.map(i64::cast_unsigned)
}

fn small(value: Option<i64>) -> Option<u32> {
    value.and_then(|value| u32::try_from(value).ok())
}

fn text(value: Option<&ByteArray>) -> Option<String> {
    value.map(|value| String::from_utf8_lossy(value.data()).into_owned())
}
