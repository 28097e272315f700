//! Times between the heartbeats of workers.

use std::time::Duration;

/// Time between two heartbeats of a session, and of each of a few workers.
pub(crate) const BEAT: Duration = Duration::from_secs(2);
/// Share of that time for each worker, so that the heartbeats of many are no more than 100 a second.
const BEAT_EACH: Duration = Duration::from_millis(10);
/// Longest time between two heartbeats of a worker.
const SLOWEST_BEAT: Duration = Duration::from_secs(15);

/// Time between two heartbeats of each of so many workers.
pub(crate) fn beat_interval(workers: u32) -> Duration {
    (BEAT_EACH * workers).clamp(BEAT, SLOWEST_BEAT)
}

#[cfg(test)]
mod tests;
