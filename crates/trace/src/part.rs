//! Parts of files: segments in a folder, and in the archive of a packed trace.

use crate::error::TraceError;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Most members that are read: a day of segments has some ten thousand.
const MEMBERS: usize = 1 << 20;

/// Largest segment and largest pack that are read, bytes: far more than a writer makes.
const SEGMENT_BYTES: u64 = 64 << 30;
const PACK_BYTES: u64 = 16 << 40;

/// Block of an archive, bytes.
const BLOCK: u64 = 512;
/// Name in messages of what is before a member.
const HEADER: &str = "the header of a member";

/// Members of a packed trace.
#[derive(Debug)]
pub(crate) struct Pack {
    file: Arc<File>,
    /// Place and size of each member, by name.
    members: BTreeMap<String, (u64, u64)>,
}

/// A part of a file, or all of it.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    file: Arc<File>,
    offset: u64,
    bytes: u64,
}

/// Reads a part from a place on.
pub(crate) struct PartReader {
    part: Part,
    at: u64,
}

impl Pack {
    /// Reads the names in the archive at `path`.
    ///
    /// # Errors
    /// When it is no archive.
    pub(crate) fn open(path: &Path) -> Result<Self, TraceError> {
        let failed = || TraceError::NotATrace { path: path.to_owned() };
        let file = seekwell_trust::open(path, PACK_BYTES).map_err(TraceError::io("open", path))?;
        let length = file.metadata().map_err(TraceError::io("read", path))?.len();
        let mut archive = tar::Archive::new(&file);
        let entries = archive.entries_with_seek().map_err(|_| failed())?;
        let mut members = BTreeMap::new();
        // Raw: an archive of others must not have its long names collected in memory.
        let cut = |member: &str| {
            let (path, member) = (path.to_owned(), member.to_owned());
            TraceError::CutShort { path, member }
        };
        let (mut count, mut last_end) = (0, Some(0_u64));
        for entry in entries.raw(true).take(MEMBERS) {
            let is_first = members.is_empty();
            let entry = entry.map_err(|_| if is_first { failed() } else { cut(HEADER) })?;
            let (offset, bytes) = (entry.raw_file_position(), entry.size());
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            // Archives hold whole blocks.
            last_end =
                bytes.checked_next_multiple_of(BLOCK).and_then(|all| all.checked_add(offset));
            if last_end.is_none_or(|end| end > length) {
                return Err(cut(&name));
            }
            count += 1;
            if !entry.header().entry_type().is_file() || name.contains('/') {
                continue;
            }
            members.insert(name, (offset, bytes));
        }
        // Two blocks of zeros end an archive: without them it may have had more members.
        let ended =
            last_end.and_then(|end| end.checked_add(2 * BLOCK)).is_some_and(|end| end <= length);
        if count < MEMBERS && !members.is_empty() && !ended {
            return Err(cut("its last blocks, after which members may be missing"));
        }
        Ok(Self { file: Arc::new(file), members })
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.members.keys().map(String::as_str)
    }

    pub(crate) fn part(&self, name: &str) -> Option<Part> {
        let (offset, bytes) = *self.members.get(name)?;
        Some(Part { file: Arc::clone(&self.file), offset, bytes })
    }
}

impl Part {
    /// All of a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn whole(path: &Path) -> std::io::Result<Self> {
        let file = seekwell_trust::open(path, SEGMENT_BYTES)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), offset: 0, bytes })
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads from a place in the part on.
    pub(crate) fn from(&self, at: u64) -> PartReader {
        PartReader { part: self.clone(), at }
    }
}

impl Read for PartReader {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.part.bytes.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let count = to.len().min(left);
        let read = self.part.file.read_at(&mut to[..count], self.part.offset + self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for Part {
    fn len(&self) -> u64 {
        self.bytes
    }
}

impl ChunkReader for Part {
    type T = BufReader<PartReader>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::new(self.from(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let outside = || ParquetError::EOF(format!("{length} bytes at {start} are not all there"));
        let end = start.checked_add(length as u64).ok_or_else(outside)?;
        if end > self.bytes {
            return Err(outside());
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, self.offset + start)?;
        Ok(bytes.into())
    }
}
