//! Inflating many small values: one state and one buffer for all of them.

use flate2::{Decompress, FlushDecompress, Status};

/// No trial has values of this size; a damaged one must not take all memory.
pub(crate) const LARGEST_UNPACKED: u64 = 1 << 30;

/// Bytes that a value is expected to have, for each of its packed ones.
const USUAL_RATIO: usize = 8;

/// Bytes that a value is expected to have at least.
const LEAST: usize = 4096;

/// An inflater that is used again and again.
#[derive(Default)]
pub(crate) struct Inflater {
    raw: Option<Decompress>,
    zlib: Option<Decompress>,
    /// The parts of a stream, joined.
    stream: Vec<u8>,
}

impl Inflater {
    /// The bytes of a zlib stream; `None` for one that is damaged or larger than any trial makes.
    pub(crate) fn zlib(&mut self, packed: &[u8]) -> Option<Vec<u8>> {
        let state = self.zlib.get_or_insert_with(|| Decompress::new(true));
        whole(state, true, packed, 0)
    }

    /// The same of a stream without header whose parts follow each other, of which the first ones inflate to so many
    /// bytes.
    pub(crate) fn raw(&mut self, parts: [&[u8]; 3], known: usize) -> Option<Vec<u8>> {
        self.stream.clear();
        parts.iter().for_each(|part| self.stream.extend_from_slice(part));
        let state = self.raw.get_or_insert_with(|| Decompress::new(false));
        whole(state, false, &self.stream, known)
    }
}

fn whole(state: &mut Decompress, has_header: bool, packed: &[u8], known: usize) -> Option<Vec<u8>> {
    let rest = packed.len().saturating_sub(known);
    let mut room = known + (rest * USUAL_RATIO).max(LEAST);
    // In one go where it fits; from the start again where it does not.
    while (room as u64) < LARGEST_UNPACKED {
        let mut plain = Vec::with_capacity(room);
        state.reset(has_header);
        match state.decompress_vec(packed, &mut plain, FlushDecompress::Finish) {
            Ok(Status::StreamEnd) => return Some(plain),
            _ if plain.len() < plain.capacity() => return None,
            _ => room *= 4,
        }
    }
    None
}

#[cfg(test)]
mod tests;
