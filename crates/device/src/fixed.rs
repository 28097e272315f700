//! A device that takes a fixed time for each request and moves data at a fixed rate; memory is one of them.

use seekwell_model::laws::Law;
use serde::Deserialize;

use crate::clock::{Rate, ns};
use crate::error::{DeviceError, within};
use crate::front::{Agenda, Device, Front, Rule, conflict};
use crate::model::{Geometry, LostWrites, Operation, Request};

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
    /// Limit of requests a second; absent when there is none.
    pub limit: Option<LimitParameters>,
}

/// A limit of requests a second, as volumes of clouds have: a bucket of credits that fills at one rate and is emptied at
/// most at another.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitParameters {
    /// Requests a second in the long run.
    pub per_second: f64,
    /// Requests a second while there are credits; absent when there are none.
    pub burst_per_second: Option<f64>,
    /// Requests beyond the long run that may be made, once the bucket is full, as it is at the start.
    #[serde(default)]
    pub credits: f64,
    /// Size up to which a read or write counts as one request, in KiB; a longer one counts as several.
    pub unit_kib: u32,
    /// Bytes in the long run, in 10^6 bytes a second; absent when only requests are counted.
    pub mb_per_s: Option<f64>,
    /// MiB beyond the long run that may pass, once the bucket is full, as it is at the start.
    #[serde(default)]
    pub credit_mib: f64,
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
        within("fixed.parallel", self.parallel.into(), 1.0, 65536.0)?;
        self.limit.as_ref().map_or(Ok(()), LimitParameters::check)
    }
}

impl LimitParameters {
    fn check(&self) -> Result<(), DeviceError> {
        within("fixed.limit.per_second", self.per_second, 1.0, 1e9)?;
        within("fixed.limit.credits", self.credits, 0.0, 1e9)?;
        within("fixed.limit.unit_kib", self.unit_kib.into(), 1.0, 65536.0)?;
        within("fixed.limit.mb_per_s", self.mb_per_s.unwrap_or(1.0), 1e-3, 1e6)?;
        within("fixed.limit.credit_mib", self.credit_mib, 0.0, 1e9)?;
        let burst = self.burst_per_second.unwrap_or(self.per_second);
        within("fixed.limit.burst_per_second", burst, self.per_second, 1e9)
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
            limit: None,
        }
    }
}

/// The buckets of credits as generic cell rate algorithms (ITU-T I.371): the time at which a bucket would be full
/// again tells how many credits are left.
#[derive(Clone, Debug)]
struct Limit {
    unit_sectors: u64,
    per_request_ns: u64,
    per_burst_ns: u64,
    /// Time that all credits take to come back.
    credit_ns: u64,
    full_ns: u64,
    last_ns: Option<u64>,
    bytes: Option<Bytes>,
}

/// The bucket of bytes.
#[derive(Clone, Debug)]
struct Bytes {
    rate: Rate,
    credit_ns: u64,
    full_ns: u64,
}

impl Bytes {
    fn new(mb_per_s: f64, credit_mib: f64) -> Self {
        let rate = Rate::from_mb_per_s(mb_per_s);
        Self { rate, credit_ns: rate.ns((credit_mib * 1_048_576.0) as u64), full_ns: 0 }
    }
}

impl Limit {
    fn new(parameters: &LimitParameters) -> Self {
        let each_ns = |per_second: f64| (1e9 / per_second) as u64;
        let per_request_ns = each_ns(parameters.per_second);
        Self {
            unit_sectors: u64::from(parameters.unit_kib) * 2,
            per_request_ns,
            per_burst_ns: each_ns(parameters.burst_per_second.unwrap_or(parameters.per_second)),
            credit_ns: (parameters.credits * per_request_ns as f64) as u64,
            full_ns: 0,
            last_ns: None,
            bytes: parameters.mb_per_s.map(|rate| Bytes::new(rate, parameters.credit_mib)),
        }
    }

    /// The time at which a request of so many sectors may start.
    fn admit(&mut self, now_ns: u64, sectors: u64) -> u64 {
        let count = sectors.div_ceil(self.unit_sectors).max(1);
        let credited_ns = self.full_ns.saturating_sub(self.credit_ns);
        let paid_ns =
            self.bytes.as_ref().map_or(0, |bytes| bytes.full_ns.saturating_sub(bytes.credit_ns));
        let start_ns = now_ns.max(credited_ns).max(self.last_ns.unwrap_or(0)).max(paid_ns);
        if let Some(bytes) = &mut self.bytes {
            bytes.full_ns = bytes.full_ns.max(start_ns) + bytes.rate.ns(sectors * 512);
        }
        self.full_ns = self.full_ns.max(start_ns).saturating_add(count * self.per_request_ns);
        self.last_ns = Some(start_ns.saturating_add(count * self.per_burst_ns));
        start_ns
    }

    /// Takes the limit of requests away.
    fn drop_requests(&mut self) {
        (self.per_request_ns, self.per_burst_ns) = (0, 0);
        (self.full_ns, self.last_ns) = (0, None);
    }
}

/// The device: `parallel` places in which latency passes, then one link, first come, first served.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    front: Front,
    /// Ends of the requests.
    due: Agenda<u64>,
    read_ns: u64,
    write_ns: u64,
    flush_ns: u64,
    /// `None` if data moves in no time: an experiment.
    rate: Option<Rate>,
    /// Time at which each place is free again.
    places: Vec<u64>,
    link_free_ns: u64,
    limit: Option<Limit>,
}

impl Fixed {
    pub(crate) fn new(geometry: Geometry, parameters: &FixedParameters) -> Self {
        Self {
            front: Front::new(geometry),
            due: Agenda::default(),
            read_ns: ns(parameters.read_latency_us),
            write_ns: ns(parameters.write_latency_us),
            flush_ns: ns(parameters.flush_latency_us),
            rate: Some(Rate::from_mb_per_s(parameters.mb_per_s)),
            places: vec![0; parameters.parallel as usize],
            link_free_ns: 0,
            limit: parameters.limit.as_ref().map(Limit::new),
        }
    }

    /// The time at which a request would be done if none were in conflict with it.
    fn end_ns(&mut self, now_ns: u64, request: &Request) -> u64 {
        let (latency_ns, sectors) = match request.operation {
            Operation::Read => (self.read_ns, u64::from(request.sectors)),
            Operation::Write => (self.write_ns, u64::from(request.sectors)),
            Operation::Flush => (self.flush_ns, 0),
            Operation::Discard | Operation::WriteZeroes => (self.write_ns, 0),
        };
        let counted = self.limit.as_mut().filter(|_| sectors > 0);
        let now_ns = counted.map_or(now_ns, |limit| limit.admit(now_ns, sectors));
        let free = self.places.iter_mut().min_by_key(|free_ns| **free_ns);
        let ready_ns = free.map_or(now_ns, |free_ns| {
            *free_ns = now_ns.max(*free_ns) + latency_ns;
            *free_ns
        });
        if sectors == 0 {
            return ready_ns;
        }
        let moving_ns = self.rate.map_or(0, |rate| rate.ns(sectors * 512));
        self.link_free_ns = ready_ns.max(self.link_free_ns) + moving_ns;
        self.link_free_ns
    }
}

impl Device for Fixed {
    const LAWS: &'static [Rule<Self>] = &[
        (
            Law::Latency,
            |it| it.read_ns > 0 || it.write_ns > 0,
            |it| (it.read_ns, it.write_ns) = (0, 0),
        ),
        (Law::Bus, |it| it.rate.is_some(), |it| it.rate = None),
        (Law::Flush, |it| it.flush_ns > 0, |it| it.flush_ns = 0),
        (
            Law::RequestLimit,
            |it| it.limit.is_some(),
            |it| {
                it.limit.iter_mut().for_each(Limit::drop_requests);
            },
        ),
        (
            Law::ByteLimit,
            |it| it.limit.as_ref().is_some_and(|limit| limit.bytes.is_some()),
            |it| it.limit.iter_mut().for_each(|limit| limit.bytes = None),
        ),
    ];

    // Requests in conflict are timed so that they end in order.
    const HOLDS_CONFLICTS: bool = false;

    fn front(&self) -> &Front {
        &self.front
    }

    fn front_mut(&mut self) -> &mut Front {
        &mut self.front
    }

    fn next_action_ns(&self) -> Option<u64> {
        self.due.next_ns()
    }

    fn catch_up(&mut self, now_ns: u64) {
        while let Some((at_ns, id)) = self.due.take_due(now_ns) {
            self.front.finish(id, at_ns);
        }
        self.front.pass_time(now_ns);
    }

    fn start(&mut self, now_ns: u64, id: u64) {
        let Some(request) = self.front.get(id) else { return };
        let in_conflict = |id: u64| self.front.get(id).is_some_and(|it| conflict(&request, &it));
        let earlier = self.due.iter().filter(|(_, id)| in_conflict(*id));
        let after_ns = earlier.map(|(at_ns, _)| at_ns).max().unwrap_or(now_ns);
        let end_ns = self.end_ns(now_ns, &request);
        self.due.add(end_ns.max(after_ns), id);
    }

    /// Requests still under way had no effect.
    fn fail(&mut self, now_ns: u64) -> LostWrites {
        self.due.clear();
        self.places.fill(now_ns);
        self.link_free_ns = now_ns;
        LostWrites { lost: self.front.drop_all(), damaged: Vec::new() }
    }
}
