//! The kernel's answer about a loop device: the file or device behind it.

use rustix::ioctl::{Getter, Opcode, ioctl};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// `LOOP_GET_STATUS64`.
const GET_STATUS: Opcode = 0x4C05;

/// Name of our images in the kernel.
pub(crate) const OURS: &[u8] = b"seekwell";

/// `struct loop_info64`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Info {
    pub device: u64,
    pub inode: u64,
    pub rdevice: u64,
    pub offset: u64,
    pub sizelimit: u64,
    pub number: u32,
    pub encrypt_type: u32,
    pub encrypt_key_size: u32,
    pub flags: u32,
    pub file_name: [u8; 64],
    pub crypt_name: [u8; 64],
    pub encrypt_key: [u8; 32],
    pub init: [u64; 2],
}

/// Status of an attached loop device.
pub(crate) fn info(device: BorrowedFd<'_>) -> rustix::io::Result<Info> {
    // SAFETY: LOOP_GET_STATUS64 stores one struct loop_info64, which Info mirrors field by field.
    unsafe { ioctl(device, Getter::<GET_STATUS, Info>::new()) }
}

/// True for a loop device over one of Seekwell's images.
pub(crate) fn has_our_image(node: &Path) -> bool {
    // The descriptor keeps the device attached, so it is closed before anybody waits.
    let name = || info(File::open(node).ok()?.as_fd()).ok().map(|info| info.file_name);
    name().is_some_and(|name| name.starts_with(OURS))
}
