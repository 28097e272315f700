//! The split virtqueue of the virtio standard (version 1.2, section 2.7), from the device's side.
//!
//! Everything in it was written by the guest, so everything is checked: a chain that loops, leaves
//! the table or is longer than any driver makes is a [`RingFault`], never an endless loop.

use crate::memory::{GuestMemory, OutOfRange};

#[cfg(test)]
mod tests;

/// Bytes of one descriptor.
const DESCRIPTOR_BYTES: u64 = 16;

/// The chain continues (`VIRTQ_DESC_F_NEXT`).
const FLAG_NEXT: u16 = 1;

/// The device writes this buffer (`VIRTQ_DESC_F_WRITE`).
const FLAG_WRITE: u16 = 2;

/// The buffer is a table of descriptors (`VIRTQ_DESC_F_INDIRECT`).
const FLAG_INDIRECT: u16 = 4;

/// The driver wants no interrupt (`VIRTQ_AVAIL_F_NO_INTERRUPT`).
const AVAILABLE_NO_INTERRUPT: u16 = 1;

/// The largest ring the standard allows.
pub const LARGEST_RING: u16 = 32768;

/// The longest chain that is followed. Linux sends at most one descriptor per segment and two
/// more; devices here offer far fewer segments.
pub const LONGEST_CHAIN: usize = 4096;

/// Addresses of a ring in the guest's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLayout {
    /// Descriptors in the ring: a power of two.
    pub size: u16,
    /// Guest-physical address of the descriptor table.
    pub descriptors: u64,
    /// Guest-physical address of the available ring.
    pub available: u64,
    /// Guest-physical address of the used ring.
    pub used: u64,
}

/// A piece of guest memory that a request names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Guest-physical address.
    pub address: u64,
    /// Length in bytes.
    pub length: u32,
    /// The device writes this segment.
    pub writable: bool,
}

/// A malformed ring: its driver cannot be served any longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingFault {
    /// Not a power of two, zero, or larger than the standard allows.
    #[error("invalid ring size {0}: must be a power of two, at most 32768")]
    Size(u32),
    /// An address outside the guest's memory.
    #[error("the ring points outside the guest's memory: {0}")]
    Outside(#[from] OutOfRange),
    /// More requests available than the ring has entries.
    #[error("{count} requests available in a ring of {size}")]
    Overrun {
        /// Requests that appear to be available.
        count: u16,
        /// Descriptors in the ring.
        size: u16,
    },
    /// A descriptor number beyond the table.
    #[error("descriptor {index} is outside its table of {size}")]
    Index {
        /// The number.
        index: u16,
        /// Descriptors in the table.
        size: u32,
    },
    /// A chain with a loop, or one longer than [`LONGEST_CHAIN`].
    #[error("a chain of descriptors is longer than {0}")]
    Endless(usize),
    /// An indirect table inside an indirect table, or one that is followed by more.
    #[error("unexpected VIRTQ_DESC_F_INDIRECT")]
    MisplacedIndirect,
    /// An indirect table that is empty or no multiple of a descriptor.
    #[error("an indirect table has {0} bytes, not a multiple of 16")]
    IndirectLength(u32),
    /// Something to read after something to write, which the standard forbids.
    #[error("a readable buffer follows a writable one")]
    Order,
}

struct Descriptor {
    address: u64,
    length: u32,
    flags: u16,
    next: u16,
}

/// The device's view of one ring.
#[derive(Clone, Debug)]
pub struct Ring {
    layout: RingLayout,
    next_available: u16,
    next_used: u16,
}

impl Ring {
    /// A ring from which nothing was taken before `base`.
    ///
    /// # Errors
    ///
    /// [`RingFault::Size`].
    pub fn new(layout: RingLayout, base: u16) -> Result<Self, RingFault> {
        if !layout.size.is_power_of_two() || layout.size > LARGEST_RING {
            return Err(RingFault::Size(u32::from(layout.size)));
        }
        Ok(Self { layout, next_available: base, next_used: base })
    }

    /// The head of the next chain made available, if there is one.
    ///
    /// # Errors
    ///
    /// [`RingFault::Outside`], [`RingFault::Overrun`], [`RingFault::Index`].
    pub fn next_head(&mut self, memory: &impl GuestMemory) -> Result<Option<u16>, RingFault> {
        let RingLayout { size, available, .. } = self.layout;
        let index = memory.read_u16(offset(available, 2)?)?;
        let count = index.wrapping_sub(self.next_available);
        if count == 0 {
            return Ok(None);
        }
        if count > size {
            return Err(RingFault::Overrun { count, size });
        }
        let slot = u64::from(self.next_available % size);
        let head = memory.read_u16(offset(available, 4 + 2 * slot)?)?;
        if head >= size {
            return Err(RingFault::Index { index: head, size: u32::from(size) });
        }
        self.next_available = self.next_available.wrapping_add(1);
        Ok(Some(head))
    }

    /// Follows the chain from `head` into `segments`, which is cleared first.
    ///
    /// # Errors
    ///
    /// Every [`RingFault`] but [`RingFault::Size`] and [`RingFault::Overrun`].
    pub fn chain(
        &self,
        memory: &impl GuestMemory,
        head: u16,
        segments: &mut Vec<Segment>,
    ) -> Result<(), RingFault> {
        segments.clear();
        let first = descriptor(memory, self.layout.descriptors, head)?;
        if first.flags & FLAG_INDIRECT == 0 {
            let size = u32::from(self.layout.size);
            return follow(memory, (self.layout.descriptors, size), head, segments);
        }
        if first.flags & FLAG_NEXT != 0 {
            return Err(RingFault::MisplacedIndirect);
        }
        let bytes = first.length;
        if bytes == 0 || !u64::from(bytes).is_multiple_of(DESCRIPTOR_BYTES) {
            return Err(RingFault::IndirectLength(bytes));
        }
        let size = bytes / DESCRIPTOR_BYTES as u32;
        follow(memory, (first.address, size), 0, segments)
    }

    /// Hands a chain back, `written` bytes of its buffers having been written.
    ///
    /// # Errors
    ///
    /// [`RingFault::Outside`].
    pub fn push_used(
        &mut self,
        memory: &mut impl GuestMemory,
        head: u16,
        written: u32,
    ) -> Result<(), RingFault> {
        let RingLayout { size, used, .. } = self.layout;
        let slot = u64::from(self.next_used % size);
        let mut element = [0; 8];
        element[..4].copy_from_slice(&u32::from(head).to_le_bytes());
        element[4..].copy_from_slice(&written.to_le_bytes());
        memory.write(offset(used, 4 + 8 * slot)?, &element)?;
        self.next_used = self.next_used.wrapping_add(1);
        memory.write(offset(used, 2)?, &self.next_used.to_le_bytes())?;
        Ok(())
    }

    /// Returns true if the driver wants a notification of used chains.
    ///
    /// # Errors
    ///
    /// [`RingFault::Outside`].
    pub fn wants_call(&self, memory: &impl GuestMemory) -> Result<bool, RingFault> {
        Ok(memory.read_u16(self.layout.available)? & AVAILABLE_NO_INTERRUPT == 0)
    }
}

fn offset(base: u64, by: u64) -> Result<u64, OutOfRange> {
    base.checked_add(by).ok_or(OutOfRange { address: base, length: by })
}

fn descriptor(memory: &impl GuestMemory, table: u64, index: u16) -> Result<Descriptor, RingFault> {
    let mut bytes = [0; DESCRIPTOR_BYTES as usize];
    memory.read(offset(table, DESCRIPTOR_BYTES * u64::from(index))?, &mut bytes)?;
    let [a0, a1, a2, a3, a4, a5, a6, a7, l0, l1, l2, l3, f0, f1, n0, n1] = bytes;
    Ok(Descriptor {
        address: u64::from_le_bytes([a0, a1, a2, a3, a4, a5, a6, a7]),
        length: u32::from_le_bytes([l0, l1, l2, l3]),
        flags: u16::from_le_bytes([f0, f1]),
        next: u16::from_le_bytes([n0, n1]),
    })
}

fn follow(
    memory: &impl GuestMemory,
    (table, size): (u64, u32),
    head: u16,
    segments: &mut Vec<Segment>,
) -> Result<(), RingFault> {
    let limit = LONGEST_CHAIN.min(size as usize);
    let mut index = head;
    loop {
        if u32::from(index) >= size {
            return Err(RingFault::Index { index, size });
        }
        if segments.len() == limit {
            return Err(RingFault::Endless(limit));
        }
        let Descriptor { address, length, flags, next } = descriptor(memory, table, index)?;
        if flags & FLAG_INDIRECT != 0 {
            return Err(RingFault::MisplacedIndirect);
        }
        let writable = flags & FLAG_WRITE != 0;
        if !writable && segments.last().is_some_and(|last| last.writable) {
            return Err(RingFault::Order);
        }
        segments.push(Segment { address, length, writable });
        if flags & FLAG_NEXT == 0 {
            return Ok(());
        }
        index = next;
    }
}
