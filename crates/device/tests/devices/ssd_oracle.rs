//! The timing of a solid-state disk beside a slow and obvious account of the same rules, which looks through lists
//! where the model keeps order; and that account with faults planted, which the comparison must notice. Collecting of
//! blocks is left out: it has an oracle of its own, and scripts are too short for it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use seekwell_device::{DeviceFile, Operation, Request, build, load};

use crate::harness::{Run, Step};
use crate::promises::step;

/// Sectors of a unit of the map, and units of a page and of a stripe.
const UNIT: u64 = 8;
const PAGE: u64 = 2;
const STRIPE: usize = 4;
const DIES: usize = 4;
const CHANNELS: usize = 2;
const BUFFER_UNITS: u64 = 16;
const SLC_UNITS: u64 = 256;

const COMMAND_NS: u64 = 2_003;
const WRITE_COMMAND_NS: u64 = 3_011;
const READ_NS: u64 = 5_009;
const STORE_NS: u64 = 7_013;
const PAGE_NS: u64 = 50_021;
const MORE_NS: [u64; 3] = [0, 26_003, 78_009];
const PROGRAM_NS: u64 = 401_017;
const SLC_NS: u64 = 101_009;
const SUSPEND_NS: u64 = 30_013;
const FLUSH_NS: u64 = 90_001;
const DELAY_NS: u64 = 2_000_003;
/// A unit over the link and over a channel.
const LINK_NS: u64 = 10_240;
const CHANNEL_NS: u64 = 20_480;

fn text(protected: bool) -> String {
    format!(
        r#"
name = "ssd"
title = "ssd"
kind = "ssd"
[presented]
sectors = 4096
logical_block = 4096
physical_block = 4096
queue_depth = 8
max_request_kib = 32
[[bus]]
name = "bus"
command_us = 2.003
write_command_us = 3.011
mb_per_s = 400
[ssd]
channels = 2
dies_per_channel = 2
planes = 2
page_kib = 8
pages_per_block = 8
unit_kib = 4
over_provisioning = 4
reserve_blocks = 2
read_page_us = 50.021
read_more_us = [0, 26.003, 78.009]
program_us = 401.017
erase_us = 3000
channel_mb_per_s = 200
read_command_us = 5.009
write_command_us = 7.013
flush_us = 90.001
buffer_kib = 64
suspend_us = 30.013
most_suspensions = 2
drain_delay_us = 2000.003
power_loss_protection = {protected}
[ssd.slc]
mib = 1
program_us = 101.009
idle_ms = 1e6
fold_mb_per_s = 1
[sources]
presented = "test"
bus = "test"
ssd = "test"
"#
    )
}

/// Faults of the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    NoSuspension,
    EndlessSuspension,
    ChannelsNotShared,
    LinkNotShared,
    EndlessBuffer,
    NoDelay,
    FlushForgetsPrograms,
    EndlessSlc,
    PagesReadTwice,
    PagesAlike,
    OverlapsInAnyOrder,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Read(usize),
    Store(usize),
    Stored(usize),
    Flush(usize),
    Die(usize),
    Arrived(usize, u64),
    Drain,
    Done(usize),
}

/// A page on its way: its request and its units.
#[derive(Clone, Copy, Debug)]
struct Reading {
    request: usize,
    units: u64,
    cells_ns: u64,
}

#[derive(Clone, Debug)]
struct Program {
    units: Vec<u64>,
    /// When each unit's oldest data arrived, in the order of arrival.
    first: Vec<u64>,
    cells_ns: u64,
    left_ns: Option<u64>,
    suspensions: u32,
}

#[derive(Clone, Debug, Default)]
struct Die {
    reading: Option<(Reading, u64)>,
    program: Option<(Program, u64)>,
    reads: Vec<Reading>,
    waiting: Option<Program>,
    used: u64,
}

/// A request, the arrivals that it waits for, and its units; all units for a flush.
type Wait = (usize, u64, Option<(u64, u64)>);

struct Account<'s> {
    fault: Fault,
    protected: bool,
    submitted: &'s [(Request, u64)],
    done: Vec<Option<u64>>,
    started: Vec<bool>,
    events: Vec<(u64, u64, Event)>,
    order: u64,
    controller_ns: u64,
    link_ns: u64,
    channels: [u64; CHANNELS],
    dies: Vec<Die>,
    turn: usize,
    /// Unit to die and page.
    map: BTreeMap<u64, (usize, u64)>,
    /// Units in the buffer: arrival by count and by time, oldest first.
    buffer: Vec<(u64, u64, u64)>,
    arrivals: u64,
    arriving: u64,
    blocked: Vec<usize>,
    /// Requests that wait until data that arrived so far is in the cells.
    durable: Vec<Wait>,
    left: BTreeMap<usize, u64>,
    slc_used: u64,
    drain_due: Option<u64>,
}

impl<'s> Account<'s> {
    fn new(submitted: &'s [(Request, u64)], protected: bool, fault: Fault) -> Self {
        Self {
            fault,
            protected,
            submitted,
            done: vec![None; submitted.len()],
            started: vec![false; submitted.len()],
            events: Vec::new(),
            order: 0,
            controller_ns: 0,
            link_ns: 0,
            channels: [0; CHANNELS],
            dies: vec![Die::default(); DIES],
            turn: 0,
            map: BTreeMap::new(),
            buffer: Vec::new(),
            arrivals: 0,
            arriving: 0,
            blocked: Vec::new(),
            durable: Vec::new(),
            left: BTreeMap::new(),
            slc_used: 0,
            drain_due: None,
        }
    }

    fn at(&mut self, at_ns: u64, event: Event) {
        self.order += 1;
        self.events.push((at_ns, self.order, event));
    }

    /// When each request is done.
    fn serve(mut self) -> Vec<u64> {
        for nth in 0..self.submitted.len() {
            let at_ns = self.submitted[nth].1;
            self.pass(at_ns, nth);
            self.take_up(at_ns, nth);
        }
        self.pass(u64::MAX, self.submitted.len());
        self.done.into_iter().map(|done| done.expect("it never ends")).collect()
    }

    /// Everything that happens up to a time, of the requests submitted so far.
    fn pass(&mut self, to_ns: u64, known: usize) {
        loop {
            let next = (0..self.events.len()).min_by_key(|nth| {
                let (at_ns, order, _) = self.events[*nth];
                (at_ns, order)
            });
            let Some(nth) = next.filter(|nth| self.events[*nth].0 <= to_ns) else { return };
            if self.done[..known].iter().all(Option::is_some) && to_ns == u64::MAX {
                return;
            }
            let (now, _, event) = self.events.remove(nth);
            match event {
                Event::Read(id) => self.read(now, id),
                Event::Store(id) => {
                    self.blocked.push(id);
                    self.admit(now);
                }
                Event::Stored(id) => self.stored(now, id, known),
                Event::Flush(id) if self.protected => self.at(now + FLUSH_NS, Event::Done(id)),
                Event::Flush(id) => {
                    self.durable.push((id, self.arrivals, None));
                    self.drain(now);
                    self.settle(now);
                }
                Event::Die(die) => self.die(now, die),
                Event::Arrived(id, units) => self.send(now, id, units),
                Event::Drain if self.drain_due == Some(now) => {
                    self.drain_due = None;
                    self.drain(now);
                }
                Event::Drain => {}
                Event::Done(id) => self.complete(now, id, known),
            }
        }
    }

    fn units(&self, id: usize) -> std::ops::Range<u64> {
        let request = &self.submitted[id].0;
        request.lba.0 / UNIT..request.end() / UNIT
    }

    /// True when an earlier request that is not done touches the same units and one of them writes.
    fn must_wait(&self, id: usize) -> bool {
        let request = &self.submitted[id].0;
        self.fault != Fault::OverlapsInAnyOrder
            && (0..id).any(|earlier| {
                let other = &self.submitted[earlier].0;
                let meets = other.lba.0 < request.end() && request.lba.0 < other.end();
                let writes = other.operation.writes() || request.operation.writes();
                self.done[earlier].is_none() && meets && writes
            })
    }

    fn take_up(&mut self, now: u64, id: usize) {
        if self.must_wait(id) {
            return;
        }
        self.started[id] = true;
        let operation = self.submitted[id].0.operation;
        let command = if operation == Operation::Write { WRITE_COMMAND_NS } else { COMMAND_NS };
        self.controller_ns = self.controller_ns.max(now) + command;
        let (after, event) = match operation {
            Operation::Read => (READ_NS, Event::Read(id)),
            Operation::Flush => (0, Event::Flush(id)),
            _ => (STORE_NS, Event::Store(id)),
        };
        self.at(self.controller_ns + after, event);
    }

    fn complete(&mut self, now: u64, id: usize, known: usize) {
        self.done[id] = Some(now);
        for other in 0..known {
            if !self.started[other] {
                self.take_up(now, other);
            }
        }
    }

    fn over_link(&mut self, now: u64, units: u64) -> u64 {
        let free_ns = if self.fault == Fault::LinkNotShared { now } else { self.link_ns.max(now) };
        self.link_ns = free_ns + units * LINK_NS;
        self.link_ns
    }

    fn over_channel(&mut self, now: u64, die: usize, units: u64) -> u64 {
        let channel = &mut self.channels[die % CHANNELS];
        let free_ns = if self.fault == Fault::ChannelsNotShared { now } else { now.max(*channel) };
        *channel = free_ns + units * CHANNEL_NS;
        *channel
    }

    fn programs(&self, die: usize) -> impl Iterator<Item = &Program> {
        let die = &self.dies[die];
        die.program.iter().map(|(program, _)| program).chain(&die.waiting)
    }

    fn read(&mut self, now: u64, id: usize) {
        let units = self.units(id);
        self.left.insert(id, units.end - units.start);
        let mut pages: BTreeMap<(usize, u64), u64> = BTreeMap::new();
        let mut at_once = 0;
        for unit in units {
            let buffered = self.buffer.iter().any(|(held, ..)| *held == unit)
                || (0..DIES).any(|die| self.programs(die).any(|p| p.units.contains(&unit)));
            match self.map.get(&unit).filter(|_| !buffered) {
                Some(place) => *pages.entry(*place).or_default() += 1,
                None => at_once += 1,
            }
        }
        for ((die, page), units) in pages {
            // Two planes read one of eight pages of a block at once; each block begins with the first kind.
            let kind = page / 2 % 8 % 3;
            let kind = if self.fault == Fault::PagesAlike { 0 } else { kind as usize };
            let cells_ns = PAGE_NS + MORE_NS[kind];
            let twice = self.fault == Fault::PagesReadTwice && units > 1;
            for part in if twice { vec![1; units as usize] } else { vec![units] } {
                self.dies[die].reads.push(Reading { request: id, units: part, cells_ns });
                self.feed(now, die);
            }
        }
        if at_once > 0 {
            self.send(now, id, at_once);
        }
    }

    fn send(&mut self, now: u64, id: usize, units: u64) {
        let sent_ns = self.over_link(now, units);
        let left = self.left.get_mut(&id).expect("it is being read");
        *left -= units;
        if *left == 0 {
            self.at(sent_ns, Event::Done(id));
        }
    }

    fn taken(&self) -> u64 {
        let programming: usize =
            (0..DIES).flat_map(|die| self.programs(die)).map(|program| program.units.len()).sum();
        self.buffer.len() as u64 + self.arriving + programming as u64
    }

    fn admit(&mut self, now: u64) {
        while let Some(id) = self.blocked.first().copied() {
            let units = self.units(id).count() as u64;
            let most = if self.fault == Fault::EndlessBuffer { u64::MAX } else { BUFFER_UNITS };
            if self.taken() > 0 && self.taken() + units > most {
                self.drain(now);
                return;
            }
            self.blocked.remove(0);
            self.arriving += units;
            let stored_ns = self.over_link(now, units);
            self.at(stored_ns, Event::Stored(id));
        }
    }

    fn stored(&mut self, now: u64, id: usize, known: usize) {
        let units = self.units(id);
        self.arriving -= units.end - units.start;
        self.arrivals += 1;
        for unit in units.clone() {
            if self.buffer.iter().all(|(held, ..)| *held != unit) {
                self.buffer.push((unit, self.arrivals, now));
            }
        }
        if self.submitted[id].0.fua && !self.protected {
            self.durable.push((id, self.arrivals, Some((units.start, units.end))));
        } else {
            self.complete(now, id, known);
        }
        self.drain(now);
    }

    fn drain(&mut self, now: u64) {
        let delay = if self.fault == Fault::NoDelay { 0 } else { DELAY_NS };
        loop {
            let is_due = self.buffer.iter().any(|(.., since)| since + delay <= now);
            let must = is_due || !self.durable.is_empty() || !self.blocked.is_empty();
            if self.buffer.is_empty() || (self.buffer.len() < STRIPE && !must) {
                break;
            }
            let is_free = |die: &usize| self.programs(*die).next().is_none();
            let Some(die) = (0..DIES).map(|n| (self.turn + n) % DIES).find(is_free) else { return };
            self.turn = (die + 1) % DIES;
            self.program(now, die);
        }
        let oldest = self.buffer.iter().map(|(.., since)| *since).min();
        if let Some(since) = oldest {
            let due = (since + delay).max(now + 1);
            if self.drain_due != Some(due) {
                self.drain_due = Some(due);
                self.at(due, Event::Drain);
            }
        }
    }

    fn program(&mut self, now: u64, die: usize) {
        let count = self.buffer.len().min(STRIPE);
        let taken: Vec<_> = self.buffer.drain(..count).collect();
        for (nth, (unit, ..)) in taken.iter().enumerate() {
            let page = (self.dies[die].used + nth as u64) / PAGE;
            self.map.insert(*unit, (die, page));
        }
        self.dies[die].used += STRIPE as u64;
        let is_fast = self.slc_used + STRIPE as u64 <= SLC_UNITS;
        if is_fast && self.fault != Fault::EndlessSlc {
            self.slc_used += STRIPE as u64;
        }
        self.dies[die].waiting = Some(Program {
            units: taken.iter().map(|(unit, ..)| *unit).collect(),
            first: taken.iter().map(|(_, arrival, _)| *arrival).collect(),
            cells_ns: if is_fast { SLC_NS } else { PROGRAM_NS },
            left_ns: None,
            suspensions: 0,
        });
        self.feed(now, die);
    }

    fn feed(&mut self, now: u64, die: usize) {
        let mut ready = now;
        let most = match self.fault {
            Fault::NoSuspension => 0,
            Fault::EndlessSuspension => u32::MAX,
            _ => 2,
        };
        let this = &mut self.dies[die];
        let can = this.program.as_ref().is_some_and(|(program, end)| {
            program.suspensions < most && end.saturating_sub(now) > SUSPEND_NS
        });
        if can && !this.reads.is_empty() {
            let (mut program, end) = this.program.take().expect("it runs");
            program.left_ns = Some(end - now);
            program.suspensions += 1;
            this.waiting = Some(program);
            ready += SUSPEND_NS;
        }
        if self.dies[die].program.is_some() || self.dies[die].reading.is_some() {
            return;
        }
        if !self.dies[die].reads.is_empty() {
            let reading = self.dies[die].reads.remove(0);
            let end = ready + reading.cells_ns;
            self.dies[die].reading = Some((reading, end));
            self.at(end, Event::Die(die));
        } else if let Some(program) = self.dies[die].waiting.take() {
            let end = match program.left_ns {
                Some(left) => now + left,
                None => self.over_channel(now, die, STRIPE as u64) + program.cells_ns,
            };
            self.dies[die].program = Some((program, end));
            self.at(end, Event::Die(die));
        }
    }

    fn die(&mut self, now: u64, die: usize) {
        let this = &mut self.dies[die];
        if let Some((reading, _)) = this.reading.take_if(|(_, end)| *end <= now) {
            let arrived = self.over_channel(now, die, reading.units);
            self.at(arrived, Event::Arrived(reading.request, reading.units));
        } else if this.program.take_if(|(_, end)| *end <= now).is_some() {
            self.settle(now);
            self.admit(now);
        } else {
            return;
        }
        self.feed(now, die);
        self.drain(now);
    }

    /// Ends what waited for data that is now in the cells.
    fn settle(&mut self, now: u64) {
        let waits: Vec<_> = self.durable.drain(..).collect();
        for (id, arrival, range) in waits {
            let meets = |unit: u64| range.is_none_or(|(start, end)| (start..end).contains(&unit));
            let buffered =
                self.buffer.iter().any(|(unit, first, _)| meets(*unit) && *first <= arrival);
            let forgets = self.fault == Fault::FlushForgetsPrograms && range.is_none();
            let programmed = !forgets
                && (0..DIES).flat_map(|die| self.programs(die)).any(|program| {
                    let pairs = program.units.iter().zip(&program.first);
                    pairs.clone().any(|(unit, first)| meets(*unit) && *first <= arrival)
                });
            if buffered || programmed {
                self.durable.push((id, arrival, range));
            } else {
                self.at(now + if range.is_none() { FLUSH_NS } else { 0 }, Event::Done(id));
            }
        }
    }
}

/// When the model and the account say that each request is done.
fn both(protected: bool, steps: &[Step], fault: Fault) -> (Vec<u64>, Vec<u64>) {
    static FILES: OnceLock<[DeviceFile; 2]> = OnceLock::new();
    let files =
        FILES.get_or_init(|| [false, true].map(|protected| load(&text(protected)).unwrap()));
    let mut model = build(&files[usize::from(protected)], 1);
    let mut run = Run::new(&mut *model);
    run.play(steps, &[]).unwrap();
    run.finish().unwrap();
    let submitted: Vec<(Request, u64)> = run.history.submitted.values().copied().collect();
    let found = run.history.completed.values().copied().collect();
    (found, Account::new(&submitted, protected, fault).serve())
}

/// Scripts in which many requests are outstanding at once, and some that let the buffer drain.
fn script() -> impl Strategy<Value = Vec<Step>> {
    let crowded = step().prop_map(|step| Step { gap_ns: step.gap_ns % 150_001, ..step });
    prop::collection::vec(prop_oneof![3 => crowded, 1 => step()], 1..70)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn a_solid_state_disk_does_what_the_account_of_it_says(protected: bool, steps in script()) {
        let (found, expected) = both(protected, &steps, Fault::Nothing);
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn faults_planted_in_the_account_of_a_solid_state_disk_are_noticed() {
    let mut runner = TestRunner::deterministic();
    let scripts: Vec<Vec<Step>> =
        (0..200).map(|_| script().new_tree(&mut runner).unwrap().current()).collect();
    let notices = |fault| {
        scripts.iter().any(|steps| {
            let (found, expected) = both(false, steps, fault);
            found != expected
        })
    };
    for fault in [
        Fault::NoSuspension,
        Fault::EndlessSuspension,
        Fault::ChannelsNotShared,
        Fault::LinkNotShared,
        Fault::EndlessBuffer,
        Fault::NoDelay,
        Fault::FlushForgetsPrograms,
        Fault::EndlessSlc,
        Fault::PagesReadTwice,
        Fault::PagesAlike,
        Fault::OverlapsInAnyOrder,
    ] {
        assert!(notices(fault), "{fault:?} goes unnoticed");
    }
    assert!(!notices(Fault::Nothing));
}
