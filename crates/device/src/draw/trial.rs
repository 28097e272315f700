//! Plain loads on a model, to see what it does.

use std::collections::BTreeMap;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::model::{Completion, Geometry, Lba, Model, Operation, Request};

#[cfg(test)]
mod tests;

/// Requests of one kind and size, so many at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) operation: Operation,
    pub(crate) bytes: u32,
    pub(crate) depth: u32,
    pub(crate) count: u32,
}

/// Offsets of the requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Places {
    /// Anywhere in the first so many sectors, aligned to the request's size.
    Random { sectors: u64 },
    /// To `count` places in turn, `apart` sectors from one another, going on behind the last request at each.
    InTurn { count: u32, apart: u64 },
}

/// Result of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    requests: u32,
    bytes: u64,
    latency_ns: u64,
    elapsed_ns: u64,
}

impl Found {
    pub(crate) fn mean_ms(&self) -> f64 {
        self.latency_ns as f64 / f64::from(self.requests) / 1e6
    }

    pub(crate) fn per_second(&self) -> f64 {
        f64::from(self.requests) / self.elapsed_ns.max(1) as f64 * 1e9
    }

    pub(crate) fn mb_per_s(&self) -> f64 {
        self.bytes as f64 / self.elapsed_ns.max(1) as f64 * 1e3
    }
}

/// A model under a sequence of loads.
pub(crate) struct Trial {
    model: Box<dyn Model>,
    now_ns: u64,
    last_id: u64,
    random: Xoshiro256PlusPlus,
}

impl Trial {
    pub(crate) fn new(model: Box<dyn Model>) -> Self {
        Self { model, now_ns: 0, last_id: 0, random: Xoshiro256PlusPlus::seed_from_u64(1) }
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.model.geometry()
    }

    /// Runs a load, from the end of the previous one; `None` if the model takes no such request or none
    /// fits.
    pub(crate) fn run(&mut self, load: Load, places: Places) -> Option<Found> {
        let sectors = load.bytes / 512;
        let start_ns = self.now_ns;
        let mut waiting = BTreeMap::new();
        let (mut sent, mut done, mut latency_ns) = (0_u32, 0_u32, 0);
        let mut completions: Vec<Completion> = Vec::new();
        while done < load.count {
            while sent < load.count && waiting.len() < load.depth as usize {
                let lba = Lba(place(places, sectors.into(), sent, &mut self.random)?);
                let id = self.last_id + 1;
                let request = Request { id, operation: load.operation, lba, sectors, fua: false };
                self.model.submit(self.now_ns, request).ok()?;
                waiting.insert(id, self.now_ns);
                self.last_id = id;
                sent += 1;
            }
            self.now_ns = self.model.next_event_ns()?;
            self.model.advance(self.now_ns, &mut completions);
            for completion in completions.drain(..) {
                latency_ns += completion.at_ns - waiting.remove(&completion.id)?;
                done += 1;
            }
        }
        let bytes = u64::from(load.count) * u64::from(load.bytes);
        Some(Found { requests: load.count, bytes, latency_ns, elapsed_ns: self.now_ns - start_ns })
    }
}

fn place(places: Places, sectors: u64, sent: u32, random: &mut Xoshiro256PlusPlus) -> Option<u64> {
    match places {
        _ if sectors == 0 => Some(0),
        Places::Random { sectors: area } => {
            let slots = area / sectors;
            let product = u128::from(random.next_u64()) * u128::from(slots);
            (slots > 0).then_some((product >> 64) as u64 * sectors)
        }
        Places::InTurn { count, apart } => {
            let (place, round) = (sent % count, sent / count);
            let offset = u64::from(round) * sectors;
            (offset + sectors <= apart).then_some(u64::from(place) * apart + offset)
        }
    }
}

/// Rate in 10^6 bytes a second of reading or writing `bytes` from `lba` on, in the longest requests the device takes; the first
/// quarter, in which a disk finds its place, is not counted.
pub(crate) fn stream(
    model: &mut dyn Model,
    operation: Operation,
    lba: u64,
    bytes: u64,
) -> Option<f64> {
    let geometry = model.geometry();
    let sectors = (geometry.max_request_bytes / 512).min(256);
    let count = bytes / 512 / u64::from(sectors);
    let lba = lba.min(geometry.sectors_512.checked_sub(bytes / 512)?) / 8 * 8;
    let (mut now_ns, mut start_ns, mut counted) = (0, 0, 0);
    let mut done = Vec::new();
    for index in 0..count {
        if index == count / 4 {
            (start_ns, counted) = (now_ns, 0);
        }
        let place = Lba(lba + index * u64::from(sectors));
        let request = Request { id: index + 1, operation, lba: place, sectors, fua: false };
        model.submit(now_ns, request).ok()?;
        done.clear();
        while done.is_empty() {
            now_ns = model.next_event_ns()?;
            model.advance(now_ns, &mut done);
        }
        counted += u64::from(sectors) * 512;
    }
    (now_ns > start_ns).then(|| counted as f64 / (now_ns - start_ns) as f64 * 1e3)
}
