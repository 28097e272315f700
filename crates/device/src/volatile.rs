//! Written data that a power cut would undo: which writes each sector of it came from, and since when.

use std::collections::VecDeque;
use std::ops::Range;

use crate::extents::ExtentMap;
use crate::model::{Lba, LostRange, SectorRange};

#[cfg(test)]
mod tests;

/// The writes of one range of sectors that are not durable yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layers {
    /// Ids of the writes, oldest first; only the last one's data exists.
    pub(crate) ids: Vec<u64>,
    /// The place of the oldest in the order in which data arrived.
    pub(crate) first_seq: u64,
    /// When the oldest arrived.
    pub(crate) since_ns: u64,
}

/// A run of sectors with its layers, taken out to be written.
pub(crate) type Pieces = Vec<(Range<u64>, Layers)>;

/// Data in a volatile buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Volatile {
    extents: ExtentMap<Layers>,
    arrivals: u64,
    /// Arrivals in order, to find the oldest data; the first one's data is never gone entirely.
    by_age: VecDeque<(u64, Range<u64>)>,
}

impl Volatile {
    /// Data of write `id` arrives; returns its place in the order of arrival.
    pub(crate) fn insert(&mut self, range: Range<u64>, id: u64, now_ns: u64) -> u64 {
        self.arrivals += 1;
        let seq = self.arrivals;
        self.extents.update(range.clone(), |old| {
            let mut layers =
                old.unwrap_or(Layers { ids: Vec::new(), first_seq: seq, since_ns: now_ns });
            layers.ids.push(id);
            layers
        });
        self.by_age.push_back((seq, range));
        seq
    }

    /// The place of the latest arrival.
    pub(crate) const fn latest_seq(&self) -> u64 {
        self.arrivals
    }

    pub(crate) const fn sectors(&self) -> u64 {
        self.extents.sectors()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.extents.sectors() == 0
    }

    pub(crate) fn overlaps(&self, range: Range<u64>) -> bool {
        self.extents.overlapping(range).next().is_some()
    }

    pub(crate) fn covers(&self, range: Range<u64>) -> bool {
        self.extents.covers(range)
    }

    /// Takes data out, to be written.
    pub(crate) fn take(&mut self, range: Range<u64>) -> Pieces {
        let pieces = self.extents.remove(range);
        while self.by_age.front().is_some_and(|(seq, range)| !self.holds(range.clone(), *seq)) {
            self.by_age.pop_front();
        }
        pieces
    }

    /// When the oldest data arrived.
    pub(crate) fn oldest_since_ns(&self) -> Option<u64> {
        self.oldest().map(|(_, layers)| layers.since_ns)
    }

    /// First sector of the oldest data.
    pub(crate) fn oldest_sector(&self) -> Option<u64> {
        self.oldest().map(|(extent, _)| extent.start)
    }

    fn oldest(&self) -> Option<(Range<u64>, &Layers)> {
        let (seq, range) = self.by_age.front()?;
        self.extents.overlapping(range.clone()).find(|(_, layers)| layers.first_seq <= *seq)
    }

    /// Starts of up to `count` extents from `sector` on, going on from the front at the end.
    pub(crate) fn next_starts(&self, sector: u64, count: usize) -> Vec<u64> {
        let behind = self.extents.from(sector).map(|(extent, _)| extent.start);
        let mut starts: Vec<u64> = behind.take(count).collect();
        let missing = count - starts.len();
        let before = self.extents.iter().map(|(extent, _)| extent.start);
        starts.extend(before.take_while(|start| *start < sector).take(missing));
        starts
    }

    /// The same for extents of `range` that arrived at `seq` or before.
    pub(crate) fn starts_within(
        &self,
        range: Range<u64>,
        seq: u64,
        from: u64,
        count: usize,
    ) -> Vec<u64> {
        let middle = from.clamp(range.start, range.end);
        let behind = self.extents.overlapping(middle..range.end);
        let before = self.extents.overlapping(range.start..middle);
        let wanted = behind.chain(before).filter(|(_, layers)| layers.first_seq <= seq);
        wanted.map(|(extent, _)| extent.start).take(count).collect()
    }

    /// The run of adjoining extents around `sector`, at most `longest` sectors of it, from its start if that fits.
    pub(crate) fn run_around(&self, sector: u64, longest: u64) -> Range<u64> {
        let Some((extent, _)) = self.extents.at(sector) else { return sector..sector };
        let (mut start, mut end) = (extent.start, extent.end);
        for (later, _) in self.extents.from(end) {
            if later.start != end || end - start >= longest {
                break;
            }
            end = later.end;
        }
        while end - start < longest && start > 0 {
            match self.extents.at(start - 1) {
                Some((before, _)) => start = before.start,
                None => break,
            }
        }
        start..end.min(start + longest)
    }

    /// Whether data of `range` that arrived at `seq` or before is still here.
    pub(crate) fn holds(&self, range: Range<u64>, seq: u64) -> bool {
        self.extents.overlapping(range).any(|(_, layers)| layers.first_seq <= seq)
    }

    /// The smallest id among the writes.
    pub(crate) fn oldest_id(&self) -> Option<u64> {
        self.extents.iter().flat_map(|(_, layers)| layers.ids.iter().copied()).min()
    }

    /// Forgets everything; says what is lost by it.
    pub(crate) fn lose(&mut self) -> Vec<LostRange> {
        let lost = self.extents.iter().flat_map(|(range, layers)| lost(range, layers)).collect();
        self.extents.clear();
        self.by_age.clear();
        lost
    }
}

/// What is lost when `range` of `layers` goes.
pub(crate) fn lost(range: Range<u64>, layers: &Layers) -> Vec<LostRange> {
    let range = SectorRange { lba: Lba(range.start), sectors: range.end - range.start };
    layers.ids.iter().map(|&id| LostRange { id, range }).collect()
}

/// Sorts by id and address and joins what adjoins.
pub(crate) fn tidy(mut lost: Vec<LostRange>) -> Vec<LostRange> {
    lost.sort_unstable();
    let mut joined: Vec<LostRange> = Vec::with_capacity(lost.len());
    for next in lost {
        match joined.last_mut() {
            Some(last)
                if last.id == next.id
                    && last.range.lba.0 + last.range.sectors >= next.range.lba.0 =>
            {
                let end = (next.range.lba.0 + next.range.sectors)
                    .max(last.range.lba.0 + last.range.sectors);
                last.range.sectors = end - last.range.lba.0;
            }
            _ => joined.push(next),
        }
    }
    joined
}
