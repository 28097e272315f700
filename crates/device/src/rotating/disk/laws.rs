//! Laws of a rotating disk, and what is left of it without them.

use seekwell_model::laws::{Law, LawSet};

use super::super::seek::SeekCurve;
use super::{Cost, Disk};
use crate::front::Lawful;

const FREE: Cost = Cost { after_read_ns: 0, after_write_ns: 0 };

/// Laws that every rotating disk has.
const ALWAYS: [Law; 6] =
    [Law::Seek, Law::Settle, Law::Rotation, Law::Transfer, Law::Overhead, Law::Flush];

impl Lawful for Disk {
    fn laws_in_force(&self) -> LawSet {
        LawSet::from_iter(ALWAYS).with(Law::Bus, self.link.moves())
    }

    /// Layout and skews stay those of the whole disk.
    fn take_away(&mut self, laws: LawSet) {
        let Self { mechanics, times, link, .. } = self;
        link.switch_off(laws);
        if laws.contains(Law::Seek) {
            mechanics.seek = SeekCurve::NONE;
        }
        if laws.contains(Law::Settle) {
            mechanics.head_switch_ns = 0;
            mechanics.read_settle_ns = 0;
            mechanics.write_settle_ns = 0;
            mechanics.write_track_settle_ns = 0;
        }
        mechanics.waits &= !laws.contains(Law::Rotation);
        mechanics.transfers &= !laws.contains(Law::Transfer);
        if laws.contains(Law::Overhead) {
            times.read_hit = FREE;
            times.read_sequential_ns = None;
            times.read_miss = FREE;
            times.write = FREE;
            times.write_through = FREE;
            times.write_sequential_ns = None;
        }
        if laws.contains(Law::Flush) {
            times.flush_waits = false;
        }
    }
}
