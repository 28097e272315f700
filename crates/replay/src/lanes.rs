//! Operations of the threads of a replay, as bytes: in memory, and once they are many in a file without
//! a name, of which a piece at a time is in memory.

use crate::encode::Operation;
use crate::error::ReplayError;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Bytes of a thread's operations that are read at once.
const WINDOW: usize = 64 << 10;
/// More than the longest operation takes: one that waits for every other thread.
const LONGEST: usize = 16 << 10;

/// Operations of one thread of the replay.
#[derive(Debug, Default)]
pub(crate) struct Lane {
    /// The last ones; those before are in the file.
    recent: Vec<u8>,
    pieces: Vec<Piece>,
    pub(crate) count: u64,
    pub(crate) last_start_ns: u64,
    /// Lane of the thread that submitted these operations to an io_uring.
    pub(crate) submitter: Option<u32>,
    /// True from the end of one thread to the first operation of the next.
    pub(crate) is_handed_on: bool,
}

/// Operations in the file.
#[derive(Clone, Copy, Debug)]
struct Piece {
    at: u64,
    bytes: u64,
}

impl Lane {
    /// Appends an operation; returns its size.
    pub(crate) fn push(&mut self, operation: &Operation) -> u64 {
        let before = self.recent.len();
        operation.encode(self.last_start_ns, &mut self.recent);
        self.last_start_ns = operation.start_ns;
        (self.recent.len() - before) as u64
    }

    /// Size of all operations.
    pub(crate) fn bytes(&self) -> u64 {
        self.recent.len() as u64 + self.pieces.iter().map(|piece| piece.bytes).sum::<u64>()
    }
}

/// The file for operations that have no room in memory.
#[derive(Debug, Default)]
pub(crate) struct Spill {
    folder: PathBuf,
    /// Most bytes in memory, and in the file.
    most: (u64, u64),
    file: Option<File>,
    end: u64,
    /// Bytes in memory.
    recent: u64,
}

impl Spill {
    /// A file in the folder of a trace, made when it is needed.
    pub(crate) fn at(trace: &Path, most: (u64, u64)) -> Self {
        let folder = if trace.is_dir() { Some(trace) } else { trace.parent() };
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).to_owned();
        Self { folder, most, ..Self::default() }
    }

    pub(crate) fn into_file(self) -> Option<File> {
        self.file
    }

    /// Counts new bytes in memory; when they are too many, all of them go into the file.
    pub(crate) fn added(
        &mut self,
        bytes: u64,
        lanes: &mut [Lane],
    ) -> std::result::Result<(), ReplayError> {
        self.recent += bytes;
        if self.recent <= self.most.0 {
            return Ok(());
        }
        if self.end.saturating_add(self.recent) > self.most.1 {
            let found = (self.end + self.recent) >> 20;
            let limit = self.most.0.saturating_add(self.most.1) >> 20;
            return Err(ReplayError::too_large("MiB of calls", found, limit));
        }
        let failed = ReplayError::io("keep the calls of the trace in", &self.folder.clone());
        self.write(lanes).map_err(failed)
    }

    fn write(&mut self, lanes: &mut [Lane]) -> Result<()> {
        let file = match self.file.take() {
            Some(file) => file,
            None => nameless(&self.folder)?,
        };
        keeps_room(&file, self.recent)?;
        for lane in lanes.iter_mut().filter(|lane| !lane.recent.is_empty()) {
            file.write_all_at(&lane.recent, self.end)?;
            let bytes = lane.recent.len() as u64;
            lane.pieces.push(Piece { at: self.end, bytes });
            self.end += bytes;
            // Not cleared: a thread that made most of them may make no more.
            lane.recent = Vec::new();
        }
        self.recent = 0;
        self.file = Some(file);
        Ok(())
    }
}

/// A file that is gone when it is closed, however this process ends.
fn nameless(folder: &Path) -> Result<File> {
    File::options().read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(folder)
}

/// Refuses to fill a filesystem: a twentieth of it, or 1 GiB where that is less, stays free.
fn keeps_room(file: &File, bytes: u64) -> Result<()> {
    const ENOUGH_BYTES: u64 = 1 << 30;
    let space = rustix::fs::fstatvfs(file)?;
    let whole = space.f_blocks.saturating_mul(space.f_frsize);
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    if free.saturating_sub(bytes) < (whole / 20).min(ENOUGH_BYTES) {
        return Err(rustix::io::Errno::NOSPC.into());
    }
    Ok(())
}

/// Reads the operations of a lane in order.
pub(crate) struct Operations<'a> {
    file: Option<&'a File>,
    pieces: std::slice::Iter<'a, Piece>,
    /// Part of a piece that was not read yet.
    left: Piece,
    window: Vec<u8>,
    /// Bytes of the window that are used up.
    used: usize,
    recent: &'a [u8],
}

impl<'a> Operations<'a> {
    /// Operations of a lane, some of them perhaps in this file.
    pub(crate) fn of(lane: &'a Lane, file: Option<&'a File>) -> Self {
        Self {
            file,
            pieces: lane.pieces.iter(),
            left: Piece { at: 0, bytes: 0 },
            window: Vec::new(),
            used: 0,
            recent: &lane.recent,
        }
    }

    /// Reads the next operation; false at the end.
    ///
    /// # Errors
    /// Those of reading the file.
    #[inline]
    pub(crate) fn next(&mut self, operation: &mut Operation) -> Result<bool> {
        if self.window.len() - self.used < LONGEST {
            self.fill()?;
        }
        if self.used == self.window.len() {
            return Ok(operation.decode(&mut self.recent).is_some());
        }
        let mut bytes = &self.window[self.used..];
        if operation.decode(&mut bytes).is_none() {
            return Err(ErrorKind::InvalidData.into());
        }
        self.used = self.window.len() - bytes.len();
        Ok(true)
    }

    /// Reads more of the file, if there is more.
    fn fill(&mut self) -> Result<()> {
        while self.window.len() - self.used < LONGEST {
            if self.left.bytes == 0 {
                let Some(next) = self.pieces.next() else { return Ok(()) };
                self.left = *next;
            }
            let file = self.file.ok_or_else(|| Error::from(ErrorKind::NotFound))?;
            self.window.drain(..std::mem::take(&mut self.used));
            let before = self.window.len();
            let bytes = self.left.bytes.min((WINDOW - before) as u64);
            self.window.resize(before + bytes as usize, 0);
            file.read_exact_at(&mut self.window[before..], self.left.at)?;
            self.left = Piece { at: self.left.at + bytes, bytes: self.left.bytes - bytes };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
