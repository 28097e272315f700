//! Runs a script of requests on a model and checks what every model promises. A broken promise is a [`Violation`], so
//! that models broken on purpose can be tried as well.

use std::collections::BTreeMap;

use seekwell_device::{
    Completion, Geometry, Lba, LostWrites, Model, Operation, Refused, Request, SectorRange,
};

/// A request to come, in rough numbers that are fitted to the device.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub gap_ns: u64,
    pub operation: Operation,
    pub place: u64,
    pub length: u32,
    pub fua: bool,
}

/// The first promise that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    Refused(Refused),
    CompletedBeforeSubmission,
    CompletedTwice,
    CompletedUnknown,
    NeverCompleted,
    TimeWentBack,
    CompletedBeforeAnnounced,
    OverlapReordered,
    FlushIgnored,
    FuaLost,
    WriteThroughLost,
    LostOutsideWrites,
    DamagedOutsideWrites,
}

/// What happened.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// By id: the request and when it was submitted.
    pub submitted: BTreeMap<u64, (Request, u64)>,
    /// By id: when it completed.
    pub completed: BTreeMap<u64, u64>,
    /// In the order in which they came.
    pub order: Vec<Completion>,
}

/// Fits a step to the device.
pub fn request(geometry: &Geometry, id: u64, step: &Step) -> Request {
    let block = u64::from(geometry.logical_block / 512);
    let limit = match step.operation {
        Operation::Discard => geometry.max_discard_sectors,
        Operation::WriteZeroes => geometry.max_write_zeroes_sectors,
        _ => Some(geometry.max_request_bytes / 512),
    };
    let operation = if limit.is_some() { step.operation } else { Operation::Write };
    if operation == Operation::Flush {
        return Request { id, operation, lba: Lba(0), sectors: 0, fua: false };
    }
    let limit = (u64::from(limit.unwrap_or(geometry.max_request_bytes / 512)) / block)
        .clamp(1, geometry.sectors_512 / block);
    let length = (u64::from(step.length) % limit + 1) * block;
    let places = (geometry.sectors_512 - length) / block + 1;
    let lba = Lba(step.place % places * block);
    Request { id, operation, lba, sectors: length as u32, fua: step.fua }
}

/// A script under way.
pub struct Run<'m> {
    pub model: &'m mut dyn Model,
    pub history: History,
    pub now_ns: u64,
    next_id: u64,
}

impl<'m> Run<'m> {
    pub fn new(model: &'m mut dyn Model) -> Self {
        Self { model, history: History::default(), now_ns: 0, next_id: 1 }
    }

    /// Submits all steps, waiting where the queue is full. `extra` are times at which the model is advanced without need.
    pub fn play(&mut self, steps: &[Step], extra: &[u64]) -> Result<(), Violation> {
        let mut extra = extra.to_vec();
        extra.sort_unstable();
        let geometry = self.model.geometry();
        for step in steps {
            let mut at_ns = self.now_ns + step.gap_ns;
            self.pass_to(at_ns, &mut extra)?;
            while self.outstanding() >= geometry.queue_depth as usize {
                at_ns = self.next_event()?.max(at_ns);
                self.pass_to(at_ns, &mut extra)?;
            }
            let request = request(&geometry, self.next_id, step);
            self.model.submit(at_ns, request).map_err(Violation::Refused)?;
            self.history.submitted.insert(request.id, (request, at_ns));
            self.next_id += 1;
        }
        Ok(())
    }

    /// Waits until nothing is outstanding.
    pub fn finish(&mut self) -> Result<(), Violation> {
        while self.outstanding() > 0 {
            let at_ns = self.next_event()?;
            self.pass_to(at_ns, &mut Vec::new())?;
        }
        match self.model.next_event_ns() {
            None => Ok(()),
            Some(_) => Err(Violation::CompletedUnknown),
        }
    }

    fn outstanding(&self) -> usize {
        self.history.submitted.len() - self.history.completed.len()
    }

    fn next_event(&self) -> Result<u64, Violation> {
        let at_ns = self.model.next_event_ns().ok_or(Violation::NeverCompleted)?;
        if at_ns < self.now_ns { Err(Violation::TimeWentBack) } else { Ok(at_ns) }
    }

    /// Lets time pass, stopping at each event and at the extra times.
    fn pass_to(&mut self, at_ns: u64, extra: &mut Vec<u64>) -> Result<(), Violation> {
        let mut turns = 0;
        loop {
            let event = self.model.next_event_ns();
            if event.is_some_and(|event| event < self.now_ns) {
                return Err(Violation::TimeWentBack);
            }
            let stop = event.unwrap_or(u64::MAX).min(extra.first().copied().unwrap_or(u64::MAX));
            if stop > at_ns {
                break;
            }
            if extra.first() == Some(&stop) {
                extra.remove(0);
            }
            let stop = stop.max(self.now_ns);
            turns = if stop == self.now_ns { turns + 1 } else { 0 };
            if turns > 10_000 {
                return Err(Violation::NeverCompleted);
            }
            self.advance(stop, event)?;
        }
        self.now_ns = self.now_ns.max(at_ns);
        Ok(())
    }

    fn advance(&mut self, at_ns: u64, announced: Option<u64>) -> Result<(), Violation> {
        let mut done = Vec::new();
        self.model.advance(at_ns, &mut done);
        self.now_ns = at_ns;
        for completion in done {
            let Completion { id, at_ns } = completion;
            let (request, submitted_ns) =
                *self.history.submitted.get(&id).ok_or(Violation::CompletedUnknown)?;
            if at_ns < submitted_ns {
                return Err(Violation::CompletedBeforeSubmission);
            }
            if self.history.order.last().is_some_and(|last| last.at_ns > at_ns)
                || at_ns > self.now_ns
            {
                return Err(Violation::TimeWentBack);
            }
            if announced.is_none_or(|announced| at_ns < announced) {
                return Err(Violation::CompletedBeforeAnnounced);
            }
            if self.history.completed.insert(id, at_ns).is_some() {
                return Err(Violation::CompletedTwice);
            }
            self.history.order.push(completion);
            self.check_overlap(&request)?;
        }
        Ok(())
    }

    /// No earlier request that touches the same sectors, one of them writing, may still be outstanding.
    fn check_overlap(&self, request: &Request) -> Result<(), Violation> {
        let earlier = self.history.submitted.range(..request.id);
        let mut open = earlier.filter(|(id, _)| !self.history.completed.contains_key(id));
        let conflicts = |other: &Request| {
            let meets = other.lba.0 < request.end() && request.lba.0 < other.end();
            meets && (other.operation.writes() || request.operation.writes())
        };
        match open.any(|(_, (other, _))| conflicts(other)) {
            true => Err(Violation::OverlapReordered),
            false => Ok(()),
        }
    }

    /// Cuts the power and checks that nothing is lost that must not be.
    pub fn cut(&mut self, at_ns: u64) -> Result<LostWrites, Violation> {
        self.pass_to(at_ns, &mut Vec::new())?;
        let lost = self.model.power_cut(at_ns);
        let geometry = self.model.geometry();
        for lost in &lost.lost {
            let (request, _) =
                self.history.submitted.get(&lost.id).ok_or(Violation::LostOutsideWrites)?;
            let range = &lost.range;
            let inside = range.sectors > 0
                && request.lba.0 <= range.lba.0
                && range.lba.0 + range.sectors <= request.end();
            if !request.operation.writes() || !inside {
                return Err(Violation::LostOutsideWrites);
            }
            self.check_durable(&geometry, request)?;
        }
        for damaged in &lost.damaged {
            self.check_damage(&geometry, damaged)?;
        }
        if self.model.next_event_ns().is_some() {
            return Err(Violation::CompletedUnknown);
        }
        Ok(lost)
    }

    /// Whether a write that was lost in part may be.
    fn check_durable(&self, geometry: &Geometry, request: &Request) -> Result<(), Violation> {
        let Some(done_ns) = self.history.completed.get(&request.id) else { return Ok(()) };
        if request.fua {
            return Err(Violation::FuaLost);
        }
        if !geometry.write_cache {
            return Err(Violation::WriteThroughLost);
        }
        let flushed = self.history.submitted.values().any(|(flush, submitted_ns)| {
            flush.operation == Operation::Flush
                && submitted_ns >= done_ns
                && flush.id > request.id
                && self.history.completed.contains_key(&flush.id)
        });
        if flushed { Err(Violation::FlushIgnored) } else { Ok(()) }
    }

    /// Damage may only lie near writes: within a unit that a write under way or still volatile touched.
    fn check_damage(&self, geometry: &Geometry, damaged: &SectorRange) -> Result<(), Violation> {
        let end = damaged.lba.0 + damaged.sectors;
        let written = self.history.submitted.values().any(|(request, _)| {
            request.operation.writes()
                && request.lba.0 < end + 128
                && damaged.lba.0 < request.end() + 128
        });
        if written && end <= geometry.sectors_512 {
            Ok(())
        } else {
            Err(Violation::DamagedOutsideWrites)
        }
    }

    /// After a cut: what was outstanding is gone, the model takes requests again.
    pub fn start_again(&mut self) {
        self.history = History::default();
    }
}
