//! The front of a modelled device: what a partition of that size at its beginning would be.

use seekwell_device::evidence::Evidence;
use seekwell_device::{Completion, Geometry, LostWrites, Model, Refused, Request};

#[cfg(test)]
mod tests;

/// A device of which only the first sectors are used. Everything else is the device's own.
#[derive(Debug)]
pub struct Partition {
    whole: Box<dyn Model>,
    sectors: u64,
}

impl Partition {
    /// The first sectors of a device, of 512 bytes each; all of it when it has no more.
    #[must_use]
    pub fn new(whole: Box<dyn Model>, sectors: u64) -> Self {
        let sectors = sectors.min(whole.geometry().sectors_512);
        Self { whole, sectors }
    }
}

impl Model for Partition {
    fn duplicate(&self) -> Box<dyn Model> {
        Box::new(Self { whole: self.whole.duplicate(), sectors: self.sectors })
    }

    fn geometry(&self) -> Geometry {
        Geometry { sectors_512: self.sectors, ..self.whole.geometry() }
    }

    fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), Refused> {
        self.geometry().check(&request)?;
        self.whole.submit(now_ns, request)
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.whole.next_event_ns()
    }

    fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.whole.advance(now_ns, completions);
    }

    fn power_cut(&mut self, now_ns: u64) -> LostWrites {
        self.whole.power_cut(now_ns)
    }

    fn oldest_volatile_write(&self) -> Option<u64> {
        self.whole.oldest_volatile_write()
    }

    fn evidence(&self) -> Evidence {
        self.whole.evidence()
    }
}
