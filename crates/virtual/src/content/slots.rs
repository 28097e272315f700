//! Numbered slots for blocks: the first in memory, the rest in an unlinked file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::{BLOCK_BYTES, Keeping};

/// Blocks allocated in memory at a time.
const CHUNK_BLOCKS: usize = 256;
const CHUNK_BYTES: usize = CHUNK_BLOCKS * BLOCK_BYTES;

#[derive(Debug)]
pub(super) struct Slots {
    keeping: Keeping,
    memory: Vec<Box<[u8]>>,
    file: Option<File>,
    /// One past the largest slot ever given out.
    end: u64,
    free: Vec<u64>,
}

impl Slots {
    pub(super) fn new(keeping: Keeping) -> Self {
        Self { keeping, memory: Vec::new(), file: None, end: 0, free: Vec::new() }
    }

    /// Slots in use.
    pub(super) fn used(&self) -> u64 {
        self.end - self.free.len() as u64
    }

    /// A slot with arbitrary content. Fresh slots follow one another.
    pub(super) fn take(&mut self) -> u64 {
        self.free.pop().unwrap_or_else(|| {
            self.end += 1;
            self.end - 1
        })
    }

    /// Gives a slot back; its content is forgotten.
    pub(super) fn give_back(&mut self, slot: u64) {
        self.free.push(slot);
    }

    pub(super) fn read(&self, slot: u64, within: usize, into: &mut [u8]) -> io::Result<()> {
        match self.in_memory(slot) {
            Some((chunk, at)) => match self.memory.get(chunk) {
                Some(bytes) => into.copy_from_slice(&bytes[at + within..at + within + into.len()]),
                None => into.fill(0),
            },
            None => match &self.file {
                Some(file) => file.read_exact_at(into, self.in_file(slot) + within as u64)?,
                None => into.fill(0),
            },
        }
        Ok(())
    }

    pub(super) fn write(&mut self, slot: u64, within: usize, from: &[u8]) -> io::Result<()> {
        if let Some((chunk, at)) = self.in_memory(slot) {
            while self.memory.len() <= chunk {
                self.memory.push(vec![0; CHUNK_BYTES].into_boxed_slice());
            }
            self.memory[chunk][at + within..at + within + from.len()].copy_from_slice(from);
            return Ok(());
        }
        let position = self.in_file(slot) + within as u64;
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(tempfile::tempfile_in(&self.keeping.directory)?),
        };
        file.write_all_at(from, position)
    }

    /// Bytes allocated in memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        (self.memory.len() * CHUNK_BYTES) as u64
    }

    /// Moves everything in memory to the file.
    ///
    /// # Errors
    /// When the file cannot be made or written; everything is then as it was.
    pub(super) fn move_to_file(&mut self) -> io::Result<()> {
        if self.memory.is_empty() {
            return Ok(());
        }
        let file = tempfile::tempfile_in(&self.keeping.directory)?;
        for (chunk, bytes) in (0..).zip(&self.memory) {
            file.write_all_at(bytes, chunk * CHUNK_BYTES as u64)?;
        }
        // Slots that were given out and never written are read as zeroes.
        file.set_len(self.end * BLOCK_BYTES as u64)?;
        if let Some(before) = &self.file {
            let mut block = [0; BLOCK_BYTES];
            for slot in self.memory_slots()..self.end {
                before.read_exact_at(&mut block, self.in_file(slot))?;
                file.write_all_at(&block, slot * BLOCK_BYTES as u64)?;
            }
        }
        self.file = Some(file);
        self.memory = Vec::new();
        self.keeping.memory_bytes = 0;
        Ok(())
    }

    fn memory_slots(&self) -> u64 {
        self.keeping.memory_bytes / BLOCK_BYTES as u64
    }

    fn in_memory(&self, slot: u64) -> Option<(usize, usize)> {
        if slot >= self.memory_slots() {
            return None;
        }
        let slot = slot as usize;
        Some((slot / CHUNK_BLOCKS, slot % CHUNK_BLOCKS * BLOCK_BYTES))
    }

    fn in_file(&self, slot: u64) -> u64 {
        (slot - self.memory_slots()) * BLOCK_BYTES as u64
    }
}
