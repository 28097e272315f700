//! Values attached to ranges of sectors.

use std::collections::BTreeMap;
use std::ops::Range;

#[cfg(test)]
mod tests;

/// A map from disjoint ranges to values. Every sector has at most one value.
#[derive(Clone, Debug)]
pub(crate) struct ExtentMap<V> {
    /// By first sector: one past the last, and the value.
    extents: BTreeMap<u64, (u64, V)>,
    sectors: u64,
}

impl<V> Default for ExtentMap<V> {
    fn default() -> Self {
        Self { extents: BTreeMap::new(), sectors: 0 }
    }
}

impl<V: Clone> ExtentMap<V> {
    /// Sectors that have a value.
    pub(crate) const fn sectors(&self) -> u64 {
        self.sectors
    }

    pub(crate) fn clear(&mut self) {
        self.extents.clear();
        self.sectors = 0;
    }

    /// All extents by address.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Range<u64>, &V)> {
        self.extents.iter().map(|(start, (end, value))| (*start..*end, value))
    }

    /// The extents that share a sector with `range`, by address, whole.
    pub(crate) fn overlapping(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, &V)> {
        let before = self.extents.range(..range.start).next_back();
        let reaches_in = before.filter(|(_, (end, _))| *end > range.start);
        let first = reaches_in.map_or(range.start, |(start, _)| *start);
        let extents = self.extents.range(first..range.end.max(first));
        extents.map(|(start, (end, value))| (*start..*end, value))
    }

    /// The extent that holds `sector`.
    pub(crate) fn at(&self, sector: u64) -> Option<(Range<u64>, &V)> {
        self.overlapping(sector..sector.saturating_add(1)).next()
    }

    /// Returns true if every sector of `range` has a value.
    pub(crate) fn covers(&self, range: Range<u64>) -> bool {
        let mut reached = range.start;
        for (extent, _) in self.overlapping(range.clone()) {
            if extent.start > reached {
                return false;
            }
            reached = extent.end;
        }
        reached >= range.end
    }

    /// Takes the sectors of `range` out, by address, cut to the range.
    pub(crate) fn remove(&mut self, range: Range<u64>) -> Vec<(Range<u64>, V)> {
        let found: Vec<(Range<u64>, V)> = self
            .overlapping(range.clone())
            .map(|(extent, value)| (extent, value.clone()))
            .collect();
        let mut taken = Vec::with_capacity(found.len());
        for (extent, value) in found {
            self.extents.remove(&extent.start);
            if extent.start < range.start {
                self.extents.insert(extent.start, (range.start, value.clone()));
            }
            if extent.end > range.end {
                self.extents.insert(range.end, (extent.end, value.clone()));
            }
            let cut = extent.start.max(range.start)..extent.end.min(range.end);
            self.sectors -= cut.end - cut.start;
            taken.push((cut, value));
        }
        taken
    }

    /// Gives every sector of `range` the value that `change` makes of its old one.
    pub(crate) fn update(&mut self, range: Range<u64>, mut change: impl FnMut(Option<V>) -> V) {
        let mut reached = range.start;
        for (extent, value) in self.remove(range.clone()) {
            if extent.start > reached {
                self.insert(reached..extent.start, change(None));
            }
            reached = extent.end;
            self.insert(extent, change(Some(value)));
        }
        if reached < range.end {
            self.insert(reached..range.end, change(None));
        }
    }

    /// Puts a value where none is.
    pub(crate) fn insert(&mut self, range: Range<u64>, value: V) {
        self.sectors += range.end - range.start;
        self.extents.insert(range.start, (range.end, value));
    }
}
