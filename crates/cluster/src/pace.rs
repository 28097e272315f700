//! The numbers that set how often session and workers use their folder. One server has to do all of it, for 1,000 nodes too:
//! see the simulation `cluster_scaling`, which reads them here.

use std::time::Duration;

/// Time between two heartbeats of a session, and of each of a few workers.
pub const BEAT: Duration = Duration::from_secs(2);

/// Share of that time for each worker, so that the heartbeats of many are no more than 100 a second.
pub const BEAT_EACH: Duration = Duration::from_millis(10);

/// Longest time between two heartbeats of a worker.
pub const SLOWEST_BEAT: Duration = Duration::from_secs(15);

/// Time between two looks of a session that waits for a record.
pub const SESSION_LOOK: Duration = Duration::from_millis(50);

/// Time between two looks of a session at the number of offers.
pub const REFILL: Duration = Duration::from_millis(200);

/// Records that a session keeps with one write to the disk, at most.
pub const HELD: usize = 64;

/// Time between the first looks of an idle worker for a trial.
pub const LOOK: Duration = Duration::from_millis(100);

/// Looks in vain after which the time between two doubles.
pub const LOOKS: u32 = 4;

/// Most doublings. Idle workers that look ten times a second keep the server of the folder from all other work at 1,000
/// nodes.
pub const MOST_DOUBLINGS: u32 = 3;

/// Doublings of the number of offers among which a worker chooses that lost one to another.
pub const MOST_CHOICES: u32 = 12;

/// Work that a worker takes at once, at least.
const WORK: Duration = Duration::from_secs(10);

/// That work for each worker: the shares of all together are no more than 33 a second.
const WORK_EACH: Duration = Duration::from_millis(30);

/// Trials in a share at most: its records are one file.
const MOST_TRIALS: usize = 64;

/// Parts into which the trials that are left are cut for each worker, so that all end at about the same time.
const PARTS: usize = 2;

/// Shares that are offered at once for each worker.
const OFFERS_EACH: usize = 2;

/// Shares that are offered at once, at least.
const LEAST_OFFERS: usize = 64;

/// Trials of a share, from the time that a node needs for one if it is known, and the trials that are left for so many
/// workers.
#[must_use]
pub fn share(trial_ns: Option<u64>, left: usize, workers: usize) -> usize {
    let Some(trial_ns) = trial_ns else { return 1 };
    let work = WORK.max(WORK_EACH * u32::try_from(workers).unwrap_or(u32::MAX));
    let enough = work.as_nanos().div_ceil(u128::from(trial_ns.max(1)));
    let enough = usize::try_from(enough).unwrap_or(MOST_TRIALS);
    let fair = left / (PARTS * workers).max(1);
    enough.min(fair).clamp(1, MOST_TRIALS)
}

/// Shares that are offered at once to so many workers. Before the time of a trial is known it is one for each: later ones
/// go out together.
#[must_use]
pub fn offers(workers: usize, is_time_known: bool) -> usize {
    let each = if is_time_known { OFFERS_EACH } else { 1 };
    (each * workers).max(LEAST_OFFERS)
}

/// Time between two heartbeats of each of so many workers.
#[must_use]
pub fn beat(workers: u32) -> Duration {
    BEAT_EACH.saturating_mul(workers).clamp(BEAT, SLOWEST_BEAT)
}

/// Time of an idle worker until its next look, after so many in vain.
#[must_use]
pub fn look(in_vain: u32) -> Duration {
    LOOK * (1 << (in_vain / LOOKS).min(MOST_DOUBLINGS))
}

#[cfg(test)]
mod tests;
