//! The desk where requests arrive and completions leave: what all models share and none decides.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::Range;

use crate::evidence::Evidence;
use crate::model::{
    Completion, Geometry, LostRange, LostWrites, Operation, Refused, Request, SectorRange,
};
use crate::volatile::{Layers, Volatile};

#[cfg(test)]
mod tests;

/// Outstanding requests, unfetched completions, the latest time passed in, and the totals.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    geometry: Geometry,
    now_ns: u64,
    last_id: Option<u64>,
    outstanding: BTreeMap<u64, Request>,
    done: Vec<Completion>,
    busy_since_ns: u64,
    totals: Evidence,
}

impl Front {
    pub(crate) fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            now_ns: 0,
            last_id: None,
            outstanding: BTreeMap::new(),
            done: Vec::new(),
            busy_since_ns: 0,
            totals: Evidence::default(),
        }
    }

    pub(crate) const fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Moves the latest known time on; an earlier one changes nothing.
    pub(crate) fn pass_time(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Checks a request as far as possible before the model catches up with `now_ns`.
    pub(crate) fn check(&self, now_ns: u64, request: &Request) -> Result<(), Refused> {
        let id = request.id;
        if now_ns < self.now_ns {
            return Err(Refused::TimeWentBack { id, at_ns: now_ns, now_ns: self.now_ns });
        }
        if self.last_id.is_some_and(|last| id <= last) {
            return Err(Refused::DuplicateId { id });
        }
        self.geometry.check(request)
    }

    /// Takes a request that [`check`](Self::check) passed, once the model has caught up.
    pub(crate) fn admit(&mut self, request: Request) -> Result<(), Refused> {
        let depth = self.geometry.queue_depth;
        if self.outstanding.len() >= depth as usize {
            return Err(Refused::QueueFull { id: request.id, depth });
        }
        if self.outstanding.is_empty() {
            self.busy_since_ns = self.now_ns;
        }
        self.last_id = Some(request.id);
        self.outstanding.insert(request.id, request);
        Ok(())
    }

    /// A request is done at `at_ns`.
    pub(crate) fn finish(&mut self, id: u64, at_ns: u64) {
        let Some(request) = self.outstanding.remove(&id) else { return };
        self.done.push(Completion { id, at_ns });
        let totals = &mut self.totals;
        let sectors = u64::from(request.sectors);
        match request.operation {
            Operation::Read => {
                totals.reads += 1;
                totals.sectors_read += sectors;
            }
            Operation::Write | Operation::WriteZeroes => {
                totals.writes += 1;
                totals.sectors_written += sectors;
            }
            Operation::Flush => totals.flushes += 1,
            Operation::Discard => totals.discards += 1,
        }
        if self.outstanding.is_empty() {
            totals.busy_ns += at_ns - self.busy_since_ns;
        }
    }

    pub(crate) fn fetch(&mut self, completions: &mut Vec<Completion>) {
        completions.append(&mut self.done);
    }

    /// Due time of the earliest completion that was not fetched yet.
    pub(crate) fn unfetched_ns(&self) -> Option<u64> {
        self.done.first().map(|completion| completion.at_ns.max(self.now_ns))
    }

    pub(crate) const fn now_ns(&self) -> u64 {
        self.now_ns
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.outstanding.is_empty()
    }

    pub(crate) fn get(&self, id: u64) -> Option<Request> {
        self.outstanding.get(&id).copied()
    }

    /// Returns true if an earlier outstanding request touches the same sectors and one of the two writes.
    pub(crate) fn is_in_conflict(&self, id: u64) -> bool {
        let Some(request) = self.outstanding.get(&id) else { return false };
        self.outstanding.range(..id).any(|(_, earlier)| conflict(earlier, request))
    }

    pub(crate) fn outstanding(&self) -> impl DoubleEndedIterator<Item = &Request> {
        self.outstanding.values()
    }

    /// Forgets all requests, as a power cut does; says which there were.
    pub(crate) fn drop_all(&mut self) -> Vec<Request> {
        if !self.outstanding.is_empty() {
            self.totals.busy_ns += self.now_ns - self.busy_since_ns;
        }
        self.done.clear();
        std::mem::take(&mut self.outstanding).into_values().collect()
    }

    /// The totals so far, the time of requests still outstanding included.
    pub(crate) fn totals(&self) -> Evidence {
        let mut totals = self.totals.clone();
        if !self.outstanding.is_empty() {
            totals.busy_ns += self.now_ns - self.busy_since_ns;
        }
        totals
    }
}

/// Returns true if two requests touch a common sector and one of them writes, so that their order matters.
pub(crate) fn conflict(one: &Request, other: &Request) -> bool {
    let overlap = one.lba.0 < other.end() && other.lba.0 < one.end();
    overlap && (one.operation.writes() || other.operation.writes())
}

/// A request that is done once all data that arrived up to `seq` in `range` is on the medium.
#[derive(Clone, Debug)]
pub(crate) struct Durability {
    pub(crate) id: u64,
    pub(crate) seq: u64,
    pub(crate) range: Range<u64>,
}

/// Takes out what need not wait any longer: none of its data is in the buffer or among the pieces being written.
pub(crate) fn settled(
    waiting: &mut Vec<Durability>,
    volatile: &Volatile,
    writing: &[&(Range<u64>, Layers)],
) -> Vec<u64> {
    let is_done = |waits: &mut Durability| {
        let under_way = writing.iter().any(|(range, layers)| {
            let meets = range.start < waits.range.end && waits.range.start < range.end;
            meets && layers.first_seq <= waits.seq
        });
        !under_way && !volatile.holds(waits.range.clone(), waits.seq)
    };
    waiting.extract_if(.., is_done).map(|waits| waits.id).collect()
}

/// The whole of a write.
pub(crate) fn whole(request: &Request) -> LostRange {
    let range = SectorRange { lba: request.lba, sectors: request.sectors.into() };
    LostRange { id: request.id, range }
}

/// A device whose completion times are known on submission and whose completed writes are durable.
#[derive(Clone, Debug)]
pub(crate) struct Scheduled {
    front: Front,
    due: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Scheduled {
    pub(crate) fn new(geometry: Geometry) -> Self {
        Self { front: Front::new(geometry), due: BinaryHeap::new() }
    }

    pub(crate) const fn geometry(&self) -> Geometry {
        self.front.geometry()
    }

    /// Takes a request and asks `time` for its completion; overlapping requests keep their order.
    pub(crate) fn submit(
        &mut self,
        now_ns: u64,
        request: Request,
        time: impl FnOnce() -> u64,
    ) -> Result<(), Refused> {
        self.front.check(now_ns, &request)?;
        self.catch_up(now_ns);
        self.front.admit(request)?;
        let earlier = self.due.iter().filter(|Reverse((_, id))| {
            self.front.outstanding.get(id).is_some_and(|other| conflict(&request, other))
        });
        let after = earlier.map(|Reverse((at_ns, _))| *at_ns).max().unwrap_or(now_ns);
        self.due.push(Reverse((time().max(after), request.id)));
        Ok(())
    }

    fn catch_up(&mut self, now_ns: u64) {
        while let Some(Reverse((at_ns, id))) =
            self.due.peek().copied().filter(|due| due.0.0 <= now_ns)
        {
            self.due.pop();
            self.front.finish(id, at_ns);
        }
        self.front.pass_time(now_ns);
    }

    pub(crate) fn next_event_ns(&self) -> Option<u64> {
        self.front.unfetched_ns().or_else(|| self.due.peek().map(|due| due.0.0))
    }

    pub(crate) fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.catch_up(now_ns);
        self.front.fetch(completions);
    }

    /// Requests still under way had no effect.
    pub(crate) fn power_cut(&mut self, now_ns: u64) -> LostWrites {
        self.catch_up(now_ns);
        self.due.clear();
        let dropped = self.front.drop_all();
        let lost = dropped.iter().filter(|request| request.operation.writes()).map(whole).collect();
        LostWrites { lost, damaged: Vec::new() }
    }

    pub(crate) fn oldest_volatile_write(&self) -> Option<u64> {
        self.front
            .outstanding()
            .find(|request| request.operation.writes())
            .map(|request| request.id)
    }

    pub(crate) fn totals(&self) -> Evidence {
        self.front.totals()
    }
}
