//! A shingled disk that manages itself: tracks overlap in bands, so a band is written in order or not at all.
//!
//! Other writes go to a log on the outermost tracks, the persistent cache. When the disk is idle, or the log is full, a
//! band with data in the log is cleaned: read as a whole and written again in order (Aghayev, Shafaei, Desnoyers:
//! Skylight, ACM Transactions on Storage 11(4), 2015). The mechanics below are those of any disk, on which log and bands
//! have their places. Not modelled: room that overwritten copies take in the log, what the disk writes beside the
//! data to find it there again, and the repair of a band whose writing in order stops in the middle.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use seekwell_model::laws::{Law, LawSet};
use serde::Deserialize;

use super::{Disk, RotatingParameters};
use crate::bus::Link;
use crate::clock::ns;
use crate::error::{DeviceError, within};
use crate::evidence::Evidence;
use crate::extents::ExtentMap;
use crate::front::{Device, Front};
use crate::model::{
    Completion, Geometry, Lba, LostRange, LostWrites, Model as _, Operation, Request, SectorRange,
};
use crate::volatile::tidy;

#[cfg(test)]
mod tests;

/// Sectors that cleaning moves at once: 1 MiB.
const CHUNK: u64 = 2048;

/// Bands that are written in order at the same time.
const MOST_STREAMS: usize = 32;

/// Shingling that the disk manages itself.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShingledParameters {
    /// Size of a band.
    pub band_mib: u32,
    /// Size of the log on the outermost tracks, in MiB.
    pub cache_mib: u32,
    /// Idle time after which bands are cleaned, in milliseconds.
    pub idle_ms: f64,
}

impl ShingledParameters {
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        within("rotating.shingled.band_mib", self.band_mib.into(), 1.0, 4096.0)?;
        within("rotating.shingled.cache_mib", self.cache_mib.into(), 1.0, 1_048_576.0)?;
        within("rotating.shingled.idle_ms", self.idle_ms, 0.0, 1e7)
    }

    pub(super) fn cache_sectors(&self) -> u64 {
        u64::from(self.cache_mib) * 2048
    }
}

/// The place of data in the log: what is added to an address, and the order in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    offset: i64,
    seq: u64,
}

/// A request to the mechanics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// A part of the host's request, with the host's address of it and its place.
    Host { id: u64, lba: u64, place: u64, sectors: u64 },
    /// A chunk of a band that is cleaned.
    Clean,
}

/// A band being cleaned: read to its end, then written.
#[derive(Clone, Debug)]
struct Cleaning {
    band: Range<u64>,
    next: u64,
    is_writing: bool,
    /// Data that came later stays in the log.
    seq: u64,
    /// A chunk is on its way.
    is_busy: bool,
}

/// Everything under way, which a power failure ends.
#[derive(Clone, Debug, Default)]
struct Ongoing {
    /// Next sector of each band that is written in order, oldest first.
    streams: VecDeque<u64>,
    parts: BTreeMap<u64, Part>,
    /// Writes that the mechanics may still lose.
    volatile: BTreeMap<u64, Part>,
    /// Parts of each request that are not done.
    left: BTreeMap<u64, usize>,
    /// Writes that found no room in the log.
    blocked: VecDeque<u64>,
    cleaning: Option<Cleaning>,
}

/// A shingled disk.
#[derive(Clone, Debug)]
pub(crate) struct Shingled {
    front: Front,
    disk: Disk,
    cache_sectors: u64,
    band_sectors: u64,
    idle_ns: u64,
    log: ExtentMap<Place>,
    head: u64,
    seq: u64,
    last_id: u64,
    /// Bands below are cleaned after those above.
    clean_from: u64,
    idle_since_ns: u64,
    /// Tracks do not overlap: an experiment.
    in_place: bool,
    now: Ongoing,
}

impl Shingled {
    pub(crate) fn new(
        geometry: Geometry,
        parameters: &RotatingParameters,
        shingled: &ShingledParameters,
        link: Link,
        seed: u64,
    ) -> Self {
        let cache_sectors = shingled.cache_sectors();
        // One request may lie in many places, so the mechanics take more of them.
        let below = Geometry {
            sectors_512: geometry.sectors_512 + cache_sectors,
            queue_depth: u32::MAX,
            max_request_bytes: geometry.max_request_bytes.max(CHUNK as u32 * 512),
            ..geometry
        };
        Self {
            front: Front::new(geometry),
            disk: Disk::new(below, parameters, link, seed),
            cache_sectors,
            band_sectors: u64::from(shingled.band_mib) * 2048,
            idle_ns: ns(shingled.idle_ms * 1e3),
            log: ExtentMap::default(),
            head: 0,
            seq: 0,
            last_id: 0,
            clean_from: 0,
            idle_since_ns: 0,
            in_place: false,
            now: Ongoing::default(),
        }
    }

    /// Time at which an idle disk takes up cleaning; `None` while a request is outstanding or a chunk on its way.
    fn clean_due_ns(&self) -> Option<u64> {
        let is_busy = self.now.cleaning.as_ref().is_some_and(|cleaning| cleaning.is_busy);
        let is_idle = self.front.is_idle() && !is_busy;
        let has_work = self.now.cleaning.is_some() || self.log.sectors() > 0;
        (is_idle && has_work && !self.in_place).then(|| self.idle_since_ns + self.idle_ns)
    }

    /// Hands a request to the mechanics.
    fn submit_part(
        &mut self,
        now_ns: u64,
        operation: Operation,
        place: u64,
        sectors: u64,
        (part, fua): (Part, bool),
    ) {
        self.last_id += 1;
        let id = self.last_id;
        let sectors = u32::try_from(sectors).unwrap_or(u32::MAX);
        let request = Request { id, operation, lba: Lba(place), sectors, fua };
        self.now.parts.insert(id, part);
        if operation == Operation::Write {
            self.now.volatile.insert(id, part);
        }
        let taken = self.disk.submit(now_ns, request);
        debug_assert!(taken.is_ok(), "{taken:?}");
    }

    fn part_done(&mut self, Completion { id, at_ns }: Completion) {
        match self.now.parts.remove(&id) {
            None => {}
            Some(Part::Clean) => self.chunk_done(),
            Some(Part::Host { id, .. }) => {
                let Some(left) = self.now.left.get_mut(&id) else { return };
                *left -= 1;
                if *left == 0 {
                    self.now.left.remove(&id);
                    self.finish(at_ns, id);
                    if self.front.is_idle() {
                        self.idle_since_ns = at_ns;
                    }
                }
            }
        }
    }

    /// Places of some sectors: each with the host's address, its own and its length.
    fn places(&self, range: Range<u64>) -> Vec<(u64, u64, u64)> {
        let mut found: Vec<(u64, u64, u64)> = Vec::new();
        let mut add = |from: u64, to: u64, place: u64| {
            let joins = found.last().is_some_and(|(_, before, sectors)| before + sectors == place);
            match found.last_mut().filter(|_| joins) {
                Some((_, _, sectors)) => *sectors += to - from,
                None if from < to => found.push((from, place, to - from)),
                None => {}
            }
        };
        let mut reached = range.start;
        for (extent, place) in self.log.overlapping(range.clone()) {
            let (from, to) = (extent.start.max(range.start), extent.end.min(range.end));
            add(reached, from, reached + self.cache_sectors);
            add(from, to, from.saturating_add_signed(place.offset));
            reached = to;
        }
        add(reached, range.end, reached + self.cache_sectors);
        found
    }

    fn start_read(&mut self, now_ns: u64, request: &Request) {
        let id = request.id;
        let places = self.places(request.lba.0..request.end());
        self.now.left.insert(id, places.len());
        for (lba, place, sectors) in places {
            let part = Part::Host { id, lba, place, sectors };
            self.submit_part(now_ns, Operation::Read, place, sectors, (part, false));
        }
    }

    /// Writes go to their band where they continue it, and to the log where it has room. One that reaches into the next
    /// band is divided.
    fn admit_writes(&mut self, now_ns: u64) {
        while let Some(request) = self.now.blocked.front().and_then(|id| self.front.get(*id)) {
            let Request { id, fua, .. } = request;
            let pieces = self.pieces(request.lba.0..request.end());
            let logged = pieces.iter().filter(|piece| !self.continues_band(piece));
            let needed: u64 = logged.map(|piece| piece.end - piece.start).sum();
            if self.log.sectors() + needed > self.cache_sectors {
                self.clean(now_ns);
                return;
            }
            self.now.blocked.pop_front();
            self.now.left.insert(id, pieces.len());
            for piece in pieces {
                let (lba, sectors) = (piece.start, piece.end - piece.start);
                let place = if self.continues_band(&piece) {
                    self.note_stream(&piece);
                    self.log.remove(piece);
                    lba + self.cache_sectors
                } else {
                    self.append(piece)
                };
                let part = Part::Host { id, lba, place, sectors };
                self.submit_part(now_ns, Operation::Write, place, sectors, (part, fua));
            }
        }
    }

    /// Sectors by band.
    fn pieces(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut pieces = Vec::new();
        let mut start = range.start;
        while start < range.end {
            let end = ((start / self.band_sectors + 1) * self.band_sectors).min(range.end);
            pieces.push(start..end);
            start = end;
        }
        pieces
    }

    /// Returns true if a write begins a band or continues where the last one in its band ended.
    fn continues_band(&self, piece: &Range<u64>) -> bool {
        let is_cleaned = self.now.cleaning.as_ref().is_some_and(|cleaning| {
            piece.start < cleaning.band.end && cleaning.band.start < piece.end
        });
        let begins = piece.start.is_multiple_of(self.band_sectors);
        self.in_place || !is_cleaned && (begins || self.now.streams.contains(&piece.start))
    }

    /// Notes how far a band is written.
    fn note_stream(&mut self, piece: &Range<u64>) {
        self.now.streams.retain(|next| *next != piece.start);
        self.now.streams.push_back(piece.end);
        if self.now.streams.len() > MOST_STREAMS {
            self.now.streams.pop_front();
        }
    }

    /// Takes room in the log; the place.
    fn append(&mut self, range: Range<u64>) -> u64 {
        let sectors = range.end - range.start;
        if self.head + sectors > self.cache_sectors {
            self.head = 0;
        }
        let place = self.head;
        self.head += sectors;
        self.seq += 1;
        let offset = place.wrapping_sub(range.start).cast_signed();
        let seq = self.seq;
        self.log.update(range, |_| Place { offset, seq });
        place
    }

    /// Continues cleaning, if a write waits for room or the disk has been idle for long enough.
    fn clean(&mut self, now_ns: u64) {
        let is_due = self.clean_due_ns().is_some_and(|due_ns| due_ns <= now_ns);
        if self.now.blocked.is_empty() && !is_due {
            return;
        }
        if self.now.cleaning.is_none() {
            let all = 0..self.front.geometry().sectors_512;
            let above = self.log.overlapping(self.clean_from..all.end).next();
            let found = above.or_else(|| self.log.iter().next()).map(|(extent, _)| extent);
            let Some(extent) = found else { return };
            let first = extent.start.max(self.clean_from.min(extent.end - 1));
            let start = first / self.band_sectors * self.band_sectors;
            let band = start..(start + self.band_sectors).min(all.end);
            self.clean_from = if band.end >= all.end { 0 } else { band.end };
            self.now.streams.retain(|next| !band.contains(next));
            let seq = self.seq;
            let next = band.start;
            self.now.cleaning =
                Some(Cleaning { band, next, is_writing: false, seq, is_busy: false });
        }
        let Some(cleaning) = self.now.cleaning.as_mut().filter(|cleaning| !cleaning.is_busy) else {
            return;
        };
        cleaning.is_busy = true;
        let operation = if cleaning.is_writing { Operation::Write } else { Operation::Read };
        let (place, sectors) = (cleaning.next, (cleaning.band.end - cleaning.next).min(CHUNK));
        let place = place + self.cache_sectors;
        self.submit_part(now_ns, operation, place, sectors, (Part::Clean, false));
    }

    fn chunk_done(&mut self) {
        let Some(mut cleaning) = self.now.cleaning.take() else { return };
        cleaning.is_busy = false;
        cleaning.next = (cleaning.next + CHUNK).min(cleaning.band.end);
        if cleaning.next < cleaning.band.end {
            self.now.cleaning = Some(cleaning);
            return;
        }
        if !cleaning.is_writing {
            self.now.cleaning =
                Some(Cleaning { next: cleaning.band.start, is_writing: true, ..cleaning });
            return;
        }
        for (range, place) in self.log.remove(cleaning.band) {
            if place.seq > cleaning.seq {
                self.log.update(range, |_| place);
            }
        }
        self.admit_writes(self.front.now_ns());
    }

    /// Forgets writes that are on the medium.
    fn forget_durable(&mut self) {
        match self.disk.oldest_volatile_write() {
            None => self.now.volatile.clear(),
            Some(oldest) => self.now.volatile = self.now.volatile.split_off(&oldest),
        }
    }

    /// The host's address of a place that is being written; `None` for a copy, whose data is in the log, too.
    fn lba_of(&self, range: SectorRange) -> Option<SectorRange> {
        let first = range.lba.0;
        self.now.volatile.values().rev().find_map(|part| match part {
            Part::Host { lba, place, sectors, .. }
                if (*place..place + sectors).contains(&first) =>
            {
                Some(SectorRange { lba: Lba(first - place + lba), ..range })
            }
            _ => None,
        })
    }
}

impl Device for Shingled {
    fn front(&self) -> &Front {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.front
    }

    fn next_action_ns(&self) -> Option<u64> {
        [self.disk.next_event_ns(), self.clean_due_ns()].into_iter().flatten().min()
    }

    fn catch_up(&mut self, now_ns: u64) {
        let mut done = Vec::new();
        while let Some(at_ns) = self.next_action_ns().filter(|at_ns| *at_ns <= now_ns) {
            self.front.pass_time(at_ns);
            self.disk.advance(at_ns, &mut done);
            for completion in done.drain(..) {
                self.part_done(completion);
            }
            self.clean(at_ns);
        }
        self.front.pass_time(now_ns);
        // The mechanics write from their buffer, though no request is outstanding.
        self.disk.advance(now_ns, &mut done);
        self.forget_durable();
    }

    fn start(&mut self, now_ns: u64, id: u64) {
        let Some(request) = self.front.get(id) else { return };
        match request.operation {
            Operation::Read => self.start_read(now_ns, &request),
            Operation::Flush => {
                self.now.left.insert(id, 1);
                let part = Part::Host { id, lba: 0, place: 0, sectors: 0 };
                self.submit_part(now_ns, Operation::Flush, 0, 0, (part, false));
            }
            // The device presents neither discard nor write-zeroes, so nothing else gets here.
            Operation::Write | Operation::Discard | Operation::WriteZeroes => {
                self.now.blocked.push_back(id);
                self.admit_writes(now_ns);
            }
        }
    }

    fn fail(&mut self, now_ns: u64) -> LostWrites {
        let below = self.disk.power_cut(now_ns);
        let mut lost: Vec<LostRange> = Vec::new();
        for found in below.lost {
            if let Some(Part::Host { id, lba, place, .. }) =
                self.now.volatile.get(&found.id).copied()
            {
                let lba = Lba(found.range.lba.0 - place + lba);
                lost.push(LostRange { id, range: SectorRange { lba, ..found.range } });
            }
        }
        let damaged = below.damaged.iter().filter_map(|range| self.lba_of(*range)).collect();
        let waiting: BTreeSet<u64> = self.front.held().chain(&self.now.blocked).copied().collect();
        lost.extend(self.front.drop_all().into_iter().filter(|lost| waiting.contains(&lost.id)));
        self.now = Ongoing::default();
        self.idle_since_ns = now_ns;
        LostWrites { lost: tidy(lost), damaged }
    }

    fn add_evidence(&self, totals: &mut Evidence) {
        totals.rotating = self.disk.evidence().rotating;
    }

    /// Those of the mechanics, and its own.
    fn laws_in_force(&self) -> LawSet {
        self.disk.laws_in_force().with(Law::Shingling, true)
    }

    fn take_away(&mut self, laws: LawSet) {
        self.disk.take_away(laws);
        if laws.contains(Law::Shingling) {
            self.in_place = true;
            self.now.cleaning = None;
        }
    }
}
