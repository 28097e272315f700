//! A partition of a modelled device.

use seekwell_device::evidence::Evidence;
use seekwell_device::{
    Completion, Geometry, Lba, LostRange, LostWrites, Model, Refused, Request, SectorRange,
};
use seekwell_model::laws::LawSet;

#[cfg(test)]
mod tests;

/// A device of which only some sectors are used. Everything else is the device's own.
#[derive(Debug)]
pub struct Partition {
    whole: Box<dyn Model>,
    start: u64,
    sectors: u64,
}

impl Partition {
    /// So many sectors of a device from `start` on, of 512 bytes each; fewer when it has no more.
    #[must_use]
    pub fn new(whole: Box<dyn Model>, start: u64, sectors: u64) -> Self {
        let sectors = sectors.min(whole.geometry().sectors_512.saturating_sub(start));
        Self { whole, start, sectors }
    }

    /// The part of a range of the device that is in the partition, as the partition counts.
    fn inside(&self, range: SectorRange) -> Option<SectorRange> {
        let first = range.lba.0.max(self.start);
        let end = (range.lba.0 + range.sectors).min(self.start + self.sectors);
        let sectors = end.checked_sub(first).filter(|sectors| *sectors > 0)?;
        Some(SectorRange { lba: Lba(first - self.start), sectors })
    }
}

impl Model for Partition {
    fn duplicate(&self) -> Box<dyn Model> {
        let (start, sectors) = (self.start, self.sectors);
        Box::new(Self { whole: self.whole.duplicate(), start, sectors })
    }

    fn geometry(&self) -> Geometry {
        Geometry { sectors_512: self.sectors, ..self.whole.geometry() }
    }

    fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), Refused> {
        self.geometry().check(&request)?;
        // A flush has no place.
        let start = if request.sectors > 0 { self.start } else { 0 };
        self.whole.submit(now_ns, Request { lba: Lba(request.lba.0 + start), ..request })
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.whole.next_event_ns()
    }

    fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.whole.advance(now_ns, completions);
    }

    fn power_cut(&mut self, now_ns: u64) -> LostWrites {
        let LostWrites { lost, damaged } = self.whole.power_cut(now_ns);
        let here = |one: LostRange| Some(LostRange { range: self.inside(one.range)?, ..one });
        LostWrites {
            lost: lost.into_iter().filter_map(here).collect(),
            damaged: damaged.into_iter().filter_map(|range| self.inside(range)).collect(),
        }
    }

    fn evidence(&self) -> Evidence {
        self.whole.evidence()
    }

    fn laws(&self) -> LawSet {
        self.whole.laws()
    }

    fn switch_off(&mut self, laws: LawSet) {
        self.whole.switch_off(laws);
    }
}
