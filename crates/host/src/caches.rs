//! Page cache and device cache: write back, flush, drop, and how much is waiting.

use crate::blkdev;
use crate::error::{Error, Result};
use crate::memory::meminfo;
use crate::sysfs::System;
use seekwell_model::units::Bytes;
use std::fs;
use std::os::fd::AsFd;

#[cfg(test)]
mod tests;

/// Page cache that is not on its device yet, of the whole machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unwritten {
    /// Dirty (`Dirty` of `/proc/meminfo`).
    pub dirty: Bytes,
    /// On its way (`Writeback`).
    pub writeback: Bytes,
}

/// Remedy for a failed write-back.
const SEE_LOG: &str = "see the kernel's log (dmesg): the device reported an error or vanished";

/// Writes back everything of the descriptor's filesystem (`syncfs`).
///
/// # Errors
/// The kernel's, also for write-back that failed earlier.
pub fn sync_filesystem(file: impl AsFd) -> Result<()> {
    rustix::fs::syncfs(file).map_err(Error::call("write back the filesystem (syncfs)", SEE_LOG))
}

/// Writes back a block device's own page cache and flushes its volatile write cache (`fsync`).
///
/// # Errors
/// The kernel's, also for write-back that failed earlier.
pub fn flush_device(device: impl AsFd) -> Result<()> {
    rustix::fs::fsync(device).map_err(Error::call("flush the device (fsync)", SEE_LOG))
}

/// Writes back and drops a block device's own page cache (`BLKFLSBUF`).
///
/// # Errors
/// Without root, and when write-back fails.
pub fn drop_device_buffers(device: impl AsFd) -> Result<()> {
    blkdev::flush_buffers(device.as_fd())
        .map_err(Error::call("drop the device's buffers (BLKFLSBUF)", "run as root"))
}

/// Drops clean page cache, dentries and inodes of the machine (`vm.drop_caches` = 3). What is dirty
/// stays: write it back first.
///
/// # Errors
/// Without root.
pub fn drop_caches(system: &System) -> Result<()> {
    let path = system.proc.join("sys/vm/drop_caches");
    fs::write(&path, "3\n").map_err(Error::io("drop caches through (root is needed)", &path))
}

/// Returns the page cache that is not on its device yet.
///
/// # Errors
/// When `/proc/meminfo` cannot be read.
pub fn unwritten(system: &System) -> Result<Unwritten> {
    let bytes = |key: &'static str| {
        let path = system.proc.join("meminfo");
        let nothing = format!("no line {key}");
        meminfo(system, key)?
            .ok_or_else(|| Error::format(path, &nothing, "the lines Dirty and Writeback"))
    };
    Ok(Unwritten { dirty: bytes("Dirty")?, writeback: bytes("Writeback")? })
}
