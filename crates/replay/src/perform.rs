//! Issues one operation and returns the result as the kernel does: a negative error number on
//! failure.

use crate::action::Action;
use crate::attributes::{self, Holder};
use crate::cloned::{self, Pair};
use crate::encode::Operation;
use crate::slot::{Slot, close};
use crate::window::{Place, Reading, Window};
use rustix::fd::{BorrowedFd, IntoRawFd, OwnedFd};
use rustix::fs::{
    self as fs, Access, Advice, AtFlags, CWD, FallocateFlags, FileType, FlockOperation, Mode,
    OFlags, RenameFlags, SeekFrom, Timespec, Timestamps,
};
use rustix::io::{self, Errno};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

mod submitted;

/// Size of a buffer; longer calls get it several times.
const BUFFER: usize = 1 << 20;
/// Alignment that direct I/O demands at most.
const ALIGNMENT: usize = 4096;
/// Longest call, bytes: as many pieces as the kernel takes.
const LONGEST: u64 = (BUFFER * MOST_PARTS) as u64;
/// Most of a mapping that is read.
const MOST_MAPPED: u64 = 64 << 20;

/// Longest wait for a lock, and time between two looks at it.
const LONGEST_LOCK: Duration = Duration::from_millis(200);
const LOCK_PAUSE: Duration = Duration::from_micros(20);

/// Most parts of a call with vectors.
const MOST_PARTS: usize = 1024;
/// Threads whose buffers are of full size, and least size of those of more threads, bytes.
const FULL_BUFFERS: usize = 64;
const LEAST_BUFFER: usize = 64 << 10;

/// Memory for data, aligned for direct I/O.
#[derive(Debug)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl Buffer {
    /// A buffer of full size with this data.
    pub(crate) fn new(data: &[u8]) -> Self {
        Self::filled(BUFFER, data)
    }

    /// A buffer of this length with this data, again and again.
    pub(crate) fn filled(length: usize, data: &[u8]) -> Self {
        let mut buffer = Self::of(length);
        for piece in buffer.bytes_mut().chunks_mut(data.len().max(1)) {
            piece.copy_from_slice(&data[..piece.len()]);
        }
        buffer
    }

    /// An empty buffer of full size.
    pub(crate) fn empty() -> Self {
        Self::of(BUFFER)
    }

    /// An empty buffer for one of so many threads: together they take 64 MiB, or 64 KiB each.
    pub(crate) fn of_one_of(threads: usize) -> Self {
        let share = FULL_BUFFERS * BUFFER / threads.max(FULL_BUFFERS);
        Self::of((share - share % ALIGNMENT).max(LEAST_BUFFER))
    }

    fn of(length: usize) -> Self {
        let bytes = vec![0; length + ALIGNMENT];
        let start = bytes.as_ptr().align_offset(ALIGNMENT);
        Self { bytes, start, length }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }

    pub(crate) fn address(&self) -> *mut libc::c_void {
        self.bytes[self.start..].as_ptr().cast_mut().cast()
    }
}

/// One thread's means to issue operations.
#[derive(Debug)]
pub(crate) struct Performer<'a> {
    /// Descriptors by slot.
    pub(crate) slots: &'a [Slot],
    /// Paths by number less one.
    pub(crate) paths: &'a [CString],
    /// Data of writes.
    pub(crate) data: &'a Buffer,
    /// Target of reads.
    pub(crate) buffer: Buffer,
    vectors: Vec<libc::iovec>,
    /// A mapping whose pages are still to be read.
    mapped: Option<Window>,
    /// The mapping whose pages are touched.
    touched: Option<Window>,
    /// Files of the last clone that the recorded filesystem could not make.
    cloned: Option<Pair>,
    copied_bytes: u64,
    /// Ends long copies.
    pub(crate) stop: Option<&'a AtomicBool>,
}

// SAFETY: its pointers lead into its own buffers and to mappings of the process, which any thread may touch or end.
unsafe impl Send for Performer<'_> {}

/// An operation whose file is not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotOpen;

type Done = Result<i64, Errno>;

/// An error as the kernel returns it.
fn number(error: Errno) -> i64 {
    -i64::from(error.raw_os_error())
}

fn nothing((): ()) -> i64 {
    0
}

fn bits(flags: u64) -> u32 {
    (flags & u64::from(u32::MAX)) as u32
}

fn mode(bits: u64) -> Mode {
    Mode::from_raw_mode((bits & 0o1777) as u32)
}

/// Result of a call of the C library.
fn checked(result: i64) -> Done {
    if result >= 0 {
        return Ok(result);
    }
    Err(io::Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

impl<'a> Performer<'a> {
    pub(crate) fn new(slots: &'a [Slot], paths: &'a [CString], data: &'a Buffer) -> Self {
        Self {
            slots,
            paths,
            data,
            buffer: Buffer::empty(),
            vectors: Vec::new(),
            mapped: None,
            touched: None,
            cloned: None,
            copied_bytes: 0,
            stop: None,
        }
    }

    fn path(&self, number: u64) -> &'a CStr {
        let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        at.and_then(|at| self.paths.get(at)).map_or(c"", CString::as_c_str)
    }

    fn slot(&self, slot: u64) -> Option<&'a Slot> {
        usize::try_from(slot).ok().filter(|slot| *slot > 0).and_then(|slot| self.slots.get(slot))
    }

    fn file(&self, slot: u64) -> Result<BorrowedFd<'a>, NotOpen> {
        let fd = self.slot(slot).ok_or(NotOpen)?.fd();
        if fd < 0 {
            return Err(NotOpen);
        }
        // SAFETY: slots hold descriptors that operations of the plan opened; the plan's order keeps a
        // use before the close.
        Ok(unsafe { BorrowedFd::borrow_raw(fd) })
    }

    fn keep(&self, slot: u64, file: OwnedFd) {
        if let Some(slot) = self.slot(slot) {
            slot.keep(file.into_raw_fd());
        }
    }

    /// Issues the operation.
    pub(crate) fn perform(&mut self, operation: &Operation) -> Result<i64, NotOpen> {
        let done = match operation.action {
            Action::Order | Action::Skip => Ok(0),
            _ if operation.slot > 0 && operation.action != Action::Open => {
                self.on_file(operation)?
            }
            _ => self.on_path(operation),
        };
        Ok(done.unwrap_or_else(number))
    }

    fn on_path(&mut self, operation: &Operation) -> Done {
        let path = self.path(operation.path);
        let to = || self.path(operation.to_path);
        match operation.action {
            Action::Open => self.open(operation, path),
            Action::StatusOf => fs::statat(CWD, path, AtFlags::empty()).map(|_| 0),
            Action::StatusOfLink => fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW).map(|_| 0),
            Action::SystemStatusOf => fs::statfs(path).map(|_| 0),
            Action::Access => {
                let access = Access::from_bits_retain(bits(operation.flags) & 7);
                fs::accessat(CWD, path, access, AtFlags::empty()).map(nothing)
            }
            Action::ReadLink => self.read_link(path, operation.length),
            Action::SetSizeOf => {
                let length = i64::try_from(operation.length).unwrap_or(-1);
                // SAFETY: the path is NUL-terminated.
                checked(unsafe { libc::truncate(path.as_ptr(), length) }.into())
            }
            Action::MakeDirectory => fs::mkdir(path, mode(operation.mode)).map(nothing),
            Action::RemoveDirectory => fs::rmdir(path).map(nothing),
            Action::Unlink => fs::unlink(path).map(nothing),
            Action::Rename => {
                let flags = RenameFlags::from_bits_retain(bits(operation.flags));
                fs::renameat_with(CWD, path, CWD, to(), flags).map(nothing)
            }
            Action::Link => fs::linkat(CWD, path, CWD, to(), AtFlags::empty()).map(nothing),
            Action::Arrive => arrive(path, operation),
            Action::MakeLink => {
                let target = if operation.to_path == 0 { c"." } else { to() };
                fs::symlink(target, path).map(nothing)
            }
            Action::MakeFile => {
                fs::mknodat(CWD, path, FileType::RegularFile, mode(operation.mode), 0).map(nothing)
            }
            Action::SetModeOf => fs::chmod(path, mode(operation.flags)).map(nothing),
            // The owner stays as it is; the inode changes.
            Action::SetOwnerOf => fs::chownat(CWD, path, None, None, AtFlags::empty()).map(nothing),
            Action::SetOwnerOfLink => {
                fs::chownat(CWD, path, None, None, AtFlags::SYMLINK_NOFOLLOW).map(nothing)
            }
            Action::SetTimesOf => {
                let takes_flags = operation.call.call().name == "utimensat";
                let flags = if takes_flags { bits(operation.flags) } else { 0 };
                let flags = AtFlags::from_bits_retain(flags) & AtFlags::SYMLINK_NOFOLLOW;
                fs::utimensat(CWD, path, &now(), flags).map(nothing)
            }
            Action::GetAttribute | Action::SetAttribute | Action::RemoveAttribute => {
                let follows = !operation.call.call().name.starts_with('l');
                self.attribute(Holder::Path(path, follows), operation)
            }
            Action::ListAttributes if operation.call.call().name == "llistxattr" => {
                fs::llistxattr(path, &mut [0_u8; 4096][..]).map(|bytes| bytes as i64)
            }
            Action::ListAttributes => {
                fs::listxattr(path, &mut [0_u8; 4096][..]).map(|bytes| bytes as i64)
            }
            _ => Err(Errno::NOSYS),
        }
    }

    fn open(&self, operation: &Operation, path: &CStr) -> Done {
        let wanted =
            OFlags::from_bits_retain(bits(operation.flags)) | OFlags::CLOEXEC | OFlags::NOCTTY;
        let mode = mode(operation.mode);
        let mut opened = fs::open(path, wanted, mode);
        if operation.added && opened.is_err() {
            // The trace does not tell how it was opened before.
            opened = fs::open(path, (wanted & !OFlags::ACCMODE) | OFlags::RDONLY, mode);
        }
        let file = opened?;
        if operation.expected < 0 {
            return Ok(0);
        }
        if operation.offset > 0 {
            fs::seek(&file, SeekFrom::Start(operation.offset))?;
        }
        self.keep(operation.slot, file);
        Ok(0)
    }

    fn read_link(&self, path: &CStr, length: u64) -> Done {
        let most = self.buffer.length;
        // Captures do not tell the length, and no call has one of 0.
        let length = usize::try_from(length).ok().filter(|length| *length > 0);
        let length = length.map_or(most, |length| length.min(most));
        // SAFETY: the buffer has at least `length` bytes and is this thread's own.
        let read = unsafe { libc::readlink(path.as_ptr(), self.buffer.address().cast(), length) };
        checked(read as i64)
    }

    fn on_file(&mut self, operation: &Operation) -> Result<Done, NotOpen> {
        if operation.action == Action::Close {
            let fd = self.slot(operation.slot).ok_or(NotOpen)?.take();
            close(fd);
            return if fd < 0 { Err(NotOpen) } else { Ok(Ok(0)) };
        }
        let file = self.file(operation.slot)?;
        let (offset, length) = (operation.offset, operation.length);
        Ok(match operation.action {
            Action::Read => self.transfer(file, false, None, operation),
            Action::ReadAt => self.transfer(file, false, Some(offset), operation),
            Action::Write => self.transfer(file, true, None, operation),
            Action::WriteAt => self.transfer(file, true, Some(offset), operation),
            Action::Send => {
                let to = self.file(operation.to_slot)?;
                send(file, to, length.min(LONGEST), operation)
            }
            Action::CloneFile => {
                let to = self.file(operation.to_slot)?;
                self.clone_file(file, to, operation)
            }
            Action::GetAttributeOpen | Action::SetAttributeOpen | Action::RemoveAttributeOpen => {
                self.attribute(Holder::Open(file), operation)
            }
            Action::Duplicate => io::fcntl_dupfd_cloexec(file, 0).map(|copy| {
                self.keep(operation.to_slot, copy);
                0
            }),
            Action::LinkOpen => {
                let to = self.path(operation.to_path);
                fs::linkat(file, c"", CWD, to, AtFlags::EMPTY_PATH).map(nothing)
            }
            Action::Seek => seek(file, operation),
            Action::Sync => fs::fsync(file).map(nothing),
            Action::SyncData => fs::fdatasync(file).map(nothing),
            Action::SyncFilesystem => fs::syncfs(file).map(nothing),
            Action::SyncRange => sync_range(file, operation),
            Action::Allocate => {
                let flags = FallocateFlags::from_bits_retain(bits(operation.flags));
                fs::fallocate(file, flags, offset, length).map(nothing)
            }
            Action::SetSize => fs::ftruncate(file, length).map(nothing),
            Action::Advise | Action::ReadAhead => advise(file, operation),
            Action::Map => self.map(file, operation),
            Action::Attach => self.attach(file, operation),
            Action::Touch => self.touch(file, operation),
            Action::Lock => self.lock(file, operation),
            Action::LockRecord => lock_record(file, operation),
            Action::Control => io::fcntl_getfd(file).map(|_| 0),
            Action::List => self.list(file, length),
            _ => attributes(file, operation),
        })
    }

    fn attribute(&mut self, holder: Holder<'_>, operation: &Operation) -> Done {
        let name = (operation.to_path > 0).then(|| self.path(operation.to_path));
        attributes::perform(holder, name, operation, (self.data.bytes(), self.buffer.bytes_mut()))
    }

    /// Shares the blocks of a file with another one. Where the filesystem cannot, the data is copied, as
    /// programs do then.
    fn clone_file(
        &mut self,
        from: BorrowedFd<'_>,
        to: BorrowedFd<'_>,
        operation: &Operation,
    ) -> Done {
        let done = fs::ioctl_ficlone(to, from).map(nothing);
        match done {
            Ok(_) if cloned::is_unable(operation.expected) => {
                let bytes = fs::fstat(from)?.st_size.cast_unsigned();
                let places = (self.place(operation.slot), self.place(operation.to_slot));
                self.cloned = Some(Pair::new(places.0, places.1, bytes));
            }
            Err(error) if operation.expected >= 0 && cloned::is_unable(number(error)) => {
                let stop = self.stop;
                let stopped = || stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
                self.copied_bytes += cloned::copy(from, to, stopped)?;
            }
            _ => {}
        }
        done
    }

    /// True for a call that copies data of a file that this thread has cloned, where the recorded
    /// filesystem could not: the program would not make it here.
    pub(crate) fn has_cloned(&mut self, operation: &Operation) -> bool {
        let places = (self.place(operation.slot), self.place(operation.to_slot));
        let Some(pair) = &mut self.cloned else { return false };
        if !pair.takes(operation, places.0, places.1) {
            return false;
        }
        let positions = match operation.action {
            Action::Read | Action::Write => [Some(operation.slot), None],
            Action::Send => [Some(operation.slot), Some(operation.to_slot)],
            _ => [None, None],
        };
        for slot in positions.into_iter().flatten() {
            if let Ok(file) = self.file(slot) {
                cloned::pass(file, operation.expected);
            }
        }
        true
    }

    /// Bytes that were copied in place of a clone since the last call.
    pub(crate) fn take_copied_bytes(&mut self) -> u64 {
        std::mem::take(&mut self.copied_bytes)
    }

    /// Fills the vectors with the parts of a read or write: longer calls than the buffer get it several times.
    fn parts(&mut self, write: bool, operation: &Operation) {
        let length = usize::try_from(transferred(operation, write)).unwrap_or(0);
        if !write && length > self.buffer.length * MOST_PARTS {
            self.buffer = Buffer::empty();
        }
        let buffer = if write { self.data } else { &self.buffer };
        let (mut buffer, most) = (buffer.address(), buffer.length);
        if operation.expected == number(Errno::FAULT) {
            // The program's own bad address; no file is mapped at this one.
            buffer = std::ptr::null_mut();
        }
        self.vectors.clear();
        let mut left = length;
        while left > 0 || self.vectors.is_empty() {
            let iov_len = left.min(most);
            self.vectors.push(libc::iovec { iov_base: buffer, iov_len });
            left -= iov_len;
        }
    }

    /// Reads or writes.
    fn transfer(
        &mut self,
        file: BorrowedFd<'_>,
        write: bool,
        offset: Option<u64>,
        operation: &Operation,
    ) -> Done {
        use rustix::fd::AsRawFd;
        let fd = file.as_raw_fd();
        self.parts(write, operation);
        let libc::iovec { iov_base: buffer, iov_len: length } = self.vectors[0];
        let count = self.vectors.len() as libc::c_int;
        let at = offset.map(|offset| i64::try_from(offset).unwrap_or(-1));
        let flags = flags(operation);
        let vectors = self.vectors.as_ptr();
        // SAFETY: every vector is within a buffer that outlives the call, or nowhere. Reads go to this thread's
        // own buffer, writes only read the shared one.
        let done = unsafe {
            match (write, at, count) {
                (false, None, 1) if flags == 0 => libc::read(fd, buffer, length),
                (true, None, 1) if flags == 0 => libc::write(fd, buffer, length),
                (false, Some(at), 1) if flags == 0 => libc::pread(fd, buffer, length, at),
                (true, Some(at), 1) if flags == 0 => libc::pwrite(fd, buffer, length, at),
                (false, at, _) => libc::preadv2(fd, vectors, count, at.unwrap_or(-1), flags),
                (true, at, _) => libc::pwritev2(fd, vectors, count, at.unwrap_or(-1), flags),
            }
        };
        checked(done as i64)
    }

    /// Locks a whole file. A call that waited for its lock waits again, for a while: whoever makes way was in its call
    /// at the same time, and the plan lets both overlap.
    fn lock(&self, file: BorrowedFd<'_>, operation: &Operation) -> Done {
        const LOCK_NB: u64 = 4;
        let waits = operation.expected >= 0 && operation.flags & LOCK_NB == 0;
        let stopped = || self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let began = Instant::now();
        loop {
            let done = lock(file, operation);
            if done != Err(Errno::AGAIN) || !waits || began.elapsed() > LONGEST_LOCK || stopped() {
                return done;
            }
            std::thread::sleep(LOCK_PAUSE);
        }
    }

    /// Maps a file whose pages are touched next.
    fn attach(&mut self, file: BorrowedFd<'_>, operation: &Operation) -> Done {
        let length = operation.length.min(MOST_MAPPED);
        let around = Reading::default();
        let place = self.place(operation.slot);
        let new = |writes| Window::new(file, place, operation.offset, length, (around, writes));
        // A sealed file refuses a mapping for writing.
        self.touched = Some(new(operation.flags != 0).or_else(|_| new(false))?);
        Ok(0)
    }

    /// Touches a page as a program does that reads or writes to a mapping. What is in it stays.
    fn touch(&mut self, file: BorrowedFd<'_>, operation: &Operation) -> Done {
        let (place, at) = (self.place(operation.slot), operation.offset);
        let (reading, writes) = Reading::of_touch(operation.flags);
        if !self.touched.as_ref().is_some_and(|window| window.serves(place, at, writes)) {
            let from = at - at % MOST_MAPPED;
            let window = Window::new(file, place, from, MOST_MAPPED, (reading, writes))?;
            self.touched = Some(window);
        }
        let Some(window) = &mut self.touched else { return Ok(0) };
        window.advise(reading);
        window.touch(at, writes)
    }

    /// The slot, with the number of the descriptor in it.
    fn place(&self, slot: u64) -> Place {
        (slot, self.slot(slot).map_or(0, Slot::kept))
    }

    /// Takes the mapping of touched pages away before an operation of another kind or file: programs
    /// do that between their calls.
    pub(crate) fn detach(&mut self, operation: &Operation) {
        let is_same = |window: &Window| window.slot() == operation.slot;
        let stays = operation.action == Action::Touch && self.touched.as_ref().is_some_and(is_same);
        if !stays {
            self.touched = None;
        }
    }

    /// Maps; [`Self::unmap`] follows.
    fn map(&mut self, file: BorrowedFd<'_>, operation: &Operation) -> Done {
        let length = operation.length.min(MOST_MAPPED);
        let (place, to_read) = (self.place(operation.slot), (Reading::default(), false));
        let window = Window::new(file, place, operation.offset, length, to_read)?;
        self.unmap();
        self.mapped = Some(window);
        Ok(0)
    }

    /// Reads the pages of the last mapping, which the program did after its call, since the trace does
    /// not hold which pages it touched; then takes the mapping away.
    pub(crate) fn unmap(&mut self) {
        if let Some(window) = self.mapped.take() {
            window.read();
        }
    }

    fn list(&self, file: BorrowedFd<'_>, length: u64) -> Done {
        use rustix::fd::AsRawFd;
        let length = length.min(self.buffer.length as u64);
        // SAFETY: the buffer has at least `length` bytes and is this thread's own.
        checked(unsafe {
            libc::syscall(libc::SYS_getdents64, file.as_raw_fd(), self.buffer.address(), length)
        })
    }
}

/// Makes a file of the known length, all of it a hole, as what a rename from outside of the folder brings.
fn arrive(path: &CStr, operation: &Operation) -> Done {
    match fs::unlink(path) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error),
    }
    fs::mknodat(CWD, path, FileType::RegularFile, mode(operation.mode), 0)?;
    if operation.length > 0 {
        let length = i64::try_from(operation.length).unwrap_or(i64::MAX);
        // SAFETY: the path is NUL-terminated.
        return checked(unsafe { libc::truncate(path.as_ptr(), length) }.into());
    }
    Ok(0)
}

/// `RWF_` flags of a call that takes them.
fn flags(operation: &Operation) -> libc::c_int {
    let call = operation.call.call();
    let takes_flags = call.is_operation() || call.name.ends_with("v2");
    let flags = if takes_flags { operation.flags } else { 0 };
    (flags & u64::from(i32::MAX.unsigned_abs())) as libc::c_int
}

/// Bytes that a call asks for. A write that was short is as long as it was then: the program wrote the rest
/// with its next call.
fn transferred(operation: &Operation, write: bool) -> u64 {
    let length = operation.length.min(LONGEST);
    match u64::try_from(operation.expected) {
        Ok(written) if write && written > 0 => length.min(written),
        _ => length,
    }
}

fn now() -> Timestamps {
    let now = Timespec { tv_sec: 0, tv_nsec: fs::UTIME_NOW };
    Timestamps { last_access: now, last_modification: now }
}

fn seek(file: BorrowedFd<'_>, operation: &Operation) -> Done {
    let offset = operation.offset.cast_signed();
    let to = match operation.flags {
        0 => SeekFrom::Start(operation.offset),
        1 => SeekFrom::Current(offset),
        2 => SeekFrom::End(offset),
        3 => SeekFrom::Data(operation.offset),
        4 => SeekFrom::Hole(operation.offset),
        _ => return Err(Errno::INVAL),
    };
    fs::seek(file, to).map(u64::cast_signed)
}

/// Copies as the recorded call does, at the positions of both files.
/// `copy_file_range` may share blocks, `sendfile` moves the data.
fn send(from: BorrowedFd<'_>, to: BorrowedFd<'_>, length: u64, operation: &Operation) -> Done {
    let length = usize::try_from(length).unwrap_or(0);
    if operation.call.call().name == "copy_file_range" {
        match fs::copy_file_range(from, None, to, None, length) {
            // What the recorded kernel copied, this one may not: a file opened to append, the same file.
            Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::BADF)
                if operation.expected >= 0 => {}
            done => return done.map(|bytes| bytes as i64),
        }
    }
    fs::sendfile(to, from, None, length).map(|bytes| bytes as i64)
}

fn sync_range(file: BorrowedFd<'_>, operation: &Operation) -> Done {
    use rustix::fd::AsRawFd;
    let (offset, length) = (operation.offset.cast_signed(), operation.length.cast_signed());
    let flags = bits(operation.flags) & 7;
    // SAFETY: numbers alone.
    checked(unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) }.into())
}

fn advise(file: BorrowedFd<'_>, operation: &Operation) -> Done {
    let advice = match (operation.action, operation.flags) {
        (Action::ReadAhead, _) | (_, 3) => Advice::WillNeed,
        (_, 1) => Advice::Random,
        (_, 2) => Advice::Sequential,
        (_, 4) => Advice::DontNeed,
        (_, 5) => Advice::NoReuse,
        _ => Advice::Normal,
    };
    let length = std::num::NonZeroU64::new(operation.length);
    fs::fadvise(file, operation.offset, length, advice).map(nothing)
}

fn lock(file: BorrowedFd<'_>, operation: &Operation) -> Done {
    let how = match operation.flags & 11 {
        1 => FlockOperation::NonBlockingLockShared,
        2 => FlockOperation::NonBlockingLockExclusive,
        _ => FlockOperation::Unlock,
    };
    fs::flock(file, how).map(nothing)
}

/// Locks a byte of the descriptor's own, since the trace does not hold the range. A call that found its range locked
/// asks for all of them, which fails again as long as another descriptor of the file has its byte.
fn lock_record(file: BorrowedFd<'_>, operation: &Operation) -> Done {
    let own = (operation.slot.cast_signed(), 1);
    if operation.expected != -i64::from(libc::EAGAIN) {
        return lock_range(file, own);
    }
    let done = lock_range(file, ALL_BYTES);
    if done.is_ok() {
        // Nobody has one: the result is another than the recorded one, and the others must not suffer.
        set_lock(file, libc::F_UNLCK, ALL_BYTES)?;
        lock_range(file, own)?;
    }
    done
}

/// Start and length of a lock on a file of any size: a length of 0 has no end.
const ALL_BYTES: (i64, i64) = (0, 0);

/// Locks for itself alone, or for readers on a descriptor that cannot write.
fn lock_range(file: BorrowedFd<'_>, range: (i64, i64)) -> Done {
    match set_lock(file, libc::F_WRLCK, range) {
        Err(Errno::BADF) => set_lock(file, libc::F_RDLCK, range),
        done => done,
    }
}

fn set_lock(file: BorrowedFd<'_>, kind: libc::c_int, (start, length): (i64, i64)) -> Done {
    use rustix::fd::AsRawFd;
    let range = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: 0,
        l_start: start,
        l_len: length,
        l_pid: 0,
    };
    // SAFETY: the range outlives the call.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) }.into())
}

fn attributes(file: BorrowedFd<'_>, operation: &Operation) -> Done {
    match operation.action {
        Action::Status => fs::fstat(file).map(|_| 0),
        Action::SystemStatus => fs::fstatfs(file).map(|_| 0),
        Action::SetMode => fs::fchmod(file, mode(operation.flags)).map(nothing),
        Action::SetOwner => fs::fchown(file, None, None).map(nothing),
        Action::SetTimesOf => fs::futimens(file, &now()).map(nothing),
        Action::ListAttributesOpen => {
            fs::flistxattr(file, &mut [0_u8; 4096][..]).map(|bytes| bytes as i64)
        }
        _ => Err(Errno::NOSYS),
    }
}

#[cfg(test)]
mod tests;
