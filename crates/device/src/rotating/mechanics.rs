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
pub(crate) struct Mechanics {
    pub(crate) layout: Layout,
    pub(crate) seek: SeekCurve,
    pub(crate) head_switch_ns: u64,
    /// Extra time before a read may start after the arm moved farther than to the next cylinder.
    pub(crate) read_settle_ns: u64,
    /// The same for a write.
    pub(crate) write_settle_ns: u64,
    /// The same after another head or the next cylinder.
    pub(crate) write_track_settle_ns: u64,
    /// Angle of the platters at time 0.
    pub(crate) phase_ns: u64,
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
        let turn = self.layout.turn_ns;
        let now = (at_ns % turn + self.phase_ns) % turn;
        (angle_ns % turn + turn - now) % turn
    }

    /// From the arm's place at `at_ns` to the first bit of `lba`; a write may not start before `data_ns`.
    pub(crate) fn approach(
        &self,
        from: Arm,
        at_ns: u64,
        lba: u64,
        write: bool,
        data_ns: u64,
    ) -> Approach {
        let place = self.layout.place(lba);
        let move_ns = self.move_ns(from, &place, write);
        let settled = (at_ns + move_ns).max(data_ns);
        let wait_ns = self.wait_ns(settled, place.angle_ns);
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
            let arm = Arm { cylinder: place.cylinder, head: place.head };
            let at_ns = self.approach(arm, end, lba, write, 0).at_ns;
            if at_ns > now_ns {
                return cursor;
            }
            cursor = Cursor { lba, at_ns };
        }
        cursor
    }

    /// Time for `count` sectors of one track to pass, from the first bit of `place` on.
    ///
    /// The difference of two angles, each rounded alike: a run that starts where another ended must find its
    /// first sector at that very nanosecond, not one turn later.
    fn span_ns(&self, place: &Place, count: u64) -> u64 {
        let end = (u64::from(place.slot) + count) * self.layout.turn_ns;
        end / u64::from(place.sectors_per_track) - place.angle_ns
    }
}
