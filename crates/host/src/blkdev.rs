//! The ioctls of block devices.

use rustix::ioctl::{Getter, NoArg, ioctl, opcode};
use std::io;
use std::os::fd::BorrowedFd;

/// `BLKGETSIZE64` of `linux/fs.h`.
const SIZE: rustix::ioctl::Opcode = opcode::read::<usize>(0x12, 114);
/// `BLKGETDISKSEQ` of `linux/fs.h`.
const DISKSEQ: rustix::ioctl::Opcode = opcode::read::<u64>(0x12, 128);
/// `BLKFLSBUF` of `linux/fs.h`.
const FLUSH_BUFFERS: rustix::ioctl::Opcode = opcode::none(0x12, 97);

/// Size of a block device in bytes.
pub(crate) fn size_bytes(device: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: BLKGETSIZE64 stores one u64 at the address given, which Getter provides.
    let size = unsafe { ioctl(device, Getter::<SIZE, u64>::new()) }?;
    Ok(size)
}

/// Number that the kernel gives to each device as it appears; `None` before Linux 5.15.
pub(crate) fn diskseq(device: BorrowedFd<'_>) -> Option<u64> {
    // SAFETY: BLKGETDISKSEQ stores one u64 at the address given, which Getter provides.
    unsafe { ioctl(device, Getter::<DISKSEQ, u64>::new()) }.ok()
}

/// Writes back and drops the buffer cache of a block device; needs root.
pub(crate) fn flush_buffers(device: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: BLKFLSBUF takes no argument.
    unsafe { ioctl(device, NoArg::<FLUSH_BUFFERS>::new()) }?;
    Ok(())
}
