//! Segments, read in place.

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// Largest segment that is read, bytes: far more than a writer makes.
const SEGMENT_BYTES: u64 = 64 << 30;

/// A segment. Its readers share no position.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    file: Arc<File>,
    bytes: u64,
}

/// Reads a segment from a place on.
pub(crate) struct PartReader {
    part: Part,
    at: u64,
}

impl Part {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub(crate) fn whole(path: &Path) -> std::io::Result<Self> {
        let file = seekwell_trust::open(path, SEGMENT_BYTES)?;
        let bytes = file.metadata()?.len();
        Ok(Self { file: Arc::new(file), bytes })
    }
}

impl Read for PartReader {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let read = self.part.file.read_at(to, self.at)?;
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
        Ok(BufReader::new(PartReader { part: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let outside = || ParquetError::EOF(format!("{length} bytes at {start} are not all there"));
        let end = start.checked_add(length as u64).ok_or_else(outside)?;
        if end > self.bytes {
            return Err(outside());
        }
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(bytes.into())
    }
}
