//! The disk as a whole: controller, link, buffer, channels and dies, driven by events in virtual time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use seekwell_model::laws::Law;

use super::die::{Die, Programming, Reading, Suspension, Work};
use super::ftl::Ftl;
use super::heat::Heat;
use super::{SlcParameters, SsdParameters};
use crate::bus::Link;
use crate::clock::{Rate, ns};
use crate::evidence::{Evidence, FlashEvidence};
use crate::front::{Agenda, Device, Durability, Front, Rule, settled};
use crate::model::{Geometry, LostWrites, Operation};
use crate::volatile::{Volatile, lost, tidy};

/// Event at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A read's command is understood.
    Read(u64),
    /// A write's command is understood; it wants room in the buffer and the link.
    Store(u64),
    /// A write's data is in the buffer.
    Stored(u64),
    /// A flush's command is understood.
    Flush(u64),
    /// A discard's command is understood.
    Discard(u64),
    /// A die may be done; stale if it was suspended meanwhile.
    Die(u32),
    /// So many sectors of a read have come over the channel.
    Arrived(u64, u64),
    /// Data has waited long enough for a full stripe.
    Drain,
    /// A request is done.
    Complete(u64),
}

/// Parameters in nanoseconds, sectors and units.
#[derive(Clone, Debug)]
struct Times {
    read_page_ns: u64,
    /// Additional time by the kind of page.
    read_more_ns: Vec<u64>,
    /// Mean time over the kinds, for pages that are read to be completed.
    read_mean_ns: u64,
    program_ns: u64,
    collect: Collecting,
    /// `None` if data moves in no time: an experiment.
    channel: Option<Rate>,
    suspension: Suspension,
    read_command_ns: u64,
    write_command_ns: u64,
    flush_ns: u64,
    drain_delay_ns: u64,
    buffer_sectors: u64,
    unit_sectors: u64,
}

/// Times of garbage collection.
#[derive(Clone, Copy, Debug, Default)]
struct Collecting {
    read_ns: u64,
    program_ns: u64,
    erase_ns: u64,
}

/// The cache of single-bit cells, as a level.
#[derive(Clone, Copy, Debug)]
struct Slc {
    program_ns: u64,
    capacity_units: u64,
    used_units: u64,
    idle_ns: u64,
    fold: Rate,
    idle_since_ns: Option<u64>,
    folded_units: u64,
}

/// Everything under way outside of the dies, which a power failure ends.
#[derive(Clone, Debug, Default)]
struct Ongoing {
    controller_free_ns: u64,
    link_free_ns: u64,
    agenda: Agenda<What>,
    /// Sectors of each read that have not been sent to the host.
    reads: BTreeMap<u64, u64>,
    blocked: VecDeque<u64>,
    arriving: u64,
    /// Units with data in the buffer, in the order in which they came.
    pending: VecDeque<u32>,
    is_pending: BTreeSet<u32>,
    /// Sectors on their way into cells.
    programming: u64,
    durabilities: Vec<Durability>,
    drain_due_ns: Option<u64>,
}

/// A solid-state disk.
#[derive(Clone, Debug)]
pub(crate) struct Drive {
    front: Front,
    link: Link,
    times: Times,
    protected: bool,
    flush_waits: bool,
    /// The last flush that did not wait: requests before it are safe.
    secured_id: Option<u64>,
    rated_erases: Option<u64>,
    ftl: Ftl,
    slc: Option<Slc>,
    heat: Option<Heat>,
    dies: Vec<Die>,
    channel_free_ns: Vec<u64>,
    volatile: Volatile,
    seen: FlashEvidence,
    now: Ongoing,
}

impl Times {
    fn channel_ns(&self, bytes: u64) -> u64 {
        self.channel.map_or(0, |rate| rate.ns(bytes))
    }
}

impl Drive {
    pub(crate) fn new(
        geometry: Geometry,
        parameters: &SsdParameters,
        link: Link,
        seed: u64,
    ) -> Self {
        #[allow(
            clippy::expect_used,
            reason = "the same parameters were accepted when the file was checked"
        )]
        let shape = parameters.shape(geometry.sectors_512).expect("parameters were checked");
        let unit_sectors = u64::from(parameters.unit_kib) * 2;
        let read_mean_ns = ns(parameters.read_page_us + mean(&parameters.read_more_us));
        let times = Times {
            read_page_ns: ns(parameters.read_page_us),
            read_more_ns: parameters.read_more_us.iter().copied().map(ns).collect(),
            read_mean_ns,
            program_ns: ns(parameters.program_us),
            collect: Collecting {
                read_ns: read_mean_ns,
                program_ns: ns(parameters.program_us),
                erase_ns: ns(parameters.erase_us),
            },
            channel: Some(Rate::from_mb_per_s(parameters.channel_mb_per_s)),
            suspension: Suspension {
                after_ns: parameters.suspend_us.map(ns),
                most: parameters.most_suspensions,
            },
            read_command_ns: ns(parameters.read_command_us),
            write_command_ns: ns(parameters.write_command_us),
            flush_ns: ns(parameters.flush_us),
            drain_delay_ns: ns(parameters.drain_delay_us),
            buffer_sectors: u64::from(parameters.buffer_kib) * 2,
            unit_sectors,
        };
        let mut ftl = Ftl::new(shape);
        if parameters.prefilled {
            precondition(&mut ftl, parameters.preconditioned, seed);
        }
        Self {
            front: Front::new(geometry),
            link,
            times,
            protected: parameters.power_loss_protection,
            flush_waits: parameters.flush_waits && !parameters.power_loss_protection,
            secured_id: None,
            rated_erases: parameters.rated_erases,
            slc: parameters.slc.as_ref().map(|slc| Slc::new(slc, unit_sectors)),
            heat: parameters.heat.as_ref().map(Heat::new),
            dies: vec![Die::default(); shape.dies as usize],
            channel_free_ns: vec![0; parameters.channels as usize],
            ftl,
            volatile: Volatile::default(),
            seen: FlashEvidence::default(),
            now: Ongoing::default(),
        }
    }

    fn happen(&mut self, at_ns: u64, what: What) {
        match what {
            What::Read(id) => self.issue_read(at_ns, id),
            What::Store(id) => {
                self.now.blocked.push_back(id);
                self.admit_writes(at_ns);
            }
            What::Stored(id) => self.stored(at_ns, id),
            What::Flush(id) if !self.flush_waits => {
                self.secured_id = self.secured_id.max(Some(id));
                self.now.agenda.add(at_ns + self.times.flush_ns, What::Complete(id));
            }
            What::Flush(id) => {
                let range = 0..self.front.geometry().sectors_512;
                let seq = self.volatile.latest_seq();
                self.now.durabilities.push(Durability { id, seq, range });
                self.drain(at_ns);
                self.settle(at_ns);
            }
            What::Discard(id) => self.discard(at_ns, id),
            What::Die(die) => self.die_event(at_ns, die),
            What::Arrived(id, sectors) => self.send(at_ns, id, sectors),
            What::Drain => {
                if self.now.drain_due_ns == Some(at_ns) {
                    self.now.drain_due_ns = None;
                    self.drain(at_ns);
                }
            }
            What::Complete(id) => self.complete(at_ns, id),
        }
    }

    fn complete(&mut self, at_ns: u64, id: u64) {
        self.finish(at_ns, id);
        self.note_idleness(at_ns);
    }

    fn occupy_link(&mut self, at_ns: u64, sectors: u64) -> u64 {
        self.now.link_free_ns = at_ns.max(self.now.link_free_ns) + self.link.transfer_ns(sectors);
        self.now.link_free_ns
    }

    /// Splits a read into pages; what the buffer holds or was never written needs no cells.
    fn issue_read(&mut self, now_ns: u64, id: u64) {
        let Some(request) = self.front.get(id) else { return };
        let unit_sectors = self.times.unit_sectors;
        self.now.reads.insert(id, u64::from(request.sectors));
        let mut at_once = 0;
        let mut pages: BTreeMap<(u32, u32), Reading> = BTreeMap::new();
        let mut sector = request.lba.0;
        while sector < request.end() {
            let number = sector / unit_sectors;
            let end = ((number + 1) * unit_sectors).min(request.end());
            let sectors = end - sector;
            let unit = u32::try_from(number).unwrap_or(u32::MAX);
            let buffered = self.volatile.covers(sector..end) || self.is_being_programmed(unit);
            match self.ftl.place(unit).filter(|_| !buffered) {
                None => at_once += sectors,
                Some(page) => {
                    let cells_ns = self.cells_ns(page.1);
                    let empty = Reading { id, from_die: 0, sectors: 0, cells_ns };
                    let reading = pages.entry(page).or_insert(empty);
                    reading.from_die += unit_sectors;
                    reading.sectors += sectors;
                }
            }
            sector = end;
        }
        self.seen.buffer_hits += u64::from(pages.is_empty());
        self.seen.pages_read += pages.len() as u64;
        for ((die, _), reading) in pages {
            self.dies[die as usize].reads.push_back(reading);
            self.feed(now_ns, die);
        }
        if at_once > 0 {
            self.send(now_ns, id, at_once);
        }
    }

    /// Time that the cells of a page of a die need to be read.
    fn cells_ns(&self, page: u32) -> u64 {
        let shape = self.ftl.shape();
        let per_stripe = (shape.units_per_stripe / shape.units_per_page).max(1);
        // The planes of a die read the same kind at once; each block begins with the first kind.
        let in_block = page * shape.units_per_page % shape.units_per_block / shape.units_per_page;
        let kinds = self.times.read_more_ns.len().max(1);
        let more_ns = self.times.read_more_ns.get((in_block / per_stripe) as usize % kinds);
        self.times.read_page_ns + more_ns.copied().unwrap_or(0)
    }

    fn is_being_programmed(&self, unit: u32) -> bool {
        let place = self.ftl.place(unit);
        let programs = |die: u32| self.dies[die as usize].programs();
        place.is_some_and(|(die, _)| programs(die).any(|program| program.units.contains(&unit)))
    }

    /// Sends sectors of a read over the link.
    fn send(&mut self, now_ns: u64, id: u64, sectors: u64) {
        let sent_ns = self.occupy_link(now_ns, sectors);
        let Some(left) = self.now.reads.get_mut(&id) else { return };
        *left = left.saturating_sub(sectors);
        if *left == 0 {
            self.now.reads.remove(&id);
            self.now.agenda.add(sent_ns, What::Complete(id));
        }
    }

    fn admit_writes(&mut self, now_ns: u64) {
        while let Some(id) = self.now.blocked.front().copied() {
            let Some(request) = self.front.get(id) else { return };
            let sectors = u64::from(request.sectors);
            let taken = self.volatile.sectors() + self.now.programming + self.now.arriving;
            if taken > 0 && taken + sectors > self.times.buffer_sectors {
                self.drain(now_ns);
                return;
            }
            self.now.blocked.pop_front();
            self.now.arriving += sectors;
            let stored_ns = self.occupy_link(now_ns, sectors);
            self.now.agenda.add(stored_ns, What::Stored(id));
        }
    }

    fn stored(&mut self, now_ns: u64, id: u64) {
        let Some(request) = self.front.get(id) else { return };
        let range = request.lba.0..request.end();
        self.now.arriving -= u64::from(request.sectors);
        let seq = self.volatile.insert(range.clone(), id, now_ns);
        for number in
            range.start / self.times.unit_sectors..range.end.div_ceil(self.times.unit_sectors)
        {
            let unit = u32::try_from(number).unwrap_or(u32::MAX);
            self.seen.host_pages += 1;
            if self.now.is_pending.insert(unit) {
                self.now.pending.push_back(unit);
            }
        }
        if request.fua && !self.protected {
            self.now.durabilities.push(Durability { id, seq, range });
        } else {
            self.complete(now_ns, id);
        }
        self.drain(now_ns);
    }

    fn discard(&mut self, now_ns: u64, id: u64) {
        let Some(request) = self.front.get(id) else { return };
        let unit_sectors = self.times.unit_sectors;
        self.volatile.take(request.lba.0..request.end());
        for number in request.lba.0.div_ceil(unit_sectors)..request.end() / unit_sectors {
            let unit = u32::try_from(number).unwrap_or(u32::MAX);
            self.ftl.unmap(unit);
            self.now.is_pending.remove(&unit);
        }
        self.settle(now_ns);
        self.admit_writes(now_ns);
        self.now.agenda.add(now_ns, What::Complete(id));
    }

    /// Gives stripes from the buffer to dies: full ones, and others if a request waits or the time is up.
    fn drain(&mut self, now_ns: u64) {
        let stripe = self.ftl.shape().units_per_stripe as usize;
        loop {
            self.drop_empty_pending();
            let oldest_ns = self.volatile.oldest_since_ns();
            let is_due = oldest_ns.is_some_and(|since| since + self.times.drain_delay_ns <= now_ns);
            let must = !self.now.durabilities.is_empty() || !self.now.blocked.is_empty() || is_due;
            if self.now.pending.is_empty() || (self.now.is_pending.len() < stripe && !must) {
                break;
            }
            let dies = &self.dies;
            let Some(die) = self.ftl.next_die(|die| dies[die as usize].takes_program()) else {
                return;
            };
            self.program(now_ns, die);
        }
        if let Some(since) = self.volatile.oldest_since_ns() {
            let due_ns = (since + self.times.drain_delay_ns).max(now_ns + 1);
            if Some(due_ns) != self.now.drain_due_ns && self.now.is_pending.len() < stripe {
                self.now.drain_due_ns = Some(due_ns);
                self.now.agenda.add(due_ns, What::Drain);
            }
        }
    }

    /// Forgets units at the head of the queue whose data was discarded.
    fn drop_empty_pending(&mut self) {
        while let Some(unit) = self.now.pending.front().copied() {
            let first = u64::from(unit) * self.times.unit_sectors;
            let has_data = self.now.is_pending.contains(&unit)
                && self.volatile.overlaps(first..first + self.times.unit_sectors);
            if has_data {
                return;
            }
            self.now.pending.pop_front();
            self.now.is_pending.remove(&unit);
        }
    }

    /// Takes a stripe from the buffer and gives it to a die.
    fn program(&mut self, now_ns: u64, die: u32) {
        let shape = self.ftl.shape();
        let unit_sectors = self.times.unit_sectors;
        let mut units = Vec::with_capacity(shape.units_per_stripe as usize);
        let mut pieces = Vec::new();
        let mut completed = 0;
        while units.len() < shape.units_per_stripe as usize {
            self.drop_empty_pending();
            let Some(unit) = self.now.pending.pop_front() else { break };
            self.now.is_pending.remove(&unit);
            let first = u64::from(unit) * unit_sectors;
            let data = self.volatile.take(first..first + unit_sectors);
            let sectors: u64 = data.iter().map(|(range, _)| range.end - range.start).sum();
            self.now.programming += sectors;
            completed += u64::from(sectors < unit_sectors && self.ftl.place(unit).is_some());
            pieces.extend(data);
            units.push(unit);
        }
        let collected = self.ftl.program(die, &units);
        let copies = u64::from(collected.units);
        let per_stripe = u64::from(shape.units_per_stripe);
        let slc = self.slc.as_mut().and_then(|slc| slc.take(per_stripe));
        let collect = self.times.collect;
        let cells_ns = completed * self.times.read_mean_ns
            + u64::from(collected.pages_read) * collect.read_ns
            + copies * collect.program_ns / per_stripe
            + u64::from(collected.erased) * collect.erase_ns
            + slc.unwrap_or(self.times.program_ns);
        self.seen.pages_read += completed + u64::from(collected.pages_read);
        self.seen.pages_copied += copies + per_stripe - units.len() as u64;
        self.seen.pages_programmed += copies + per_stripe;
        let sectors = per_stripe * unit_sectors;
        let dies = self.dies.len() as u64;
        let programmed = (copies + per_stripe) * unit_sectors * 512;
        let throttled = self.heat.as_mut().map(|heat| heat.program_ns(now_ns, programmed, dies));
        let cells_ns = cells_ns.max(throttled.unwrap_or(0));
        let programming = Programming { units, pieces, sectors, cells_ns };
        self.dies[die as usize].waiting.push_back(programming);
        self.feed(now_ns, die);
    }

    /// Gives a die its next work, if it is free or can be made free for a read.
    fn feed(&mut self, now_ns: u64, number: u32) {
        let channel = number as usize % self.channel_free_ns.len();
        let die = &mut self.dies[number as usize];
        let ready_ns = match die.suspend(now_ns, self.times.suspension) {
            Some(ready_ns) => {
                self.seen.suspensions += 1;
                ready_ns
            }
            None => now_ns,
        };
        if !die.is_idle() {
            return;
        }
        if let Some(reading) = die.reads.pop_front() {
            die.run(Work::Read(reading), ready_ns + reading.cells_ns);
        } else if die.resume(now_ns) {
            // The suspended operation continues with its remaining time.
        } else if let Some(programming) = die.waiting.pop_front() {
            let bytes = programming.sectors * 512;
            let sent_ns = now_ns.max(self.channel_free_ns[channel]) + self.times.channel_ns(bytes);
            self.channel_free_ns[channel] = sent_ns;
            let end_ns = sent_ns + programming.cells_ns;
            die.run(Work::Program(programming), end_ns);
        }
        if let Some(end_ns) = self.dies[number as usize].end_ns() {
            self.now.agenda.add(end_ns, What::Die(number));
        }
    }

    fn die_event(&mut self, now_ns: u64, number: u32) {
        let channel = number as usize % self.channel_free_ns.len();
        match self.dies[number as usize].finish(now_ns) {
            None => return,
            Some(Work::Read(reading)) => {
                let bytes = reading.from_die * 512;
                let arrived_ns =
                    now_ns.max(self.channel_free_ns[channel]) + self.times.channel_ns(bytes);
                self.channel_free_ns[channel] = arrived_ns;
                self.now.agenda.add(arrived_ns, What::Arrived(reading.id, reading.sectors));
            }
            Some(Work::Program(programming)) => {
                let sectors = programming.pieces.iter().map(|(range, _)| range.end - range.start);
                self.now.programming -= sectors.sum::<u64>();
                self.settle(now_ns);
                self.admit_writes(now_ns);
            }
        }
        self.feed(now_ns, number);
        self.drain(now_ns);
        self.note_idleness(now_ns);
    }

    /// Completes what waited for data to be durable, as far as it is.
    fn settle(&mut self, now_ns: u64) {
        if self.now.durabilities.is_empty() {
            return;
        }
        let pieces: Vec<_> =
            self.dies.iter().flat_map(Die::programs).flat_map(|p| &p.pieces).collect();
        for id in settled(&mut self.now.durabilities, &self.volatile, &pieces) {
            let is_flush = self.front.get(id).is_some_and(|r| r.operation == Operation::Flush);
            let after_ns = if is_flush { self.times.flush_ns } else { 0 };
            self.now.agenda.add(now_ns + after_ns, What::Complete(id));
        }
    }

    fn note_idleness(&mut self, now_ns: u64) {
        let is_idle = self.front.is_idle() && self.volatile.is_empty() && self.now.programming == 0;
        if let Some(slc) = self.slc.as_mut().filter(|slc| is_idle && slc.idle_since_ns.is_none()) {
            slc.idle_since_ns = Some(now_ns);
        }
    }

    fn note_work(&mut self, now_ns: u64) {
        if let Some(slc) = &mut self.slc {
            slc.fold(now_ns, self.times.unit_sectors);
        }
    }
}

impl Slc {
    fn new(parameters: &SlcParameters, unit_sectors: u64) -> Self {
        Self {
            program_ns: ns(parameters.program_us),
            capacity_units: u64::from(parameters.mib) * 2048 / unit_sectors,
            used_units: 0,
            idle_ns: ns(parameters.idle_ms * 1e3),
            fold: Rate::from_mb_per_s(parameters.fold_mb_per_s),
            idle_since_ns: None,
            folded_units: 0,
        }
    }

    /// Takes room for a stripe; its program time, if there is room.
    fn take(&mut self, units: u64) -> Option<u64> {
        if self.used_units + units > self.capacity_units {
            return None;
        }
        self.used_units += units;
        Some(self.program_ns)
    }

    /// The idle time is over: so much of the cache was emptied in it.
    fn fold(&mut self, now_ns: u64, unit_sectors: u64) {
        let Some(since) = self.idle_since_ns.take() else { return };
        let idle_ns = now_ns.saturating_sub(since).saturating_sub(self.idle_ns);
        let per_unit_ns = self.fold.ns(unit_sectors * 512).max(1);
        let folded = (idle_ns / per_unit_ns).min(self.used_units);
        self.used_units -= folded;
        self.folded_units += folded;
    }
}

/// Mean of some numbers; 0 of none.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Fills the whole capacity, then overwrites single units at random.
fn precondition(ftl: &mut Ftl, times: f64, seed: u64) {
    let shape = ftl.shape();
    let mut batch = Vec::with_capacity(shape.units_per_stripe as usize);
    let mut write = |unit: u32, ftl: &mut Ftl| {
        batch.push(unit);
        if batch.len() == shape.units_per_stripe as usize {
            if let Some(die) = ftl.next_die(|_| true) {
                ftl.program(die, &batch);
            }
            batch.clear();
        }
    };
    (0..shape.units).for_each(|unit| write(unit, ftl));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let count = (f64::from(shape.units) * times) as u64;
    for _ in 0..count {
        let product = u128::from(random.next_u64()) * u128::from(shape.units);
        write(u32::try_from(product >> 64).unwrap_or(0), ftl);
    }
}

impl Device for Drive {
    const LAWS: &'static [Rule<Self>] = &[
        (
            Law::Cells,
            |_| true,
            |Self { times, .. }| {
                (times.read_page_ns, times.read_mean_ns) = (0, 0);
                times.read_more_ns.clear();
            },
        ),
        (
            Law::Program,
            |_| true,
            |it| {
                it.times.program_ns = 0;
                it.slc.iter_mut().for_each(|slc| slc.program_ns = 0);
            },
        ),
        (Law::Collect, |_| true, |it| it.times.collect = Collecting::default()),
        (Law::Channel, |_| true, |it| it.times.channel = None),
        (
            Law::Overhead,
            |_| true,
            |Self { link, times, .. }| {
                link.drop_commands();
                (times.read_command_ns, times.write_command_ns) = (0, 0);
            },
        ),
        (
            Law::FastCells,
            |it| it.slc.is_some(),
            |it| {
                it.slc.iter_mut().for_each(|slc| slc.capacity_units = u64::MAX);
            },
        ),
        (Law::Heat, |it| it.heat.is_some(), |it| it.heat = None),
        (Law::Bus, |it| it.link.moves(), |it| it.link.drop_transfer()),
        (
            Law::Flush,
            |it| it.flush_waits || it.times.flush_ns > 0,
            |it| (it.flush_waits, it.times.flush_ns) = (false, 0),
        ),
    ];

    fn front(&self) -> &Front {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.front
    }

    fn next_action_ns(&self) -> Option<u64> {
        self.now.agenda.next_ns()
    }

    fn catch_up(&mut self, now_ns: u64) {
        while let Some((at_ns, what)) = self.now.agenda.take_due(now_ns) {
            self.front.pass_time(at_ns);
            self.happen(at_ns, what);
        }
        self.front.pass_time(now_ns);
    }

    fn start(&mut self, now_ns: u64, id: u64) {
        let Some(request) = self.front.get(id) else { return };
        self.note_work(now_ns);
        let command_ns = self.link.command_of_ns(request.operation);
        self.now.controller_free_ns = now_ns.max(self.now.controller_free_ns) + command_ns;
        let understood_ns = self.now.controller_free_ns;
        let (after_ns, what) = match request.operation {
            Operation::Read => (self.times.read_command_ns, What::Read(id)),
            Operation::Write => (self.times.write_command_ns, What::Store(id)),
            Operation::Flush => (0, What::Flush(id)),
            Operation::Discard | Operation::WriteZeroes => {
                (self.times.write_command_ns, What::Discard(id))
            }
        };
        self.now.agenda.add(understood_ns + after_ns, what);
    }

    fn fail(&mut self, now_ns: u64) -> LostWrites {
        let programs = self.dies.iter().flat_map(Die::programs).flat_map(|p| &p.pieces);
        let mut gone: Vec<_> =
            programs.flat_map(|(range, layers)| lost(range.clone(), layers)).collect();
        gone.extend(self.volatile.lose());
        let arrived: BTreeSet<u64> = gone.iter().map(|lost| lost.id).collect();
        if self.protected {
            gone.clear();
        }
        gone.retain(|lost| Some(lost.id) > self.secured_id);
        let waits = |id: u64| self.now.durabilities.iter().any(|durability| durability.id == id);
        let unseen = self.front.drop_all().into_iter();
        gone.extend(unseen.filter(|lost| !arrived.contains(&lost.id) && !waits(lost.id)));
        self.dies.fill(Die::default());
        self.channel_free_ns.fill(now_ns);
        self.now = Ongoing::default();
        self.note_idleness(now_ns);
        LostWrites { lost: tidy(gone), damaged: Vec::new() }
    }

    fn add_evidence(&self, totals: &mut Evidence) {
        let shape = self.ftl.shape();
        let per_page = u64::from(shape.units_per_page);
        let seen = &self.seen;
        let folded = self.slc.map_or(0, |slc| slc.folded_units);
        let programmed = seen.pages_programmed + folded;
        totals.flash = Some(FlashEvidence {
            page_bytes: per_page * self.times.unit_sectors * 512,
            host_pages: seen.host_pages / per_page,
            pages_programmed: programmed / per_page,
            pages_copied: (seen.pages_copied + folded) / per_page,
            erases: self.ftl.total_erases(),
            write_amplification: (seen.host_pages > 0)
                .then(|| programmed as f64 / seen.host_pages as f64),
            most_worn_erases: self.ftl.most_worn(),
            wear: self.ftl.wear(),
            rated_erases: self.rated_erases,
            ..seen.clone()
        });
    }
}
