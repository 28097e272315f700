//! Writes a trace: rows gather in memory, groups of them go into open segments, and segments are
//! sealed by size and age.

use crate::anonymous::Anonymizer;
use crate::calls;
use crate::columns::{Column, Kind, Segment, Stored};
use crate::encode::{Numbers, Texts, Words};
use crate::error::TraceError;
use crate::event::{
    Content, DataRange, Event, FileEntry, InitialAttribute, InitialEntry, Operation, ProcessEntry,
    Request, RequestFlags,
};
use crate::meta::{Meta, sync_folder};
use seekwell_trust::Folder;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) const CALLS: [Column; 17] = [
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
    ("cpu_ns", Kind::Many),
    ("waited_ns", Kind::Many),
    ("waker", Kind::Few),
    ("woken_ns", Kind::Many),
    ("awaited_ns", Kind::Many),
];

pub(crate) const FILES: [Column; 6] = [
    ("file", Kind::Many),
    ("path", Kind::Text),
    ("device", Kind::Few),
    ("inode", Kind::Many),
    ("mode", Kind::Few),
    ("bytes", Kind::Many),
];

pub(crate) const INITIAL: [Column; 14] = [
    ("path", Kind::Text),
    ("device", Kind::Few),
    ("inode", Kind::Many),
    ("mode", Kind::Few),
    ("owner", Kind::Few),
    ("group", Kind::Few),
    ("bytes", Kind::Many),
    ("allocated_bytes", Kind::Many),
    ("content", Kind::Word),
    ("compressed_percent", Kind::Few),
    ("birth_ms", Kind::Many),
    ("target", Kind::Text),
    ("attributes", Kind::Word),
    ("data", Kind::Text),
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

/// Rows that are put into their columns at once: a column takes many in a row faster than one.
const TOGETHER: usize = 256;

/// Rows in memory, column by column.
struct Rows<Row, const COLUMNS: usize> {
    columns: [Stored; COLUMNS],
    /// Rows that are not in their columns yet.
    recent: Vec<Row>,
    count: usize,
}

/// Rows of a table that has numbers and words alone.
trait Tabled<const COLUMNS: usize>: Sized {
    /// Adds these rows to their columns.
    fn spread(rows: &[Self], columns: &mut [Stored; COLUMNS]);
}

impl<Row: Tabled<COLUMNS>, const COLUMNS: usize> Rows<Row, COLUMNS> {
    fn of(columns: &[Column; COLUMNS]) -> Self {
        let empty = |(name, _): &Column| match *name {
            "call" => Stored::Words(Words::new(calls::CALLS.iter().map(|call| call.name))),
            "operation" => Stored::Words(Words::new(Operation::ALL.map(Operation::name))),
            // Place 0 has none.
            "flags" if COLUMNS == REQUESTS.len() => {
                Stored::Words(Words::new(RequestFlags::all().map(RequestFlags::letters)))
            }
            _ => Stored::Numbers(Numbers::default()),
        };
        let columns = columns.each_ref().map(empty);
        Self { columns, recent: Vec::with_capacity(TOGETHER), count: 0 }
    }

    #[inline]
    fn add(&mut self, row: Row) {
        self.recent.push(row);
        self.count += 1;
        if self.recent.len() == TOGETHER {
            self.spread();
        }
    }

    /// Puts every row into its columns.
    fn spread(&mut self) {
        Row::spread(&self.recent, &mut self.columns);
        self.recent.clear();
    }

    /// Writes the rows, if there are any, to the segment that is open, or to a new one at `path`.
    fn write(
        &mut self,
        open: &mut Option<Segment>,
        path: &Path,
        columns: &[Column],
    ) -> Result<(), TraceError> {
        if self.count == 0 {
            return Ok(());
        }
        self.spread();
        let mut segment = match open.take() {
            Some(segment) => segment,
            None => Segment::create(path, columns)?,
        };
        segment.group(&self.columns)?;
        *open = Some(segment);
        self.clear();
        Ok(())
    }

    fn clear(&mut self) {
        for column in &mut self.columns {
            match column {
                Stored::Numbers(all) => all.clear(),
                Stored::Words(all) => all.clear(),
                Stored::Texts(_) | Stored::Text(_) => {}
            }
        }
        self.recent.clear();
        self.count = 0;
    }
}

/// Adds a number of each row to a column.
fn numbers<Row>(column: &mut Stored, rows: &[Row], number: impl Fn(&Row) -> Option<i64> + Copy) {
    if let Stored::Numbers(all) = column {
        all.extend(rows.iter().map(number));
    }
}

/// The same for whole numbers, which keep all 64 bits: those above `i64::MAX` come back as they were.
fn whole<Row>(column: &mut Stored, rows: &[Row], number: impl Fn(&Row) -> Option<u64> + Copy) {
    numbers(column, rows, |row| number(row).map(u64::cast_signed));
}

/// Adds a word of each row, by its place in the list of the column.
fn words<Row>(column: &mut Stored, rows: &[Row], word: impl Fn(&Row) -> usize) {
    if let Stored::Words(all) = column {
        rows.iter().for_each(|row| all.push(word(row)));
    }
}

impl Tabled<17> for Event {
    fn spread(rows: &[Self], columns: &mut [Stored; 17]) {
        let [start, duration, process, thread, call, fd, file, to_file, offset, rest @ ..] =
            columns;
        let [length, result, flags, cpu, waited, waker, woken, awaited] = rest;
        whole(start, rows, |row| Some(row.start_ns));
        whole(duration, rows, |row| row.duration_ns);
        whole(process, rows, |row| Some(row.process.into()));
        whole(thread, rows, |row| Some(row.thread.into()));
        words(call, rows, |row| row.call.0.into());
        numbers(fd, rows, |row| row.fd.map(i64::from));
        whole(file, rows, |row| row.file.map(|file| file.0.into()));
        whole(to_file, rows, |row| row.to_file.map(|file| file.0.into()));
        whole(offset, rows, |row| row.offset);
        whole(length, rows, |row| row.length);
        numbers(result, rows, |row| row.result);
        whole(flags, rows, |row| row.flags);
        whole(cpu, rows, |row| row.cpu_ns);
        whole(waited, rows, |row| row.waited_ns);
        whole(waker, rows, |row| row.waker.map(u64::from));
        whole(woken, rows, |row| row.woken_ns);
        whole(awaited, rows, |row| row.awaited_ns);
    }
}

impl Tabled<9> for Request {
    fn spread(rows: &[Self], columns: &mut [Stored; 9]) {
        let [start, duration, process, device, operation, flags, sector, bytes, depth] = columns;
        whole(start, rows, |row| Some(row.start_ns));
        whole(duration, rows, |row| row.duration_ns);
        whole(process, rows, |row| row.process.map(u64::from));
        whole(device, rows, |row| Some(row.device.into()));
        words(operation, rows, |row| row.operation as usize);
        words(flags, rows, |row| row.flags.place());
        whole(sector, rows, |row| Some(row.sector));
        whole(bytes, rows, |row| Some(row.bytes));
        whole(depth, rows, |row| row.depth.map(u64::from));
    }
}

/// A trace that is being written.
pub struct TraceWriter {
    /// The folder as it was opened: whatever has its name later is not written to.
    held: Folder,
    /// Path by way of the descriptor.
    folder: PathBuf,
    limits: Limits,
    anonymizer: Option<Anonymizer>,
    number: u32,
    /// Numbers of the sealed segments of each table, as rows without a gap.
    segments: BTreeMap<String, Vec<(u32, u32)>>,
    /// Bytes of sealed segments.
    sealed: u64,
    opened: Instant,
    calls: Rows<Event, 17>,
    files: Vec<FileEntry>,
    initial: Vec<InitialEntry>,
    processes: Vec<ProcessEntry>,
    requests: Rows<Request, 9>,
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
        Self::create_anonymous(folder, meta, limits, None)
    }

    /// The same, with words for the names of everything that is written.
    ///
    /// # Errors
    /// Those of [`Self::create`].
    pub fn create_anonymous(
        folder: &Path,
        meta: &Meta,
        limits: Limits,
        anonymizer: Option<Anonymizer>,
    ) -> Result<Self, TraceError> {
        let held = Folder::make_own(folder).map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists | std::io::ErrorKind::NotADirectory => {
                TraceError::Exists(folder.to_owned())
            }
            _ => TraceError::io("create", folder)(source),
        })?;
        let mut entries = std::fs::read_dir(held.root()).map_err(TraceError::io("list", folder))?;
        if entries.next().is_some() {
            return Err(TraceError::Exists(folder.to_owned()));
        }
        let writer = Self {
            folder: held.root(),
            held,
            limits,
            anonymizer,
            number: 0,
            segments: BTreeMap::new(),
            sealed: 0,
            opened: Instant::now(),
            calls: Rows::of(&CALLS),
            files: Vec::new(),
            initial: Vec::new(),
            processes: Vec::new(),
            requests: Rows::of(&REQUESTS),
            open_calls: None,
            open_requests: None,
            events: 0,
        };
        writer.describe(meta)?;
        Ok(writer)
    }

    fn describe(&self, meta: &Meta) -> Result<(), TraceError> {
        let mut meta = match &self.anonymizer {
            Some(anonymizer) => anonymizer.meta(meta),
            None => meta.clone(),
        };
        meta.segments.clone_from(&self.segments);
        meta.write(&self.folder)
    }

    /// Adds a call.
    ///
    /// # Errors
    /// When the segment cannot be written.
    pub fn event(&mut self, event: Event) -> Result<(), TraceError> {
        self.events += 1;
        self.calls.add(event);
        if self.calls.count >= self.limits.rows {
            self.write_calls()?;
            self.seal_when_large()?;
        }
        Ok(())
    }

    /// Adds a file. It is in the same segment as the first event that names it, or an earlier one.
    pub fn file(&mut self, file: FileEntry) {
        self.files.push(match &self.anonymizer {
            Some(anonymizer) => anonymizer.file(file),
            None => file,
        });
    }

    /// Adds a file or directory as it was before the start.
    ///
    /// # Errors
    /// When the segment cannot be written.
    pub fn initial(&mut self, entry: InitialEntry) -> Result<(), TraceError> {
        self.initial.push(match &self.anonymizer {
            Some(anonymizer) => anonymizer.initial(entry),
            None => entry,
        });
        if self.initial.len() >= self.limits.rows { self.seal() } else { Ok(()) }
    }

    /// Adds a process.
    pub fn process(&mut self, process: ProcessEntry) {
        self.processes.push(match &self.anonymizer {
            Some(anonymizer) => anonymizer.process(process),
            None => process,
        });
    }

    /// Adds a block request.
    ///
    /// # Errors
    /// When the segment cannot be written.
    pub fn request(&mut self, request: Request) -> Result<(), TraceError> {
        self.events += 1;
        self.requests.add(request);
        if self.requests.count >= self.limits.rows {
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

    /// Bytes of the segments so far.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let open = [&self.open_calls, &self.open_requests];
        self.sealed + open.into_iter().flatten().map(Segment::bytes).sum::<u64>()
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
        self.describe(meta)
    }

    /// Seals the last segments and writes the description. Returns the bytes of the segments.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(mut self, meta: &Meta) -> Result<u64, TraceError> {
        self.seal()?;
        self.describe(meta)?;
        Ok(self.sealed)
    }

    /// Takes back a trace: removes the description, the segments and the folder, which stays if it has
    /// other files.
    pub fn abandon(self) {
        // Nothing can be done for a folder that cannot be removed; the next start names it.
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let is_own = |name: &str| {
            let name = name.strip_suffix(".open").unwrap_or(name);
            name == crate::meta::FILE || name.ends_with(".parquet")
        };
        for entry in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_own)) {
            let _ = std::fs::remove_file(entry.path());
        }
        let _ = self.held.remove();
    }

    fn segment(&self, table: &str) -> PathBuf {
        self.folder.join(format!("{table}-{:06}.parquet", self.number))
    }

    /// Files and processes first: a reader that sees the calls knows what they name.
    fn seal(&mut self) -> Result<(), TraceError> {
        self.write_calls()?;
        self.write_requests()?;
        if !self.initial.is_empty() {
            let mut segment = Segment::create(&self.segment("initial"), &INITIAL)?;
            segment.group(&initial_columns(&self.initial))?;
            self.complete("initial", segment)?;
            self.initial.clear();
        }
        if !self.files.is_empty() {
            let mut segment = Segment::create(&self.segment("files"), &FILES)?;
            segment.group(&file_columns(&self.files))?;
            self.complete("files", segment)?;
            self.files.clear();
        }
        if !self.processes.is_empty() {
            let mut segment = Segment::create(&self.segment("processes"), &PROCESSES)?;
            segment.group(&process_columns(&self.processes))?;
            self.complete("processes", segment)?;
            self.processes.clear();
        }
        let open = [("calls", self.open_calls.take()), ("requests", self.open_requests.take())];
        for (table, segment) in open {
            segment.map_or(Ok(()), |segment| self.complete(table, segment))?;
        }
        sync_folder(&self.folder).map_err(TraceError::io("sync", &self.folder))?;
        self.number += 1;
        self.opened = Instant::now();
        Ok(())
    }

    /// Seals a segment and notes its number.
    fn complete(&mut self, table: &str, segment: Segment) -> Result<(), TraceError> {
        self.sealed += segment.seal()?;
        let runs = self.segments.entry(table.to_owned()).or_default();
        match runs.last_mut().filter(|(_, last)| last.checked_add(1) == Some(self.number)) {
            Some((_, last)) => *last = self.number,
            None => runs.push((self.number, self.number)),
        }
        Ok(())
    }

    fn write_calls(&mut self) -> Result<(), TraceError> {
        let path = self.segment("calls");
        self.calls.write(&mut self.open_calls, &path, &CALLS)
    }

    fn write_requests(&mut self) -> Result<(), TraceError> {
        let path = self.segment("requests");
        self.requests.write(&mut self.open_requests, &path, &REQUESTS)
    }
}

/// A column with a number of each row.
fn column<Row>(rows: &[Row], number: fn(&Row) -> Option<u64>) -> Stored {
    Stored::whole(rows.iter().map(|row| number(row).map(u64::cast_signed)))
}

fn file_columns(rows: &[FileEntry]) -> [Stored; 6] {
    [
        column(rows, |row| Some(row.id.0.into())),
        Stored::Texts(Texts::of(rows.iter().map(|row| row.path.as_deref()))),
        column(rows, |row| row.device.map(Into::into)),
        column(rows, |row| row.inode),
        column(rows, |row| row.mode.map(Into::into)),
        column(rows, |row| row.bytes),
    ]
}

fn initial_columns(rows: &[InitialEntry]) -> [Stored; 14] {
    let content = |row: &InitialEntry| row.content.map(Content::stored);
    let data: Vec<Option<String>> = rows.iter().map(|row| DataRange::stored(&row.data)).collect();
    let attributes: Vec<Option<String>> =
        rows.iter().map(|row| InitialAttribute::stored(&row.attributes)).collect();
    [
        Stored::Texts(Texts::of(rows.iter().map(|row| Some(row.path.as_str())))),
        column(rows, |row| row.device.map(Into::into)),
        column(rows, |row| row.inode),
        column(rows, |row| Some(row.mode.into())),
        column(rows, |row| row.owner.map(Into::into)),
        column(rows, |row| row.group.map(Into::into)),
        column(rows, |row| Some(row.bytes)),
        column(rows, |row| Some(row.allocated_bytes)),
        Stored::text(rows.iter().map(|row| content(row).map(|(name, _)| name))),
        Stored::whole(rows.iter().map(|row| content(row)?.1.map(i64::from))),
        column(rows, |row| row.birth_ms),
        Stored::Texts(Texts::of(rows.iter().map(|row| row.target.as_deref()))),
        Stored::text(attributes.iter().map(Option::as_deref)),
        Stored::Texts(Texts::of(data.iter().map(Option::as_deref))),
    ]
}

fn process_columns(rows: &[ProcessEntry]) -> [Stored; 4] {
    [
        column(rows, |row| Some(row.process.into())),
        column(rows, |row| row.parent.map(Into::into)),
        column(rows, |row| Some(row.start_ns)),
        Stored::text(rows.iter().map(|row| row.name.as_deref())),
    ]
}

#[cfg(test)]
mod tests;
