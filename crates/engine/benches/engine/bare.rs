//! The same system calls without clock, histogram or anything else.

use crate::BLOCK_BYTES;
use io_uring::{IoUring, opcode, types};
use seekwell_engine::{Clock, MonotonicClock};
use std::fs::File;
use std::os::fd::AsRawFd;

/// The cheapest offsets that are still random: xorshift, scaled.
pub struct Offsets {
    /// Any number but 0.
    pub state: u64,
    /// Blocks of the target.
    pub blocks: u64,
}

impl Offsets {
    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let block = (u128::from(self.state) * u128::from(self.blocks)) >> 64;
        block as u64 * u64::from(BLOCK_BYTES)
    }
}

/// Operations between two readings of the clock.
const STRIDE: u64 = 256;

#[repr(align(4096))]
struct Page([u8; BLOCK_BYTES as usize]);

pub fn psync(file: &File, offsets: &mut Offsets, end_ns: u64) -> u64 {
    let mut page = Page([0; BLOCK_BYTES as usize]);
    let mut ops = 0;
    while MonotonicClock.now_ns() < end_ns {
        for _ in 0..STRIDE {
            rustix::io::pread(file, &mut page.0, offsets.next()).unwrap();
        }
        ops += STRIDE;
    }
    ops
}

pub fn uring(file: &File, offsets: &mut Offsets, end_ns: u64, depth: u32) -> u64 {
    let mut pages: Vec<Page> = (0..depth).map(|_| Page([0; BLOCK_BYTES as usize])).collect();
    let mut ring: IoUring =
        IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(depth).unwrap();
    let vectors: Vec<libc::iovec> = pages
        .iter_mut()
        .map(|page| libc::iovec { iov_base: page.0.as_mut_ptr().cast(), iov_len: page.0.len() })
        .collect();
    // SAFETY: the pages live until the ring is gone, and nothing else uses them.
    unsafe { ring.submitter().register_buffers(&vectors) }.unwrap();
    ring.submitter().register_files(&[file.as_raw_fd()]).unwrap();
    let mut free: Vec<u32> = (0..depth).collect();
    let (mut ops, mut looked) = (0, 0);
    loop {
        while let Some(slot) = free.pop() {
            let page = vectors[slot as usize].iov_base.cast();
            let entry = opcode::ReadFixed::new(types::Fixed(0), page, BLOCK_BYTES, slot as u16)
                .offset(offsets.next())
                .build()
                .user_data(u64::from(slot));
            // SAFETY: the page of a free slot is not in use.
            unsafe { ring.submission().push(&entry) }.unwrap();
        }
        ring.submit_and_wait(1).unwrap();
        for entry in ring.completion() {
            assert_eq!(entry.result(), BLOCK_BYTES as i32);
            free.push(entry.user_data() as u32);
            ops += 1;
        }
        if ops - looked >= STRIDE {
            looked = ops;
            if MonotonicClock.now_ns() >= end_ns {
                break;
            }
        }
    }
    // Those still in flight use the pages.
    let left = depth as usize - free.len();
    ring.submit_and_wait(left).unwrap();
    ops + left as u64
}
