//! A device of which only latencies at some request sizes are known.

use serde::Deserialize;

use crate::clock::ns;
use crate::error::{DeviceError, refuse, within};
use crate::evidence::Evidence;
use crate::front::Scheduled;
use crate::model::{Completion, Geometry, LostWrites, Model, Operation, Refused, Request};

#[cfg(test)]
mod tests;

/// Measured mean latencies of single requests, by size.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredParameters {
    /// Pairs of request size in bytes and latency in microseconds, sizes increasing.
    pub read: Vec<[f64; 2]>,
    /// The same for writes.
    pub write: Vec<[f64; 2]>,
    /// Latency of a flush in microseconds.
    #[serde(default)]
    pub flush_us: f64,
    /// Requests the device works on at the same time without slowing one another down.
    pub parallel: u32,
}

impl MeasuredParameters {
    pub(crate) fn check(&self) -> Result<(), DeviceError> {
        for (key, table) in [("measured.read", &self.read), ("measured.write", &self.write)] {
            if table.is_empty() {
                return Err(refuse(key, "[]", "needs at least one pair of bytes and microseconds"));
            }
            for &[bytes, us] in table {
                within(key, bytes, 1.0, 1e9)?;
                within(key, us, 0.0, 1e9)?;
            }
            if let Some(pair) = table.windows(2).find(|pair| pair[1][0] <= pair[0][0]) {
                return Err(refuse(key, pair[1][0], "sizes must increase from pair to pair"));
            }
        }
        within("measured.flush_us", self.flush_us, 0.0, 1e9)?;
        within("measured.parallel", self.parallel.into(), 1.0, 65536.0)
    }
}

/// Latency by size, straight lines between the points and beyond the last by its slope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Curve {
    /// Bytes and nanoseconds.
    points: Vec<(u64, u64)>,
}

impl Curve {
    pub(crate) fn new(table: &[[f64; 2]]) -> Self {
        Self { points: table.iter().map(|&[bytes, us]| (bytes.round() as u64, ns(us))).collect() }
    }

    /// Nanoseconds for a request of `bytes`. Below the first point the first latency holds; beyond the last the
    /// slope of the last piece continues, never falling.
    pub(crate) fn ns(&self, bytes: u64) -> u64 {
        let after = self.points.partition_point(|point| point.0 < bytes);
        let (first, second) = match (after, self.points.len()) {
            (_, 0) => return 0,
            (0, _) | (_, 1) => return self.points[0].1,
            (after, length) => {
                let after = after.min(length - 1);
                (self.points[after - 1], self.points[after])
            }
        };
        let run = i128::from(second.0 - first.0);
        let rise = i128::from(second.1) - i128::from(first.1);
        let rise = if bytes > second.0 { rise.max(0) } else { rise };
        let (from, step) = if bytes > second.0 {
            (second.1, i128::from(bytes - second.0))
        } else {
            (first.1, i128::from(bytes - first.0))
        };
        u64::try_from(i128::from(from) + rise * step / run).unwrap_or(0)
    }
}

/// The device: `parallel` places, each working on one request at a time.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    desk: Scheduled,
    read: Curve,
    write: Curve,
    flush_ns: u64,
    /// Time at which each place is free again.
    places: Vec<u64>,
}

impl Measured {
    pub(crate) fn new(geometry: Geometry, parameters: &MeasuredParameters) -> Self {
        Self {
            desk: Scheduled::new(geometry),
            read: Curve::new(&parameters.read),
            write: Curve::new(&parameters.write),
            flush_ns: ns(parameters.flush_us),
            places: vec![0; parameters.parallel as usize],
        }
    }
}

impl Model for Measured {
    fn duplicate(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn geometry(&self) -> Geometry {
        self.desk.geometry()
    }

    fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), Refused> {
        let bytes = u64::from(request.sectors) * 512;
        let service_ns = match request.operation {
            Operation::Read => self.read.ns(bytes),
            Operation::Write => self.write.ns(bytes),
            Operation::Flush => self.flush_ns,
            Operation::Discard | Operation::WriteZeroes => self.write.ns(0),
        };
        let places = &mut self.places;
        self.desk.submit(now_ns, request, || {
            let free = places.iter_mut().min_by_key(|free_ns| **free_ns);
            free.map_or(now_ns, |free_ns| {
                *free_ns = now_ns.max(*free_ns) + service_ns;
                *free_ns
            })
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
        lost
    }

    fn oldest_volatile_write(&self) -> Option<u64> {
        self.desk.oldest_volatile_write()
    }

    fn evidence(&self) -> Evidence {
        self.desk.totals()
    }
}
