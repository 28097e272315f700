//! Trials in parallel: while the runner waits for one, the next ones run on the other CPUs.
//!
//! The runner asks for one trial after the other. A lane is a thread that runs one guest at a time on
//! its own CPU. It runs the announced trials ahead and keeps each record until the runner asks for it.
//! A trial depends on nothing but its request, so neither the number of lanes nor the order matters.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::{Builder, JoinHandle};

use seekwell_model::backend::{Backend, BackendError};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;

use crate::backend::{Lane, Result, VirtualBackend, VirtualBackendError};
use crate::memory_capacity::MemoryCapacity;

#[cfg(test)]
mod tests;

/// Trials started per lane: enough that no lane idles while another runs a long one.
const AHEAD: usize = 4;

/// Runs a trial on a lane.
type Work = dyn Fn(&PlannedTrial, &Lane, &mut dyn FnMut(&str)) -> Result<Record> + Send + Sync;

/// Trials that run in parallel. Dropping it ends those that were not asked for.
#[derive(Debug)]
pub struct Lanes {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    under_way: BTreeMap<u32, UnderWay>,
    announced: VecDeque<PlannedTrial>,
    note: Option<String>,
}

/// A trial that was started.
#[derive(Debug)]
struct UnderWay {
    trial: PlannedTrial,
    words: Receiver<Word>,
    /// While it exists, the trial is wanted.
    _wanted: Arc<()>,
}

/// A trial that waits for a lane.
#[derive(Debug)]
struct Waiting {
    trial: PlannedTrial,
    words: Sender<Word>,
    wanted: Weak<()>,
}

/// A message of a lane.
enum Word {
    Step(String),
    Done(Box<Result<Record>>),
}

#[derive(Debug)]
struct Shared {
    waiting: Mutex<VecDeque<Waiting>>,
    more: Condvar,
    stop: Arc<AtomicBool>,
}

impl Lanes {
    /// Starts lanes for the trials of a plan: one per CPU, as far as their guests fit into memory; without
    /// any CPU, one that is not pinned.
    ///
    /// # Errors
    ///
    /// [`VirtualBackendError`] when not even one guest fits into memory, or no thread starts.
    pub fn new(mut backend: VirtualBackend, plan: &Plan, cpus: &[usize]) -> Result<Self> {
        let MemoryCapacity { guests, note, .. } =
            backend.reserve_memory(plan, cpus.len().max(1))?;
        let plan = plan.clone();
        let work = move |trial: &PlannedTrial, lane: &Lane, progress: &mut dyn FnMut(&str)| {
            backend.run_trial(&plan, trial, lane, progress)
        };
        let mut lanes = Self::with(Arc::new(work), &cpus[..guests.min(cpus.len())])?;
        lanes.note = note;
        Ok(lanes)
    }

    /// Returns a note for the user about the guests' memory.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    fn with(work: Arc<Work>, cpus: &[usize]) -> Result<Self> {
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            more: Condvar::new(),
            stop: Arc::default(),
        });
        let unpinned = cpus.is_empty().then_some(None);
        let mut lanes = Self {
            shared,
            threads: Vec::new(),
            under_way: BTreeMap::new(),
            announced: VecDeque::new(),
            note: None,
        };
        for cpu in cpus.iter().copied().map(Some).chain(unpinned) {
            let (work, shared) = (work.clone(), lanes.shared.clone());
            let lane = Lane { cpu, stop: shared.stop.clone() };
            let thread = Builder::new()
                .name("seekwell-lane".to_owned())
                .spawn(move || shared.serve(&*work, &lane))
                .map_err(|_| VirtualBackendError::Gone)?;
            lanes.threads.push(thread);
        }
        Ok(lanes)
    }

    /// Returns the number of trials that run at once.
    #[must_use]
    pub fn count(&self) -> usize {
        self.threads.len()
    }

    fn run_ahead(&mut self) {
        while self.under_way.len() < self.count() * AHEAD {
            let Some(next) = self.announced.pop_front() else { return };
            self.begin(&next, false);
        }
    }

    /// Returns the record of one trial, which runs now unless it ran ahead.
    ///
    /// # Errors
    ///
    /// As [`VirtualBackend::run_trial`].
    pub fn run_trial(
        &mut self,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record> {
        self.begin(trial, true);
        self.announced.retain(|later| later.index != trial.index);
        self.run_ahead();
        let begun = self.under_way.remove(&trial.index).ok_or(VirtualBackendError::Gone)?;
        for word in &begun.words {
            match word {
                Word::Step(name) => progress(&name),
                Word::Done(done) => return *done,
            }
        }
        Err(VirtualBackendError::Gone)
    }

    fn begin(&mut self, trial: &PlannedTrial, first: bool) {
        if self.under_way.get(&trial.index).is_some_and(|known| known.trial == *trial) {
            return;
        }
        let (sender, words) = channel();
        let wanted = Arc::new(());
        let entry = Waiting { trial: *trial, words: sender, wanted: Arc::downgrade(&wanted) };
        self.under_way.insert(trial.index, UnderWay { trial: *trial, words, _wanted: wanted });
        let mut waiting = self.shared.waiting();
        if first {
            waiting.push_front(entry);
        } else {
            waiting.push_back(entry);
        }
        drop(waiting);
        self.shared.more.notify_one();
    }
}

impl Backend for Lanes {
    fn run(
        &mut self,
        _plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError> {
        self.run_trial(trial, progress).map_err(Into::into)
    }

    /// Lanes run a few of the trials ahead. Earlier announcements that are not among them are cancelled before they start.
    fn announce(&mut self, trials: &[PlannedTrial]) {
        self.announced = trials.iter().copied().collect();
        self.under_way.retain(|_, begun| trials.contains(&begun.trial));
        self.run_ahead();
    }

    /// Virtual time costs nothing: the budget is the time that the user waits.
    fn cost_ns(&self, _record: &Record, wall_ns: u64) -> u64 {
        wall_ns
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // Taken once, so that no lane is between its check of the flag and its sleep.
        drop(self.shared.waiting());
        self.shared.more.notify_all();
        for thread in self.threads.drain(..) {
            // A lane that panicked has nothing left to end.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, VecDeque<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, work: &Work, lane: &Lane) {
        while let Some(Waiting { trial, words, .. }) = self.next() {
            let mut progress = |name: &str| {
                // A trial that was replaced has no listener.
                let _ = words.send(Word::Step(name.to_owned()));
            };
            // The runner notices the missing result of a trial that panics; the lane continues.
            let run = AssertUnwindSafe(|| work(&trial, lane, &mut progress));
            if let Ok(done) = catch_unwind(run) {
                let _ = words.send(Word::Done(Box::new(done)));
            }
        }
    }

    /// Returns the next trial; `None` when there are no more.
    fn next(&self) -> Option<Waiting> {
        let mut waiting = self.waiting();
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            match waiting.pop_front() {
                Some(next) if next.wanted.strong_count() == 0 => {}
                Some(next) => return Some(next),
                None => {
                    waiting = self.more.wait(waiting).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}
