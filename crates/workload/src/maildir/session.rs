//! A session: for each mail that it delivers it moves that mail, fetches others and removes the oldest.

use super::mailbox::Mailbox;
use crate::error::WorkloadError;
use crate::mail::content::Content;
use crate::mail::tree::lognormal_size;
use crate::outcome::StepOutcome;
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::workloads::MaildirParams;
use seekwell_stats::{Histogram, Rng, derive_seed, seeded};

/// Kinds of operations, in the order of their histograms.
const KINDS: [&str; 4] = ["deliver", "move", "fetch", "remove"];
const DELIVER: usize = 0;
const MOVE: usize = 1;
const FETCH: usize = 2;
const REMOVE: usize = 3;

/// End of a session: its deliveries, a time, or both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// Mails to deliver.
    pub(super) deliveries: Option<u64>,
    /// Time of the monotonic clock.
    pub(super) end_ns: Option<u64>,
}

/// One session with its mailboxes.
#[derive(Debug)]
pub(super) struct Session<'a> {
    params: &'a MaildirParams,
    mailboxes: &'a mut [Mailbox],
    share: Share,
    rng: Rng,
    content: Content,
    buffer: Vec<u8>,
    histograms: [Histogram; 4],
    outcome: StepOutcome,
}

impl<'a> Session<'a> {
    pub(super) fn new(
        params: &'a MaildirParams,
        mailboxes: &'a mut [Mailbox],
        share: Share,
        seed: u64,
    ) -> Self {
        Self {
            params,
            mailboxes,
            share,
            rng: seeded(derive_seed(seed, "order")),
            content: Content::new(seed),
            buffer: Vec::new(),
            histograms: KINDS.map(|_| Histogram::new()),
            outcome: StepOutcome::default(),
        }
    }

    /// Works until its share is done or the caller stops it.
    pub(super) fn run(
        mut self,
        is_stopped: impl Fn() -> bool,
    ) -> Result<StepOutcome, WorkloadError> {
        let cpu_before_ns = thread_cpu_ns();
        let mut delivered = 0;
        while !self.is_done(delivered) {
            if is_stopped() {
                self.outcome.stopped = true;
                break;
            }
            self.serve()?;
            delivered += 1;
        }
        for (kind, histogram) in KINDS.into_iter().zip(self.histograms) {
            self.outcome.keep(kind, histogram);
        }
        self.outcome.cpu_ns = thread_cpu_ns().saturating_sub(cpu_before_ns);
        Ok(self.outcome)
    }

    fn is_done(&self, delivered: u64) -> bool {
        self.share.deliveries.is_some_and(|most| delivered >= most)
            || self.share.end_ns.is_some_and(|end_ns| MonotonicClock.now_ns() >= end_ns)
    }

    /// The life of a mail.
    fn serve(&mut self) -> Result<(), WorkloadError> {
        let own = self.rng.index(self.mailboxes.len());
        self.deliver(own)?;
        let begin_ns = MonotonicClock.now_ns();
        self.mailboxes[own].take_in()?;
        self.count(MOVE, begin_ns);
        for _ in 0..self.params.reads {
            self.fetch(own)?;
        }
        let begin_ns = MonotonicClock.now_ns();
        self.mailboxes[own].remove_oldest()?;
        self.count(REMOVE, begin_ns);
        Ok(())
    }

    fn deliver(&mut self, own: usize) -> Result<(), WorkloadError> {
        let MaildirParams { median_size, spread, sync, .. } = *self.params;
        let size = lognormal_size(median_size, spread, &mut self.rng);
        let begin_ns = MonotonicClock.now_ns();
        self.mailboxes[own].deliver(&mut self.content, size, sync)?;
        self.count(DELIVER, begin_ns);
        self.outcome.app_bytes_written += size;
        Ok(())
    }

    /// Fetches a mail at random; from the session's current mailbox where the drawn one is empty.
    fn fetch(&mut self, own: usize) -> Result<(), WorkloadError> {
        let drawn = self.rng.index(self.mailboxes.len());
        let chosen = if self.mailboxes[drawn].is_empty() { own } else { drawn };
        let mailbox = &mut self.mailboxes[chosen];
        let position = self.rng.index(mailbox.len());
        let begin_ns = MonotonicClock.now_ns();
        let fetched = mailbox.fetch(position, &mut self.buffer)?;
        self.count(FETCH, begin_ns);
        self.outcome.app_bytes_read += fetched.bytes;
        self.outcome.app_bytes_reread += if fetched.is_cached { fetched.bytes } else { 0 };
        Ok(())
    }

    fn count(&mut self, kind: usize, begin_ns: u64) {
        self.histograms[kind].record(MonotonicClock.now_ns() - begin_ns);
        self.outcome.ops += 1;
    }
}
