//! The extents of a file, as `FS_IOC_FIEMAP` tells them
//! (`Documentation/filesystems/fiemap.rst` of the kernel).

use rustix::io::Errno;
use rustix::ioctl::{Opcode, Updater, ioctl, opcode};
use std::io;
use std::os::fd::BorrowedFd;

#[cfg(test)]
mod tests;

/// Extents asked for at a time.
const BATCH: usize = 128;

/// `FS_IOC_FIEMAP` of `linux/fs.h`; its size is that of the header alone.
const FIEMAP: Opcode = opcode::read_write::<Header>(b'f', 11);

/// `FIEMAP_FLAG_SYNC` of `linux/fiemap.h`.
const FLAG_SYNC: u32 = 1;
/// `FIEMAP_EXTENT_LAST`.
const EXTENT_LAST: u32 = 1;
/// `FIEMAP_EXTENT_UNWRITTEN`.
const EXTENT_UNWRITTEN: u32 = 0x800;

/// `struct fiemap` without its extents.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Header {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `struct fiemap_extent`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RawExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Request {
    header: Header,
    extents: [RawExtent; BATCH],
}

/// A part of a file that is contiguous on the device below, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file.
    pub logical: u64,
    /// Offset on the device.
    pub physical: u64,
    /// Length.
    pub length: u64,
    /// Allocated and not written: reading it gives zeros without touching the device.
    pub unwritten: bool,
}

/// All extents in order, neighbours joined, after writing back what has no place yet; `None` where
/// the filesystem does not tell.
///
/// # Errors
/// The kernel's error: `EIO` when the write-back or the block map fails.
pub fn extents(file: BorrowedFd<'_>) -> io::Result<Option<Vec<Extent>>> {
    let mut joined = Vec::new();
    let mut start = 0;
    loop {
        let header = Header {
            start,
            length: u64::MAX - start,
            flags: FLAG_SYNC,
            extent_count: BATCH as u32,
            ..Header::default()
        };
        let mut request = Request { header, extents: [RawExtent::default(); BATCH] };
        // SAFETY: FS_IOC_FIEMAP reads a struct fiemap and writes at most extent_count extents
        // behind it; Request is that layout with room for exactly BATCH of them.
        match unsafe { ioctl(file, Updater::<FIEMAP, Request>::new(&mut request)) } {
            Ok(()) => {}
            Err(Errno::OPNOTSUPP | Errno::NOTTY) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let mapped = (request.header.mapped_extents as usize).min(BATCH);
        for raw in &request.extents[..mapped] {
            append(&mut joined, raw);
        }
        match request.extents[..mapped].last() {
            Some(last) if last.flags & EXTENT_LAST == 0 => start = last.logical + last.length,
            _ => return Ok(Some(joined)),
        }
    }
}

/// Filesystems split and join records of one run as they like; that is no change of the layout.
fn append(joined: &mut Vec<Extent>, raw: &RawExtent) {
    let next = Extent {
        logical: raw.logical,
        physical: raw.physical,
        length: raw.length,
        unwritten: raw.flags & EXTENT_UNWRITTEN != 0,
    };
    if let Some(last) = joined.last_mut()
        && last.logical + last.length == next.logical
        && last.physical + last.length == next.physical
        && last.unwritten == next.unwritten
    {
        last.length += next.length;
        return;
    }
    joined.push(next);
}

/// FNV-1a (64 bit) over the extents.
pub(crate) fn digest(extents: &[Extent]) -> u64 {
    let fields = extents.iter().flat_map(|extent| {
        [extent.logical, extent.physical, extent.length, u64::from(extent.unwritten)]
    });
    fields.flat_map(u64::to_le_bytes).fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
