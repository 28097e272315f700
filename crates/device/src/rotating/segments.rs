//! The read buffer: a few segments, each holding one run of sectors.

use std::ops::Range;

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Segment {
    held: Range<u64>,
    /// Start of the run as it was read: `held` without the loss of what was delivered.
    begun: u64,
    /// Larger is more recent; 0 was never used.
    used: u64,
}

impl Segment {
    fn hold(&mut self, run: Range<u64>) {
        self.begun = run.start;
        self.held = run;
    }
}

/// All segments.
#[derive(Clone, Debug)]
pub(crate) struct Segments {
    list: Vec<Segment>,
    /// Sectors in a segment.
    size: u64,
    uses: u64,
}

impl Segments {
    pub(crate) fn new(count: u32, size: u64) -> Self {
        Self { list: vec![Segment::default(); count as usize], size, uses: 0 }
    }

    /// The first sector at or behind `sector` that no segment holds in one piece with it.
    pub(crate) fn held_until(&self, sector: u64) -> u64 {
        let holding = self.list.iter().filter(|segment| segment.held.contains(&sector));
        holding.map(|segment| segment.held.end).max().unwrap_or(sector)
    }

    pub(crate) fn covers(&self, range: &Range<u64>) -> bool {
        self.held_until(range.start) >= range.end
    }

    /// Uses the segment that is continued, or the one longest unused; true for a continued one. `None` when there is no
    /// buffer.
    fn claim(&mut self, continues: impl Fn(&Segment) -> bool) -> Option<(usize, bool)> {
        self.uses += 1;
        let continued = self.list.iter().position(continues);
        let oldest = || (0..self.list.len()).min_by_key(|index| self.list[*index].used);
        let index = continued.or_else(oldest)?;
        self.list[index].used = self.uses;
        Some((index, continued.is_some()))
    }

    /// A segment for a run that starts at `sector`: the one that ends there, or the one longest unused.
    /// `None` when there is no buffer.
    pub(crate) fn open(&mut self, sector: u64) -> Option<usize> {
        let ends_there = |segment: &Segment| segment.held.end == sector && !segment.held.is_empty();
        let (index, continues) = self.claim(ends_there)?;
        if !continues {
            self.list[index].hold(sector..sector);
        }
        Some(index)
    }

    /// Sectors up to `end` were read into segment `index`; the oldest fall out when it is full.
    pub(crate) fn extend(&mut self, index: usize, end: u64) {
        if let Some(segment) = self.list.get_mut(index)
            && end > segment.held.end
        {
            let least = end.saturating_sub(self.size);
            segment.held = segment.held.start.max(least)..end;
            segment.begun = segment.begun.max(least);
        }
    }

    /// Start of the run that was read and holds `sector`; `sector` itself when none does.
    pub(crate) fn begun(&self, sector: u64) -> u64 {
        let holding = self.list.iter().filter(|segment| segment.held.contains(&sector));
        holding.map(|segment| segment.begun).min().unwrap_or(sector)
    }

    /// Sectors from `start` on, which passed before the first of segment `index`, were read too.
    pub(crate) fn extend_front(&mut self, index: usize, start: u64) {
        if let Some(segment) = self.list.get_mut(index)
            && start < segment.held.start
        {
            let start = start.max(segment.held.end.saturating_sub(self.size));
            segment.hold(start..segment.held.end);
        }
    }

    /// Written data takes a segment: the one it continues, or the one longest unused.
    pub(crate) fn write(&mut self, range: &Range<u64>, appends: bool) {
        let ends_there = |segment: &Segment| appends && segment.held.end == range.start;
        let Some((index, continues)) = self.claim(ends_there) else { return };
        let segment = &mut self.list[index];
        let start = if continues { segment.held.start } else { range.start };
        segment.hold(start.max(range.end.saturating_sub(self.size))..range.end);
    }

    /// The data of `range` went to the host; a buffer that does not keep it forgets all up to its end.
    pub(crate) fn deliver(&mut self, range: &Range<u64>, keep: bool) {
        self.uses += 1;
        for segment in self.list.iter_mut().filter(|segment| segment.held.contains(&range.start)) {
            segment.used = self.uses;
            if !keep {
                segment.held.start = range.end.min(segment.held.end);
            }
        }
    }

    /// New data for `range`: what was read before is stale.
    pub(crate) fn forget(&mut self, range: &Range<u64>) {
        for segment in &mut self.list {
            let Range { start, end } = segment.held;
            if start < range.end && range.start < end {
                segment.hold(if start < range.start {
                    start..range.start
                } else {
                    range.end.min(end)..end
                });
            }
        }
    }

    /// New data for `range`: every segment that holds some of it is empty.
    pub(crate) fn discard(&mut self, range: &Range<u64>) {
        let meets = |held: &Range<u64>| held.start < range.end && range.start < held.end;
        for segment in self.list.iter_mut().filter(|segment| meets(&segment.held)) {
            *segment = Segment::default();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.list.fill(Segment::default());
    }
}
