//! Writes a trace: rows gather in memory, groups of them go into open segments, and segments are
//! sealed by size and age.

use crate::columns::{Column, Kind, Segment, Values};
use crate::error::TraceError;
use crate::event::{Event, FileEntry, ProcessEntry, Request};
use crate::meta::Meta;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) const CALLS: [Column; 12] = [
    ("start_ns", Kind::Many),
    ("duration_ns", Kind::Many),
    ("process", Kind::Few),
    ("thread", Kind::Few),
    ("call", Kind::Word),
    ("fd", Kind::Few),
    ("file", Kind::Many),
    ("to_file", Kind::Few),
    ("offset", Kind::Many),
    ("length", Kind::Few),
    ("result", Kind::Few),
    ("flags", Kind::Few),
];

pub(crate) const FILES: [Column; 6] = [
    ("file", Kind::Many),
    ("path", Kind::Text),
    ("device", Kind::Few),
    ("inode", Kind::Many),
    ("mode", Kind::Few),
    ("bytes", Kind::Many),
];

pub(crate) const PROCESSES: [Column; 4] = [
    ("process", Kind::Many),
    ("parent", Kind::Few),
    ("start_ns", Kind::Many),
    ("name", Kind::Word),
];

pub(crate) const REQUESTS: [Column; 9] = [
    ("start_ns", Kind::Many),
    ("duration_ns", Kind::Many),
    ("process", Kind::Few),
    ("device", Kind::Few),
    ("operation", Kind::Word),
    ("flags", Kind::Word),
    ("sector", Kind::Many),
    ("bytes", Kind::Few),
    ("depth", Kind::Few),
];

/// Limits at which a segment is sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Size of its calls or requests, bytes.
    pub bytes: u64,
    /// Age.
    pub age: Duration,
    /// Rows that are kept in memory before they go into the open segment.
    pub rows: usize,
}

impl Default for Limits {
    /// 64 MiB, 10 s, 128 Ki rows.
    fn default() -> Self {
        Self { bytes: 64 << 20, age: Duration::from_secs(10), rows: 128 << 10 }
    }
}

/// A trace that is being written.
pub struct TraceWriter {
    folder: PathBuf,
    limits: Limits,
    number: u32,
    opened: Instant,
    calls: Vec<Event>,
    files: Vec<FileEntry>,
    processes: Vec<ProcessEntry>,
    requests: Vec<Request>,
    open_calls: Option<Segment>,
    open_requests: Option<Segment>,
    events: u64,
}

impl TraceWriter {
    /// Makes the folder, for its owner alone.
    ///
    /// # Errors
    /// When something is there already, or the folder cannot be made.
    pub fn create(folder: &Path, meta: &Meta, limits: Limits) -> Result<Self, TraceError> {
        match std::fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
                made.map_err(TraceError::io("create", folder))?;
            }
            Ok(false) | Err(_) => {
                return Err(TraceError::Exists { path: folder.to_owned() });
            }
        }
        meta.write(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            limits,
            number: 0,
            opened: Instant::now(),
            calls: Vec::new(),
            files: Vec::new(),
            processes: Vec::new(),
            requests: Vec::new(),
            open_calls: None,
            open_requests: None,
            events: 0,
        })
    }

    /// Adds a call.
    ///
    /// # Errors
    /// When the segment cannot be written.
    pub fn event(&mut self, event: Event) -> Result<(), TraceError> {
        self.events += 1;
        self.calls.push(event);
        if self.calls.len() >= self.limits.rows {
            self.write_calls()?;
            self.seal_when_large()?;
        }
        Ok(())
    }

    /// Adds a file. It is in the same segment as the first event that names it, or an earlier one.
    pub fn file(&mut self, file: FileEntry) {
        self.files.push(file);
    }

    /// Adds a process.
    pub fn process(&mut self, process: ProcessEntry) {
        self.processes.push(process);
    }

    /// Adds a block request.
    ///
    /// # Errors
    /// When the segment cannot be written.
    pub fn request(&mut self, request: Request) -> Result<(), TraceError> {
        self.events += 1;
        self.requests.push(request);
        if self.requests.len() >= self.limits.rows {
            self.write_requests()?;
            self.seal_when_large()?;
        }
        Ok(())
    }

    fn seal_when_large(&mut self) -> Result<(), TraceError> {
        let open = [&self.open_calls, &self.open_requests];
        if open.into_iter().flatten().any(|segment| segment.bytes() >= self.limits.bytes) {
            self.seal()?;
        }
        Ok(())
    }

    /// Calls and requests so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Seals the open segments when they are old enough, and writes the description.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn keep_up(&mut self, meta: &Meta) -> Result<(), TraceError> {
        if self.opened.elapsed() < self.limits.age {
            return Ok(());
        }
        self.seal()?;
        meta.write(&self.folder)
    }

    /// Seals the last segments and writes the description.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(mut self, meta: &Meta) -> Result<(), TraceError> {
        self.seal()?;
        meta.write(&self.folder)
    }

    /// Takes back a trace that did not begin: removes the description and the folder, which stays if
    /// it has other files.
    pub fn abandon(self) {
        // Nothing can be done for a folder that cannot be removed; the next start names it.
        let _ = std::fs::remove_file(self.folder.join(crate::meta::FILE));
        let _ = std::fs::remove_dir(&self.folder);
    }

    fn segment(&self, table: &str) -> PathBuf {
        self.folder.join(format!("{table}-{:06}.parquet", self.number))
    }

    /// Files and processes first: a reader that sees the calls knows what they name.
    fn seal(&mut self) -> Result<(), TraceError> {
        self.write_calls()?;
        self.write_requests()?;
        if !self.files.is_empty() {
            let mut segment = Segment::create(&self.segment("files"), &FILES)?;
            segment.group(&file_columns(&self.files))?;
            segment.seal()?;
            self.files.clear();
        }
        if !self.processes.is_empty() {
            let mut segment = Segment::create(&self.segment("processes"), &PROCESSES)?;
            segment.group(&process_columns(&self.processes))?;
            segment.seal()?;
            self.processes.clear();
        }
        for segment in [self.open_calls.take(), self.open_requests.take()].into_iter().flatten() {
            segment.seal()?;
        }
        self.number += 1;
        self.opened = Instant::now();
        Ok(())
    }

    fn write_calls(&mut self) -> Result<(), TraceError> {
        if self.calls.is_empty() {
            return Ok(());
        }
        let path = self.segment("calls");
        append(&mut self.open_calls, &path, &CALLS, &call_columns(&self.calls))?;
        self.calls.clear();
        Ok(())
    }

    fn write_requests(&mut self) -> Result<(), TraceError> {
        if self.requests.is_empty() {
            return Ok(());
        }
        let path = self.segment("requests");
        append(&mut self.open_requests, &path, &REQUESTS, &request_columns(&self.requests))?;
        self.requests.clear();
        Ok(())
    }
}

/// Adds rows to the segment that is open, or to a new one at `path`.
fn append(
    open: &mut Option<Segment>,
    path: &Path,
    columns: &[Column],
    values: &[Values],
) -> Result<(), TraceError> {
    let mut segment = match open.take() {
        Some(segment) => segment,
        None => Segment::create(path, columns)?,
    };
    segment.group(values)?;
    *open = Some(segment);
    Ok(())
}

// Whole numbers keep all 64 bits: those above i64::MAX come back as they were.
fn whole<T: Copy>(rows: &[T], value: impl Fn(T) -> Option<u64>) -> Values {
    Values::whole(rows.iter().map(|row| value(*row).map(u64::cast_signed)))
}

fn call_columns(rows: &[Event]) -> [Values; 12] {
    [
        whole(rows, |row| Some(row.start_ns)),
        whole(rows, |row| row.duration_ns),
        whole(rows, |row| Some(row.process.into())),
        whole(rows, |row| Some(row.thread.into())),
        Values::text(rows.iter().map(|row| Some(row.call.call().name))),
        Values::whole(rows.iter().map(|row| row.fd.map(i64::from))),
        whole(rows, |row| row.file.map(|file| file.0.into())),
        whole(rows, |row| row.to_file.map(|file| file.0.into())),
        whole(rows, |row| row.offset),
        whole(rows, |row| row.length),
        Values::whole(rows.iter().map(|row| row.result)),
        whole(rows, |row| row.flags),
    ]
}

fn file_columns(rows: &[FileEntry]) -> [Values; 6] {
    let number = |value: fn(&FileEntry) -> Option<u64>| {
        Values::whole(rows.iter().map(|row| value(row).map(u64::cast_signed)))
    };
    [
        number(|row| Some(row.id.0.into())),
        Values::text(rows.iter().map(|row| row.path.as_deref())),
        number(|row| row.device.map(Into::into)),
        number(|row| row.inode),
        number(|row| row.mode.map(Into::into)),
        number(|row| row.bytes),
    ]
}

fn process_columns(rows: &[ProcessEntry]) -> [Values; 4] {
    let number = |value: fn(&ProcessEntry) -> Option<u64>| {
        Values::whole(rows.iter().map(|row| value(row).map(u64::cast_signed)))
    };
    [
        number(|row| Some(row.process.into())),
        number(|row| row.parent.map(Into::into)),
        number(|row| Some(row.start_ns)),
        Values::text(rows.iter().map(|row| row.name.as_deref())),
    ]
}

fn request_columns(rows: &[Request]) -> [Values; 9] {
    [
        whole(rows, |row| Some(row.start_ns)),
        whole(rows, |row| row.duration_ns),
        whole(rows, |row| row.process.map(Into::into)),
        whole(rows, |row| Some(row.device.into())),
        Values::text(rows.iter().map(|row| Some(row.operation.name()))),
        Values::text(rows.iter().map(|row| Some(row.flags.letters().into_bytes()))),
        whole(rows, |row| Some(row.sector)),
        whole(rows, |row| Some(row.bytes)),
        whole(rows, |row| row.depth.map(Into::into)),
    ]
}

#[cfg(test)]
mod tests;
