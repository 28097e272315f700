//! Laws of a solid-state disk, and what is left of it without them.

use seekwell_model::laws::{Law, LawSet};

use super::{Collecting, Drive};
use crate::front::Lawful;

/// Laws that every solid-state disk has.
const ALWAYS: [Law; 5] = [Law::Cells, Law::Program, Law::Collect, Law::Channel, Law::Overhead];

impl Lawful for Drive {
    fn laws_in_force(&self) -> LawSet {
        LawSet::from_iter(ALWAYS)
            .with(Law::FastCells, self.slc.is_some())
            .with(Law::Heat, self.heat.is_some())
            .with(Law::Bus, self.link.moves())
            .with(Law::Flush, self.flush_waits || self.times.flush_ns > 0)
    }

    fn take_away(&mut self, laws: LawSet) {
        let Self { times, link, slc, .. } = self;
        link.switch_off(laws);
        if laws.contains(Law::Cells) {
            (times.read_page_ns, times.read_mean_ns) = (0, 0);
            times.read_more_ns.clear();
        }
        if laws.contains(Law::Program) {
            times.program_ns = 0;
        }
        if let Some(slc) = slc {
            if laws.contains(Law::Program) {
                slc.program_ns = 0;
            }
            if laws.contains(Law::FastCells) {
                slc.capacity_units = u64::MAX;
            }
        }
        if laws.contains(Law::Collect) {
            times.collect = Collecting::default();
        }
        if laws.contains(Law::Channel) {
            times.channel = None;
        }
        if laws.contains(Law::Overhead) {
            (times.read_command_ns, times.write_command_ns) = (0, 0);
        }
        if laws.contains(Law::Heat) {
            self.heat = None;
        }
        if laws.contains(Law::Flush) {
            (self.flush_waits, self.times.flush_ns) = (false, 0);
        }
    }
}
