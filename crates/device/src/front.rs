//! The desk where requests arrive and completions leave: what all models share and none decides.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt;
use std::ops::Range;

use seekwell_model::laws::{Law, LawSet};

use crate::evidence::Evidence;
use crate::model::{
    Completion, Geometry, LostRange, LostWrites, Model, Operation, Refused, Request, SectorRange,
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
    /// Requests that touch sectors of an earlier one that is not done.
    held: BTreeSet<u64>,
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
            held: BTreeSet::new(),
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
            return Err(Refused::DuplicateId(id));
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

    /// Due time of the earliest completion that was not fetched yet.
    fn unfetched_ns(&self) -> Option<u64> {
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
    fn is_in_conflict(&self, id: u64) -> bool {
        let Some(request) = self.outstanding.get(&id) else { return false };
        self.outstanding.range(..id).any(|(_, earlier)| conflict(earlier, request))
    }

    /// Lets a request wait that is in conflict with an earlier one; false if it need not.
    fn hold(&mut self, id: u64) -> bool {
        self.is_in_conflict(id) && self.held.insert(id)
    }

    /// Takes out the requests that no longer have to wait.
    fn take_released(&mut self) -> Vec<u64> {
        let free: Vec<u64> =
            self.held.iter().copied().filter(|id| !self.is_in_conflict(*id)).collect();
        self.held.retain(|id| !free.contains(id));
        free
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = &u64> {
        self.held.iter()
    }

    pub(crate) fn outstanding(&self) -> impl Iterator<Item = &Request> {
        self.outstanding.values()
    }

    /// Forgets all requests, as a power cut does; returns the writes among them.
    pub(crate) fn drop_all(&mut self) -> Vec<LostRange> {
        if !self.outstanding.is_empty() {
            self.totals.busy_ns += self.now_ns - self.busy_since_ns;
        }
        self.done.clear();
        self.held.clear();
        let dropped = std::mem::take(&mut self.outstanding);
        dropped.values().filter(|request| request.operation.writes()).map(whole).collect()
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

/// Events by time, then in the order in which they were added.
#[derive(Clone, Debug)]
pub(crate) struct Agenda<E> {
    events: BinaryHeap<Reverse<(u64, u64, E)>>,
    added: u64,
}

impl<E: Ord> Default for Agenda<E> {
    fn default() -> Self {
        Self { events: BinaryHeap::new(), added: 0 }
    }
}

impl<E: Copy + Ord> Agenda<E> {
    pub(crate) fn add(&mut self, at_ns: u64, event: E) {
        self.added += 1;
        self.events.push(Reverse((at_ns, self.added, event)));
    }

    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.events.peek().map(|event| event.0.0)
    }

    /// Takes the next event out, if it is due at `now_ns`.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Option<(u64, E)> {
        self.next_ns().filter(|at_ns| *at_ns <= now_ns)?;
        self.events.pop().map(|Reverse((at_ns, _, event))| (at_ns, event))
    }

    /// All events with their times, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, E)> {
        self.events.iter().map(|Reverse((at_ns, _, event))| (*at_ns, *event))
    }

    pub(crate) fn clear(&mut self) {
        self.events.clear();
    }
}

/// A law of a device, for experiments: whether it takes time there, and how it is taken away.
pub(crate) type Rule<D> = (Law, fn(&D) -> bool, fn(&mut D));

/// A model with a [`Front`]: what is its own. The rest of [`Model`] follows from it.
pub(crate) trait Device: Clone + fmt::Debug + Send + 'static {
    /// All laws that devices of this kind may have.
    const LAWS: &'static [Rule<Self>] = &[];

    /// True if a request waits for earlier ones that touch its sectors.
    const HOLDS_CONFLICTS: bool = true;

    fn front(&self) -> &Front;

    fn front_mut(&mut self) -> &mut Front;

    /// Time of the device's next action, whether or not a request is outstanding.
    fn next_action_ns(&self) -> Option<u64>;

    /// Does everything that is due at `now_ns`, and passes the time.
    fn catch_up(&mut self, now_ns: u64);

    /// The electronics take the command up.
    fn start(&mut self, now_ns: u64, id: u64);

    /// Forgets what a power failure takes; says what is lost. The model has caught up.
    fn fail(&mut self, now_ns: u64) -> LostWrites;

    /// Laws that take time; see [`Model::laws`].
    fn laws_in_force(&self) -> LawSet {
        let all = Self::LAWS.iter();
        all.fold(LawSet::NONE, |set, &(law, acts, _)| set.with(law, acts(self)))
    }

    /// Takes laws away from the calculated times; see [`Model::switch_off`].
    fn take_away(&mut self, laws: LawSet) {
        for &(law, _, switch_off) in Self::LAWS {
            if laws.contains(law) {
                switch_off(self);
            }
        }
    }

    /// Adds the device's own counters to the totals.
    fn add_evidence(&self, _totals: &mut Evidence) {}

    /// A request is done; those that waited for it start.
    fn finish(&mut self, at_ns: u64, id: u64) {
        self.front_mut().finish(id, at_ns);
        for id in self.front_mut().take_released() {
            self.start(at_ns, id);
        }
    }
}

impl<D: Device> Model for D {
    fn duplicate(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn geometry(&self) -> Geometry {
        self.front().geometry
    }

    fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), Refused> {
        self.front().check(now_ns, &request)?;
        self.catch_up(now_ns);
        self.front_mut().admit(request)?;
        if !(D::HOLDS_CONFLICTS && self.front_mut().hold(request.id)) {
            self.start(now_ns, request.id);
        }
        Ok(())
    }

    fn next_event_ns(&self) -> Option<u64> {
        let front = self.front();
        front.unfetched_ns().or_else(|| self.next_action_ns().filter(|_| !front.is_idle()))
    }

    fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.catch_up(now_ns);
        completions.append(&mut self.front_mut().done);
    }

    fn power_cut(&mut self, now_ns: u64) -> LostWrites {
        self.catch_up(now_ns);
        self.fail(self.front().now_ns)
    }

    fn evidence(&self) -> Evidence {
        let mut totals = self.front().totals();
        self.add_evidence(&mut totals);
        totals
    }

    fn laws(&self) -> LawSet {
        self.laws_in_force()
    }

    fn switch_off(&mut self, laws: LawSet) {
        self.take_away(laws);
    }
}
