//! A worker: takes trials out of the shared folder until the session has no more.

use crate::backend::Unit;
use crate::error::ClusterError;
use crate::pace;
use crate::spool::{Line, Outcome, Share, Sheet, Spool};
use seekwell_model::backend::BackendError;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{Record, Status};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Time after which a session without a heartbeat is believed dead. Its next one continues the run.
const SESSION_SILENT: Duration = Duration::from_secs(60);

/// End of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worked {
    /// Trials that it ran.
    pub trials: u64,
    /// True if its session died before the end of the run.
    pub is_orphan: bool,
}

/// Runs trials until the session stops its workers, removes the folder, or dies. By trial, each result is in the folder
/// before the next trial begins.
///
/// # Errors
/// When the shared folder cannot be used. A backend that is broken is delivered to the session.
pub fn work(
    spool: &Spool,
    task: &str,
    unit: Unit,
    run: &mut dyn FnMut(&PlannedTrial) -> Result<Record, BackendError>,
) -> Result<Worked, ClusterError> {
    let over = AtomicBool::new(false);
    let mut worker = Worker { spool, task, over: &over, trials: 0, run };
    // Heard before it has anything.
    let ended = spool.beat(task, 1).and_then(|()| {
        std::thread::scope(|scope| {
            let beating = scope.spawn(|| beat(spool, task, &over, SESSION_SILENT));
            let taken = worker.take_all(unit);
            over.store(true, Ordering::Relaxed);
            beating.thread().unpark();
            let beaten = beating.join().unwrap_or(Ok(false));
            taken.and(beaten)
        })
    });
    let trials = worker.trials;
    match ended {
        // A session that is done removes the folder, whatever its workers do just then.
        Err(_) if spool.is_gone() => Ok(Worked { trials, is_orphan: false }),
        Err(ClusterError::OtherWork { .. }) => Ok(Worked { trials, is_orphan: true }),
        ended => ended.map(|is_orphan| Worked { trials, is_orphan }),
    }
}

struct Worker<'a> {
    spool: &'a Spool,
    task: &'a str,
    /// Set once the worker shall end.
    over: &'a AtomicBool,
    /// Trials so far.
    trials: u64,
    run: &'a mut dyn FnMut(&PlannedTrial) -> Result<Record, BackendError>,
}

impl Worker<'_> {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) || self.spool.is_stopped()
    }

    fn take_all(&mut self, unit: Unit) -> Result<(), ClusterError> {
        let mut in_vain = 0;
        while !self.is_over() {
            let Some(sheet) = self.spool.take(self.task)? else {
                std::thread::sleep(pace::look(in_vain));
                in_vain += 1;
                continue;
            };
            in_vain = 0;
            let is_well = match unit {
                Unit::Trial => self.each(&sheet)?,
                Unit::Round => self.together(sheet.share)?,
            };
            if !is_well {
                break;
            }
        }
        Ok(())
    }

    /// Runs the trials of a share that have no result yet, and adds each result at once; false if the backend is broken.
    fn each(&mut self, sheet: &Sheet) -> Result<bool, ClusterError> {
        let (spool, task) = (self.spool, self.task);
        let index = sheet.share.index;
        for (number, trial) in sheet.missing().iter().enumerate() {
            if number > 0 && self.is_over() {
                // The results so far are for the session that continues this one.
                return Ok(true);
            }
            let begun = Instant::now();
            let result = outcome((self.run)(trial));
            let is_broken = result.is_err();
            let wall_ns = u64::try_from(begun.elapsed().as_nanos()).ok();
            let line = Line { trial: trial.index, task: task.to_owned(), wall_ns, result };
            if !spool.add(index, &line)? {
                // Another worker has the share: this one was believed dead.
                return Ok(!is_broken);
            }
            self.trials += 1;
            if is_broken {
                return spool.hand_over(index, task).map(|()| false);
            }
        }
        spool.hand_over(index, task).map(|()| true)
    }

    /// Runs a share whose results count only together; false if the backend is broken.
    fn together(&mut self, share: Share) -> Result<bool, ClusterError> {
        let Some(results) = self.run_share(&share) else { return Ok(true) };
        let is_well = results.iter().all(Result::is_ok);
        let ran = results.len() as u64;
        self.spool.deliver(&self.spool.delivery(share, self.task, results))?;
        self.trials += ran;
        Ok(is_well)
    }

    /// Runs the trials of a share up to the first error; `None` if the session wants no more before its last one begins.
    fn run_share(&mut self, share: &Share) -> Option<Vec<Outcome>> {
        let mut results = Vec::new();
        for trial in &share.trials {
            if !results.is_empty() && self.is_over() {
                return None;
            }
            results.push(outcome((self.run)(trial)));
            if results.last().is_some_and(Result::is_err) {
                break;
            }
        }
        Some(results)
    }
}

/// A result as it is delivered.
pub(crate) fn outcome(result: Result<Record, BackendError>) -> Outcome {
    result.map(Box::new).map_err(|error| in_words(&*error))
}

/// Runs a trial whose result depends on nothing but its request, and after a pause again if it failed: a scheduler that
/// ends a job kills the guest of a trial before its worker, which must not take that for a result. By the end of the
/// pause such a worker is dead. A trial that fails by itself fails again. One that its node has ended twice, as a record
/// tells by `is_of_node`, is no result either.
pub fn confirmed(
    pause: Duration,
    is_of_node: fn(&Record) -> bool,
    run: &mut dyn FnMut() -> Result<Record, BackendError>,
) -> Result<Record, BackendError> {
    let record = run()?;
    if !matches!(record.status, Status::Failed { .. }) {
        return Ok(record);
    }
    std::thread::sleep(pause);
    let record = run()?;
    match &record.status {
        Status::Failed { reason, .. } if is_of_node(&record) => {
            let words = reason.lines().next().unwrap_or_default();
            Err(Box::new(ClusterError::Workers(format!(
                "this node ended the trial twice: {words}; give workers more memory, such as --sbatch=--mem=1G, or \
                 more time"
            ))))
        }
        _ => Ok(record),
    }
}

/// Shows that this worker lives, and raises the flag when the session does not any more; true if that
/// was the end.
fn beat(
    spool: &Spool,
    task: &str,
    over: &AtomicBool,
    silent: Duration,
) -> Result<bool, ClusterError> {
    let (mut heard, mut workers, mut since) = (None, None, Instant::now());
    let mut count = 1_u64;
    while !over.load(Ordering::Relaxed) {
        count += 1;
        // The session's alone: all workers that read all heartbeats would read a million files at 1,000 nodes.
        let now = match spool.beat(task, count).and_then(|()| spool.heard_session()) {
            Ok(now) => now,
            Err(error) if spool.is_gone() || since.elapsed() > silent => {
                over.store(true, Ordering::Relaxed);
                return Err(error);
            }
            // A server that does not answer for a moment: the session is as silent as without it.
            Err(_) => heard.zip(workers),
        };
        let (now, known) = now.unzip();
        workers = known.or(workers);
        if now != heard {
            (heard, since) = (now, Instant::now());
        }
        if since.elapsed() > silent || spool.is_other_work().unwrap_or(false) {
            over.store(true, Ordering::Relaxed);
            return Ok(true);
        }
        std::thread::park_timeout(pace::beat(workers.unwrap_or(0)));
    }
    Ok(false)
}

/// An error with its causes.
fn in_words(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}
