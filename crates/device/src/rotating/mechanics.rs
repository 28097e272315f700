//! Arm and platters: when sectors pass under the head.

use super::layout::{Layout, Place};
use super::seek::SeekCurve;

#[cfg(test)]
mod tests;

/// Position of the arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arm {
    pub(crate) cylinder: u32,
    pub(crate) head: u32,
}

/// The moving parts.
#[derive(Clone, Debug)]
pub struct Mechanics {
    /// Zones and time of a turn.
    pub layout: Layout,
    /// Time to cross cylinders.
    pub seek: SeekCurve,
    pub(crate) head_switch_ns: u64,
    /// Extra time before a read may start after the arm moved farther than to the next cylinder.
    pub read_settle_ns: u64,
    /// The same for a write.
    pub(crate) write_settle_ns: u64,
    /// The same after another head or the next cylinder.
    pub(crate) write_track_settle_ns: u64,
    /// Angle of the platters at time 0.
    pub(crate) phase_ns: u64,
    /// False if every first sector is under the head at once: an experiment.
    pub(crate) waits: bool,
    /// False if sectors pass in no time, and the platters are then behind the last: an experiment.
    pub(crate) transfers: bool,
    /// The sector behind the last run, if transfer takes no time. A disk that reads on instantly stops when its
    /// buffer is full; one that takes its time need not, so a run that continues there is not waited for.
    pub(crate) next: Option<u64>,
}

/// Times to reach a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Approach {
    /// Cylinders crossed.
    pub(crate) cylinders: u32,
    /// Moving the arm, changing heads and settling.
    pub(crate) move_ns: u64,
    /// Waiting for the sector.
    pub(crate) wait_ns: u64,
    /// Time at which its first bit passes under the head.
    pub(crate) at_ns: u64,
}

/// A run of sectors under the head: the next one and when its first bit passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) lba: u64,
    pub(crate) at_ns: u64,
}

impl Mechanics {
    fn move_ns(&self, from: Arm, to: &Place, write: bool) -> u64 {
        let distance = from.cylinder.abs_diff(to.cylinder);
        let moved = if distance == 0 && from.head == to.head {
            return 0;
        } else if distance == 0 {
            self.head_switch_ns
        } else if from.head == to.head {
            self.seek.ns(distance)
        } else {
            self.seek.ns(distance).max(self.head_switch_ns)
        };
        moved + self.settle_ns(distance, write)
    }

    fn settle_ns(&self, distance: u32, write: bool) -> u64 {
        match (write, distance) {
            (false, 0 | 1) => 0,
            (false, _) => self.read_settle_ns,
            (true, 0 | 1) => self.write_track_settle_ns,
            (true, _) => self.write_settle_ns,
        }
    }

    /// Time until the platters are at `angle_ns`, seen at `at_ns`.
    fn wait_ns(&self, at_ns: u64, angle_ns: u64) -> u64 {
        self.turn_ns(at_ns % self.layout.turn_ns + self.phase_ns, angle_ns)
    }

    /// Time in which the platters turn from one angle to another.
    fn turn_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let turn = self.layout.turn_ns;
        if self.waits { (to_ns % turn + turn - from_ns % turn) % turn } else { 0 }
    }

    /// Time of one turn that has to be waited for.
    pub(crate) fn lost_turn_ns(&self) -> u64 {
        if self.waits { self.layout.turn_ns } else { 0 }
    }

    /// Time from the arm's place at `at_ns` to the first bit of `lba`.
    pub(crate) fn approach(&self, from: Arm, at_ns: u64, lba: u64, write: bool) -> Approach {
        let place = self.layout.place(lba);
        let move_ns = self.move_ns(from, &place, write);
        let settled = at_ns + move_ns;
        let continues = self.next == Some(lba);
        let wait_ns = if continues { 0 } else { self.wait_ns(settled, place.angle_ns) };
        Approach {
            cylinders: from.cylinder.abs_diff(place.cylinder),
            move_ns,
            wait_ns,
            at_ns: settled + wait_ns,
        }
    }

    /// Returns the position of the arm while `lba` passes.
    pub(crate) fn arm_at(&self, lba: u64) -> Arm {
        let place = self.layout.place(lba);
        Arm { cylinder: place.cylinder, head: place.head }
    }

    /// The run from `cursor` on until `lba` is next: when the sector before it has passed whole.
    ///
    /// Between tracks the head changes and waits for the skewed first sector.
    pub(crate) fn end_ns(&self, cursor: Cursor, lba: u64, write: bool) -> u64 {
        self.walk(cursor, lba, u64::MAX, write).at_ns
    }

    /// The run from `cursor` as it is at `now_ns`: the first sector that has not passed whole, `limit` at most.
    pub(crate) fn passed(&self, cursor: Cursor, limit: u64, now_ns: u64, write: bool) -> u64 {
        let track = self.walk(cursor, limit, now_ns, write);
        if track.lba >= limit || now_ns <= track.at_ns {
            return track.lba;
        }
        let place = self.layout.place(track.lba);
        let left = u64::from(place.run).min(limit - track.lba);
        // The number of whole sectors: a search, because ends of sectors are rounded.
        let (mut low, mut high) = (0, left);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if track.at_ns + self.span_ns(&place, middle) <= now_ns {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        track.lba + low
    }

    /// The sector that is under the head at `now_ns`, begun and not ended, in the run from `cursor` to `limit`.
    pub(crate) fn under_head(
        &self,
        cursor: Cursor,
        limit: u64,
        now_ns: u64,
        write: bool,
    ) -> Option<u64> {
        let track = self.walk(cursor, limit, now_ns, write);
        let passed = self.passed(cursor, limit, now_ns, write);
        let place = self.layout.place(track.lba.min(limit.saturating_sub(1)));
        let on_track = passed < limit && passed < track.lba + u64::from(place.run);
        let begun =
            now_ns > track.at_ns && now_ns > track.at_ns + self.span_ns(&place, passed - track.lba);
        (on_track && begun).then_some(passed)
    }

    /// The start of the last piece of a track of the run that begins at or before `now_ns`, or its end at `limit`.
    pub(crate) fn walk(&self, mut cursor: Cursor, limit: u64, now_ns: u64, write: bool) -> Cursor {
        while cursor.lba < limit {
            let place = self.layout.place(cursor.lba);
            let count = u64::from(place.run).min(limit - cursor.lba);
            let end = cursor.at_ns + self.span_ns(&place, count);
            if end > now_ns {
                return cursor;
            }
            let lba = cursor.lba + count;
            if lba >= limit {
                return Cursor { lba, at_ns: end };
            }
            let at_ns = self.next_piece_ns(&place, count, end, lba, write);
            if at_ns > now_ns {
                return cursor;
            }
            cursor = Cursor { lba, at_ns };
        }
        cursor
    }

    /// Time at which `lba` begins to pass, behind `count` sectors of one track from `place` on that end at `end_ns`.
    fn next_piece_ns(&self, place: &Place, count: u64, end_ns: u64, lba: u64, write: bool) -> u64 {
        let arm = Arm { cylinder: place.cylinder, head: place.head };
        let approach = self.approach(arm, end_ns, lba, write);
        if self.transfers {
            return approach.at_ns;
        }
        // The platters are behind the piece, although no time has passed.
        let angle_ns = place.angle_ns + self.arc_ns(place, count) + approach.move_ns;
        end_ns + approach.move_ns + self.turn_ns(angle_ns, self.layout.place(lba).angle_ns)
    }

    /// Turns the platters, if transfer takes no time, behind the last sector before `passed` of a run that began at
    /// `first`.
    pub(crate) fn turn_past(&mut self, now_ns: u64, first: u64, passed: u64) {
        if self.transfers || passed <= first {
            return;
        }
        self.next = Some(passed);
        let last = self.layout.place(passed - 1);
        let turn = self.layout.turn_ns;
        self.phase_ns = (last.angle_ns + self.arc_ns(&last, 1) + turn - now_ns % turn) % turn;
    }

    /// Time for `count` sectors of one track to pass, from the first bit of `place` on.
    fn span_ns(&self, place: &Place, count: u64) -> u64 {
        if self.transfers { self.arc_ns(place, count) } else { 0 }
    }

    /// The turn over `count` sectors of one track, from the first bit of `place` on.
    ///
    /// The difference of two angles, each rounded alike: a run that starts where another ended must find its
    /// first sector at that very nanosecond, not one turn later.
    fn arc_ns(&self, place: &Place, count: u64) -> u64 {
        let end = (u64::from(place.slot) + count) * self.layout.turn_ns;
        end / u64::from(place.sectors_per_track) - place.angle_ns
    }
}
