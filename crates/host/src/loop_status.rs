//! The kernel's answer about a loop device: the file or device behind it.

use rustix::ioctl::{Getter, Opcode, ioctl};
use std::os::fd::BorrowedFd;

/// `LOOP_GET_STATUS64`.
const GET_STATUS: Opcode = 0x4C05;

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
