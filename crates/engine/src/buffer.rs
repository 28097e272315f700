//! Memory of one thread: aligned for direct I/O, filled with data that does not compress, or as
//! far as a [`DataShape`] says.

mod aligned;

pub use aligned::Aligned;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use seekwell_stats::{derive_seed, seeded};
use std::ffi::c_void;
use std::io;
use std::ptr::NonNull;

/// Alignment of every buffer in bytes: a page, which every device accepts for direct I/O.
pub const ALIGNMENT: usize = 4096;

/// Written data does not repeat within so many bytes of a thread's writes. Filesystems compress
/// at most 128 KiB (btrfs) to 1 MiB (f2fs) at a time, so that they find nothing to compress.
pub const UNREPEATED_BYTES: usize = 1 << 20;

/// Written data differs at least once in every so many bytes from all data written before: the
/// block that deduplicating storage compares.
const STAMP_EVERY: usize = 4096;

/// Largest memory of one thread: the kernel registers no larger buffer with a ring.
pub const LARGEST_BYTES: usize = 1 << 30;

/// Contents of an [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaShape {
    /// Bytes per operation.
    pub block_bytes: u32,
    /// Operations in flight.
    pub depth: u32,
    /// True when the job reads.
    pub reads: bool,
    /// True when the job writes.
    pub writes: bool,
    /// Shape of the written data.
    pub data: DataShape,
}

/// Compressibility and repetition of written data. By default neither compresses nor repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataShape {
    /// Percentage of each 4 KiB (of each block, where blocks are smaller) that is zeros, at its end:
    /// what compression can remove. From 0 to 100; eight bytes of each 4 KiB stay random.
    pub zero_percent: u8,
    /// Percentage of the operations that write, in every 4 KiB, the same data as all others of
    /// them: what deduplication can remove. From 0 to 100.
    pub repeated_percent: u8,
    /// The data of an operation follows from the job's seed and its offset alone, so that it can be
    /// generated again to check what a device kept; otherwise no two operations write the same.
    pub by_offset: bool,
}

impl DataShape {
    /// Data with these shares of zeros and repetitions; what is left differs in every operation.
    #[must_use]
    pub const fn of(zero_percent: u8, repeated_percent: u8) -> Self {
        Self { zero_percent, repeated_percent, by_offset: false }
    }
}

impl ArenaShape {
    fn stride(self) -> usize {
        (self.block_bytes as usize).next_multiple_of(ALIGNMENT)
    }

    /// Blocks of data that each slot writes in turn.
    fn blocks_per_slot(self) -> usize {
        if !self.writes {
            return 0;
        }
        // Data that follows from the offset is the same in every slot.
        let slots = if self.data.by_offset { 1 } else { self.depth as usize };
        UNREPEATED_BYTES.div_ceil((self.block_bytes as usize).max(1) * slots).clamp(1, MOST_BLOCKS)
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(self) -> usize {
        let blocks = usize::from(self.reads) + self.blocks_per_slot();
        let own = self.stride().saturating_mul(self.depth as usize).saturating_mul(blocks);
        if self.repeats() { own.saturating_add(self.stride()) } else { own }
    }

    /// Returns true when some operations write the same data as others.
    fn repeats(self) -> bool {
        self.writes && self.data.repeated_percent > 0
    }
}

/// Mixes a seed with a number; numbers that differ give results that differ (the finalizer of
/// SplitMix64).
#[inline]
pub(crate) fn mixed(seed: u64, number: u64) -> u64 {
    let mut word = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Blocks below a page still occupy one each; this keeps their memory at 8 MiB.
const MOST_BLOCKS: usize = 2048;

/// The buffers of one thread: for every slot one to read into, and several to write from in turn.
/// Slots share no buffer, so that no data changes under a write in flight.
#[derive(Debug)]
pub struct Arena {
    memory: NonNull<c_void>,
    shape: ArenaShape,
    length: usize,
    /// First byte of the buffers that are written from.
    write_base: usize,
    /// Next block to write from, per slot.
    turns: Box<[u32]>,
    /// Mixed into the stamp of every block.
    serial: u64,
    /// The buffer that repeated writes share; it never changes.
    repeated: usize,
    /// Operations that wrote so far, in percent of one that repeats.
    repeated_due: u32,
}

// SAFETY: the mapping belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for Arena {}

impl Arena {
    /// Maps the memory and fills what is written from with random data of the seed.
    ///
    /// # Errors
    /// When the kernel gives no memory.
    pub fn new(shape: ArenaShape, seed: u64) -> io::Result<Self> {
        let length = shape.bytes().max(ALIGNMENT);
        // SAFETY: a new private mapping at an address of the kernel's choice touches no memory of
        // anybody else.
        let memory = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::POPULATE,
            )?
        };
        let memory = NonNull::new(memory).ok_or(io::ErrorKind::OutOfMemory)?;
        let write_base = if shape.reads { shape.stride() * shape.depth as usize } else { 0 };
        let turns = vec![0; shape.depth as usize].into_boxed_slice();
        let serial = derive_seed(seed, "stamps");
        let repeated = if shape.repeats() { length - shape.stride() } else { 0 };
        let arena =
            Self { memory, shape, length, write_base, turns, serial, repeated, repeated_due: 0 };
        if shape.writes {
            arena.fill(seed);
        }
        Ok(arena)
    }

    fn fill(&self, seed: u64) {
        let mut rng = seeded(derive_seed(seed, "content"));
        let end = if self.shape.repeats() { self.repeated } else { self.length };
        let slot_bytes = self.shape.blocks_per_slot() * self.shape.stride();
        for offset in (self.write_base..end).step_by(8) {
            let begins_slot = (offset - self.write_base).is_multiple_of(slot_bytes);
            if self.shape.data.by_offset && begins_slot {
                rng = seeded(derive_seed(seed, "content"));
            }
            self.store(offset, self.shaped(offset, rng.next_u64()));
        }
        // The same for every thread of every job: what is repeated is repeated everywhere.
        let mut word = seeded(derive_seed(0, "repeated"));
        let words: Vec<u64> = (0..STAMP_EVERY / 8).map(|_| word.next_u64()).collect();
        for offset in (end..self.length).step_by(8) {
            self.store(offset, self.shaped(offset, words[offset % STAMP_EVERY / 8]));
        }
    }

    /// Random data, or a zero where data is to be compressible. Buffers begin at multiples of
    /// 4 KiB.
    fn shaped(&self, offset: usize, random: u64) -> u64 {
        let unit = (self.shape.block_bytes as usize).clamp(8, STAMP_EVERY);
        let zeros = unit * usize::from(self.shape.data.zero_percent.min(100)) / 100;
        if offset % STAMP_EVERY % unit + zeros >= unit && !offset.is_multiple_of(STAMP_EVERY) {
            0
        } else {
            random
        }
    }

    /// Stores eight bytes at a multiple of 8 inside the memory.
    #[inline]
    fn store(&self, offset: usize, value: u64) {
        assert!(offset + 8 <= self.length, "store beyond the arena");
        // SAFETY: the eight bytes lie inside the mapping as just checked, and are aligned because
        // the mapping is and all callers step by 8 or by pages. No reference to this memory
        // exists; the kernel does not read it meanwhile, since the slot has nothing in flight.
        unsafe { self.memory.as_ptr().cast::<u8>().add(offset).cast::<u64>().write(value) };
    }

    /// Offset of the buffer that a slot reads into.
    #[inline]
    #[must_use]
    pub fn read_buffer(&self, slot: u32) -> usize {
        slot as usize * self.shape.stride()
    }

    /// Returns the offset of a buffer for a slot to write from. Each 4 KiB of its data differs from all
    /// earlier buffers. The slot must have nothing in flight.
    #[inline]
    pub fn write_buffer(&mut self, slot: u32) -> usize {
        if self.shape.repeats() {
            self.repeated_due += u32::from(self.shape.data.repeated_percent);
            if self.repeated_due >= 100 {
                self.repeated_due -= 100;
                return self.repeated;
            }
        }
        let blocks = self.shape.blocks_per_slot();
        let turn = &mut self.turns[slot as usize];
        let block = slot as usize * blocks + *turn as usize;
        *turn = if *turn as usize + 1 < blocks { *turn + 1 } else { 0 };
        let start = self.write_base + block * self.shape.stride();
        for offset in (0..self.shape.block_bytes as usize).step_by(STAMP_EVERY) {
            // An odd constant makes the stamps of 2^64 blocks differ, and leaves no two alike
            // that a compressor would see.
            self.serial = self.serial.wrapping_add(0x9e37_79b9_7f4a_7c15);
            self.store(start + offset, self.serial);
        }
        start
    }

    /// Returns the offset of a buffer for a slot to write at `offset` of the target from: one whose
    /// data follows from that if the shape says so, otherwise the next [`Self::write_buffer`]. The
    /// slot must have nothing in flight.
    #[inline]
    pub fn write_buffer_at(&mut self, slot: u32, offset: u64) -> usize {
        if !self.shape.data.by_offset {
            return self.write_buffer(slot);
        }
        let chance = mixed(self.serial, !offset);
        if self.shape.repeats() && chance % 100 < u64::from(self.shape.data.repeated_percent) {
            return self.repeated;
        }
        let blocks = self.shape.blocks_per_slot();
        let index = offset / u64::from(self.shape.block_bytes.max(1)) % blocks as u64;
        let block = slot as usize * blocks + index as usize;
        let start = self.write_base + block * self.shape.stride();
        for piece in (0..self.shape.block_bytes as usize).step_by(STAMP_EVERY) {
            self.store(start + piece, mixed(self.serial, offset + piece as u64));
        }
        start
    }

    /// The data of an operation at `offset` of the target; the first slot must have nothing in flight.
    #[inline]
    pub fn block_at(&mut self, offset: u64) -> &[u8] {
        let start = self.write_buffer_at(0, offset);
        self.bytes(start)
    }

    /// The next block that the first slot writes, for writes that end before the next is asked for.
    #[inline]
    pub fn block(&mut self) -> &[u8] {
        let start = self.write_buffer(0);
        self.bytes(start)
    }

    #[inline]
    fn bytes(&mut self, start: usize) -> &[u8] {
        let address = self.address(start, self.shape.block_bytes);
        // SAFETY: the bytes lie inside the mapping as just checked, and the borrow keeps everybody
        // from changing them while it lives.
        unsafe { std::slice::from_raw_parts(address, self.shape.block_bytes as usize) }
    }

    /// Address of a buffer for the kernel. Valid as long as the arena lives.
    ///
    /// # Panics
    /// When the buffer is not inside the memory.
    #[inline]
    #[must_use]
    pub fn address(&self, buffer: usize, length: u32) -> *mut u8 {
        assert!(buffer + length as usize <= self.length, "buffer beyond the arena");
        // SAFETY: the offset lies inside the mapping as just checked.
        unsafe { self.memory.as_ptr().cast::<u8>().add(buffer) }
    }

    /// Bytes of memory.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; nothing refers to it any more. A failure
        // would leave memory mapped, which is harmless.
        let _ = unsafe { munmap(self.memory.as_ptr(), self.length) };
    }
}

#[cfg(test)]
mod tests;
