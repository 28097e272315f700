//! Written data that a power cut would undo: which writes each sector of it came from, and since when.

use std::collections::BTreeSet;
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
    /// Arrival of the oldest data.
    pub(crate) since_ns: u64,
}

/// A run of sectors with its layers, taken out to be written.
pub(crate) type Pieces = Vec<(Range<u64>, Layers)>;

/// Data in a volatile buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Volatile {
    extents: ExtentMap<Layers>,
    arrivals: u64,
    /// First arrival and start of every extent, oldest first.
    by_age: BTreeSet<(u64, u64)>,
    /// Adjoining extents as one.
    areas: ExtentMap<()>,
}

impl Volatile {
    /// Data of write `id` arrives; returns its place in the order of arrival.
    pub(crate) fn insert(&mut self, range: Range<u64>, id: u64, now_ns: u64) -> u64 {
        self.arrivals += 1;
        let seq = self.arrivals;
        self.change(&range, |extents| {
            extents.update(range.clone(), |old| {
                let mut layers =
                    old.unwrap_or(Layers { ids: Vec::new(), first_seq: seq, since_ns: now_ns });
                layers.ids.push(id);
                layers
            });
        });
        self.join_area(range);
        seq
    }

    /// Changes extents of `range` and keeps the order of age true.
    fn change<T>(
        &mut self,
        range: &Range<u64>,
        change: impl FnOnce(&mut ExtentMap<Layers>) -> T,
    ) -> T {
        let mut touched = range.clone();
        for (extent, layers) in self.extents.overlapping(range.clone()) {
            self.by_age.remove(&(layers.first_seq, extent.start));
            touched = touched.start.min(extent.start)..touched.end.max(extent.end);
        }
        let answer = change(&mut self.extents);
        for (extent, layers) in self.extents.overlapping(touched) {
            self.by_age.insert((layers.first_seq, extent.start));
        }
        answer
    }

    fn join_area(&mut self, range: Range<u64>) {
        // With those that only adjoin it.
        let near = range.start.saturating_sub(1)..range.end.saturating_add(1);
        let joined = self
            .areas
            .overlapping(near)
            .fold(range, |all, (area, ())| all.start.min(area.start)..all.end.max(area.end));
        self.areas.remove(joined.clone());
        self.areas.insert(joined, ());
    }

    /// Runs of adjoining data.
    pub(crate) fn runs(&self) -> usize {
        self.areas.iter().count()
    }

    /// True when a run of data ends at `sector` or holds it.
    pub(crate) fn continues(&self, sector: u64) -> bool {
        self.areas.overlapping(sector.saturating_sub(1)..sector.saturating_add(1)).next().is_some()
    }

    /// The run of adjoining data that holds `sector`.
    fn area_of(&self, sector: u64) -> Option<Range<u64>> {
        self.areas.at(sector).map(|(area, ())| area)
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
        self.areas.remove(range.clone());
        self.change(&range, |extents| extents.remove(range.clone()))
    }

    /// Returns the arrival time of the oldest data.
    pub(crate) fn oldest_since_ns(&self) -> Option<u64> {
        self.oldest().map(|(_, layers)| layers.since_ns)
    }

    fn oldest(&self) -> Option<(Range<u64>, &Layers)> {
        let (_, start) = self.by_age.first()?;
        self.extents.at(*start)
    }

    /// First sectors of the `count` runs of adjoining data whose data is oldest, by age, as far as any of it arrived
    /// at `seq` or before.
    pub(crate) fn oldest_runs(&self, count: usize, seq: u64) -> Vec<u64> {
        // A run of many small extents is one candidate; the factor bounds what looking for others may cost.
        const EXTENTS_PER_RUN: usize = 16;
        let mut runs: Vec<Range<u64>> = Vec::new();
        let by_age = self.by_age.iter().take_while(|(first, _)| *first <= seq);
        for (_, start) in by_age.take(count.saturating_mul(EXTENTS_PER_RUN)) {
            if runs.len() >= count {
                break;
            }
            if !runs.iter().any(|run| run.contains(start)) {
                runs.extend(self.area_of(*start));
            }
        }
        runs.into_iter().map(|run| run.start).collect()
    }

    /// First sector to write so that data of `range` that arrived at `seq` or before becomes durable: the start of
    /// its run, unless that is `longest` sectors or more away. `None` when no such data is here.
    pub(crate) fn start_within(&self, range: Range<u64>, seq: u64, longest: u64) -> Option<u64> {
        let mut wanted = self.extents.overlapping(range);
        let (extent, _) = wanted.find(|(_, layers)| layers.first_seq <= seq)?;
        let area = self.area_of(extent.start)?;
        let is_near = extent.start - area.start < longest;
        Some(if is_near { area.start } else { extent.start })
    }

    /// Adjoining data from `start` on, at most `longest` sectors of it; empty when there is none.
    pub(crate) fn run_from(&self, start: u64, longest: u64) -> Range<u64> {
        let end = self.area_of(start).map_or(start, |area| area.end);
        start..end.min(start.saturating_add(longest))
    }

    /// Returns true if data of `range` that arrived at `seq` or before is still here.
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
        self.areas.clear();
        lost
    }
}

/// Returns the data that are lost when `range` of `layers` is lost.
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
