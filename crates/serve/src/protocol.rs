//! The part of the kernel's FUSE protocol that one file needs, as bytes in memory. Version 7.31 and later.

use crate::disk;

#[cfg(test)]
mod tests;

/// Node of the only file. The directory's is 1.
pub const FILE: u64 = 2;

/// Bytes before the data of a write request: header and arguments.
pub const BEFORE_DATA: usize = HEADER + 40;

/// Smallest buffer that the kernel accepts.
pub const LEAST_BUFFER: usize = 8192;

const HEADER: usize = 40;
const ANSWER_HEADER: usize = 16;

/// Version of the protocol that is spoken: newer kernels speak it too.
const MAJOR: u32 = 7;
const MINOR: u32 = 31;
/// Oldest minor version with everything that is used here.
const LEAST_MINOR: u32 = 31;

/// `FUSE_ASYNC_READ`, `FUSE_BIG_WRITES`, `FUSE_PARALLEL_DIROPS`, `FUSE_ASYNC_DIO`, `FUSE_MAX_PAGES`.
const FLAGS: u32 = 1 | 1 << 5 | 1 << 18 | ASYNC_DIO | 1 << 22;
const ASYNC_DIO: u32 = 1 << 15;

/// `FOPEN_DIRECT_IO`, `FOPEN_NOFLUSH`, `FOPEN_PARALLEL_DIRECT_WRITES`.
const OPEN_FLAGS: u32 = 1 | 1 << 5 | 1 << 6;

/// `FALLOC_FL_KEEP_SIZE`, `FALLOC_FL_PUNCH_HOLE`, `FALLOC_FL_ZERO_RANGE`.
const KEEP_SIZE: u32 = 1;
const PUNCH_HOLE: u32 = 2;
const ZERO_RANGE: u32 = 16;

/// Requests in flight at once that are not answered yet; more than any loop device has.
const MAX_BACKGROUND: u16 = 1024;

const PAGE: u32 = 4096;

/// Errors of the protocol that end the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// Shorter than its form.
    #[error("a request of {bytes} bytes is too short for its kind ({opcode})")]
    Short {
        /// Bytes of the request.
        bytes: usize,
        /// Its kind, by the kernel's number.
        opcode: u32,
    },
    /// The kernel's FUSE is older than what is needed.
    #[error("the kernel speaks FUSE {0}.{1}, older than 7.31; use Linux 5.2 or newer")]
    Old(u32, u32),
    /// The kernel sends only one direct request at a time.
    #[error("the kernel's FUSE has no asynchronous direct I/O; use Linux 5.2 or newer")]
    NotAsynchronous,
}

/// One request of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call<'a> {
    /// The kernel's number of it, repeated in the answer.
    pub unique: u64,
    /// The question.
    pub ask: Ask<'a>,
}

/// A question of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask<'a> {
    /// The first request of all.
    Init,
    /// A name in the directory: its bytes.
    Lookup(&'a [u8]),
    /// Attributes of a node.
    Attributes(u64),
    /// The file is opened.
    Open(u64),
    /// An opened file is closed for good.
    Release,
    /// A request to the disk from this byte on.
    Disk(u64, disk::Ask<'a>),
    /// Size and name limits of the file system.
    Statfs,
    /// Notes that need no answer.
    Unanswered,
    /// The file system is unmounted.
    Destroy,
    /// Anything else; the server does not have it.
    Unknown,
}

struct Fields<'a> {
    bytes: &'a [u8],
    opcode: u32,
}

impl<'a> Fields<'a> {
    fn at<const N: usize>(&self, offset: usize) -> Result<[u8; N], Malformed> {
        let part = self.bytes.get(offset..).and_then(|rest| rest.first_chunk::<N>());
        part.copied().ok_or(Malformed::Short { bytes: self.bytes.len(), opcode: self.opcode })
    }

    fn u32(&self, offset: usize) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.at(offset)?))
    }

    fn u64(&self, offset: usize) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.at(offset)?))
    }

    fn rest(&self, offset: usize) -> &'a [u8] {
        self.bytes.get(offset..).unwrap_or_default()
    }
}

/// Reads a request.
///
/// # Errors
/// [`Malformed`].
pub fn parse(bytes: &[u8]) -> Result<Call<'_>, Malformed> {
    let opcode = Fields { bytes, opcode: 0 }.u32(4)?;
    let fields = Fields { bytes, opcode };
    let (unique, node) = (fields.u64(8)?, fields.u64(16)?);
    let ask = match opcode {
        1 => Ask::Lookup(fields.rest(HEADER).split(|byte| *byte == 0).next().unwrap_or_default()),
        2 | 36 | 42 => Ask::Unanswered,
        3 => Ask::Attributes(node),
        14 => Ask::Open(node),
        15 => {
            let bytes = fields.u32(HEADER + 16)?.into();
            Ask::Disk(fields.u64(HEADER + 8)?, disk::Ask::Read(bytes))
        }
        16 => write(&fields)?,
        17 => Ask::Statfs,
        18 => Ask::Release,
        20 => Ask::Disk(0, disk::Ask::Flush),
        26 => init(&fields)?,
        38 => Ask::Destroy,
        43 => fallocate(&fields)?,
        _ => Ask::Unknown,
    };
    Ok(Call { unique, ask })
}

fn write<'a>(fields: &Fields<'a>) -> Result<Ask<'a>, Malformed> {
    let (offset, bytes) = (fields.u64(HEADER + 8)?, fields.u32(HEADER + 16)? as usize);
    let data = fields.rest(BEFORE_DATA);
    match data.get(..bytes) {
        Some(data) => Ok(Ask::Disk(offset, disk::Ask::Write(data))),
        None => Err(Malformed::Short { bytes: fields.bytes.len(), opcode: fields.opcode }),
    }
}

fn init<'a>(fields: &Fields<'_>) -> Result<Ask<'a>, Malformed> {
    let (major, minor) = (fields.u32(HEADER)?, fields.u32(HEADER + 4)?);
    if (major, minor) < (MAJOR, LEAST_MINOR) {
        return Err(Malformed::Old(major, minor));
    }
    let flags = fields.u32(HEADER + 12)?;
    if flags & ASYNC_DIO == 0 {
        return Err(Malformed::NotAsynchronous);
    }
    Ok(Ask::Init)
}

fn fallocate<'a>(fields: &Fields<'_>) -> Result<Ask<'a>, Malformed> {
    let (offset, bytes) = (fields.u64(HEADER + 8)?, fields.u64(HEADER + 16)?);
    Ok(match fields.u32(HEADER + 24)? {
        mode if mode == KEEP_SIZE | PUNCH_HOLE => Ask::Disk(offset, disk::Ask::Discard(bytes)),
        mode if mode == KEEP_SIZE | ZERO_RANGE => Ask::Disk(offset, disk::Ask::Zero(bytes)),
        _ => Ask::Unknown,
    })
}

/// Header of an answer with `bytes` of data behind it; `error` is a number of `errno.h`, 0 for none.
#[must_use]
pub fn header(unique: u64, error: i32, bytes: usize) -> [u8; ANSWER_HEADER] {
    let mut header = [0; ANSWER_HEADER];
    let length = (ANSWER_HEADER + bytes) as u32;
    header[..4].copy_from_slice(&length.to_le_bytes());
    header[4..8].copy_from_slice(&(-error).to_le_bytes());
    header[8..].copy_from_slice(&unique.to_le_bytes());
    header
}

/// Answer to the first request. `longest` is the longest read or write in bytes.
#[must_use]
pub fn init_answer(longest: u32) -> Vec<u8> {
    let mut answer = Vec::with_capacity(64);
    answer.extend([MAJOR, MINOR, 0, FLAGS].into_iter().flat_map(u32::to_le_bytes));
    answer.extend([MAX_BACKGROUND; 2].into_iter().flat_map(u16::to_le_bytes));
    // Times in nanoseconds.
    answer.extend([longest, 1].into_iter().flat_map(u32::to_le_bytes));
    // One page more, for buffers that do not begin at a page.
    let pages = u16::try_from(longest.div_ceil(PAGE) + 1).unwrap_or(u16::MAX);
    answer.extend_from_slice(&pages.to_le_bytes());
    answer.resize(64, 0);
    answer
}

/// Attributes of a node: the directory, or the file of so many bytes.
fn attributes(node: u64, bytes: u64) -> Vec<u8> {
    let (size, mode) = if node == FILE { (bytes, 0o100_600) } else { (0, 0o040_700_u32) };
    let mut answer = Vec::with_capacity(88);
    answer.extend([node, size, size / 512, 0, 0, 0].into_iter().flat_map(u64::to_le_bytes));
    answer.extend([0, 0, 0, mode, 1, 0, 0, 0, PAGE, 0].into_iter().flat_map(u32::to_le_bytes));
    answer
}

/// Seconds for which the kernel may keep names and attributes: they never change.
const FOREVER_S: u64 = 1 << 30;

/// Answer to a name that is the file.
#[must_use]
pub fn lookup_answer(bytes: u64) -> Vec<u8> {
    let mut answer = Vec::with_capacity(128);
    answer.extend([FILE, 0, FOREVER_S, FOREVER_S, 0].into_iter().flat_map(u64::to_le_bytes));
    answer.extend(attributes(FILE, bytes));
    answer
}

/// Answer with the attributes of a node.
#[must_use]
pub fn attributes_answer(node: u64, bytes: u64) -> Vec<u8> {
    let mut answer = Vec::with_capacity(104);
    answer.extend([FOREVER_S, 0].into_iter().flat_map(u64::to_le_bytes));
    answer.extend(attributes(node, bytes));
    answer
}

/// Answer to opening the file.
#[must_use]
pub fn open_answer() -> Vec<u8> {
    let mut answer = vec![0; 16];
    answer[8..12].copy_from_slice(&OPEN_FLAGS.to_le_bytes());
    answer
}

/// Answer to a write of so many bytes.
#[must_use]
pub fn write_answer(bytes: u32) -> [u8; 8] {
    let mut answer = [0; 8];
    answer[..4].copy_from_slice(&bytes.to_le_bytes());
    answer
}

/// Answer about the file system: blocks of 512 bytes, none of them free.
#[must_use]
pub fn statfs_answer(bytes: u64) -> Vec<u8> {
    let mut answer = Vec::with_capacity(80);
    answer.extend([bytes / 512, 0, 0, 1, 0].into_iter().flat_map(u64::to_le_bytes));
    answer.extend([512_u32, 255, 512].into_iter().flat_map(u32::to_le_bytes));
    answer.resize(80, 0);
    answer
}
