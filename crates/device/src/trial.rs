//! Plain loads on a model, to see what it does.

use std::collections::BTreeMap;

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::evidence::FlashEvidence;
use crate::model::{Completion, Geometry, Lba, Model, Operation, Request};

#[cfg(test)]
mod tests;

/// Requests of one kind and size, so many at a time.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Kind of each.
    pub operation: Operation,
    /// Size of each.
    pub bytes: u32,
    /// Requests at a time.
    pub depth: u32,
    /// Requests in all.
    pub count: u32,
}

/// Offsets of the requests.
#[derive(Clone, Copy, Debug)]
pub enum Places {
    /// Anywhere in the first so many sectors, aligned to the request's size.
    Random {
        /// Sectors of the area.
        sectors: u64,
    },
    /// To `count` places in turn, `apart` sectors from one another, going on behind the last request at each.
    InTurn {
        /// Places.
        count: u32,
        /// Sectors from one to the next.
        apart: u64,
    },
}

/// Result of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Found {
    requests: u32,
    bytes: u64,
    latency_ns: u64,
    elapsed_ns: u64,
}

impl Found {
    /// Mean latency, milliseconds.
    #[must_use]
    pub fn mean_ms(&self) -> f64 {
        self.latency_ns as f64 / f64::from(self.requests) / 1e6
    }

    /// Requests per second.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        f64::from(self.requests) / self.elapsed_ns.max(1) as f64 * 1e9
    }

    pub(crate) fn mb_per_s(&self) -> f64 {
        self.bytes as f64 / self.elapsed_ns.max(1) as f64 * 1e3
    }
}

/// A model under a sequence of loads.
pub struct Trial {
    model: Box<dyn Model>,
    now_ns: u64,
    last_id: u64,
    random: Xoshiro256PlusPlus,
}

impl Trial {
    /// A trial on a model at time 0.
    #[must_use]
    pub fn new(model: Box<dyn Model>) -> Self {
        Self { model, now_ns: 0, last_id: 0, random: Xoshiro256PlusPlus::seed_from_u64(1) }
    }

    /// Capacity and limits of the model.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.model.geometry()
    }

    /// Counts of a flash device since it was built; `None` for others.
    pub(crate) fn flash(&self) -> Option<FlashEvidence> {
        self.model.evidence().flash
    }

    /// Runs a load, from the end of the previous one; `None` if the model takes no such request or none
    /// fits.
    pub fn run(&mut self, load: Load, places: Places) -> Option<Found> {
        let start_ns = self.now_ns;
        let latency_ns = self.latencies(load, places)?.iter().sum();
        let bytes = u64::from(load.count) * u64::from(load.bytes);
        Some(Found { requests: load.count, bytes, latency_ns, elapsed_ns: self.now_ns - start_ns })
    }

    /// As [`Trial::run`]; the latency of each request in nanoseconds, in the order of completion.
    pub(crate) fn latencies(&mut self, load: Load, places: Places) -> Option<Vec<u64>> {
        let sectors = load.bytes / 512;
        let mut waiting = BTreeMap::new();
        let mut sent = 0_u32;
        let mut latencies_ns = Vec::new();
        let mut completions: Vec<Completion> = Vec::new();
        while latencies_ns.len() < load.count as usize {
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
                latencies_ns.push(completion.at_ns - waiting.remove(&completion.id)?);
            }
        }
        Some(latencies_ns)
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

/// Sequential requests of one kind, of `size` bytes or the longest that the device takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) operation: Operation,
    pub(crate) lba: u64,
    pub(crate) bytes: u64,
    pub(crate) size: u32,
    pub(crate) depth: u32,
}

/// Rate of a stream in 10^6 bytes a second; the first quarter, in which a disk finds its place, is not counted. `None` if
/// the model takes no such request or the stream does not fit.
pub(crate) fn stream(model: &mut dyn Model, load: Stream) -> Option<f64> {
    let geometry = model.geometry();
    let sectors = (geometry.max_request_bytes / 512).min(load.size / 512).max(1);
    let count = load.bytes / 512 / u64::from(sectors);
    let lba = load.lba.min(geometry.sectors_512.checked_sub(load.bytes / 512)?) / 8 * 8;
    let depth = u64::from(load.depth.min(geometry.queue_depth).max(1));
    let (mut now_ns, mut start_ns) = (0, 0);
    let (mut sent, mut done) = (0_u64, 0_u64);
    let mut completions = Vec::new();
    while done < count {
        while sent < count && sent - done < depth {
            let place = Lba(lba + sent * u64::from(sectors));
            sent += 1;
            let request =
                Request { id: sent, operation: load.operation, lba: place, sectors, fua: false };
            model.submit(now_ns, request).ok()?;
        }
        now_ns = model.next_event_ns()?;
        model.advance(now_ns, &mut completions);
        for _ in completions.drain(..) {
            done += 1;
            if done == count / 4 {
                start_ns = now_ns;
            }
        }
    }
    let counted = (count - count / 4) * u64::from(sectors) * 512;
    (now_ns > start_ns).then(|| counted as f64 / (now_ns - start_ns) as f64 * 1e3)
}
