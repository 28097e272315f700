//! Reading and writing of a pass: `lseek`, where the place is another than the current one, then
//! `read` or `write`.

use crate::error::WorkloadError;
use crate::target;
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use seekwell_engine::buffer::Arena;
use seekwell_model::workloads::iozone::IozonePass;
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// A thread's open file.
#[derive(Debug)]
pub(super) struct FileOfThread {
    path: PathBuf,
    file: File,
    arena: Arena,
    record_bytes: u32,
    /// Offset of the next read or write.
    position: u64,
}

impl FileOfThread {
    pub(super) fn open(
        pass: &IozonePass,
        path: PathBuf,
        direct: bool,
        arena: Arena,
        record_bytes: u32,
    ) -> Result<Self, WorkloadError> {
        // The first pass makes the file again.
        let create = pass.name == "write";
        let mut flags = OFlags::CLOEXEC;
        flags |= if pass.writes { OFlags::RDWR } else { OFlags::RDONLY };
        flags.set(OFlags::CREATE | OFlags::TRUNC, create);
        flags.set(OFlags::DIRECT, direct);
        let file = rustix::fs::open(&path, flags, Mode::from_bits_retain(0o644))
            .map_err(WorkloadError::file("open", &path))?;
        let file = File::from(file);
        if direct && !create {
            target::drop_cached(&file).map_err(WorkloadError::file("drop the cache of", &path))?;
        }
        Ok(Self { path, file, arena, record_bytes, position: 0 })
    }

    /// Reads or writes one record; gives its bytes.
    #[inline]
    pub(super) fn operate(&mut self, reads: bool, offset: u64) -> Result<u64, WorkloadError> {
        let length = self.record_bytes as usize;
        let done = loop {
            match self.call(reads, offset, length) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let action = if reads { "read" } else { "write to" };
        let done = done.map_err(WorkloadError::file(action, &self.path))?;
        if done == length {
            return Ok(done as u64);
        }
        Err(WorkloadError::Short {
            path: self.path.clone(),
            write: !reads,
            offset,
            done: done as u64,
            length: length as u64,
        })
    }

    #[inline]
    fn call(&mut self, reads: bool, offset: u64, length: usize) -> io::Result<usize> {
        let buffer = if reads { self.arena.read_buffer(0) } else { self.arena.write_buffer(0) };
        if self.position != offset {
            rustix::fs::seek(&self.file, SeekFrom::Start(offset))?;
            self.position = offset;
        }
        let memory = self.arena.address(buffer, self.record_bytes);
        // SAFETY: the arena lives as long as this value and has `length` bytes at this address;
        // nothing else refers to them while this slice lives.
        let memory = unsafe { std::slice::from_raw_parts_mut(memory, length) };
        let done: Result<usize, Errno> = match reads {
            true => rustix::io::read(&self.file, memory),
            false => rustix::io::write(&self.file, memory),
        };
        let done = done?;
        self.position += done as u64;
        Ok(done)
    }

    pub(super) fn sync(&self) -> Result<(), WorkloadError> {
        self.file.sync_all().map_err(WorkloadError::file("sync", &self.path))
    }
}
