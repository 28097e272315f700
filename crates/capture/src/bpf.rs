//! The system call `bpf`: maps, programs, links. Descriptors close by themselves, so nothing stays
//! attached when the process ends, however it ends.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

const MAP_CREATE: i64 = 0;
const MAP_LOOKUP: i64 = 1;
const MAP_UPDATE: i64 = 2;
const MAP_DELETE: i64 = 3;
const MAP_NEXT_KEY: i64 = 4;
const PROGRAM_LOAD: i64 = 5;
const LINK_RAW_TRACEPOINT: i64 = 17;
const MAP_FREEZE: i64 = 22;
const MAP_LOOKUP_BATCH: i64 = 24;

pub(crate) const MAP_ARRAY: u32 = 2;
pub(crate) const MAP_ARRAY_OF_MAPS: u32 = 12;
pub(crate) const MAP_RING: u32 = 27;
const PROGRAM_TRACING: u32 = 26;
const ATTACH_RAW_TRACEPOINT: u32 = 23;
/// The programs cannot write the map.
pub(crate) const READ_ONLY_FOR_PROGRAMS: u32 = 1 << 7;

/// `union bpf_attr`, of which each command reads the first bytes.
struct Attributes([u8; 152]);

impl Attributes {
    fn new() -> Self {
        Self([0; 152])
    }

    fn word(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn word_at(&self, at: usize) -> u32 {
        self.0[at..].first_chunk().copied().map_or(0, u32::from_ne_bytes)
    }

    fn pointer<T: ?Sized>(mut self, at: usize, value: *const T) -> Self {
        let address = value.cast::<u8>().expose_provenance() as u64;
        self.0[at..at + 8].copy_from_slice(&address.to_ne_bytes());
        self
    }

    /// Some commands write results into the attributes.
    fn call(&mut self, command: i64) -> Result<i32> {
        // SAFETY: the attributes are 152 bytes that live until the call returns; every pointer in
        // them was made from a reference that the caller still holds.
        let done = unsafe {
            libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), self.0.len() as libc::c_uint)
        };
        if done < 0 { Err(Error::last_os_error()) } else { Ok(i32::try_from(done).unwrap_or(-1)) }
    }

    fn descriptor(&mut self, command: i64) -> Result<OwnedFd> {
        let fd = self.call(command)?;
        // SAFETY: the kernel just made this descriptor for us and nothing else owns it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

fn unsigned(fd: RawFd) -> u32 {
    fd.cast_unsigned()
}

/// Makes a map. `inner` is a map like those that a map of maps holds.
pub(crate) fn map(
    kind: u32,
    key_bytes: u32,
    value_bytes: u32,
    entries: u32,
    flags: u32,
    inner: Option<&OwnedFd>,
) -> Result<OwnedFd> {
    let mut attributes = Attributes::new()
        .word(0, kind)
        .word(4, key_bytes)
        .word(8, value_bytes)
        .word(12, entries)
        .word(16, flags)
        .word(20, inner.map_or(0, |inner| unsigned(inner.as_raw_fd())));
    attributes.descriptor(MAP_CREATE)
}

/// Sets an element; key and value are as long as the map's.
pub(crate) fn update(map: &OwnedFd, key: &[u8], value: &[u8]) -> Result<()> {
    let mut attributes =
        Attributes::new().word(0, unsigned(map.as_raw_fd())).pointer(8, key).pointer(16, value);
    attributes.call(MAP_UPDATE).map(drop)
}

/// Reads an element into `value`, which is as long as the map's.
pub(crate) fn lookup(map: &OwnedFd, key: &[u8], value: &mut [u8]) -> Result<()> {
    let mut attributes = Attributes::new()
        .word(0, unsigned(map.as_raw_fd()))
        .pointer(8, key)
        .pointer(16, value.as_mut_ptr().cast_const());
    attributes.call(MAP_LOOKUP).map(drop)
}

/// Calls `each` with every value of an array, in order, many per call of the kernel.
pub(crate) fn values(map: &OwnedFd, value_bytes: usize, each: &mut dyn FnMut(&[u8])) -> Result<()> {
    const AT_ONCE: usize = 4096;
    let mut keys = vec![0_u8; 4 * AT_ONCE];
    let mut values = vec![0_u8; value_bytes * AT_ONCE];
    let (mut last, mut is_first, mut is_end) = ([0_u8; 4], true, false);
    let last = last.as_mut_ptr().cast_const();
    while !is_end {
        let mut attributes = Attributes::new()
            .pointer(8, last)
            .pointer(16, keys.as_mut_ptr().cast_const())
            .pointer(24, values.as_mut_ptr().cast_const())
            .word(32, AT_ONCE as u32)
            .word(36, unsigned(map.as_raw_fd()));
        if !is_first {
            attributes = attributes.pointer(0, last);
        }
        is_end = match attributes.call(MAP_LOOKUP_BATCH) {
            Ok(_) => false,
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => true,
            Err(error) => return Err(error),
        };
        is_first = false;
        let count = attributes.word_at(32) as usize;
        values.chunks_exact(value_bytes).take(count).for_each(&mut *each);
    }
    Ok(())
}

/// Reads the key after `key` into `next`, which is as long; `None` asks for the first. False at the end.
pub(crate) fn next_key(map: &OwnedFd, key: Option<&[u8]>, next: &mut [u8]) -> Result<bool> {
    let attributes = Attributes::new().word(0, unsigned(map.as_raw_fd()));
    let attributes = match key {
        Some(key) => attributes.pointer(8, key),
        None => attributes,
    };
    match attributes.pointer(16, next.as_mut_ptr().cast_const()).call(MAP_NEXT_KEY) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes an element.
pub(crate) fn delete(map: &OwnedFd, key: &[u8]) -> Result<()> {
    let mut attributes = Attributes::new().word(0, unsigned(map.as_raw_fd())).pointer(8, key);
    attributes.call(MAP_DELETE).map(drop)
}

/// Makes the values of a map constants for the verifier.
pub(crate) fn freeze(map: &OwnedFd) -> Result<()> {
    Attributes::new().word(0, unsigned(map.as_raw_fd())).call(MAP_FREEZE).map(drop)
}

/// Loads a program for the tracepoint with this type number.
///
/// # Errors
/// The kernel's, with the last lines of the verifier's log.
pub(crate) fn program(instructions: &[u8], license: &[u8], type_id: u32) -> Result<OwnedFd> {
    let count = u32::try_from(instructions.len() / 8).unwrap_or(u32::MAX);
    let attributes = || {
        Attributes::new()
            .word(0, PROGRAM_TRACING)
            .word(4, count)
            .pointer(8, instructions)
            .pointer(16, license)
            .word(68, ATTACH_RAW_TRACEPOINT)
            .word(108, type_id)
    };
    let error = match attributes().descriptor(PROGRAM_LOAD) {
        Ok(program) => return Ok(program),
        Err(error) => error,
    };
    let mut log = vec![0; 16 << 20];
    let again = attributes()
        .word(24, 1)
        .word(28, u32::try_from(log.len()).unwrap_or(0))
        .pointer(32, log.as_mut_ptr().cast_const())
        .descriptor(PROGRAM_LOAD);
    if let Ok(program) = again {
        return Ok(program);
    }
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(0);
    let text = String::from_utf8_lossy(&log[..end]).into_owned();
    let last: Vec<&str> = text.lines().rev().take(4).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(Error::new(error.kind(), format!("{error} ({})", last.join("; "))))
}

/// Attaches a program to its tracepoint until the descriptor closes.
pub(crate) fn attach(program: &OwnedFd) -> Result<OwnedFd> {
    Attributes::new().word(8, unsigned(program.as_raw_fd())).descriptor(LINK_RAW_TRACEPOINT)
}
