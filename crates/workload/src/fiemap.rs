//! Where a file's blocks are, as the filesystem tells through FIEMAP
//! (`Documentation/filesystems/fiemap.rst` of the kernel).

use rustix::fs::fstat;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// `FS_IOC_FIEMAP` of linux/fs.h.
const FS_IOC_FIEMAP: libc::c_ulong = 0xC020_660B;
/// `FIEMAP_FLAG_SYNC`: written back first, so that delayed blocks have their place.
const FLAG_SYNC: u32 = 1;
/// `FIEMAP_EXTENT_LAST`.
const EXTENT_LAST: u32 = 1;
/// Extents asked for at a time.
const BATCH: usize = 512;

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
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [RawExtent; BATCH],
}

/// One extent of a file, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Offset in the file.
    pub logical: u64,
    /// Offset on the device.
    pub physical: u64,
    /// Length.
    pub length: u64,
}

/// The extents of a file in order, after writing back what has no place yet.
///
/// # Errors
/// `EOPNOTSUPP` or `ENOTTY` where there is no FIEMAP.
pub(crate) fn extents(file: &File) -> io::Result<Vec<Extent>> {
    let mut found = Vec::new();
    let mut start = 0;
    loop {
        let mut request = Box::new(Request {
            start,
            length: u64::MAX - start,
            flags: FLAG_SYNC,
            mapped: 0,
            count: BATCH as u32,
            reserved: 0,
            extents: [RawExtent::default(); BATCH],
        });
        // SAFETY: the request is laid out as the kernel's struct fiemap with `count` extents
        // behind it, and lives during the call.
        let result = unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP, &raw mut *request) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let mapped = &request.extents[..(request.mapped as usize).min(BATCH)];
        found.extend(mapped.iter().map(|raw| Extent {
            logical: raw.logical,
            physical: raw.physical,
            length: raw.length,
        }));
        match mapped.last() {
            Some(last) if last.flags & EXTENT_LAST == 0 => start = last.logical + last.length,
            _ => return Ok(found),
        }
    }
}

/// Extents that continue each other on the device, as one: what a request can reach in one piece.
pub(crate) fn merged(extents: &[Extent]) -> Vec<Extent> {
    let mut all: Vec<Extent> = Vec::new();
    for extent in extents {
        match all.last_mut() {
            Some(last)
                if last.logical + last.length == extent.logical
                    && last.physical + last.length == extent.physical =>
            {
                last.length += extent.length;
            }
            _ => all.push(*extent),
        }
    }
    all
}

/// `EXT2_SUPER_MAGIC` of linux/magic.h, which ext2, ext3 and ext4 share.
const EXT_MAGIC: u64 = 0xEF53;

/// Blocks of the filesystem that hold nothing but where the file's blocks are: indirect blocks of
/// ext2 and ext3, nodes of ext4's extent tree. These filesystems count them in `st_blocks`, so that
/// what is left of that after the mapped blocks are such blocks (an inode that keeps its extended
/// attributes in a block of their own has one more). `None` for other filesystems.
pub(crate) fn pointer_blocks(file: &File, extents: &[Extent]) -> Option<u64> {
    let filesystem = rustix::fs::fstatfs(file).ok()?;
    if filesystem.f_type as u64 != EXT_MAGIC {
        return None;
    }
    let allocated = u64::try_from(fstat(file).ok()?.st_blocks).ok()? * 512;
    let mapped: u64 = extents.iter().map(|extent| extent.length).sum();
    let block = u64::try_from(filesystem.f_bsize).ok().filter(|block| *block > 0)?;
    Some(allocated.checked_sub(mapped)? / block)
}

#[cfg(test)]
mod tests;
