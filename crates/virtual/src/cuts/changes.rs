//! Changes of files and names that a guest's recorded calls made, and its syncs, with their times.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use seekwell_capture::guest::{Extra, extras, trace_of};
use seekwell_trace::{Event, FileId, Trace};

#[cfg(test)]
mod tests;

const O_CREAT: u64 = 0o100;
const O_TRUNC: u64 = 0o1000;
/// Part of `O_SYNC` too.
const O_DSYNC: u64 = 0o10000;
const RWF_SYNCS: u64 = 2 | 4;
const RENAME_EXCHANGE: u64 = 2;
const FALLOC_KEEP_SIZE: u64 = 1;
const FALLOC_PUNCH_HOLE: u64 = 2;
const FALLOC_ZERO_RANGE: u64 = 0x10;
const AT_REMOVEDIR: u64 = 0x200;

/// A file or directory, independent of its names.
pub(crate) type Node = usize;

/// A change or a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Data at an offset; durable when the call returns, for `O_DSYNC` and its like.
    Data { node: Node, at: u64, data: Rc<[u8]>, is_durable: bool },
    /// Zeros where the file has bytes.
    Zeros { node: Node, at: u64, bytes: u64 },
    /// A new size.
    Size { node: Node, bytes: u64 },
    /// Data that the recording does not have.
    Unseen { node: Node },
    /// A path now names this node, or none.
    Name { path: Rc<str>, node: Option<Node>, cause: Cause },
    /// `fsync` of a file, or `fdatasync`, which leaves its names out.
    Sync { node: Node, with_names: bool },
    /// `fsync` of a directory.
    SyncNames { directory: Rc<str> },
    /// `sync` or `syncfs`.
    SyncAll,
}

/// Cause of a change of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Made,
    Removed,
    /// The node keeps its data, and has or had another name.
    Renamed,
}

/// A change with the times of its call, in nanoseconds of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) change: Change,
}

/// Changes that a guest made to its files, in the order in which its calls returned.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    pub(crate) all: Vec<Timed>,
    /// Number of nodes.
    pub(crate) nodes: usize,
    /// Rows that a database had acknowledged, with the times.
    pub(crate) rows: Vec<(u64, u64)>,
    /// Start and end of the recording.
    pub(crate) begun_ns: u64,
    pub(crate) ended_ns: u64,
    /// Records that the kernel could not keep.
    pub(crate) lost: u32,
    /// True if a program used asynchronous I/O, which is not recorded.
    pub(crate) is_asynchronous: bool,
}

/// Pieces of the data of writes, by thread and start of the call.
type Written = HashMap<(u32, u64), Vec<(u64, Vec<u8>)>>;

impl Changes {
    /// Reads the records of a guest; `scratch` is a directory for a trace of them.
    pub(crate) fn read(
        records: &mut File,
        scratch: &Path,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let mut changes = Self::default();
        let mut written = Written::new();
        records.seek(SeekFrom::Start(0))?;
        extras(records, &mut |extra| match extra {
            Extra::Data { thread, start_ns, at, data } => {
                written.entry((thread, start_ns)).or_default().push((at, data.to_vec()));
            }
            Extra::Counted { at_ns, number } => changes.rows.push((at_ns, number.into())),
            Extra::Begun { at_ns } => changes.begun_ns = at_ns,
            Extra::Ended { at_ns, lost } => (changes.ended_ns, changes.lost) = (at_ns, lost),
        })?;
        records.seek(SeekFrom::Start(0))?;
        let folder = tempfile::tempdir_in(scratch)?;
        let place = folder.path().join("trace");
        trace_of(records, &place, "")?;
        let trace = Trace::open(&place)?;
        let known = trace.files()?.into_iter();
        let paths = known.filter_map(|file| Some((file.id, Rc::from(file.path?)))).collect();
        let mut events = Vec::new();
        trace.events(|event| {
            events.push(event);
            Ok(())
        })?;
        let origin_ns = changes.begun_ns;
        events.retain(|event| !event.failed());
        let end_ns = |event: &Event| event.start_ns + event.duration_ns.unwrap_or(0);
        events.sort_by_key(end_ns);
        let mut reader = Reader { paths, written, changes, ..Reader::default() };
        for event in &events {
            reader.start_ns = origin_ns + event.start_ns;
            reader.end_ns = origin_ns + end_ns(event);
            reader.take(event);
        }
        Ok(reader.changes)
    }

    /// Rows that the database had acknowledged by then; `None` if it had none yet.
    pub(crate) fn rows_by(&self, at_ns: u64) -> Option<u64> {
        let past = self.rows.iter().take_while(|(row_ns, _)| *row_ns <= at_ns);
        past.last().map(|(_, rows)| *rows)
    }
}

/// Follows names and descriptors call by call.
#[derive(Debug, Default)]
struct Reader {
    changes: Changes,
    written: Written,
    paths: HashMap<FileId, Rc<str>>,
    /// Live names.
    names: BTreeMap<Rc<str>, Node>,
    /// Files as they were opened.
    opened: HashMap<FileId, Node>,
    /// Descriptors whose writes are durable when they return.
    durable: HashMap<(u32, i32), bool>,
    start_ns: u64,
    end_ns: u64,
}

impl Reader {
    fn take(&mut self, event: &Event) {
        let flags = event.flags.unwrap_or(0);
        let (path, to_path) = (self.path(event.file), self.path(event.to_file));
        match event.call.call().name {
            "open" | "openat" | "openat2" => self.open(event, flags),
            "creat" => self.open(event, O_CREAT | O_TRUNC),
            "write" | "pwrite64" | "writev" | "pwritev" => self.write(event, false),
            "pwritev2" => self.write(event, flags & RWF_SYNCS != 0),
            "truncate" | "ftruncate" => {
                if let (Some(node), Some(bytes)) = (self.node(event.file), event.length) {
                    self.add(Change::Size { node, bytes });
                }
            }
            "fallocate" if flags == FALLOC_KEEP_SIZE => {}
            "fallocate" if flags == 0 => self.extend(event),
            "fallocate" if flags == FALLOC_PUNCH_HOLE | FALLOC_KEEP_SIZE => self.zero(event),
            "fallocate" if flags == FALLOC_ZERO_RANGE => {
                self.zero(event);
                self.extend(event);
            }
            "fallocate" => self.unseen(event.file),
            "copy_file_range" | "sendfile" | "splice" | "ioctl_ficlone" => {
                self.unseen(event.to_file);
            }
            "page_fault" if flags & 1 != 0 => self.unseen(event.file),
            "io_uring_setup" | "io_submit" => self.changes.is_asynchronous = true,
            "mkdir" | "mkdirat" | "mknod" | "mknodat" => self.make(path),
            "link" | "linkat" => self.link(path, to_path),
            "unlink" | "rmdir" => self.remove(path),
            "unlinkat" if flags & !AT_REMOVEDIR == 0 => self.remove(path),
            "rename" | "renameat" => self.rename(path, to_path),
            "renameat2" if flags & RENAME_EXCHANGE == 0 => self.rename(path, to_path),
            "fsync" => self.sync(event.file, true),
            "fdatasync" => self.sync(event.file, false),
            "sync" | "syncfs" => self.add(Change::SyncAll),
            _ => {}
        }
    }

    fn add(&mut self, change: Change) {
        let (start_ns, end_ns) = (self.start_ns, self.end_ns);
        self.changes.all.push(Timed { start_ns, end_ns, change });
    }

    fn path(&self, file: Option<FileId>) -> Option<Rc<str>> {
        file.and_then(|file| self.paths.get(&file)).cloned()
    }

    /// The node that a descriptor leads to.
    fn node(&self, file: Option<FileId>) -> Option<Node> {
        let file = file?;
        self.opened.get(&file).or_else(|| self.names.get(self.paths.get(&file)?)).copied()
    }

    fn name(&mut self, path: &Rc<str>, node: Option<Node>, cause: Cause) {
        match node {
            Some(node) => self.names.insert(path.clone(), node),
            None => self.names.remove(path),
        };
        self.add(Change::Name { path: path.clone(), node, cause });
    }

    fn make(&mut self, path: Option<Rc<str>>) {
        let Some(path) = path else { return };
        let node = self.changes.nodes;
        self.changes.nodes += 1;
        self.name(&path, Some(node), Cause::Made);
    }

    fn open(&mut self, event: &Event, flags: u64) {
        let (Some(path), Some(file)) = (self.path(event.file), event.file) else { return };
        if let Some(fd) = event.fd {
            self.durable.insert((event.process, fd), flags & O_DSYNC != 0);
        }
        match self.names.get(&path) {
            Some(node) if flags & O_TRUNC != 0 => {
                let node = *node;
                self.add(Change::Size { node, bytes: 0 });
            }
            None if flags & O_CREAT != 0 => self.make(Some(path.clone())),
            _ => {}
        }
        match self.names.get(&path) {
            Some(node) => self.opened.insert(file, *node),
            None => self.opened.remove(&file),
        };
    }

    fn write(&mut self, event: &Event, is_durable: bool) {
        let Some(node) = self.node(event.file) else { return };
        let pieces = self.written.remove(&(event.thread, self.start_ns));
        let Some(at) = event.offset else { return self.unseen(event.file) };
        let moved = event.result.unwrap_or(0).unsigned_abs() as usize;
        let mut data = Vec::with_capacity(moved);
        for (from, piece) in pieces.into_iter().flatten() {
            if from == data.len() as u64 {
                data.extend(piece);
            }
        }
        if data.len() != moved {
            return self.unseen(event.file);
        }
        let opened = event.fd.and_then(|fd| self.durable.get(&(event.process, fd)));
        let is_durable = is_durable || opened.is_some_and(|durable| *durable);
        self.add(Change::Data { node, at, data: data.into(), is_durable });
    }

    /// A file that grows without data.
    fn extend(&mut self, event: &Event) {
        let end = event.offset.unwrap_or(0) + event.length.unwrap_or(0);
        let Some(node) = self.node(event.file) else { return };
        self.add(Change::Data { node, at: end, data: Rc::from([]), is_durable: false });
    }

    fn zero(&mut self, event: &Event) {
        let (at, bytes) = (event.offset.unwrap_or(0), event.length.unwrap_or(0));
        if let Some(node) = self.node(event.file) {
            self.add(Change::Zeros { node, at, bytes });
        }
    }

    fn unseen(&mut self, file: Option<FileId>) {
        if let Some(node) = self.node(file) {
            self.add(Change::Unseen { node });
        }
    }

    fn sync(&mut self, file: Option<FileId>, with_names: bool) {
        let Some(path) = self.path(file) else { return };
        if let Some(node) = self.node(file) {
            self.add(Change::Sync { node, with_names });
        }
        self.add(Change::SyncNames { directory: path });
    }

    fn link(&mut self, from: Option<Rc<str>>, to: Option<Rc<str>>) {
        let node = from.and_then(|from| self.names.get(&from)).copied();
        if let (Some(node), Some(to)) = (node, to) {
            self.name(&to, Some(node), Cause::Made);
        }
    }

    fn remove(&mut self, path: Option<Rc<str>>) {
        if let Some(path) = path {
            self.name(&path, None, Cause::Removed);
        }
    }

    /// The names below a directory move with it.
    fn rename(&mut self, from: Option<Rc<str>>, to: Option<Rc<str>>) {
        let (Some(from), Some(to)) = (from, to) else { return };
        let below = format!("{from}/");
        let is_moved = |path: &Rc<str>| *path == from || path.starts_with(&below);
        let names = self.names.iter().filter(|(path, _)| is_moved(path));
        let moved: Vec<(Rc<str>, Node)> = names.map(|(path, node)| (path.clone(), *node)).collect();
        for (path, node) in moved {
            let new: Rc<str> = format!("{to}{}", &path[from.len()..]).into();
            self.name(&path, None, Cause::Renamed);
            self.name(&new, Some(node), Cause::Renamed);
        }
    }
}
