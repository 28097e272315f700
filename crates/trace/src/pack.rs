//! A trace as one file: a tar archive of its description and segments, uncompressed, so that they are
//! read in place. `tar xf` makes a folder of it again.

use crate::error::TraceError;
use crate::meta::{self, private_file};
use crate::read::Trace;
use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most members that are read: a day of segments has some ten thousand.
const MEMBERS: usize = 1 << 20;

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
        let file = File::open(path).map_err(TraceError::io("open", path))?;
        let length = file.metadata().map_err(TraceError::io("read", path))?.len();
        let mut archive = tar::Archive::new(&file);
        let entries = archive.entries_with_seek().map_err(|_| failed())?;
        let mut members = BTreeMap::new();
        // Raw: an archive of others must not have its long names collected in memory.
        for entry in entries.raw(true).take(MEMBERS) {
            let entry = entry.map_err(|_| failed())?;
            let (offset, bytes) = (entry.raw_file_position(), entry.size());
            let is_inside = offset.checked_add(bytes).is_some_and(|end| end <= length);
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if !is_inside || !entry.header().entry_type().is_file() || name.contains('/') {
                continue;
            }
            members.insert(name, (offset, bytes));
        }
        let pack = Self { file: Arc::new(file), members };
        if pack.part(meta::FILE).is_some() { Ok(pack) } else { Err(failed()) }
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
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), offset: 0, bytes })
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

/// Writes the complete segments and the description of `trace` as the file `output`, which must not
/// exist. Returns its bytes.
///
/// # Errors
/// When a file cannot be read or written.
pub fn pack(trace: &Trace, output: &Path) -> Result<u64, TraceError> {
    let parts = trace.parts()?;
    if output.symlink_metadata().is_ok() {
        return Err(TraceError::Exists { path: output.to_owned() });
    }
    let mut open = output.as_os_str().to_owned();
    open.push(".open");
    let open = PathBuf::from(open);
    let write = || -> std::io::Result<u64> {
        let mut archive = tar::Builder::new(private_file(&open)?);
        for (name, part) in parts {
            let mut header = tar::Header::new_gnu();
            header.set_size(part.bytes);
            // The same trace is the same file, whoever packs it.
            header.set_mode(0o600);
            header.set_mtime(0);
            archive.append_data(&mut header, name, part.from(0))?;
        }
        let file = archive.into_inner()?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        std::fs::rename(&open, output)?;
        Ok(bytes)
    };
    write().map_err(|error| {
        // What half a pack left; a file of this name that was there before is another's.
        if error.kind() != std::io::ErrorKind::AlreadyExists {
            let _ = std::fs::remove_file(&open);
        }
        TraceError::io("write", output)(error)
    })
}

#[cfg(test)]
mod tests;
