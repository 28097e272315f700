//! Blocks of cells that wear out, and the erased ones among them.

use std::collections::BTreeSet;

use super::WearLeveling;

#[cfg(test)]
mod tests;

/// Erase counts of all blocks, and which of them are erased and free.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    erases: Vec<u32>,
    leveling: WearLeveling,
    /// Free blocks by wear, when that decides.
    by_wear: BTreeSet<(u32, u32)>,
    /// Free blocks in the order in which they were freed, when that decides.
    stack: Vec<u32>,
    most_worn: u32,
    total: u64,
}

impl Blocks {
    /// `count` blocks, all erased and free.
    pub(crate) fn new(count: u32, leveling: WearLeveling) -> Self {
        let mut blocks = Self {
            erases: vec![0; count as usize],
            leveling,
            by_wear: BTreeSet::new(),
            stack: Vec::new(),
            most_worn: 0,
            total: 0,
        };
        for block in (0..count).rev() {
            blocks.release(block);
        }
        blocks
    }

    fn release(&mut self, block: u32) {
        match self.leveling {
            WearLeveling::None => self.stack.push(block),
            WearLeveling::Dynamic => {
                let erases = self.erases.get(block as usize).copied().unwrap_or_default();
                self.by_wear.insert((erases, block));
            }
        }
    }

    /// Takes a free block; `None` when there is none.
    pub(crate) fn take(&mut self) -> Option<u32> {
        match self.leveling {
            WearLeveling::None => self.stack.pop(),
            WearLeveling::Dynamic => self.by_wear.pop_first().map(|(_, block)| block),
        }
    }

    /// Erases a block that was taken; it is free again.
    pub(crate) fn erase(&mut self, block: u32) {
        if let Some(erases) = self.erases.get_mut(block as usize) {
            *erases += 1;
            self.most_worn = self.most_worn.max(*erases);
            self.total += 1;
        }
        self.release(block);
    }

    pub(crate) fn free(&self) -> usize {
        self.by_wear.len() + self.stack.len()
    }

    pub(crate) const fn most_worn(&self) -> u32 {
        self.most_worn
    }

    pub(crate) const fn total_erases(&self) -> u64 {
        self.total
    }

    /// Erases that count against the rating ([`FlashEvidence::wear`](crate::evidence::FlashEvidence)).
    pub(crate) fn wear(&self) -> f64 {
        match self.leveling {
            WearLeveling::None => self.most_worn.into(),
            WearLeveling::Dynamic => self.total as f64 / self.erases.len() as f64,
        }
    }
}
