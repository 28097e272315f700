//! Keeps a run within the time that was given.

use seekwell_model::units::Nanos;
use seekwell_session::{Event, OVER};
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Time of a run, and how long its trials take.
pub struct Deadline {
    begun: Instant,
    time: Duration,
    trial: Option<Instant>,
    longest: Duration,
    reached: bool,
}

impl Deadline {
    /// A run that began at this moment and may take this long.
    pub fn new(begun: Instant, time: Nanos) -> Self {
        let time = time.to_duration();
        Self { begun, time, trial: None, longest: Duration::ZERO, reached: false }
    }

    /// Time that is left, a second at least.
    pub fn left(&self, now: Instant) -> Nanos {
        let left = self.time.saturating_sub(now.saturating_duration_since(self.begun));
        Nanos::from_duration(left.max(Duration::from_secs(1)))
    }

    /// Takes note of an event; true when no further trial fits.
    pub fn is_over(&mut self, event: &Event<'_>, now: Instant) -> bool {
        match event {
            Event::Began { .. } => self.began(now),
            Event::Ended { record, .. } => self.ended(now, Duration::from_nanos(record.elapsed_ns)),
            _ => {}
        }
        self.reached
    }

    /// Returns true if the run was ended for its time.
    pub fn is_reached(&self) -> bool {
        self.reached
    }

    fn began(&mut self, now: Instant) {
        self.trial = Some(now);
    }

    /// `agent` is the time of the trial alone: before the first one the image is written, which the
    /// next need not wait for.
    fn ended(&mut self, now: Instant, agent: Duration) {
        let took = self.trial.take().map_or(Duration::ZERO, |began| (now - began).min(agent));
        self.longest = self.longest.max(took);
        self.reached = (now - self.begun) + self.longest > self.time.mul_f64(OVER);
    }
}
