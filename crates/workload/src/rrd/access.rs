//! Opens a round-robin file, changes it and closes it, with the system calls of rrdtool 1.7.

use super::format::{Definition, FormatError};
use super::update::{self, Row};
use rustix::fs::{FlockOperation, Mode, OFlags, fcntl_lock};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use seekwell_model::workloads::rrd::RrdAccess;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// rrdtool tells the kernel that the head is wanted soon, in pages of this size.
const PAGE: usize = 4096;

/// The action during which an update failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Opening.
    Open,
    /// Locking.
    Lock,
    /// Finding its size.
    Stat,
    /// Mapping.
    Map,
    /// Reading.
    Read,
    /// Writing.
    Write,
    /// Making sense of it, or changing it.
    Update,
}

impl Action {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Open, Self::Lock, Self::Stat, Self::Map, Self::Read, Self::Write, Self::Update];

    /// For messages.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Lock => "lock",
            Self::Stat => "find the size of",
            Self::Map => "map",
            Self::Read => "read",
            Self::Write => "write to",
            Self::Update => "update",
        }
    }
}

/// An update that failed.
#[derive(Clone, Copy, Debug)]
pub struct AccessError {
    /// The action that failed.
    pub action: Action,
    /// The kernel's error.
    pub errno: Errno,
}

/// The file is not what it should be, or the update does not fit it.
const UNFIT: AccessError = AccessError { action: Action::Update, errno: Errno::INVAL };

fn failed(action: Action) -> impl FnOnce(Errno) -> AccessError {
    move |errno| AccessError { action, errno }
}

/// Applies one update to a file in an open directory.
///
/// # Errors
/// [`AccessError`].
pub fn update(
    directory: impl AsFd,
    name: &str,
    access: RrdAccess,
    time_s: u64,
    values: &[&str],
) -> Result<(), AccessError> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = rustix::fs::openat(directory, name, flags, Mode::empty());
    let file = File::from(open.map_err(failed(Action::Open))?);
    fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive).map_err(failed(Action::Lock))?;
    let length = rustix::fs::fstat(&file).map_err(failed(Action::Stat))?.st_size as u64;
    match access {
        RrdAccess::Mmap => mapped(&file, length, time_s, values),
        RrdAccess::Pread => positioned(&file, length, time_s, values),
    }
}

/// A file mapped shared, for reading and writing.
struct Mapping {
    begin: *mut std::ffi::c_void,
    length: usize,
}

impl Mapping {
    fn new(file: &File, length: usize) -> Result<Self, AccessError> {
        if length == 0 {
            return Err(UNFIT);
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an unused place; nothing else in this process refers to it.
        let begin = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, file, 0)
        };
        Ok(Self { begin: begin.map_err(failed(Action::Map))?, length })
    }

    /// Only advice: what the kernel makes of it does not matter for the result.
    fn advise(&self, length: usize, advice: Advice) {
        // SAFETY: the range is inside the mapping, and none of these kinds of advice changes data.
        let _ = unsafe { rustix::mm::madvise(self.begin, length.min(self.length), advice) };
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is `length` bytes long, readable and writable, and lives as long as
        // `self`, which is borrowed mutably. The lock keeps others who update the file away.
        unsafe { std::slice::from_raw_parts_mut(self.begin.cast(), self.length) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `new` with this length, and no slice of it is left.
        let _ = unsafe { rustix::mm::munmap(self.begin, self.length) };
    }
}

fn mapped(file: &File, length: u64, time_s: u64, values: &[&str]) -> Result<(), AccessError> {
    let mut mapping = Mapping::new(file, usize::try_from(length).unwrap_or(usize::MAX))?;
    mapping.advise(mapping.length, Advice::Random);
    mapping.advise(PAGE, Advice::Normal);
    mapping.advise(PAGE, Advice::WillNeed);
    let bytes = mapping.bytes();
    let definition = Definition::read(bytes, length).map_err(|_| UNFIT)?;
    let offsets = definition.offsets();
    let (head, data) = bytes.split_at_mut(offsets.data);
    let rows = update::apply(&definition, &offsets, head, time_s, values).ok_or(UNFIT)?;
    for Row { offset, values } in rows {
        let at = offset as usize - offsets.data;
        for (index, value) in values.iter().enumerate() {
            super::format::put_f64(data, at + 8 * index, *value);
        }
    }
    Ok(())
}

fn positioned(file: &File, length: u64, time_s: u64, values: &[&str]) -> Result<(), AccessError> {
    // A first guess that the heads of most files fit in; the definition says how long it is.
    let mut head = read(file, PAGE.min(usize::try_from(length).unwrap_or(PAGE)))?;
    let definition = loop {
        match Definition::read(&head, length) {
            Ok(definition) => break definition,
            Err(FormatError::Short(needed))
                if (head.len() as u64 + 1..=length).contains(&needed) =>
            {
                head = read(file, needed as usize)?;
            }
            Err(_) => return Err(UNFIT),
        }
    };
    let offsets = definition.offsets();
    if head.len() < offsets.data {
        head = read(file, offsets.data)?;
    }
    head.truncate(offsets.data);
    let rows = update::apply(&definition, &offsets, &mut head, time_s, values).ok_or(UNFIT)?;
    for Row { offset, values } in rows {
        let mut bytes = vec![0; 8 * values.len()];
        for (index, value) in values.iter().enumerate() {
            super::format::put_f64(&mut bytes, 8 * index, *value);
        }
        write(file, &bytes, offset)?;
    }
    write(file, &head[offsets.live..], offsets.live as u64)
}

fn read(file: &File, length: usize) -> Result<Vec<u8>, AccessError> {
    let mut bytes = vec![0; length];
    // Only the end of the file has no error number.
    let short = |error: io::Error| Errno::from_io_error(&error).map_or(UNFIT, failed(Action::Read));
    file.read_exact_at(&mut bytes, 0).map_err(short)?;
    Ok(bytes)
}

fn write(file: &File, bytes: &[u8], offset: u64) -> Result<(), AccessError> {
    // Only a write of nothing has no error number.
    let short = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::NOSPC);
    file.write_all_at(bytes, offset).map_err(short).map_err(failed(Action::Write))
}
