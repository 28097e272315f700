//! Memory shared with the guest's process, and nothing but its mapping: the one module of this crate
//! that touches memory another process writes.

use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::memory::{GuestMemory, OutOfRange};
use lost::Watch;

mod lost;

#[cfg(test)]
mod tests;

const PAGE_BYTES: u64 = 4096;

/// A shared mapping of a part of a file.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping belongs to this value alone, is not tied to a thread, and is only read and
// written through raw pointers or atomics.
unsafe impl Send for Mapping {}

impl Mapping {
    fn new(file: impl AsFd, offset: u64, bytes: usize) -> Result<Self, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a null hint lets the kernel choose an unused range, so no memory of this process
        // is replaced.
        let start = unsafe {
            mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file.as_fd(), offset)?
        };
        NonNull::new(start.cast()).map(|start| Self { start, bytes }).ok_or(Errno::NOMEM)
    }

    /// Returns the address of `length` bytes at `at`, if they are inside.
    fn address(&self, at: u64, length: usize) -> Option<*mut u8> {
        let at = usize::try_from(at).ok()?;
        let inside = at.checked_add(length).is_some_and(|end| end <= self.bytes);
        // SAFETY: `at` is at most `bytes`, so the result stays within the mapping or one past it.
        inside.then(|| unsafe { self.start.as_ptr().add(at) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `start` and `bytes` are those of the mapping made in `new`, and every pointer into
        // it was borrowed from this value.
        let outcome = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(outcome.is_ok(), "a mapping could not be removed");
    }
}

/// Part of the guest's memory, as the guest announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegionPlan {
    /// Guest-physical address.
    pub guest_address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Offset of the region in its file.
    pub file_offset: u64,
}

/// Errors of mapping a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegionFault {
    #[error("the region at {address:#x} of {bytes} bytes is not in its file")]
    Extent { address: u64, bytes: u64 },
    #[error("mapping the guest's memory failed: {0}")]
    Kernel(#[from] Errno),
    /// Nobody would notice that the guest takes it away.
    #[error("cannot install the SIGBUS handler for the guest's memory")]
    Watch,
}

#[derive(Debug)]
struct Region {
    guest_address: u64,
    bytes: u64,
    /// Bytes of the mapping before the region: mappings begin at a page.
    lead: u64,
    /// Before the mapping, so that it is dropped first.
    watch: Watch,
    mapping: Mapping,
}

/// The guest's memory, mapped.
#[derive(Debug, Default)]
pub struct MappedMemory(Vec<Region>);

impl MappedMemory {
    /// Maps a region of the guest's memory in addition to those mapped before.
    ///
    /// # Errors
    ///
    /// [`RegionFault`].
    pub fn add(&mut self, plan: RegionPlan, file: &OwnedFd) -> Result<(), RegionFault> {
        let RegionPlan { guest_address, bytes, file_offset } = plan;
        let fault = RegionFault::Extent { address: guest_address, bytes };
        let size = u64::try_from(fstat(file)?.st_size).unwrap_or(0);
        let in_file = file_offset.checked_add(bytes).is_some_and(|end| end <= size);
        if bytes == 0 || !in_file || guest_address.checked_add(bytes).is_none() {
            return Err(fault);
        }
        let lead = file_offset % PAGE_BYTES;
        let length = usize::try_from(bytes + lead).map_err(|_| fault)?;
        let mapping = Mapping::new(file, file_offset - lead, length)?;
        let watch = Watch::new(mapping.start.as_ptr().addr(), mapping.bytes);
        let watch = watch.map_err(|_| RegionFault::Watch)?;
        self.0.push(Region { guest_address, bytes, lead, watch, mapping });
        Ok(())
    }

    /// Fails if an access met memory that the guest had truncated.
    fn check(&self, address: u64, length: usize) -> Result<(), OutOfRange> {
        let lost = self.0.iter().any(|region| region.watch.is_lost());
        if lost { Err(OutOfRange::new(address, length)) } else { Ok(()) }
    }

    fn find(&self, address: u64, length: usize) -> Result<*mut u8, OutOfRange> {
        let fits = |region: &Region| {
            let at = address.checked_sub(region.guest_address)?;
            let end = at.checked_add(length as u64)?;
            if end > region.bytes {
                return None;
            }
            region.mapping.address(region.lead + at, length)
        };
        self.0.iter().find_map(fits).ok_or(OutOfRange::new(address, length))
    }
}

impl GuestMemory for MappedMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), OutOfRange> {
        let from = self.find(address, into.len())?;
        // SAFETY: `find` returns an address with `into.len()` mapped bytes after it, and `into` is
        // memory of this process that the mapping does not contain.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        self.check(address, into.len())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), OutOfRange> {
        let to = self.find(address, from.len())?;
        // SAFETY: as in `read`, with source and destination exchanged; the mapping is writable.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        self.check(address, from.len())
    }
}

/// Numbers shared with the guest's process, each read and written at once.
#[derive(Debug)]
pub struct SharedNumbers(Mapping);

impl SharedNumbers {
    /// Maps the first `bytes` of a file.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn new(file: impl AsFd, bytes: usize) -> Result<Self, Errno> {
        Mapping::new(file, 0, bytes).map(Self)
    }

    /// The number of 16 bits at a byte offset.
    ///
    /// # Panics
    ///
    /// When it is outside or not aligned: offsets are constants of the protocol.
    #[must_use]
    pub fn u16_at(&self, at: u64) -> &AtomicU16 {
        // SAFETY: `place` checked bounds and alignment; the memory lives as long as `self`, and both
        // processes use atomic accesses of this width only.
        unsafe { AtomicU16::from_ptr(self.place(at, 2).cast()) }
    }

    /// The number of 32 bits at a byte offset.
    ///
    /// # Panics
    ///
    /// As [`u16_at`](Self::u16_at).
    #[must_use]
    pub fn u32_at(&self, at: u64) -> &AtomicU32 {
        // SAFETY: as in `u16_at`.
        unsafe { AtomicU32::from_ptr(self.place(at, 4).cast()) }
    }

    /// The number of 64 bits at a byte offset.
    ///
    /// # Panics
    ///
    /// As [`u16_at`](Self::u16_at).
    #[must_use]
    pub fn u64_at(&self, at: u64) -> &AtomicU64 {
        // SAFETY: as in `u16_at`.
        unsafe { AtomicU64::from_ptr(self.place(at, 8).cast()) }
    }

    /// Reads a number of 64 bits.
    #[must_use]
    pub fn get_u64(&self, at: u64) -> u64 {
        self.u64_at(at).load(Ordering::Acquire)
    }

    /// Writes a number of 64 bits.
    pub fn set_u64(&self, at: u64, value: u64) {
        self.u64_at(at).store(value, Ordering::Release);
    }

    fn place(&self, at: u64, bytes: usize) -> *mut u8 {
        let address =
            self.0.address(at, bytes).filter(|address| address.addr().is_multiple_of(bytes));
        assert!(address.is_some(), "no number of {bytes} bytes at {at}");
        address.unwrap_or(ptr::null_mut())
    }
}
