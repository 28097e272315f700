//! A model as a device that can be probed, in virtual time.

use std::collections::BTreeMap;

use super::{
    Direction, NO_TIME, ReadFailed, Result, Span, Target, Timed, WriteFailed, WriteTarget,
};
use seekwell_device::model::{Completion, Geometry, Lba, Model, Operation, Refused, Request};

/// A model in virtual time.
#[derive(Debug)]
pub struct Simulated {
    model: Box<dyn Model>,
    now_ns: u64,
    last_id: u64,
}

impl Simulated {
    /// A model that was just switched on.
    #[must_use]
    pub fn new(model: Box<dyn Model>) -> Self {
        Self { model, now_ns: 0, last_id: 0 }
    }

    fn submit(&mut self, operation: Operation, span: Span) -> Result<u64, Refused> {
        self.last_id += 1;
        let id = self.last_id;
        let Span { lba, sectors } = span;
        let request = Request { id, operation, lba: Lba(lba), sectors, fua: false };
        self.model.submit(self.now_ns, request)?;
        Ok(id)
    }

    /// Requests of one kind, `depth` at a time; the failed one with its cause.
    fn run(
        &mut self,
        operation: Operation,
        requests: &[Span],
        depth: u32,
    ) -> Result<Vec<Timed>, (Span, String)> {
        let requests: Vec<(Operation, Span)> =
            requests.iter().map(|span| (operation, *span)).collect();
        self.run_each(&requests, depth).map_err(|(_, span, reason)| (span, reason))
    }

    /// Requests `depth` at a time; the failed one with its cause.
    fn run_each(
        &mut self,
        requests: &[(Operation, Span)],
        depth: u32,
    ) -> Result<Vec<Timed>, (Operation, Span, String)> {
        let mut times = vec![Timed { start_ns: 0, end_ns: 0 }; requests.len()];
        let mut waiting = BTreeMap::new();
        let mut next = 0;
        let mut done: Vec<Completion> = Vec::new();
        while next < requests.len() || !waiting.is_empty() {
            while waiting.len() < depth.max(1) as usize
                && let Some((operation, span)) = requests.get(next).copied()
            {
                let failed = |e: Refused| (operation, span, e.to_string());
                let id = self.submit(operation, span).map_err(failed)?;
                waiting.insert(id, (next, self.now_ns));
                next += 1;
            }
            let Some(event_ns) = self.model.next_event_ns() else { break };
            self.now_ns = self.now_ns.max(event_ns);
            self.model.advance(self.now_ns, &mut done);
            for completion in done.drain(..) {
                let Some((index, start_ns)) = waiting.remove(&completion.id) else { continue };
                if let Some(time) = times.get_mut(index) {
                    *time = Timed { start_ns, end_ns: completion.at_ns };
                }
            }
        }
        Ok(times)
    }
}

impl Target for Simulated {
    fn geometry(&self) -> Geometry {
        self.model.geometry()
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn wait_until(&mut self, at_ns: u64) {
        self.now_ns = self.now_ns.max(at_ns);
        self.model.advance(self.now_ns, &mut Vec::new());
    }

    fn read_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, ReadFailed> {
        let failed = |(span, reason)| ReadFailed { span, reason };
        self.run(Operation::Read, requests, depth).map_err(failed)
    }
}

impl WriteTarget for Simulated {
    fn write_all(&mut self, requests: &[Span], depth: u32) -> Result<Vec<Timed>, WriteFailed> {
        let depth = depth.min(self.model.geometry().queue_depth);
        let failed = |(span, reason)| WriteFailed::Write { span, reason };
        self.run(Operation::Write, requests, depth).map_err(failed)
    }

    fn mix_all(&mut self, requests: &[(Direction, Span)], depth: u32) -> Result<Vec<Timed>> {
        let depth = depth.min(self.model.geometry().queue_depth);
        let operation = |direction: Direction| match direction {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
        };
        let requests: Vec<(Operation, Span)> =
            requests.iter().map(|(direction, span)| (operation(*direction), *span)).collect();
        self.run_each(&requests, depth).map_err(|(operation, span, reason)| match operation {
            Operation::Read => ReadFailed { span, reason }.into(),
            _ => WriteFailed::Write { span, reason }.into(),
        })
    }

    fn flush(&mut self) -> Result<Timed, WriteFailed> {
        let failed = |(_, reason)| WriteFailed::Flush { reason };
        let times =
            self.run(Operation::Flush, &[Span { lba: 0, sectors: 0 }], 1).map_err(failed)?;
        let reason = || NO_TIME.to_owned();
        times.first().copied().ok_or_else(|| WriteFailed::Flush { reason: reason() })
    }
}
