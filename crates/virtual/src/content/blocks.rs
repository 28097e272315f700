//! Map from block to location, in runs: neighbours stored next to each other share one entry.

use std::collections::BTreeMap;

use super::known::Key;
use super::packed::Packed;

/// Location of a block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// Kept under a number.
    Packed(u64),
    /// Computable from a key.
    Key(Key),
    /// Zero, regardless of the base.
    #[default]
    Zero,
}

impl Place {
    /// Returns the location of the block `by` blocks later in the same run.
    pub(super) fn after(self, by: u64) -> Self {
        match self {
            Self::Packed(number) => Self::Packed(number + by),
            Self::Key(key) => Self::Key(key.after(by)),
            Self::Zero => Self::Zero,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    end: u64,
    first: Place,
}

/// Runs by their first block; they never overlap.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks(BTreeMap<u64, Run>);

impl Blocks {
    #[cfg(test)]
    pub(super) fn runs(&self) -> usize {
        self.0.len()
    }

    pub(super) fn find(&self, block: u64) -> Option<Place> {
        let (start, run) = self.0.range(..=block).next_back()?;
        (block < run.end).then(|| run.first.after(block - start))
    }

    /// Forgets blocks `from..to` and their stored content.
    pub(super) fn remove(&mut self, from: u64, to: u64, packed: &mut Packed) {
        if from >= to {
            return;
        }
        self.split_at(from);
        self.split_at(to);
        while let Some((&start, &run)) = self.0.range(from..to).next() {
            self.0.remove(&start);
            if let Place::Packed(number) = run.first {
                packed.give_back(number..number + (run.end - start));
            }
        }
    }

    /// Sets the locations of blocks `from..to`, none of which may have one.
    pub(super) fn insert(&mut self, from: u64, to: u64, first: Place) {
        if from >= to {
            return;
        }
        let (mut start, mut run) = (from, Run { end: to, first });
        if let Some((&before, left)) = self.0.range(..from).next_back()
            && left.end == from
            && left.first.after(from - before) == first
        {
            run.first = left.first;
            start = before;
        }
        if let Some(right) = self.0.get(&to).copied()
            && first.after(to - from) == right.first
        {
            run.end = right.end;
            self.0.remove(&to);
        }
        self.0.insert(start, run);
    }

    /// Makes `block` the first of a run, if one reaches across it.
    fn split_at(&mut self, block: u64) {
        let Some((&start, run)) = self.0.range_mut(..block).next_back() else { return };
        if run.end <= block {
            return;
        }
        let right = Run { end: run.end, first: run.first.after(block - start) };
        run.end = block;
        self.0.insert(block, right);
    }
}
