//! Zeroed memory of any size that begins at a page.

use super::ALIGNMENT;
use std::ops::{Deref, DerefMut};

/// Bytes that begin at a multiple of [`ALIGNMENT`]. The kernel copies a buffer that begins inside a
/// page up to a sixth slower, and an allocator's alignment is chance.
#[derive(Debug)]
pub struct Aligned {
    memory: Vec<u8>,
    begin: usize,
    length: usize,
}

impl Aligned {
    /// So many zeros; none when they would not fit into the address space.
    #[must_use]
    pub fn zeroed(length: u64) -> Self {
        let length =
            usize::try_from(length).ok().filter(|length| *length <= isize::MAX as usize / 2);
        let length = length.unwrap_or(0);
        let memory = vec![0; length + ALIGNMENT];
        // Never further than one alignment away for bytes.
        let begin = memory.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        Self { memory, begin, length }
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.memory[self.begin..self.begin + self.length]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..self.begin + self.length]
    }
}

#[cfg(test)]
mod tests;
