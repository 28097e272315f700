//! The consumer's side of a kernel ring buffer, as `Documentation/bpf/ringbuf.rst` describes it.

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
const HEAD: usize = 8;
/// Bytes of records after which their room is freed. Producers read the consumer's position for each
/// record: writing it as often would move its cache line between the CPUs each time.
const FREED_AT_ONCE: u64 = 64 << 10;

/// One ring, mapped: the consumer's position, then the producer's and the data, twice in a row so
/// that no record is cut.
pub(crate) struct Ring {
    consumer: NonNull<AtomicU64>,
    producer: NonNull<AtomicU64>,
    data: NonNull<u8>,
    bytes: usize,
    page: usize,
    _fd: OwnedFd,
}

// SAFETY: the pointers are to mappings of the process, owned by this value alone; they may be used
// from whichever thread has it.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps the ring, of `bytes` of data.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn open(fd: OwnedFd, bytes: usize) -> std::io::Result<Self> {
        let page = rustix::param::page_size();
        let none = std::ptr::null_mut();
        let missing = || std::io::Error::other("the kernel mapped the ring at address 0");
        let writable = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: new mappings at addresses that the kernel chooses touch no existing memory.
        let consumer = unsafe { mmap(none, page, writable, MapFlags::SHARED, &fd, 0)? };
        let length = page + 2 * bytes;
        // SAFETY: as above.
        let rest =
            unsafe { mmap(none, length, ProtFlags::READ, MapFlags::SHARED, &fd, page as u64)? };
        // SAFETY: the data follow the producer's page inside the mapping of `length` bytes.
        let data = unsafe { rest.cast::<u8>().add(page) };
        Ok(Self {
            consumer: NonNull::new(consumer.cast()).ok_or_else(missing)?,
            producer: NonNull::new(rest.cast()).ok_or_else(missing)?,
            data: NonNull::new(data).ok_or_else(missing)?,
            bytes,
            page,
            _fd: fd,
        })
    }

    /// Hands every complete record to `each` and frees its room; the number of bytes freed.
    pub(crate) fn drain(&mut self, mut each: impl FnMut(&[u8])) -> u64 {
        // SAFETY: both positions are in mapped pages, aligned, and atomics may be shared with the
        // kernel.
        let (consumer, producer) = unsafe { (self.consumer.as_ref(), self.producer.as_ref()) };
        let begin = consumer.load(Ordering::Relaxed);
        let end = producer.load(Ordering::Acquire);
        let (mut at, mut freed) = (begin, begin);
        while at < end {
            let place = usize::try_from(at).unwrap_or(0) & (self.bytes - 1);
            // SAFETY: `place` is below `bytes` and a multiple of 8; the data are mapped twice.
            let (head, record) = unsafe {
                let head = self.data.add(place);
                (head.cast::<AtomicU32>().as_ref(), head.add(HEAD))
            };
            let length = head.load(Ordering::Acquire);
            if length & BUSY != 0 {
                break;
            }
            let size = (length & !(BUSY | DISCARDED)) as usize;
            if length & DISCARDED == 0 {
                // SAFETY: the kernel reserved `size` bytes after the head, at most the size of the
                // ring, all mapped; it does not write them again until they are freed below.
                each(unsafe { std::slice::from_raw_parts(record.as_ptr(), size) });
            }
            at += (size + HEAD).next_multiple_of(8) as u64;
            // Freed step by step: a producer that waits for room need not wait for the whole ring.
            if at - freed >= FREED_AT_ONCE {
                consumer.store(at, Ordering::Release);
                freed = at;
            }
        }
        consumer.store(at, Ordering::Release);
        at - begin
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: both mappings were made by `open` with these lengths, and nothing refers to them.
        unsafe {
            let _ = munmap(self.consumer.as_ptr().cast(), self.page);
            let _ = munmap(self.producer.as_ptr().cast(), self.page + 2 * self.bytes);
        }
    }
}
