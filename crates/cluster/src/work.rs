//! A worker: takes trials out of the shared folder until the session has no more.

use crate::error::ClusterError;
use crate::spool::{Delivery, SESSION, Spool};
use seekwell_model::backend::BackendError;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Time between two looks for a trial.
const LOOK: Duration = Duration::from_millis(100);

/// Time between two heartbeats.
pub(crate) const BEAT: Duration = Duration::from_secs(2);

/// Time after which a session without a heartbeat is believed dead. Its next one continues the run.
const SESSION_SILENT: Duration = Duration::from_secs(60);

/// Runs trials until the session stops its workers or dies. Returns how many it ran.
///
/// # Errors
/// When the shared folder cannot be used. A backend that is broken is delivered to the session.
pub fn work(
    spool: &Spool,
    task: &str,
    run: &mut dyn FnMut(&PlannedTrial) -> Result<Record, BackendError>,
) -> Result<u64, ClusterError> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let beating = scope.spawn(|| beat(spool, task, &over, SESSION_SILENT));
        let ran = take_all(spool, task, &over, run);
        over.store(true, Ordering::Relaxed);
        beating.thread().unpark();
        let beaten = beating.join().unwrap_or(Ok(()));
        ran.and_then(|ran| beaten.map(|()| ran))
    })
}

fn take_all(
    spool: &Spool,
    task: &str,
    over: &AtomicBool,
    run: &mut dyn FnMut(&PlannedTrial) -> Result<Record, BackendError>,
) -> Result<u64, ClusterError> {
    let mut ran = 0;
    while !over.load(Ordering::Relaxed) && !spool.is_stopped() {
        let Some(trial) = spool.take(task)? else {
            std::thread::sleep(LOOK);
            continue;
        };
        let result = run(&trial).map(Box::new).map_err(|error| in_words(&*error));
        let broken = result.is_err();
        spool.deliver(&Delivery { trial, task: task.to_owned(), result })?;
        ran += 1;
        if broken {
            break;
        }
    }
    Ok(ran)
}

/// Shows that this worker lives, and raises the flag when the session does not any more.
fn beat(
    spool: &Spool,
    task: &str,
    over: &AtomicBool,
    silent: Duration,
) -> Result<(), ClusterError> {
    let (mut heard, mut since) = (None, Instant::now());
    let mut count = 0_u64;
    while !over.load(Ordering::Relaxed) {
        count += 1;
        let beats = spool.beat(task, count).and_then(|()| spool.beats());
        let now = match beats {
            Ok(beats) => beats.get(SESSION).copied(),
            Err(error) => {
                over.store(true, Ordering::Relaxed);
                return Err(error);
            }
        };
        if now != heard {
            (heard, since) = (now, Instant::now());
        }
        if since.elapsed() > silent {
            over.store(true, Ordering::Relaxed);
        }
        std::thread::park_timeout(BEAT);
    }
    Ok(())
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
