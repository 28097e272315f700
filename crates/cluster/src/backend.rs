//! The backend of a run on a cluster: puts trials into the shared folder and waits for their records.

use crate::error::ClusterError;
use crate::queue::{JobId, Live, Queue};
use crate::spool::{Outcome, SESSION, Share, Spool, Work};
use crate::work::BEAT;
use seekwell_model::backend::{Backend, BackendError};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

mod disks;
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
            look: Duration::from_millis(50),
            ask: Duration::from_secs(10),
            // NFS may show a heartbeat a minute late.
            silent: Duration::from_secs(120),
        }
    }
}

/// Trials that a worker takes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Any trial: none depends on its node.
    Trial,
    /// Whole rounds: stacks are compared inside rounds, and a comparison never crosses nodes.
    Round,
}

impl Unit {
    /// Number of the share of a trial.
    fn index(self, trial: &PlannedTrial) -> u32 {
        match self {
            Self::Trial => trial.index,
            Self::Round => trial.round,
        }
    }

    /// A share by its number, in words.
    fn words(self, index: u32) -> String {
        match self {
            Self::Trial => format!("trial {index}"),
            Self::Round => format!("round {}", index + 1),
        }
    }
}

/// Jobs that may end without any result before the run gives up.
const MOST_BARREN: u32 = 3;

/// Workers that may vanish with the same trial.
const MOST_LOSSES: u32 = 3;

/// Silence of a worker after which another one of its task has taken its place.
const REPLACED_SILENCE: Duration = BEAT.saturating_mul(3);

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
    /// Announced shares by number.
    shares: BTreeMap<u32, Share>,
    /// The share whose results are asked for, and those that were not yet.
    ready: Option<(u32, String, BTreeMap<u32, Outcome>)>,
    patience: Patience,
    stop: Arc<AtomicBool>,
    job: Option<JobId>,
    /// Jobs submitted since the last result.
    barren: u32,
    losses: BTreeMap<u32, u32>,
    /// Last heartbeat of each worker, and when it was first seen.
    heard: BTreeMap<String, (u64, Instant)>,
    beats: u64,
    next_beat: Instant,
    next_question: Instant,
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
            shares: BTreeMap::new(),
            ready: None,
            patience,
            stop,
            job: None,
            barren: 0,
            losses: BTreeMap::new(),
            heard: BTreeMap::new(),
            beats: 0,
            next_beat: now,
            next_question: now,
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
        let spool = Spool::planned(folder, &work);
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

    fn make(&mut self) -> Result<(), ClusterError> {
        if let Some(work) = &self.unmade {
            self.spool.make(work)?;
            self.unmade = None;
        }
        Ok(())
    }

    fn wait(
        &mut self,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, ClusterError> {
        self.make()?;
        let share = self.share_of(trial);
        let mut step = "";
        loop {
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

    /// The share of a trial: that which was announced, or the trial alone.
    fn share_of(&self, trial: &PlannedTrial) -> Share {
        let index = self.unit.index(trial);
        let announced = self.shares.get(&index).filter(|share| share.trials.contains(trial));
        announced.cloned().unwrap_or(Share { index, trials: vec![*trial] })
    }

    /// The result of a trial, once its share was delivered.
    fn result(
        &mut self,
        trial: &PlannedTrial,
        share: &Share,
    ) -> Result<Option<Result<Record, ClusterError>>, ClusterError> {
        if self.ready.as_ref().is_none_or(|(index, ..)| *index != share.index) {
            // The run has kept the results before: it asks for the next ones.
            if let Some((before, ..)) = self.ready.take() {
                self.spool.kept(before)?;
            }
            let Some(delivery) = self.spool.delivered(share)? else { return Ok(None) };
            self.barren = 0;
            let trials = delivery.share.trials.iter().map(|trial| trial.index);
            let results = trials.zip(delivery.results).collect();
            self.ready = Some((share.index, delivery.task, results));
        }
        let Some((_, task, results)) = &mut self.ready else { return Ok(None) };
        let wrong = |words| ClusterError::Worker { task: task.clone(), index: trial.index, words };
        let found = results.remove(&trial.index);
        let found = found.unwrap_or_else(|| Err("it was not delivered with its round".to_owned()));
        Ok(Some(found.map(|record| *record).map_err(wrong)))
    }

    /// Shows that this session lives, offers the trials of lost workers again, and sees to it that
    /// there are workers.
    fn tend(&mut self, now: Instant) -> Result<(), ClusterError> {
        if now >= self.next_beat {
            self.next_beat = now + BEAT;
            self.beats += 1;
            self.spool.beat(SESSION, self.beats)?;
            self.listen(now)?;
        }
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
        for (index, task) in self.spool.taken()? {
            let (_, last) = *self.heard.entry(task.clone()).or_insert((0, now));
            let silent = now.duration_since(last);
            if silent > self.patience.silent
                || (silent > REPLACED_SILENCE && self.is_replaced(&task, last))
            {
                self.lose(index, &task)?;
            }
        }
        Ok(())
    }

    /// True if another worker of the same task was heard after this one: the scheduler starts a task
    /// again when its worker is dead.
    fn is_replaced(&self, task: &str, last: Instant) -> bool {
        let others = self.heard.iter().filter(|(other, _)| other.as_str() != task);
        let is_same = |other: &str| number(other).is_some() && number(other) == number(task);
        others.into_iter().any(|(other, (_, heard))| is_same(other) && *heard > last)
    }

    fn lose(&mut self, index: u32, task: &str) -> Result<(), ClusterError> {
        self.spool.put_back(index, task)?;
        let losses = self.losses.entry(index).or_default();
        *losses += 1;
        if *losses >= MOST_LOSSES {
            let (what, logs) = (self.unit.words(index), self.spool.logs());
            return Err(ClusterError::Lost { what, losses: *losses, logs });
        }
        Ok(())
    }

    /// Submits workers if there are none. A scheduler that cannot be reached just now is asked again
    /// later: a controller is restarted more often than a cluster ends.
    fn provide(&mut self) -> Result<(), ClusterError> {
        let live = match &self.job {
            Some(job) => match self.queue.live(job) {
                Ok(Some(live)) => live,
                Ok(None) | Err(_) => return Ok(()),
            },
            None => Live::default(),
        };
        self.release_disks(&live)?;
        if !live.is_over() {
            return self.lose_ended(&live);
        }
        if self.barren >= MOST_BARREN {
            let words = self.spool.last_words();
            return Err(ClusterError::Barren { submissions: self.barren, words });
        }
        // Workers of a job that is over are gone; what they had is wanted by the next ones.
        for (index, task) in self.spool.taken()? {
            self.spool.put_back(index, &task)?;
        }
        self.job = Some(self.queue.submit()?);
        self.barren += 1;
        Ok(())
    }

    /// Offers the trials again whose workers the scheduler has ended.
    fn lose_ended(&mut self, live: &Live) -> Result<(), ClusterError> {
        for (index, task) in self.spool.taken()? {
            if number(&task).is_some_and(|number| !live.running.contains(&number)) {
                self.lose(index, &task)?;
            }
        }
        Ok(())
    }

    /// Ends the workers.
    fn end(&mut self) -> Result<(), ClusterError> {
        let stopped = self.spool.stop();
        let cancelled = self.job.take().map_or(Ok(()), |job| self.queue.cancel(&job));
        stopped.and(cancelled)
    }
}

/// Number of the task that a worker's name begins with.
fn number(task: &str) -> Option<u32> {
    task.split('-').next()?.parse().ok()
}

impl Backend for Cluster {
    fn run(
        &mut self,
        _plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError> {
        self.wait(trial, progress).map_err(Into::into)
    }

    fn announce(&mut self, trials: &[PlannedTrial]) {
        self.shares.clear();
        for trial in trials {
            let index = self.unit.index(trial);
            let new = || Share { index, trials: Vec::new() };
            self.shares.entry(index).or_insert_with(new).trials.push(*trial);
        }
        let shares: Vec<Share> = self.shares.values().cloned().collect();
        // A folder that cannot be written is reported by the trial that needs it.
        let _ = self.make().and_then(|()| self.spool.want_only(&shares));
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
        if self.no_disk_is_written()? {
            self.spool.remove()?;
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
