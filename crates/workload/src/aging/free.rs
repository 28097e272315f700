//! Free space of a filesystem, as reported by `FS_IOC_GETFSMAP` (ext4 and xfs;
//! `ioctl_getfsmap(2)`).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// `FS_IOC_GETFSMAP` of linux/fsmap.h: a head of 192 bytes, read and written.
const FS_IOC_GETFSMAP: libc::c_ulong = 0xC0C0_583B;
/// `FMR_OF_SPECIAL_OWNER`: the owner is no inode but a word of its own.
const SPECIAL_OWNER: u32 = 0x10;
/// `FMR_OF_LAST`.
const LAST: u32 = 0x20;
/// `FMR_OWN_FREE`.
const OWN_FREE: u64 = 1;
/// Records asked for at a time.
const BATCH: usize = 1024;

/// Upper ends of the size classes of free extents; the last class has none.
pub const CLASSES: [u64; 3] = [64 << 10, 1 << 20, 16 << 20];

/// Free space as extents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FreeSpace {
    /// Free extents; those that touch are one.
    pub extents: u64,
    /// Bytes of the largest.
    pub largest: u64,
    /// Bytes in extents of each class of [`CLASSES`], and in larger ones.
    pub bytes: [u64; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Record {
    device: u32,
    flags: u32,
    physical: u64,
    owner: u64,
    offset: u64,
    length: u64,
    reserved: [u64; 3],
}

#[repr(C)]
struct Request {
    iflags: u32,
    oflags: u32,
    count: u32,
    entries: u32,
    reserved: [u64; 6],
    keys: [Record; 2],
    records: [Record; BATCH],
}

/// Looks at what is free.
///
/// # Errors
/// `ENOTTY` or `EOPNOTSUPP` where the filesystem does not tell.
pub fn space(directory: &OwnedFd) -> io::Result<FreeSpace> {
    let mut extents: Vec<(u64, u64)> = Vec::new();
    let everything = Record {
        device: u32::MAX,
        flags: u32::MAX,
        physical: u64::MAX,
        owner: u64::MAX,
        offset: u64::MAX,
        ..Record::default()
    };
    let mut low = Record::default();
    loop {
        let mut request = Box::new(Request {
            iflags: 0,
            oflags: 0,
            count: BATCH as u32,
            entries: 0,
            reserved: [0; 6],
            keys: [low, everything],
            records: [Record::default(); BATCH],
        });
        // SAFETY: the request is laid out as the kernel's struct fsmap_head with `count` records
        // behind it, and lives during the call.
        let result =
            unsafe { libc::ioctl(directory.as_raw_fd(), FS_IOC_GETFSMAP, &raw mut *request) };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        let records = &request.records[..(request.entries as usize).min(BATCH)];
        let free = |record: &&Record| record.flags & SPECIAL_OWNER != 0 && record.owner == OWN_FREE;
        extents.extend(records.iter().filter(free).map(|found| (found.physical, found.length)));
        match records.last() {
            Some(last) if last.flags & LAST == 0 => low = *last,
            _ => return Ok(classified(extents)),
        }
    }
}

fn classified(mut extents: Vec<(u64, u64)>) -> FreeSpace {
    extents.sort_unstable();
    let mut joined: Vec<(u64, u64)> = Vec::with_capacity(extents.len());
    for (begin, length) in extents {
        match joined.last_mut() {
            Some((last, so_far)) if *last + *so_far == begin => *so_far += length,
            _ => joined.push((begin, length)),
        }
    }
    let mut found = FreeSpace { extents: joined.len() as u64, ..FreeSpace::default() };
    for (_, length) in joined {
        let class = CLASSES.iter().position(|end| length < *end).unwrap_or(CLASSES.len());
        found.bytes[class] += length;
        found.largest = found.largest.max(length);
    }
    found
}

#[cfg(test)]
mod tests;
