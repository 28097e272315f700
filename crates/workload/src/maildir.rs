//! `maildir`: a mail server's store in use. Sessions deliver, move, fetch and remove mails in mailboxes of their own.

mod mailbox;
mod session;

use crate::error::WorkloadError;
use crate::io::Place;
use crate::mail::content::Content;
use crate::mail::tree::lognormal_size;
use crate::outcome::StepOutcome;
use crate::step::{self, Step, StepContext};
use mailbox::Mailbox;
use seekwell_engine::{Clock, MonotonicClock, clock_cost_ns};
use seekwell_model::workloads::{MaildirParams, StepOutline};
use seekwell_stats::{derive_seed, seeded};
use session::{Session, Share};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The steps: the store is filled, then used.
#[must_use]
pub fn steps(params: &MaildirParams, place: Place) -> Vec<Box<dyn Step>> {
    let store = Store { name: place.name("maildir"), mailboxes: Arc::default() };
    step::each(params.steps(), |outline| {
        let (params, store) = (params.clone(), store.clone());
        Maildir { outline, params, store }
    })
}

/// The mailboxes, which both steps know.
#[derive(Clone, Debug)]
struct Store {
    /// Directory below the mounted one.
    name: String,
    mailboxes: Arc<Mutex<Vec<Mailbox>>>,
}

/// Filling the store, or using it.
#[derive(Debug)]
struct Maildir {
    outline: StepOutline,
    params: MaildirParams,
    store: Store,
}

impl Maildir {
    fn fill(&self, root: &Path, seed: u64) -> Result<StepOutcome, WorkloadError> {
        let begin_ns = MonotonicClock.now_ns();
        let (mut mailboxes, mut written) = (Vec::new(), 0);
        for number in 0..self.params.mailboxes {
            mailboxes.push(Mailbox::make(root, number)?);
        }
        let mut rng = seeded(derive_seed(seed, "sizes before"));
        let mut content = Content::new(derive_seed(seed, "mails before"));
        for mail in 0..self.params.mails {
            let size = lognormal_size(self.params.median_size, self.params.spread, &mut rng);
            let mailbox = (mail % self.params.mailboxes) as usize;
            mailboxes[mailbox].add_seen(&mut content, size)?;
            written += size;
        }
        *self.store.mailboxes.lock().unwrap_or_else(PoisonError::into_inner) = mailboxes;
        let elapsed_ns = MonotonicClock.now_ns() - begin_ns;
        Ok(StepOutcome { elapsed_ns, app_bytes_written: written, ..StepOutcome::default() })
    }

    fn measure(&self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let mut mailboxes = self.store.mailboxes.lock().unwrap_or_else(PoisonError::into_inner);
        if mailboxes.is_empty() {
            let remedy = "run the step that fills them before it";
            return Err(WorkloadError::unfit(&self.outline.name, "has no mailboxes", remedy));
        }
        let clock_cost_ns = Some(clock_cost_ns(&MonotonicClock));
        let failed = AtomicBool::new(false);
        let begin_ns = MonotonicClock.now_ns();
        let sessions = self.sessions(&mut mailboxes, context.seed, begin_ns);
        let run = |session: Session<'_>| {
            let ended = session.run(|| context.is_stopped() || failed.load(Ordering::Relaxed));
            failed.fetch_or(ended.is_err(), Ordering::Relaxed);
            ended
        };
        let run = &run;
        let ended: Vec<Result<StepOutcome, WorkloadError>> = std::thread::scope(|scope| {
            let running: Vec<_> =
                sessions.into_iter().map(|session| scope.spawn(move || run(session))).collect();
            running.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
        });
        let elapsed_ns = MonotonicClock.now_ns() - begin_ns;
        let mut outcome = StepOutcome { clock_cost_ns, ..StepOutcome::default() };
        for session in ended {
            outcome.add(session?);
        }
        // Sessions work at the same time: their sum is no duration.
        outcome.elapsed_ns = elapsed_ns;
        Ok(outcome)
    }

    /// A session for each thread, with its part of the mailboxes and of the deliveries.
    fn sessions<'a>(
        &'a self,
        mailboxes: &'a mut [Mailbox],
        seed: u64,
        begin_ns: u64,
    ) -> Vec<Session<'a>> {
        let threads = self.params.threads as usize;
        let mut rest = mailboxes;
        let mut sessions = Vec::with_capacity(threads);
        for number in 0..threads {
            let (own, others) = rest.split_at_mut(rest.len() / (threads - number));
            rest = others;
            let share = Share {
                deliveries: self.params.count.map(|count| part(count, number, threads)),
                end_ns: self.params.time.map(|time| begin_ns.saturating_add(time.0)),
            };
            let seed = derive_seed(seed, &format!("{}/{number}", self.outline.name));
            sessions.push(Session::new(&self.params, own, share, seed));
        }
        sessions
    }
}

/// Part of a count that one of so many threads has.
fn part(count: u64, number: usize, threads: usize) -> u64 {
    let (number, threads) = (number as u64, threads as u64);
    count / threads + u64::from(number < count % threads)
}

fn panicked<T>(panic: Box<dyn std::any::Any + Send>) -> T {
    std::panic::resume_unwind(panic)
}

impl Step for Maildir {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let directory = context.mounted(&self.outline.name)?;
        let mut outcome = match self.outline.measured {
            true => self.measure(context)?,
            false => self.fill(&directory.join(&self.store.name), context.seed)?,
        };
        outcome.compute(&self.outline.metrics);
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests;
