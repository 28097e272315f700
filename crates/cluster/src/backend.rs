//! The backend of a run on a cluster: puts trials into the shared folder and waits for their records.

use crate::error::ClusterError;
use crate::pace;
use crate::queue::{JobId, Queue};
use crate::say::Say;
use crate::spool::{Delivery, Outcome, Share, Sheet, Spool, Work};
use seekwell_model::backend::{Backend, BackendError};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

mod disks;
mod jobs;
mod life;
mod named;
mod shares;
#[cfg(test)]
mod tests;

/// Durations that the backend waits.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Between two looks for a record.
    pub look: Duration,
    /// Between two questions to the scheduler, which serves others too.
    pub ask: Duration,
    /// Silence of a worker after which it is believed lost.
    pub silent: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            look: pace::SESSION_LOOK,
            ask: Duration::from_secs(10),
            // NFS may show a heartbeat a minute late.
            silent: Duration::from_secs(120),
        }
    }
}

use life::Life;
use named::{are_of_one_task, node};
use shares::Shares;

/// Trials that a worker takes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Any trials: none depends on its node.
    Trial,
    /// Whole rounds: stacks are compared inside rounds, and a comparison never crosses nodes.
    Round,
}

impl Unit {
    /// Number of a share that begins with this trial.
    fn index(self, trial: &PlannedTrial) -> u32 {
        match self {
            Self::Trial => trial.index,
            Self::Round => trial.round,
        }
    }

    /// The work under way in a share, in words.
    fn words(self, sheet: &Sheet) -> String {
        match self {
            Self::Trial => {
                let missing = sheet.missing();
                format!("trial {}", missing.first().map_or(sheet.share.index, |trial| trial.index))
            }
            Self::Round => format!("round {}", sheet.share.index + 1),
        }
    }
}

/// Jobs that may end without any result before the run gives up.
const MOST_BARREN: u32 = 3;

/// Workers that may vanish with the same trial.
const MOST_LOSSES: u32 = 3;

/// Nodes that may be unable to run one trial.
const MOST_SICK: usize = 3;

/// Heartbeats that a worker may miss until another one of its task has taken its place.
const MISSED_BEATS: u32 = 3;

/// Part of the newest measured time of a trial in the mean.
const NEWEST: f64 = 0.2;

/// Name of the step in which a trial waits for a node.
const QUEUED: &str = "queued";

/// Name of the step in which a node has it.
const ON_NODE: &str = "on a node";

/// Trials on the nodes of a cluster. Dropping it ends the workers.
pub struct Cluster {
    spool: Spool,
    /// Work of a folder that is not made yet.
    unmade: Option<Work>,
    queue: Box<dyn Queue>,
    unit: Unit,
    shares: Shares,
    /// The share whose results are asked for, and those that were not yet.
    ready: Option<Ready>,
    /// Shares whose results were all asked for. They stay in the folder until the run has kept them.
    unsettled: Vec<u32>,
    /// Records that the run may not have kept yet.
    held: usize,
    /// True once a trial had an error of this backend.
    has_failed: bool,
    /// Mean time that a node needs for a trial, once measured.
    trial_ns: Option<f64>,
    patience: Patience,
    stop: Arc<AtomicBool>,
    say: Say,
    job: Option<JobId>,
    /// Tasks of the job that waited when the scheduler was asked.
    waiting: u32,
    /// The reason that was told why no task runs.
    told: Option<String>,
    /// True once a task of the job ran.
    has_begun: bool,
    /// Jobs submitted since the last result.
    barren: u32,
    /// Workers lost with a share since its last result, and the number of its results then.
    losses: BTreeMap<u32, (u32, usize)>,
    /// Nodes whose backend was broken, by the share that they had.
    sick: BTreeMap<u32, BTreeSet<String>>,
    /// Last heartbeat of each worker, and when it was first seen.
    heard: BTreeMap<String, (u64, Instant)>,
    life: Option<Life>,
    next_listening: Instant,
    next_question: Instant,
    next_refill: Instant,
}

/// A delivered share.
struct Ready {
    index: u32,
    task: String,
    /// Results that will be asked for.
    results: BTreeMap<u32, Outcome>,
}

impl Cluster {
    /// A backend that submits its first workers with the first trial. `stop` ends it while it waits.
    #[must_use]
    pub fn new(
        spool: Spool,
        queue: Box<dyn Queue>,
        patience: Patience,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let now = Instant::now();
        Self {
            spool,
            unmade: None,
            queue,
            unit: Unit::Trial,
            shares: Shares::default(),
            ready: None,
            unsettled: Vec::new(),
            held: 0,
            has_failed: false,
            trial_ns: None,
            patience,
            stop,
            say: Say::default(),
            job: None,
            waiting: 0,
            told: None,
            has_begun: false,
            barren: 0,
            losses: BTreeMap::new(),
            sick: BTreeMap::new(),
            heard: BTreeMap::new(),
            life: None,
            next_listening: now,
            next_question: now,
            next_refill: now,
        }
    }

    /// As [`Self::new`], with a folder that is made when the first trial is wanted: by then the run file is known to be
    /// written by no other session, whose folder it would be.
    #[must_use]
    pub fn later(
        folder: &Path,
        work: Work,
        queue: Box<dyn Queue>,
        patience: Patience,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let spool = Spool::planned(folder);
        let mut cluster = Self::new(spool, queue, patience, stop);
        cluster.unmade = Some(work);
        cluster
    }

    /// The same, with workers that take such units.
    #[must_use]
    pub fn by(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// The same, which tells the user this way what it meets.
    #[must_use]
    pub fn saying(mut self, say: Say) -> Self {
        self.say = say;
        self
    }

    fn announced(&mut self, trials: &[PlannedTrial]) -> Result<(), ClusterError> {
        self.make()?;
        let spool = self.spool.clone();
        self.shares.announce(trials, &mut |index| spool.withdraw(index))?;
        for index in spool.offered()?.into_iter().filter(|index| !self.shares.has(*index)) {
            spool.withdraw(index)?;
        }
        if let Some(ready) = &mut self.ready {
            ready.results.retain(|index, _| self.shares.wants(*index));
        }
        self.put_aside();
        self.refill(Instant::now())
    }

    /// Puts a share aside of which no result will be asked for any more.
    fn put_aside(&mut self) {
        let used = self.ready.take_if(|ready| ready.results.is_empty());
        self.unsettled.extend(used.map(|ready| ready.index));
    }

    fn make(&mut self) -> Result<(), ClusterError> {
        if let Some(work) = self.unmade.take() {
            self.end_earlier_job();
            if let Err(error) = self.spool.make(&work) {
                self.unmade = Some(work);
                return Err(error);
            }
            self.spool.left()?.into_iter().for_each(|share| self.shares.adopt(share));
        }
        if self.life.is_none() {
            self.life = Some(Life::begin(&self.spool)?);
        }
        Ok(())
    }

    fn wait(
        &mut self,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, ClusterError> {
        self.make()?;
        let share = self.shares.of(self.unit, trial);
        let mut step = "";
        loop {
            // Also between results that are there already: workers are heard, and offers follow.
            self.attend(Instant::now())?;
            if let Some(result) = self.result(trial, &share)? {
                return result;
            }
            self.spool.want(&share)?;
            if self.stop.load(Ordering::Relaxed) {
                return Err(ClusterError::Stopped);
            }
            self.tend(Instant::now())?;
            let has_it = self.spool.taken()?.iter().any(|(index, _)| *index == share.index);
            let now = if has_it { ON_NODE } else { QUEUED };
            if now != step {
                step = now;
                progress(step);
            }
            std::thread::sleep(self.patience.look);
        }
    }

    /// The result of a trial, once its share was delivered.
    fn result(
        &mut self,
        trial: &PlannedTrial,
        share: &Share,
    ) -> Result<Option<Result<Record, ClusterError>>, ClusterError> {
        if self.ready.as_ref().is_none_or(|ready| ready.index != share.index) {
            self.ready = None;
            let Some(delivery) = self.spool.delivered(share)? else { return Ok(None) };
            if self.is_for_another_node(&delivery)? {
                return Ok(None);
            }
            self.losses.remove(&share.index);
            self.measure(delivery.trial_ns);
            self.ready = Some(self.ready_from(delivery, trial));
        }
        let Some(ready) = &mut self.ready else { return Ok(None) };
        let (task, index) = (&ready.task, trial.index);
        let wrong = |words: String| {
            ClusterError::Workers(format!("{task} could not run trial {index}: {words}"))
        };
        let found = ready.results.remove(&trial.index);
        let found = found.unwrap_or_else(|| Err("it was not delivered with its share".to_owned()));
        let result = found.map(|record| *record).map_err(wrong);
        self.put_aside();
        self.held += 1;
        Ok(Some(result))
    }

    /// Offers a share again whose worker could not run it, unless no other node could either.
    fn is_for_another_node(&mut self, delivery: &Delivery) -> Result<bool, ClusterError> {
        let Delivery { share, task, results, .. } = delivery;
        let Some(Err(words)) = results.iter().find(|result| result.is_err()) else {
            self.barren = 0;
            self.sick.remove(&share.index);
            return Ok(false);
        };
        let sick = self.sick.entry(share.index).or_default();
        sick.insert(node(task).to_owned());
        let well = self.heard.keys().any(|task| !sick.contains(node(task)));
        if sick.len() >= MOST_SICK || (self.waiting == 0 && !well) {
            return Ok(false);
        }
        self.spool.offer_again(share.index, self.unit == Unit::Trial)?;
        let unit = if self.unit == Unit::Trial { "a trial" } else { "a round" };
        self.say.say(&format!("{task} could not run {unit}, which another node runs: {words}"));
        Ok(true)
    }

    /// The results of a share that the run will ask for.
    fn ready_from(&self, delivery: Delivery, asked: &PlannedTrial) -> Ready {
        let trials = delivery.share.trials.iter().map(|trial| trial.index);
        let will_be = |index: u32| index == asked.index || self.shares.wants(index);
        let results = trials.zip(delivery.results).filter(|(index, _)| will_be(*index)).collect();
        Ready { index: delivery.share.index, task: delivery.task, results }
    }

    fn measure(&mut self, trial_ns: Option<u64>) {
        let Some(new) = trial_ns.map(|time| time as f64) else { return };
        self.trial_ns = Some(self.trial_ns.map_or(new, |mean| mean + NEWEST * (new - mean)));
    }

    /// Number of workers that were heard lately.
    fn workers(&self, now: Instant) -> usize {
        let lives = |last: Instant| now.duration_since(last) <= self.patience.silent;
        self.heard.values().filter(|(_, last)| lives(*last)).count()
    }

    /// Offers shares until there are enough for all workers.
    fn refill(&mut self, now: Instant) -> Result<(), ClusterError> {
        let workers = self.workers(now);
        let enough = pace::offers(workers, self.trial_ns.is_some());
        let trial_ns = self.trial_ns.map(|mean| mean as u64);
        for _ in self.spool.offered()?.len()..enough {
            let Some(share) = self.shares.next(self.unit, trial_ns, workers) else { break };
            self.spool.offer(&share)?;
        }
        Ok(())
    }

    /// Hears the workers, and offers as much as they need.
    fn attend(&mut self, now: Instant) -> Result<(), ClusterError> {
        self.life.as_ref().map_or(Ok(()), |life| life.with(self.workers(now) as u32))?;
        if now >= self.next_listening {
            self.listen(now)?;
            // As often as they beat: each of them is a file to read.
            self.next_listening = now + pace::beat(self.workers(now) as u32);
        }
        if now >= self.next_refill {
            self.next_refill = now + pace::REFILL;
            self.refill(now)?;
        }
        Ok(())
    }

    /// Offers the trials of lost workers again, and sees to it that there are workers.
    fn tend(&mut self, now: Instant) -> Result<(), ClusterError> {
        self.attend(now)?;
        if now >= self.next_question {
            self.next_question = now + self.patience.ask;
            self.provide()?;
        }
        Ok(())
    }

    /// Hears the heartbeats of workers.
    fn listen(&mut self, now: Instant) -> Result<(), ClusterError> {
        for (task, count) in self.spool.beats()? {
            let known = self.heard.entry(task).or_insert((count, now));
            if known.0 != count {
                *known = (count, now);
            }
        }
        let replaced = pace::beat(self.workers(now) as u32) * MISSED_BEATS;
        for (index, task) in self.spool.taken()? {
            let (_, last) = *self.heard.entry(task.clone()).or_insert((0, now));
            let silent = now.duration_since(last);
            if silent > self.patience.silent || (silent > replaced && self.is_replaced(&task, last))
            {
                self.lose(index, &task)?;
            }
        }
        Ok(())
    }

    /// True if another worker of the same task was heard after this one: the scheduler starts a task
    /// again when its worker is dead.
    fn is_replaced(&self, task: &str, last: Instant) -> bool {
        let mut others = self.heard.iter().filter(|(other, _)| other.as_str() != task);
        others.any(|(other, (_, heard))| are_of_one_task(other, task) && *heard > last)
    }

    fn lose(&mut self, index: u32, task: &str) -> Result<(), ClusterError> {
        // Delivered just now.
        let Some(sheet) = self.spool.begun(index, task)? else { return Ok(()) };
        self.spool.put_back(index, task)?;
        let (losses, results) = self.losses.entry(index).or_default();
        if *results < sheet.lines.len() {
            (*losses, *results) = (0, sheet.lines.len());
        }
        *losses += 1;
        if *losses >= MOST_LOSSES {
            let (what, logs) = (self.unit.words(&sheet), self.spool.logs());
            return Err(ClusterError::Workers(format!(
                "{losses} workers vanished while they ran {what}; their logs are in {}",
                logs.display()
            )));
        }
        Ok(())
    }

    /// True if the folder has logs that an error names, or results that the run has not kept: its next session does.
    fn is_needed_again(&self) -> Result<bool, ClusterError> {
        let is_stopped = self.stop.load(Ordering::Relaxed);
        Ok(self.has_failed || self.held > 0 || (is_stopped && self.spool.has_results()?))
    }

    /// Ends the workers.
    fn end(&mut self) -> Result<(), ClusterError> {
        let stopped = self.spool.stop();
        let cancelled = self.job.take().map_or(Ok(()), |job| self.queue.cancel(&job));
        // One that could not be ended is ended by the next session.
        stopped.and(cancelled).and_then(|()| self.spool.forget_job())
    }
}

impl Backend for Cluster {
    fn run(
        &mut self,
        _plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError> {
        self.shares.asked(trial);
        let waited = self.wait(trial, progress);
        self.has_failed |= !matches!(waited, Ok(_) | Err(ClusterError::Stopped));
        waited.map_err(Into::into)
    }

    fn announce(&mut self, trials: &[PlannedTrial]) {
        // A folder that cannot be written is reported by the trial that needs it.
        let _ = self.announced(trials);
    }

    /// The results of shares stay in the folder until the run has kept them. While the next one is there the session has
    /// more to do than to wait for the disk, so that it keeps many together when it is behind, and each at once when not.
    fn holds_last(&self) -> bool {
        let is_there = || {
            let next = self.shares.next_asked();
            next.is_some_and(|share| self.spool.is_delivered(share))
        };
        self.held < pace::HELD && (self.ready.is_some() || is_there())
    }

    fn settled(&mut self) -> Result<(), BackendError> {
        self.held = 0;
        while let Some(index) = self.unsettled.pop() {
            self.spool.kept(index)?;
        }
        Ok(())
    }

    /// Virtual time costs nothing: the budget is the time that the user waits.
    fn cost_ns(&self, _record: &Record, wall_ns: u64) -> u64 {
        wall_ns
    }

    fn finish(mut self: Box<Self>) -> Result<(), BackendError> {
        if self.unmade.is_some() {
            return Ok(());
        }
        self.end()?;
        // A worker that still writes to a disk keeps its lock.
        if !self.is_needed_again()? && self.no_disk_is_written()? {
            self.life = None;
            if let Err(error) = self.spool.remove() {
                // The verdict is in the run file: what is left over costs space alone.
                self.say.say(&format!("{error}; it is not needed any more and can be removed"));
            }
        }
        Ok(())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // After `finish` there is no job; after an error its workers must not go on, and what they
        // delivered stays for the run that continues this one.
        if self.job.is_some() {
            let _ = self.end();
        }
    }
}
