//! Rows of a trace.

use crate::calls::{CallId, Class};

/// `SYNC_FILE_RANGE_WAIT_BEFORE` and `SYNC_FILE_RANGE_WAIT_AFTER`.
const SYNC_FILE_RANGE_WAITS: u64 = 1 | 4;

/// Number of a file in a trace; [`FileEntry`] names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A call, in the order of its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds from the start of the trace to the start of the call.
    pub start_ns: u64,
    /// Duration; `None` when the source did not have it.
    pub duration_ns: Option<u64>,
    /// Process (thread group), in the PID namespace of the recorder.
    pub process: u32,
    /// Thread.
    pub thread: u32,
    /// Call.
    pub call: CallId,
    /// Descriptor, or the one that the call opened.
    pub fd: Option<i32>,
    /// File that the call worked on.
    pub file: Option<FileId>,
    /// Second file: the destination of copies, renames and links; of calls on extended attributes the
    /// attribute ([`FileEntry::attribute`]).
    pub to_file: Option<FileId>,
    /// Offset in the file, bytes; for calls that use the file's position, that position; of
    /// `close_range` the first descriptor.
    pub offset: Option<u64>,
    /// Requested length, bytes; of `close_range` the last descriptor, of `symlink` the length of the text.
    pub length: Option<u64>,
    /// Result: what the kernel returned, a negative error number on failure.
    pub result: Option<i64>,
    /// Flags or mode, as the program gave them.
    pub flags: Option<u64>,
    /// On-CPU time of the thread from the end of its last recorded call to the start of this one,
    /// nanoseconds, without the cost of recording; `None` where the source cannot tell.
    pub cpu_ns: Option<u64>,
    /// Time asleep in that span. The rest of it the thread was ready and others ran.
    pub waited_ns: Option<u64>,
    /// Thread of the trace that it waited for in that span, the last if there were several: by waking
    /// this one, or one that woke it. `None` when it waited for none.
    pub waker: Option<u32>,
    /// Time from that thread's wake-up of another to the start of this call, nanoseconds.
    pub woken_ns: Option<u64>,
    /// Part of `waited_ns` that ended because a thread of the trace woke this one.
    pub awaited_ns: Option<u64>,
}

impl Event {
    /// An event with nothing known but its time, thread and call.
    #[must_use]
    pub fn new(start_ns: u64, process: u32, thread: u32, call: CallId) -> Self {
        Self { start_ns, process, thread, call, ..Self::default() }
    }

    /// Its end; the start where the duration is not known.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns.unwrap_or(0))
    }

    /// Bytes that the call moved; `None` for other calls, failed ones and unknown results.
    #[must_use]
    pub fn moved_bytes(&self) -> Option<u64> {
        self.result
            .filter(|_| self.call.call().moves_data())
            .and_then(|result| u64::try_from(result).ok())
    }

    /// True for a call that returns when data is on the device. `sync_file_range` waits with some of its
    /// flags alone: one that only starts writing is no sync.
    #[must_use]
    pub fn is_sync(&self) -> bool {
        let call = self.call.call();
        let waits = || self.flags.is_none_or(|flags| flags & SYNC_FILE_RANGE_WAITS != 0);
        call.class == Class::Sync && (call.name != "sync_file_range" || waits())
    }

    /// True when the call is known to have failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.result.is_some_and(|result| result < 0)
    }
}

/// Start of the paths of entries that stand for extended attributes.
const ATTRIBUTE: &str = "xattr:[";

/// A file of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Number that events use.
    pub id: FileId,
    /// Absolute path; `None` when it is not known.
    pub path: Option<String>,
    /// Device with the filesystem: major number << 20 | minor number.
    pub device: Option<u32>,
    /// Inode number.
    pub inode: Option<u64>,
    /// Type and permissions, as in `st_mode`.
    pub mode: Option<u32>,
    /// Size when the trace met the file first, bytes.
    pub bytes: Option<u64>,
}

impl FileEntry {
    /// Takes over what another row of the same file knows and this one does not.
    pub(crate) fn add(&mut self, other: &mut Self) {
        self.path = self.path.take().or_else(|| other.path.take());
        self.device = self.device.or(other.device);
        self.inode = self.inode.or(other.inode);
        self.mode = self.mode.or(other.mode);
        self.bytes = self.bytes.or(other.bytes);
    }

    /// The file with this number among those of a trace, which are sorted by it.
    #[must_use]
    pub fn find(files: &[Self], id: FileId) -> Option<&Self> {
        files.binary_search_by_key(&id, |file| file.id).ok().map(|at| &files[at])
    }

    /// Path of the entry that stands for an extended attribute.
    #[must_use]
    pub fn path_of_attribute(name: &str) -> String {
        format!("{ATTRIBUTE}{name}]")
    }

    /// True for the path of an entry that stands for an extended attribute.
    #[must_use]
    pub fn is_path_of_attribute(path: &str) -> bool {
        path.starts_with(ATTRIBUTE)
    }

    /// Name of the extended attribute that this entry stands for.
    #[must_use]
    pub fn attribute(&self) -> Option<&str> {
        self.path.as_deref()?.strip_prefix(ATTRIBUTE)?.strip_suffix(']')
    }

    /// True for regular files; `None` when the type is not known.
    #[must_use]
    pub fn is_regular(&self) -> Option<bool> {
        self.mode.map(|mode| mode & 0o170_000 == 0o100_000)
    }
}

/// A file or directory as it was before the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitialEntry {
    /// Absolute path.
    pub path: String,
    /// Device with the filesystem: major number << 20 | minor number.
    pub device: Option<u32>,
    /// Inode number; equal ones of a device are one file with several names.
    pub inode: Option<u64>,
    /// Type and permissions, as in `st_mode`.
    pub mode: u32,
    /// User who owns it.
    pub owner: Option<u32>,
    /// Group that owns it.
    pub group: Option<u32>,
    /// Size, bytes.
    pub bytes: u64,
    /// Allocated room, bytes: less than the size in files with holes.
    pub allocated_bytes: u64,
    /// Kind of content; `None` for what is no regular file, empty, or was not sampled.
    pub content: Option<Content>,
    /// Time of creation (`stx_btime`), milliseconds since 1970; `None` on filesystems that keep none.
    pub birth_ms: Option<u64>,
    /// Text of a symbolic link; `None` for other files and in traces of earlier versions.
    pub target: Option<String>,
    /// Extended attributes of users and access lists, in the order of their list; none in traces of earlier versions.
    pub attributes: Vec<InitialAttribute>,
    /// Ranges with data of a file with holes, in order; none of other files, of one with more than
    /// [`DataRange::MOST`], and in traces of earlier versions.
    pub data: Vec<DataRange>,
}

/// A range of a file that has data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataRange {
    /// First byte.
    pub start: u64,
    /// Length.
    pub bytes: u64,
}

impl DataRange {
    /// Most ranges of a file that a trace holds.
    pub const MOST: usize = 1024;

    /// Start and length of each, as `START+BYTES` with blanks between; `None` for none.
    pub(crate) fn stored(all: &[Self]) -> Option<String> {
        let one = |one: &Self| format!("{}+{}", one.start, one.bytes);
        (!all.is_empty()).then(|| all.iter().map(one).collect::<Vec<_>>().join(" "))
    }

    /// The ranges of such a text, as far as they are in order.
    pub(crate) fn read(stored: &str) -> Vec<Self> {
        let one = |text: &str| {
            let (start, bytes) = text.split_once('+')?;
            Some(Self { start: start.parse().ok()?, bytes: bytes.parse().ok()? })
        };
        let mut end = 0_u64;
        let in_order = |range: &Self| {
            let follows = range.start >= end && range.bytes > 0;
            end = range.start.saturating_add(range.bytes);
            follows
        };
        stored.split(' ').map_while(one).take_while(in_order).take(Self::MOST).collect()
    }
}

/// An extended attribute of a file before the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialAttribute {
    /// Name.
    pub name: String,
    /// Length of its value, bytes.
    pub bytes: u32,
}

impl InitialAttribute {
    /// A line of length and name for each; `None` for none.
    pub(crate) fn stored(all: &[Self]) -> Option<String> {
        let lines: Vec<String> =
            all.iter().map(|one| format!("{} {}", one.bytes, one.name)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// The attributes of such lines; others are left out.
    pub(crate) fn read(stored: &str) -> Vec<Self> {
        let one = |line: &str| {
            let (bytes, name) = line.split_once(' ')?;
            Some(Self { name: name.to_owned(), bytes: bytes.parse().ok()? })
        };
        stored.lines().filter_map(one).collect()
    }
}

/// Kind of a file's content, told from samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Zeros alone.
    Zero,
    /// Snappy compresses it to this many per cent.
    Compressible(u8),
    /// Snappy compresses it by less than a tenth.
    Random,
}

impl Content {
    /// Content of which these bytes are samples; `None` without bytes.
    #[must_use]
    pub fn of(sample: &[u8]) -> Option<Self> {
        const HARDLY: usize = 90;
        if sample.is_empty() {
            return None;
        }
        if sample.iter().all(|byte| *byte == 0) {
            return Some(Self::Zero);
        }
        let compressed = snap::raw::Encoder::new().compress_vec(sample).ok()?;
        let percent = (compressed.len() * 100).div_ceil(sample.len());
        Some(match u8::try_from(percent) {
            Ok(small) if percent < HARDLY => Self::Compressible(small),
            _ => Self::Random,
        })
    }

    /// Name in tables, and the percentage of compressible content.
    pub(crate) fn stored(self) -> (&'static str, Option<u8>) {
        match self {
            Self::Zero => ("zero", None),
            Self::Compressible(percent) => ("compressible", Some(percent)),
            Self::Random => ("random", None),
        }
    }

    pub(crate) fn read(name: &str, percent: Option<u8>) -> Option<Self> {
        match (name, percent) {
            ("zero", _) => Some(Self::Zero),
            ("compressible", Some(percent)) => Some(Self::Compressible(percent)),
            ("random", _) => Some(Self::Random),
            _ => None,
        }
    }
}

/// A process of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessEntry {
    /// Process number.
    pub process: u32,
    /// Process that made it.
    pub parent: Option<u32>,
    /// Nanoseconds from the start of the trace; 0 for processes that ran before.
    pub start_ns: u64,
    /// Name of the program, at most 15 characters.
    pub name: Option<String>,
}

/// Purpose of a block request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Cache flush.
    Flush,
    /// Discard, secure erase or write of zeros.
    Discard,
    /// Anything else.
    Other,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Flush, Self::Discard, Self::Other];

    /// Name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
            Self::Other => "other",
        }
    }

    /// The operation with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name() == name)
    }
}

/// A block request, in the order of its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Nanoseconds from the start of the trace to its issue to the device.
    pub start_ns: u64,
    /// Time until it was complete.
    pub duration_ns: Option<u64>,
    /// Process that issued it; not always the one that wrote the data.
    pub process: Option<u32>,
    /// Device: major number << 20 | minor number.
    pub device: u32,
    /// Operation.
    pub operation: Operation,
    /// Letters of blktrace: S sync, M metadata, F forced unit access, P preflush, A read-ahead.
    pub flags: RequestFlags,
    /// First sector, of 512 bytes.
    pub sector: u64,
    /// Size, bytes.
    pub bytes: u64,
    /// Requests at the device, this one included.
    pub depth: Option<u32>,
}

impl Request {
    /// Its completion; the start where the duration is not known.
    #[must_use]
    pub fn end_ns(&self) -> u64 {
        self.start_ns.saturating_add(self.duration_ns.unwrap_or(0))
    }
}

/// Flags of a request as bits; the letters are those of blktrace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestFlags(pub u8);

impl RequestFlags {
    const LETTERS: [(u8, char); 5] = [(1, 'S'), (2, 'M'), (4, 'F'), (8, 'P'), (16, 'A')];

    /// A process waits for it.
    pub const SYNC: Self = Self(1);
    /// Metadata of the filesystem.
    pub const META: Self = Self(2);
    /// Forced unit access.
    pub const FUA: Self = Self(4);
    /// Flush before the write.
    pub const PREFLUSH: Self = Self(8);
    /// Read-ahead.
    pub const AHEAD: Self = Self(16);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True when all flags of `other` are set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Every set, in the order of [`Self::place`].
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        (0..1 << Self::LETTERS.len()).map(Self)
    }

    /// Place among all sets of the flags that have letters.
    pub(crate) fn place(self) -> usize {
        usize::from(self.0) & ((1 << Self::LETTERS.len()) - 1)
    }

    /// The letters.
    #[must_use]
    pub fn letters(self) -> String {
        Self::LETTERS.iter().filter(|(bit, _)| self.0 & bit != 0).map(|(_, c)| *c).collect()
    }

    /// Flags of letters; others are ignored.
    #[must_use]
    pub fn of(letters: &str) -> Self {
        let bit = |c: char| Self::LETTERS.iter().find(|(_, letter)| *letter == c);
        Self(letters.chars().filter_map(bit).fold(0, |all, (bit, _)| all | bit))
    }
}

#[cfg(test)]
mod tests;
