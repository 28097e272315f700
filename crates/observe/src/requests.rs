//! From block events to requests: when each was issued, how long the device took, how many others
//! it had.

use seekwell_model::record::BlockEvent;
use std::collections::{HashMap, HashSet};

/// Requests under way that are remembered; more at once no queue holds.
const MOST_OPEN: usize = 100_000;

/// A request that the device completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Issued to the device, on the clock of the events.
    pub issued_ns: u64,
    /// From there to completion: the device's own time, without the scheduler's queue.
    pub latency_ns: u64,
    /// First sector, 512 bytes each.
    pub sector: u64,
    /// Sectors.
    pub sectors: u32,
    /// `R`, `W`, `D`, `F`.
    pub operation: char,
    /// Requests that the device had when this one was issued, itself included.
    pub in_flight: u32,
}

/// A request that was issued and is not complete.
#[derive(Clone, Copy, Debug)]
struct Open {
    event: BlockEvent,
    in_flight: u32,
}

/// Pairs issues with completions over successive batches.
#[derive(Clone, Debug, Default)]
pub struct Tracker {
    open: HashMap<(u64, char), Open>,
    /// Completions whose issue may come with the next batch: the rings of the CPUs are read one
    /// after the other.
    early: Vec<BlockEvent>,
}

impl Tracker {
    /// Requests that this batch completed, in order of their completion. Requests issued before the
    /// first batch are left out: the time of their issue is unknown.
    pub fn feed(&mut self, batch: Vec<BlockEvent>) -> Vec<Request> {
        let waited: HashSet<(u64, u64)> =
            self.early.iter().map(|event| (event.at_ns, event.sector)).collect();
        let mut events = std::mem::take(&mut self.early);
        events.extend(batch);
        // An issue comes before a completion of the same instant.
        events.sort_by_key(|event| (event.at_ns, event.complete));
        let mut done = Vec::new();
        for event in events {
            let key = (event.sector, event.operation);
            if !event.complete {
                if self.open.len() < MOST_OPEN {
                    // One that was issued again was put back by the driver, and is one request.
                    self.open.remove(&key);
                    let in_flight = u32::try_from(self.open.len() + 1).unwrap_or(u32::MAX);
                    self.open.insert(key, Open { event, in_flight });
                }
            } else if let Some(open) = self.open.remove(&key) {
                done.push(Request {
                    issued_ns: open.event.at_ns,
                    latency_ns: event.at_ns.saturating_sub(open.event.at_ns),
                    sector: event.sector,
                    sectors: open.event.sectors,
                    operation: event.operation,
                    in_flight: open.in_flight,
                });
            } else if !waited.contains(&(event.at_ns, event.sector)) {
                self.early.push(event);
            }
        }
        done
    }
}

/// Powers of two from 1 µs to about 2 s, with one class more at each end.
pub const LATENCY_CLASSES: usize = 23;
/// Powers of two from 512 bytes to 1 MiB, and what is larger.
pub const SIZE_CLASSES: usize = 13;

/// Statistics of the requests of an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Reads by latency: class `n` holds up to 2^`n` µs, the last one everything above.
    pub read_latency: [u64; LATENCY_CLASSES],
    /// Writes, discards and flushes by latency.
    pub write_latency: [u64; LATENCY_CLASSES],
    /// Requests by size: class `n` holds up to 512 · 2^`n` bytes, the last one everything above.
    pub sizes: [u64; SIZE_CLASSES],
    /// Median of the latencies in ns; `None` without requests.
    pub latency_p50_ns: Option<u64>,
    /// 99th percentile of the latencies in ns.
    pub latency_p99_ns: Option<u64>,
    /// Mean of the requests that the device had when another was issued, itself included; `None`
    /// without requests.
    pub mean_in_flight: Option<f64>,
    /// Most that it had.
    pub most_in_flight: u32,
    /// Share of requests that began where the one before ended; `None` with fewer than 2.
    pub sequential: Option<f64>,
}

impl Picture {
    /// The picture of these requests.
    #[must_use]
    pub fn of(requests: &[Request]) -> Self {
        let mut picture = Self::default();
        for request in requests {
            let latency = latency_class(request.latency_ns);
            match request.operation {
                'R' => picture.read_latency[latency] += 1,
                _ => picture.write_latency[latency] += 1,
            }
            if request.sectors > 0 {
                picture.sizes[size_class(request.sectors)] += 1;
            }
            picture.most_in_flight = picture.most_in_flight.max(request.in_flight);
        }
        let total: u64 = requests.iter().map(|request| u64::from(request.in_flight)).sum();
        picture.mean_in_flight =
            (!requests.is_empty()).then(|| total as f64 / requests.len() as f64);
        picture.sequential = sequential(requests);
        let mut latencies: Vec<u64> = requests.iter().map(|request| request.latency_ns).collect();
        latencies.sort_unstable();
        picture.latency_p50_ns = nearest_rank(&latencies, 0.5);
        picture.latency_p99_ns = nearest_rank(&latencies, 0.99);
        picture
    }
}

/// The smallest value that this share of the sorted values does not exceed.
fn nearest_rank(sorted: &[u64], share: f64) -> Option<u64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

/// Share of requests with data that begin where the one issued before them ended.
fn sequential(requests: &[Request]) -> Option<f64> {
    let mut order: Vec<&Request> = requests.iter().filter(|request| request.sectors > 0).collect();
    order.sort_by_key(|request| request.issued_ns);
    let follows = |pair: &&[&Request]| {
        pair[0].sector.saturating_add(u64::from(pair[0].sectors)) == pair[1].sector
    };
    let pairs = order.len().checked_sub(1).filter(|pairs| *pairs > 0)?;
    Some(order.windows(2).filter(follows).count() as f64 / pairs as f64)
}

fn latency_class(latency_ns: u64) -> usize {
    let micros = latency_ns.div_ceil(1_000).max(1);
    (micros.next_power_of_two().trailing_zeros() as usize).min(LATENCY_CLASSES - 1)
}

fn size_class(sectors: u32) -> usize {
    (u64::from(sectors).next_power_of_two().trailing_zeros() as usize).min(SIZE_CLASSES - 1)
}

#[cfg(test)]
mod tests;
