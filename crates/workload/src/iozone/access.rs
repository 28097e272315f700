//! Access methods of a pass: read and write, the C library's streams, pread and pwrite, or their
//! vectored forms.

use crate::error::WorkloadError;
use crate::target;
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use seekwell_engine::buffer::Arena;
use seekwell_model::workloads::iozone::IozonePass;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Calls that a pass makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    calls: Calls,
    /// The file is made again.
    create: bool,
    writes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calls {
    /// `lseek`, where the place is another than the current one, then `read` or `write`.
    Plain,
    /// `fread` and `fwrite`.
    Stream,
    /// `pread` and `pwrite`.
    Positioned,
    /// `preadv` and `pwritev`.
    Vectored,
}

impl Access {
    pub(super) fn of(pass: &IozonePass) -> Self {
        let calls = match pass.test {
            6 | 7 => Calls::Stream,
            9 | 10 => Calls::Positioned,
            11 | 12 => Calls::Vectored,
            _ => Calls::Plain,
        };
        // The tests 6, 9 and 11 write a new file first, as test 0 does.
        let create = matches!(pass.name, "write" | "fwrite" | "pwrite" | "pwritev");
        Self { calls, create, writes: pass.writes }
    }
}

/// A thread's open file.
#[derive(Debug)]
pub(super) struct FileOfThread {
    access: Access,
    path: PathBuf,
    file: File,
    stream: Option<Stream>,
    arena: Arena,
    record_bytes: u32,
    /// Offset of the next plain read or write.
    position: u64,
}

impl FileOfThread {
    pub(super) fn open(
        access: Access,
        path: PathBuf,
        direct: bool,
        arena: Arena,
        record_bytes: u32,
    ) -> Result<Self, WorkloadError> {
        let mut flags = OFlags::CLOEXEC;
        flags |= if access.writes { OFlags::RDWR } else { OFlags::RDONLY };
        flags.set(OFlags::CREATE | OFlags::TRUNC, access.create);
        // A stream of the C library has a buffer of its own, which is not aligned.
        flags.set(OFlags::DIRECT, direct && access.calls != Calls::Stream);
        let file = rustix::fs::open(&path, flags, Mode::from_bits_retain(0o644))
            .map_err(WorkloadError::file("open", &path))?;
        let file = File::from(file);
        if direct && !access.create {
            target::drop_cached(&file).map_err(WorkloadError::file("drop the cache of", &path))?;
        }
        let stream = match access.calls {
            Calls::Stream => {
                Some(Stream::open(&path, access).map_err(WorkloadError::file("open", &path))?)
            }
            _ => None,
        };
        Ok(Self { access, path, file, stream, arena, record_bytes, position: 0 })
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
        let memory = self.arena.address(buffer, self.record_bytes);
        // SAFETY: the arena lives as long as this value and has `length` bytes at this address;
        // nothing else refers to them while this slice lives.
        let memory = unsafe { std::slice::from_raw_parts_mut(memory, length) };
        if let Some(stream) = &mut self.stream {
            return stream.call(reads, memory);
        }
        let file = &self.file;
        let done = match (self.access.calls, reads) {
            (Calls::Positioned, true) => rustix::io::pread(file, memory, offset),
            (Calls::Positioned, false) => rustix::io::pwrite(file, memory, offset),
            (Calls::Vectored, true) => {
                rustix::io::preadv(file, &mut [IoSliceMut::new(memory)], offset)
            }
            (Calls::Vectored, false) => rustix::io::pwritev(file, &[IoSlice::new(memory)], offset),
            _ => return self.plain(reads, memory.len(), buffer, offset),
        };
        Ok(done?)
    }

    fn plain(
        &mut self,
        reads: bool,
        length: usize,
        buffer: usize,
        offset: u64,
    ) -> io::Result<usize> {
        if self.position != offset {
            rustix::fs::seek(&self.file, SeekFrom::Start(offset))?;
            self.position = offset;
        }
        let memory = self.arena.address(buffer, self.record_bytes);
        // SAFETY: as in `call`, whose own slice is not used any more.
        let memory = unsafe { std::slice::from_raw_parts_mut(memory, length) };
        let done: Result<usize, Errno> = match reads {
            true => rustix::io::read(&self.file, memory),
            false => rustix::io::write(&self.file, memory),
        };
        let done = done?;
        self.position += done as u64;
        Ok(done)
    }

    pub(super) fn sync(&mut self) -> Result<(), WorkloadError> {
        if let Some(stream) = &mut self.stream {
            stream.flush().map_err(WorkloadError::file("write to", &self.path))?;
        }
        self.file.sync_all().map_err(WorkloadError::file("sync", &self.path))
    }

    /// Hands what a stream still holds to the kernel.
    pub(super) fn close(&mut self) -> Result<(), WorkloadError> {
        match self.stream.take() {
            Some(mut stream) => stream.flush().map_err(WorkloadError::file("write to", &self.path)),
            None => Ok(()),
        }
    }
}

/// A stream of the C library.
#[derive(Debug)]
struct Stream {
    file: *mut libc::FILE,
}

// SAFETY: the stream belongs to this value alone, and the C library locks it.
unsafe impl Send for Stream {}

impl Stream {
    fn open(path: &Path, access: Access) -> io::Result<Self> {
        let name = CString::new(path.as_os_str().as_bytes())?;
        let mode = match (access.create, access.writes) {
            (true, _) => c"w+",
            (false, true) => c"r+",
            (false, false) => c"r",
        };
        // SAFETY: both are texts that end with a zero byte and live during the call.
        let file = unsafe { libc::fopen(name.as_ptr(), mode.as_ptr()) };
        if file.is_null() { Err(io::Error::last_os_error()) } else { Ok(Self { file }) }
    }

    fn call(&mut self, reads: bool, memory: &mut [u8]) -> io::Result<usize> {
        let length = memory.len();
        // SAFETY: the stream is open until this value is dropped, and the memory is borrowed for
        // the call.
        let done = unsafe {
            match reads {
                true => libc::fread(memory.as_mut_ptr().cast(), 1, length, self.file),
                false => libc::fwrite(memory.as_ptr().cast(), 1, length, self.file),
            }
        };
        // SAFETY: as above.
        if done < length && unsafe { libc::ferror(self.file) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        // SAFETY: the stream is open until this value is dropped.
        match unsafe { libc::fflush(self.file) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        // SAFETY: it is closed once, here. What could fail was flushed before.
        let _ = unsafe { libc::fclose(self.file) };
    }
}
