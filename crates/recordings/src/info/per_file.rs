//! State of each file of a trace, found without a hash where the numbers of files are dense.

use seekwell_trace::fast::FastMap;
use seekwell_trace::{FileEntry, FileId};

/// A state of each file; one that was never asked for is the default.
pub(super) struct PerFile<T> {
    /// States of the numbers below `dense`, then those of `others`.
    states: Vec<T>,
    dense: usize,
    others: FastMap<FileId, usize>,
}

impl<T: Default + Clone> PerFile<T> {
    /// Room for the files of a trace, which are sorted by number.
    pub(super) fn of(files: &[FileEntry]) -> Self {
        let end = files.last().map_or(0, |file| file.id.0 as usize + 1);
        // Those of a foreign trace may be anything.
        let dense = if end <= files.len().saturating_mul(2) + 1024 { end } else { 0 };
        Self { states: vec![T::default(); dense], dense, others: FastMap::default() }
    }

    /// State of a file.
    #[inline]
    pub(super) fn get(&mut self, file: FileId) -> &mut T {
        let at = file.0 as usize;
        let at = if at < self.dense { at } else { self.other(file) };
        &mut self.states[at]
    }

    fn other(&mut self, file: FileId) -> usize {
        let next = self.states.len();
        let at = *self.others.entry(file).or_insert(next);
        if at == next {
            self.states.push(T::default());
        }
        at
    }

    /// All states, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (FileId, &T)> {
        let dense = (0_u32..).map(FileId).zip(&self.states[..self.dense]);
        dense.chain(self.others.iter().map(|(file, at)| (*file, &self.states[*at])))
    }
}

#[cfg(test)]
mod tests;
