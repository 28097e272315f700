//! A table of numbers by number, stored in pieces that exist once something was written there.

#[cfg(test)]
mod tests;

const PIECE: usize = 4096;

/// From `u32` to `u32`; [`u32::MAX`] cannot be stored.
#[derive(Clone, Debug, Default)]
pub(crate) struct Map {
    pieces: Vec<Option<Box<[u32; PIECE]>>>,
}

impl Map {
    pub(crate) fn get(&self, key: u32) -> Option<u32> {
        let key = key as usize;
        let piece = self.pieces.get(key / PIECE)?.as_ref()?;
        Some(piece[key % PIECE]).filter(|value| *value != u32::MAX)
    }

    /// Stores or, with `None`, removes; returns what was there.
    pub(crate) fn set(&mut self, key: u32, value: Option<u32>) -> Option<u32> {
        let key = key as usize;
        if key / PIECE >= self.pieces.len() {
            self.pieces.resize(key / PIECE + 1, None);
        }
        let piece = self.pieces[key / PIECE].get_or_insert_with(|| Box::new([u32::MAX; PIECE]));
        let cell = &mut piece[key % PIECE];
        let old = std::mem::replace(cell, value.unwrap_or(u32::MAX));
        (old != u32::MAX).then_some(old)
    }
}
