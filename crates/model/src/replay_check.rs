//! A replay on the stack of its capture, set against the recording: the one stack whose truth is known.

use serde::{Deserialize, Serialize};

/// Largest ratio, either way, with which a verdict stands as it is. Programs repeated on one stack differ by up to
/// this much from one run to the next (`benches/runs/replay`).
pub const LIMIT: f64 = 1.15;

/// Largest ratio, either way, by which a bound is widened. Above it the bound would be no help to choose: a pick
/// that may lose half is called a guess.
pub const WITHHELD: f64 = 1.5;

/// Ratio, either way, up to which replays of asynchronous I/O are off on other filesystems where they are not on their
/// own (`benches/runs/replay/ten`: fio by io_uring, 1.33 at most).
const ASYNCHRONOUS: f64 = 1.35;

/// The check of a replayed workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayCheck {
    /// Name of the workload.
    pub workload: String,
    /// The comparison, or the reason why there is none.
    pub result: CheckResult,
}

/// Outcome of a check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckResult {
    /// The replay ran on the stack of the capture.
    Compared(Box<ReplayComparison>),
    /// It could not run there: the reason, a clause without a full stop.
    Unchecked(String),
}

/// A quantity as it was recorded and as a replay had it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Compared {
    /// The value of the program.
    pub recorded: f64,
    /// The value of the replay.
    pub replayed: f64,
}

impl Compared {
    /// Replayed divided by recorded; `None` for a recorded 0.
    #[must_use]
    pub fn ratio(self) -> Option<f64> {
        (self.recorded > 0.0).then_some(self.replayed / self.recorded)
    }

    fn excess(self) -> f64 {
        self.replayed - self.recorded
    }
}

/// A replay compared with its recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplayComparison {
    /// Filesystem and device, such as `ext4 on /dev/vda1`.
    pub stack: String,
    /// Replays; the one of middle length counts.
    pub replays: u32,
    /// Time between the first call and the end of the last, seconds.
    pub elapsed_s: Compared,
    /// In calls on files, seconds of all threads.
    pub calls_s: Compared,
    /// Computing between calls, seconds of all threads; `None` where the trace does not tell computing from sleep.
    pub computing_s: Option<Compared>,
    /// Bytes read from the device; `None` where either side is unknown, as in those that follow.
    pub device_read_bytes: Option<Compared>,
    /// Bytes written to the device.
    pub device_written_bytes: Option<Compared>,
    /// Requests for reading and writing.
    pub requests: Option<Compared>,
    /// Mean number of such requests in progress.
    pub depth: Option<Compared>,
    /// Work of the replay itself that is in its elapsed time, seconds. Recording slows a program of so many calls too.
    pub overhead_s: f64,
    /// True if a tenth of its calls or more are asynchronous.
    pub is_asynchronous: bool,
    /// The replay with fewer syncs; `None` where syncs take little of its time.
    pub fewer_syncs: Option<FewerSyncs>,
}

/// A replay on the same stack that makes one sync for several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FewerSyncs {
    /// Syncs of the program for which one was made.
    pub every: u32,
    /// Time between the first call and the end of the last, seconds.
    pub elapsed_s: f64,
}

/// The part of a replay that takes another time than in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffPart {
    /// Between calls.
    Computing,
    /// In calls, with the device's requests as recorded.
    Calls,
    /// In calls, with other requests to the device.
    Device,
    /// None of these: threads wait for each other, or sleep.
    Waiting,
    /// The work of recording and replaying: the program makes more calls than either keeps up with.
    Overhead,
    /// Nothing on its own stack; asynchronous I/O is on others.
    Asynchronous,
}

impl ReplayComparison {
    /// Elapsed time of the replay divided by that of the program.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.elapsed_s.ratio()
    }

    /// The factor by which a comparison of two stacks may be wrong, since one stack may be replayed right and the
    /// other not: the ratio, or its inverse where the replay is faster, and no less than what its own work or
    /// asynchronous I/O make of it.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let least = if self.is_asynchronous { ASYNCHRONOUS } else { 1.0 };
        Some(self.own_error()?.max(least))
    }

    /// That on its own stack.
    fn own_error(&self) -> Option<f64> {
        Some(self.timing_error()?.max(self.slowdown()))
    }

    fn timing_error(&self) -> Option<f64> {
        let ratio = self.ratio().filter(|ratio| *ratio > 0.0)?;
        Some(ratio.max(ratio.recip()))
    }

    /// Time of the replay divided by that without its own work.
    fn slowdown(&self) -> f64 {
        let replayed = self.elapsed_s.replayed;
        replayed / (replayed - self.overhead_s).max(replayed / 2.0)
    }

    /// Time with fewer syncs divided by that with all, and the syncs for which one was made.
    #[must_use]
    pub fn fewer_syncs(&self) -> Option<(f64, u32)> {
        let FewerSyncs { every, elapsed_s } = self.fewer_syncs?;
        let replayed = self.elapsed_s.replayed;
        (replayed > 0.0).then_some((elapsed_s / replayed, every))
    }

    /// The part that explains most of the difference; `None` within [`LIMIT`].
    #[must_use]
    pub fn off(&self) -> Option<OffPart> {
        let error = self.error().filter(|error| *error > LIMIT)?;
        if self.own_error().is_some_and(|own| own < error) {
            return Some(OffPart::Asynchronous);
        }
        if self.timing_error().is_some_and(|error| error <= self.slowdown()) {
            return Some(OffPart::Overhead);
        }
        let sign = self.elapsed_s.excess().signum();
        let explains = |part: Compared| sign * part.excess();
        let calls = explains(self.calls_s);
        let computing = self.computing_s.map_or(0.0, explains);
        // Of several threads each part may exceed the whole.
        let least = sign * self.elapsed_s.excess() / 2.0;
        Some(match calls.max(computing) {
            most if most < least => OffPart::Waiting,
            _ if computing > calls => OffPart::Computing,
            _ if self.has_other_requests() => OffPart::Device,
            _ => OffPart::Calls,
        })
    }

    fn has_other_requests(&self) -> bool {
        let all = [self.device_read_bytes, self.device_written_bytes, self.requests];
        let differs = |part: Compared| {
            part.ratio().is_some_and(|ratio| !(LIMIT.recip()..=LIMIT).contains(&ratio))
        };
        all.into_iter().flatten().any(differs)
    }
}

impl ReplayCheck {
    /// The comparison, where there is one.
    #[must_use]
    pub fn compared(&self) -> Option<&ReplayComparison> {
        match &self.result {
            CheckResult::Compared(found) => Some(found),
            CheckResult::Unchecked(_) => None,
        }
    }
}

/// The check whose replay is off by the largest factor, where that is above [`LIMIT`].
#[must_use]
pub fn worst<'c>(checks: impl IntoIterator<Item = &'c ReplayCheck>) -> Option<&'c ReplayCheck> {
    let error = |check: &ReplayCheck| check.compared().and_then(ReplayComparison::error);
    let off = checks.into_iter().filter(|check| error(check).is_some_and(|error| error > LIMIT));
    off.max_by(|a, b| error(a).unwrap_or(1.0).total_cmp(&error(b).unwrap_or(1.0)))
}

#[cfg(test)]
mod tests;
