//! A disk that takes no time: for the guest's root image and its mailbox, which are not measured.

use std::collections::VecDeque;

use seekwell_device::evidence::Evidence;
use seekwell_device::{Completion, Geometry, LostWrites, Model, Refused, Request};

/// Requests it takes at once.
const DEPTH: u32 = 256;

/// Longest request in bytes: few requests load a program.
const LONGEST_REQUEST: u32 = 1 << 20;

/// Completes everything at the instant it is submitted, in order, and never loses a write.
#[derive(Clone, Debug)]
pub struct Instant {
    geometry: Geometry,
    waiting: VecDeque<u64>,
    now_ns: u64,
}

impl Instant {
    /// A disk of so many sectors of 512 bytes.
    #[must_use]
    pub fn new(sectors: u64) -> Self {
        let geometry = Geometry {
            sectors_512: sectors,
            logical_block: 512,
            physical_block: 4096,
            queue_depth: DEPTH,
            max_request_bytes: LONGEST_REQUEST,
            rotational: false,
            write_cache: false,
            max_discard_sectors: None,
            max_write_zeroes_sectors: None,
            wraps_at: None,
        };
        Self { geometry, waiting: VecDeque::new(), now_ns: 0 }
    }
}

impl Model for Instant {
    fn duplicate(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }

    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn submit(&mut self, now_ns: u64, request: Request) -> Result<(), Refused> {
        self.geometry.check(&request)?;
        if self.waiting.len() >= DEPTH as usize {
            return Err(Refused::QueueFull { id: request.id, depth: DEPTH });
        }
        self.now_ns = self.now_ns.max(now_ns);
        self.waiting.push_back(request.id);
        Ok(())
    }

    fn next_event_ns(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(self.now_ns)
    }

    fn advance(&mut self, now_ns: u64, completions: &mut Vec<Completion>) {
        let at_ns = self.now_ns;
        completions.extend(self.waiting.drain(..).map(|id| Completion { id, at_ns }));
        self.now_ns = self.now_ns.max(now_ns);
    }

    fn power_cut(&mut self, _now_ns: u64) -> LostWrites {
        self.waiting.clear();
        LostWrites::default()
    }

    fn evidence(&self) -> Evidence {
        Evidence::default()
    }
}
