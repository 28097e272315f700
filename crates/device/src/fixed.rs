//! A device that takes a fixed time for each request and moves data at a fixed rate; memory is one of them.

use serde::Deserialize;

use crate::clock::{Rate, ns};
use crate::error::{DeviceError, within};
use crate::evidence::Evidence;
use crate::front::Scheduled;
use crate::model::{Completion, Geometry, LostWrites, Model, Operation, Refused, Request};

#[cfg(test)]
mod tests;

/// Parameters of a fixed latency and bandwidth.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedParameters {
    /// Time until the first byte of a read moves, in microseconds.
    pub read_latency_us: f64,
    /// Time until the first byte of a write moves, in microseconds.
    pub write_latency_us: f64,
    /// Time of a flush, in microseconds.
    #[serde(default)]
    pub flush_latency_us: f64,
    /// Rate of the one link over which all data moves, in 10^6 bytes a second.
    pub mb_per_s: f64,
    /// Requests whose latencies pass at the same time.
    pub parallel: u32,
}

/// Parameters of memory used as a disk.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RamParameters {
    /// Rate of copying, in 10^6 bytes a second.
    pub mb_per_s: f64,
}

impl FixedParameters {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        within("fixed.read_latency_us", self.read_latency_us, 0.0, 1e9)?;
        within("fixed.write_latency_us", self.write_latency_us, 0.0, 1e9)?;
        within("fixed.flush_latency_us", self.flush_latency_us, 0.0, 1e9)?;
        within("fixed.mb_per_s", self.mb_per_s, 1e-3, 1e6)?;
        within("fixed.parallel", self.parallel.into(), 1.0, 65536.0)
    }
}

impl RamParameters {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        within("ram.mb_per_s", self.mb_per_s, 1e-3, 1e6)
    }

    /// Memory is a fixed device without latency.
    pub(crate) fn as_fixed(&self) -> FixedParameters {
        FixedParameters {
            read_latency_us: 0.0,
            write_latency_us: 0.0,
            flush_latency_us: 0.0,
            mb_per_s: self.mb_per_s,
            parallel: 1,
        }
    }
}

/// The device: `parallel` places in which latency passes, then one link, first come, first served.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    desk: Scheduled,
    read_ns: u64,
    write_ns: u64,
    flush_ns: u64,
    rate: Rate,
    /// Time at which each place is free again.
    places: Vec<u64>,
    link_free_ns: u64,
}

impl Fixed {
    pub(crate) fn new(geometry: Geometry, parameters: &FixedParameters) -> Self {
        Self {
            desk: Scheduled::new(geometry),
            read_ns: ns(parameters.read_latency_us),
            write_ns: ns(parameters.write_latency_us),
            flush_ns: ns(parameters.flush_latency_us),
            rate: Rate::from_mb_per_s(parameters.mb_per_s),
            places: vec![0; parameters.parallel as usize],
            link_free_ns: 0,
        }
    }
}

impl Model for Fixed {
    fn duplicate(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn geometry(&self) -> Geometry {
        self.desk.geometry()
    }

    fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), Refused> {
        let Self { desk, places, link_free_ns, rate, .. } = self;
        let (latency_ns, bytes) = match request.operation {
            Operation::Read => (self.read_ns, u64::from(request.sectors) * 512),
            Operation::Write => (self.write_ns, u64::from(request.sectors) * 512),
            Operation::Flush => (self.flush_ns, 0),
            Operation::Discard | Operation::WriteZeroes => (self.write_ns, 0),
        };
        desk.submit(now_ns, request, || {
            let free = places.iter_mut().min_by_key(|free_ns| **free_ns);
            let ready_ns = free.map_or(now_ns, |free_ns| {
                *free_ns = now_ns.max(*free_ns) + latency_ns;
                *free_ns
            });
            if bytes == 0 {
                return ready_ns;
            }
            *link_free_ns = ready_ns.max(*link_free_ns) + rate.ns(bytes);
            *link_free_ns
        })
    }

    fn next_event_ns(&self) -> Option<u64> {
        self.desk.next_event_ns()
    }

    fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        self.desk.advance(now_ns, completions);
    }

    fn power_cut(&mut self, now_ns: u64) -> LostWrites {
        let lost = self.desk.power_cut(now_ns);
        self.places.fill(now_ns);
        self.link_free_ns = now_ns;
        lost
    }

    fn oldest_volatile_write(&self) -> Option<u64> {
        self.desk.oldest_volatile_write()
    }

    fn evidence(&self) -> Evidence {
        self.desk.totals()
    }
}
