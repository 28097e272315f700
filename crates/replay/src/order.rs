//! Order by resources: the operations that must be over before one may begin.

/// An operation of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Lane.
    pub(crate) lane: u32,
    /// Number in the lane, from 1.
    pub(crate) number: u64,
    /// End of the recorded call.
    pub(crate) end_ns: u64,
}

/// Kind of use of a resource. Uses of one shared kind may overlap each other; uses of different
/// kinds, and those that are alone, keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Overlaps nothing.
    Alone,
    /// Overlaps uses of the same kind: lookups, data of a file, names in a directory.
    Shared,
    /// Overlaps uses of the same kind: listings of a directory.
    Listing,
}

/// Something that operations use: a name, a descriptor, an open file, a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Resource {
    kind: Option<Use>,
    /// Uses of the current phase, the last of each lane.
    now: Vec<Stamp>,
    /// Uses of the phase before.
    before: Vec<Stamp>,
}

impl Resource {
    /// Adds a use. `needs` gets the operations that it comes after: those of the phase before.
    pub(crate) fn add(&mut self, me: Stamp, kind: Use, needs: &mut Vec<Stamp>) {
        self.add_as_recorded(me, u64::MAX, kind, needs);
    }

    /// As [`Self::add`], but a call that was recorded while another was still running did not wait
    /// for it and need not now. Later phases come after both.
    pub(crate) fn add_as_recorded(
        &mut self,
        me: Stamp,
        start_ns: u64,
        kind: Use,
        needs: &mut Vec<Stamp>,
    ) {
        if self.kind != Some(kind) || kind == Use::Alone {
            self.before = std::mem::take(&mut self.now);
            self.kind = Some(kind);
            self.now = self.before.iter().filter(|one| one.end_ns > start_ns).copied().collect();
        }
        needs.extend(self.before.iter().filter(|one| one.end_ns <= start_ns));
        put(&mut self.now, me);
    }
}

/// Keeps the last stamp of each lane: an earlier one of the lane is over by then.
pub(crate) fn put(stamps: &mut Vec<Stamp>, me: Stamp) {
    match stamps.iter_mut().find(|one| one.lane == me.lane) {
        Some(one) if one.number <= me.number => *one = me,
        Some(_) => {}
        None => stamps.push(me),
    }
}

/// Operations of other lanes that each lane is known to come after.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    lanes: Vec<Vec<u64>>,
}

impl Known {
    /// Those of `needs` that the lane does not come after yet, one for each other lane.
    pub(crate) fn missing(&mut self, lane: u32, needs: &[Stamp]) -> Vec<(u32, u64)> {
        let lane_at = lane as usize;
        if self.lanes.len() <= lane_at {
            self.lanes.resize(lane_at + 1, Vec::new());
        }
        let known = &mut self.lanes[lane_at];
        let mut missing: Vec<(u32, u64)> = Vec::new();
        for need in needs.iter().filter(|need| need.lane != lane) {
            let at = need.lane as usize;
            if known.len() <= at {
                known.resize(at + 1, 0);
            }
            if need.number <= known[at] {
                continue;
            }
            known[at] = need.number;
            match missing.iter_mut().find(|(other, _)| *other == need.lane) {
                Some((_, number)) => *number = need.number,
                None => missing.push((need.lane, need.number)),
            }
        }
        missing
    }
}

#[cfg(test)]
mod tests;
