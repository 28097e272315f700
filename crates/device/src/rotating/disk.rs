//! The disk as a whole: electronics, bus, buffer and arm, driven by events in virtual time.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use seekwell_model::laws::Law;

use super::mechanics::{Arm, Cursor, Mechanics};
use super::seek::SeekCurve;
use super::segments::Segments;
use super::{BufferParameters, OverheadParameters, RotatingParameters};
use crate::bus::Link;
use crate::clock::ns;
use crate::evidence::{Evidence, RotatingEvidence};
use crate::front::{Agenda, Device, Durability, Front, Rule};
use crate::model::{Geometry, Lba, LostWrites, Operation, Request, SectorRange};
use crate::volatile::{Pieces, Volatile, lost, tidy};

/// Event at an instant, apart from those of the arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// A read that needs the arm may be chosen from now on.
    Ready,
    /// A read's data may go over the bus.
    Fetch(u64),
    /// A write's command is understood; it wants room in the buffer and the bus.
    Store(u64),
    /// A write's data is in the buffer.
    Stored(u64),
    /// A flush's command is understood.
    Flush(u64),
    /// A request is done.
    Complete(u64),
}

/// A read that waits for the arm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) request: Request,
    pub(super) ready_ns: u64,
}

/// Activity of the arm.
#[derive(Clone, Debug)]
pub(super) enum Motion {
    Still,
    Reading(Stream),
    /// Sectors of `range` are written from the cursor on.
    Writing {
        range: Range<u64>,
        pieces: Pieces,
        cursor: Cursor,
        end_ns: u64,
    },
}

/// A run of sectors being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// Segment of the read buffer for them; `None` without a read buffer.
    pub(super) segment: Option<usize>,
    /// A place the run has reached.
    pub(super) cursor: Cursor,
    /// End of the sectors that a request waits for.
    pub(super) must: u64,
    /// Time at which that has passed; `None` once it is handled.
    pub(super) must_ns: Option<u64>,
    /// Up to here they are read if nothing better is to be done.
    pub(super) limit: u64,
    /// Time at which that will have passed.
    pub(super) limit_ns: u64,
    /// First sector that passed before the cursor and is kept, and when the last of those has passed.
    pub(super) before: Option<(u64, u64)>,
}

/// A cost of the electronics, by what the command before was.
#[derive(Clone, Copy, Debug)]
struct Cost {
    after_read_ns: u64,
    after_write_ns: u64,
}

impl Cost {
    fn new(after_read_us: f64, after_write_us: Option<f64>) -> Self {
        let after_read_ns = ns(after_read_us);
        Self { after_read_ns, after_write_ns: after_write_us.map_or(after_read_ns, ns) }
    }

    const fn ns(self, after_write: bool) -> u64 {
        if after_write { self.after_write_ns } else { self.after_read_ns }
    }
}

/// Parameters in nanoseconds and sectors.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    read_hit: Cost,
    read_sequential_ns: Option<u64>,
    read_miss: Cost,
    write: Cost,
    write_through: Cost,
    write_sequential_ns: Option<u64>,
    pub(super) flush_ns: u64,
    /// False if a flush forces nothing out of the buffer: an experiment.
    flush_waits: bool,
    pub(super) read_ahead: u64,
    write_segments: usize,
    pub(super) write_sectors: u64,
    pub(super) destage_delay_ns: u64,
    pub(super) destage_run: u64,
    pub(super) destage_window: usize,
    pub(super) age_limit_ns: u64,
    pub(super) reorder_window: usize,
    pub(super) passed_over_ns: u64,
}

/// Everything under way, which a power failure ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Ongoing {
    pub(super) waiting: Vec<Waiting>,
    /// Writes that found no room.
    blocked: VecDeque<u64>,
    /// Sectors that are on their way over the bus.
    arriving: u64,
    pub(super) agenda: Agenda<What>,
    controller_free_ns: u64,
    bus_free_ns: u64,
    /// Writes that complete when their data is on the medium.
    pub(super) durabilities: Vec<Durability>,
    /// Flushes that wait for what arrived before them.
    pub(super) flushes: Vec<Durability>,
    /// The arm wrote from the buffer last, so a waiting command is next.
    pub(super) destaged_last: bool,
    /// The previous command was a write.
    after_write: bool,
    last_end: Option<u64>,
    last_read_end: Option<u64>,
    pub(super) sequential_reads: u32,
}

/// A rotating disk.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(super) front: Front,
    pub(super) buffer: BufferParameters,
    pub(super) times: Times,
    pub(super) link: Link,
    pub(super) mechanics: Mechanics,
    pub(super) arm: Arm,
    pub(super) motion: Motion,
    pub(super) segments: Segments,
    pub(super) volatile: Volatile,
    pub(super) physical_sectors: u64,
    pub(super) seen: RotatingEvidence,
    pub(super) now: Ongoing,
}

impl OverheadParameters {
    fn write_through(&self) -> Cost {
        match self.write_through_us {
            Some(us) => Cost::new(us, self.write_through_after_write_us),
            None => Cost::new(self.write_us, self.write_after_write_us),
        }
    }
}

impl Times {
    fn new(parameters: &RotatingParameters) -> Self {
        let buffer = &parameters.buffer;
        let sectors = |kib: u32| u64::from(kib) * 2;
        let overhead = &parameters.overhead;
        Self {
            read_hit: Cost::new(overhead.read_hit_us, overhead.read_hit_after_write_us),
            read_sequential_ns: overhead.read_sequential_us.map(ns),
            read_miss: Cost::new(overhead.read_miss_us, overhead.read_miss_after_write_us),
            write: Cost::new(overhead.write_us, overhead.write_after_write_us),
            write_through: overhead.write_through(),
            write_sequential_ns: overhead.write_sequential_us.map(ns),
            flush_ns: ns(overhead.flush_us),
            flush_waits: true,
            read_ahead: sectors(buffer.read_ahead_kib),
            write_segments: buffer.write_segments.map_or(usize::MAX, |most| most as usize),
            write_sectors: sectors(buffer.write_kib),
            destage_delay_ns: ns(buffer.destage_delay_us),
            destage_run: sectors(buffer.destage_run_kib),
            destage_window: buffer.destage_window as usize,
            age_limit_ns: ns(buffer.age_limit_ms * 1e3),
            reorder_window: parameters.reorder_window.map_or(usize::MAX, |window| window as usize),
            passed_over_ns: ns(parameters.passed_over_ms * 1e3),
        }
    }
}

impl Disk {
    pub(crate) fn new(
        geometry: Geometry,
        parameters: &RotatingParameters,
        link: Link,
        seed: u64,
    ) -> Self {
        let turn_ns = parameters.turn_ns();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        #[allow(
            clippy::expect_used,
            reason = "the same parameters were built once when the file was checked"
        )]
        let mechanics = parameters
            .mechanics(geometry.sectors_512, random.next_u64() % turn_ns, link)
            .expect("parameters were checked");
        let buffer = &parameters.buffer;
        Self {
            front: Front::new(geometry),
            buffer: buffer.clone(),
            times: Times::new(parameters),
            link,
            mechanics,
            arm: Arm::default(),
            motion: Motion::Still,
            segments: Segments::new(buffer.read_segments, u64::from(buffer.segment_kib) * 2),
            volatile: Volatile::default(),
            physical_sectors: u64::from(geometry.physical_block / 512).max(1),
            seen: RotatingEvidence::default(),
            now: Ongoing::default(),
        }
    }

    fn happen(&mut self, at_ns: u64, what: What) {
        match what {
            What::Ready => self.choose(at_ns),
            What::Fetch(id) => {
                let Some(request) = self.front.get(id) else { return };
                let range = request.lba.0..request.end();
                self.segments.deliver(&range, self.buffer.keeps_delivered);
                let done_ns = self.occupy_bus(at_ns, request.sectors);
                self.now.agenda.add(done_ns, What::Complete(id));
            }
            What::Store(id) => {
                self.now.blocked.push_back(id);
                self.admit_writes(at_ns);
            }
            What::Stored(id) => self.stored(at_ns, id),
            What::Flush(id) if !self.times.flush_waits => {
                self.now.agenda.add(at_ns, What::Complete(id))
            }
            What::Flush(id) => {
                let range = 0..self.front.geometry().sectors_512;
                let seq = self.volatile.latest_seq();
                self.now.flushes.push(Durability { id, seq, range });
                self.settle_durabilities(at_ns);
                self.choose(at_ns);
            }
            What::Complete(id) => self.finish(at_ns, id),
        }
    }

    fn occupy_bus(&mut self, at_ns: u64, sectors: u32) -> u64 {
        let start = at_ns.max(self.now.bus_free_ns);
        self.now.bus_free_ns = start + self.link.transfer_ns(sectors.into());
        self.now.bus_free_ns
    }

    fn write_cost_ns(&self, request: &Request, sequential: bool) -> u64 {
        let times = &self.times;
        let cost =
            if self.buffer.write_back && !request.fua { times.write } else { times.write_through };
        let cost_ns = cost.ns(self.now.after_write);
        times.write_sequential_ns.filter(|_| sequential).unwrap_or(cost_ns)
    }

    /// Returns the time at which a command with an overhead of `overhead_ns` is decoded.
    fn command(&mut self, now_ns: u64, overhead_ns: u64) -> u64 {
        self.now.controller_free_ns =
            now_ns.max(self.now.controller_free_ns) + self.link.command_ns + overhead_ns;
        self.now.controller_free_ns
    }

    fn start_read(&mut self, now_ns: u64, request: Request, sequential: bool) {
        let follows = Some(request.lba.0) == self.now.last_read_end;
        self.now.sequential_reads =
            if follows { self.now.sequential_reads.saturating_add(1) } else { 0 };
        self.now.last_read_end = Some(request.end());
        self.note_progress(now_ns);
        let after_write = std::mem::replace(&mut self.now.after_write, false);
        let in_row_ns = self.times.read_sequential_ns.filter(|_| sequential);
        let hit = in_row_ns.unwrap_or_else(|| self.times.read_hit.ns(after_write));
        if self.is_buffered(&request) {
            self.seen.read_hits += 1;
            let ready_ns = self.command(now_ns, hit);
            self.now.agenda.add(ready_ns, What::Fetch(request.id));
            self.read_on(now_ns, request.lba.0, request.end());
            return;
        }
        if let Some(passed_ns) = self.join_stream(now_ns, &request) {
            self.seen.read_partial_hits += 1;
            let ready_ns = self.command(now_ns, hit);
            let spare = self.link.transfer_ns(u64::from(request.sectors).saturating_sub(1));
            self.now
                .agenda
                .add(ready_ns.max(passed_ns.saturating_sub(spare)), What::Fetch(request.id));
            return;
        }
        self.seen.read_misses += 1;
        let ready_ns = self.command(now_ns, self.times.read_miss.ns(after_write));
        self.now.waiting.push(Waiting { request, ready_ns });
        self.now.agenda.add(ready_ns, What::Ready);
    }

    /// Returns true if the buffer alone can serve a read.
    pub(super) fn is_buffered(&self, request: &Request) -> bool {
        let range = request.lba.0..request.end();
        self.segments.covers(&range) || (self.buffer.serves_written && self.volatile.covers(range))
    }

    /// Writes that wait for room get it in their order, as far as it goes.
    pub(super) fn admit_writes(&mut self, at_ns: u64) {
        while let Some(id) = self.now.blocked.front().copied() {
            let Some(request) = self.front.get(id) else { return };
            let sectors = u64::from(request.sectors);
            let taken = self.volatile.sectors() + self.now.arriving + self.writing_sectors();
            let is_full = taken > 0 && taken + sectors > self.times.write_sectors;
            if is_full || self.lacks_segment(&request) {
                self.choose(at_ns);
                return;
            }
            self.now.blocked.pop_front();
            self.now.arriving += sectors;
            let done_ns = self.occupy_bus(at_ns, request.sectors);
            self.now.agenda.add(done_ns, What::Stored(id));
        }
    }

    /// True when a write needs a segment of its own and all segments for written data are taken.
    fn lacks_segment(&self, request: &Request) -> bool {
        let most = self.times.write_segments;
        if most == usize::MAX || self.volatile.continues(request.lba.0) {
            return false;
        }
        let writing = usize::from(matches!(self.motion, Motion::Writing { .. }));
        let arriving = usize::from(self.now.arriving > 0);
        self.volatile.runs() + writing + arriving >= most
    }

    pub(super) fn is_short_of_room(&self) -> bool {
        !self.now.blocked.is_empty()
    }

    fn stored(&mut self, at_ns: u64, id: u64) {
        let Some(request) = self.front.get(id) else { return };
        let range = request.lba.0..request.end();
        self.now.arriving -= u64::from(request.sectors);
        if self.buffer.write_clears {
            self.stop_reading_at(at_ns, 0);
            self.segments.clear();
        } else {
            self.stop_reading_at(at_ns, range.start);
            if self.buffer.write_clears_segments {
                self.segments.discard(&range);
            } else {
                self.segments.forget(&range);
            }
        }
        let is_busy = !self.volatile.is_empty() || matches!(self.motion, Motion::Writing { .. });
        let must_wait = self.buffer.write_back_when_idle && is_busy;
        let appends = self.volatile.continues(range.start);
        let seq = self.volatile.insert(range.clone(), id, at_ns);
        if self.buffer.shares_segments {
            self.segments.write(&range, appends);
        }
        if self.buffer.write_back && !request.fua && (!must_wait || appends) {
            self.seen.writes_cached += 1;
            self.finish(at_ns, id);
        } else {
            self.now.durabilities.push(Durability { id, seq, range });
        }
        self.choose(at_ns);
    }
}

const FREE: Cost = Cost { after_read_ns: 0, after_write_ns: 0 };

impl Device for Disk {
    /// Layout and skews stay those of the whole disk.
    const LAWS: &'static [Rule<Self>] = &[
        (Law::Seek, |_| true, |it| it.mechanics.seek = SeekCurve::NONE),
        (
            Law::Settle,
            |_| true,
            |Self { mechanics, .. }| {
                mechanics.head_switch_ns = 0;
                mechanics.read_settle_ns = 0;
                mechanics.write_settle_ns = 0;
                mechanics.write_track_settle_ns = 0;
            },
        ),
        (Law::Rotation, |_| true, |it| it.mechanics.waits = false),
        (Law::Transfer, |_| true, |it| it.mechanics.transfers = false),
        (
            Law::Overhead,
            |_| true,
            |Self { link, times, .. }| {
                link.drop_commands();
                (times.read_hit, times.read_miss) = (FREE, FREE);
                (times.write, times.write_through) = (FREE, FREE);
                (times.read_sequential_ns, times.write_sequential_ns) = (None, None);
            },
        ),
        (Law::Flush, |_| true, |it| it.times.flush_waits = false),
        (Law::Bus, |it| it.link.moves(), |it| it.link.drop_transfer()),
    ];

    fn front(&self) -> &Front {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.front
    }

    fn next_action_ns(&self) -> Option<u64> {
        [self.now.agenda.next_ns(), self.motion_event_ns()].into_iter().flatten().min()
    }

    fn catch_up(&mut self, now_ns: u64) {
        while let Some(at_ns) = self.next_action_ns().filter(|at_ns| *at_ns <= now_ns) {
            self.front.pass_time(at_ns);
            match self.now.agenda.take_due(at_ns) {
                Some((_, what)) => self.happen(at_ns, what),
                None => self.motion_event(at_ns),
            }
        }
        self.front.pass_time(now_ns);
    }

    fn start(&mut self, now_ns: u64, id: u64) {
        let Some(request) = self.front.get(id) else { return };
        let sequential = Some(request.lba.0) == self.now.last_end;
        if request.operation != Operation::Flush {
            self.now.last_end = Some(request.end());
        }
        match request.operation {
            Operation::Read => self.start_read(now_ns, request, sequential),
            Operation::Flush => {
                let at_ns = self.command(now_ns, 0);
                self.now.agenda.add(at_ns, What::Flush(id));
            }
            // The device presents neither discard nor write-zeroes, so nothing else gets here.
            Operation::Write | Operation::Discard | Operation::WriteZeroes => {
                let at_ns = self.command(now_ns, self.write_cost_ns(&request, sequential));
                self.now.agenda.add(at_ns, What::Store(id));
                self.now.after_write = true;
            }
        }
    }

    fn fail(&mut self, now_ns: u64) -> LostWrites {
        let mut answer = LostWrites::default();
        if let Motion::Writing { range, pieces, cursor, .. } = &self.motion {
            let passed = self.mechanics.passed(*cursor, range.end, now_ns, true);
            for (piece, layers) in pieces.iter().filter(|(piece, _)| piece.end > passed) {
                answer.lost.extend(lost(piece.start.max(passed)..piece.end, layers));
            }
            if let Some(torn) = self.mechanics.under_head(*cursor, range.end, now_ns, true) {
                let lba = Lba(torn - torn % self.physical_sectors);
                answer.damaged.push(SectorRange { lba, sectors: self.physical_sectors });
            }
        }
        answer.lost.extend(self.volatile.lose());
        let arrived: BTreeSet<u64> = answer.lost.iter().map(|lost| lost.id).collect();
        let waits = |id: u64| self.now.durabilities.iter().any(|durability| durability.id == id);
        let unseen = self.front.drop_all().into_iter();
        answer.lost.extend(unseen.filter(|lost| !arrived.contains(&lost.id) && !waits(lost.id)));
        answer.lost = tidy(answer.lost);
        self.stop_motion(now_ns);
        self.segments.clear();
        self.now = Ongoing::default();
        answer
    }

    fn add_evidence(&self, totals: &mut Evidence) {
        totals.rotating = Some(self.seen.clone());
    }
}

impl Disk {
    /// The smallest id among the writes that a power cut could still undo, wholly or in part.
    pub(super) fn oldest_volatile_write(&self) -> Option<u64> {
        let outstanding =
            self.front.outstanding().find(|request| request.operation.writes()).map(|r| r.id);
        let writing = match &self.motion {
            Motion::Writing { pieces, .. } => {
                pieces.iter().flat_map(|(_, layers)| layers.ids.iter().copied()).min()
            }
            _ => None,
        };
        [outstanding, writing, self.volatile.oldest_id()].into_iter().flatten().min()
    }
}
