//! Fidelity: how close a replay came to its recording.

use crate::plan::{Reason, Recorded};
use seekwell_stats::Histogram;
use seekwell_trace::calls::CallId;
use std::collections::BTreeMap;

/// Calls of one kind whose result differs from the recorded one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Difference {
    /// Call.
    pub call: CallId,
    /// Recorded result as a sign of success or a negative error number.
    pub recorded: i64,
    /// Result of the replay, in the same form.
    pub replayed: i64,
}

/// Result of a replay.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// Recorded calls that were issued.
    pub issued: u64,
    /// Bytes that calls read.
    pub bytes_read: u64,
    /// Bytes that calls wrote.
    pub bytes_written: u64,
    /// From the first operation to the end of the last.
    pub elapsed_ns: u64,
    /// Time inside of calls, of all threads.
    pub inside_ns: u64,
    /// CPU time of the threads.
    pub cpu_ns: u64,
    /// Time between calls in which threads were awake, waiting for each other excepted.
    pub awake_ns: u64,
    /// Work of the replay itself that no pause of the program made up for, of the thread with most.
    pub overhead_ns: u64,
    /// Duration of reading, writing and syncing calls, and of the others.
    pub latencies: BTreeMap<&'static str, Histogram>,
    /// Time from the moment a call was due to its start.
    pub lateness: Histogram,
    /// Calls with another result.
    pub differences: BTreeMap<Difference, u64>,
    /// Files that were cloned where the recording copied them, or the other way round: the filesystem
    /// decides it.
    pub cloned_otherwise: u64,
    /// Recorded calls that copied data and were not issued, since the file was cloned.
    pub spared: u64,
    /// Calls that were not issued since their file was not open.
    pub not_open: u64,
    /// True when the caller ended it early.
    pub stopped: bool,
}

impl Replayed {
    /// Number of calls whose result differs.
    #[must_use]
    pub fn differing(&self) -> u64 {
        self.differences.values().sum()
    }
}

/// Comparison of a replay with its recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Fidelity {
    /// Recorded calls on files, those that could not be reproduced included.
    pub calls: u64,
    /// Calls that were issued.
    pub issued: u64,
    /// Calls that copied data and were not issued, since the file was cloned: the program would not have
    /// made them.
    pub spared: u64,
    /// Calls on files that were not issued, by reason.
    pub lost: BTreeMap<Reason, u64>,
    /// Calls whose result differs.
    pub differing: u64,
    /// Files that calls removed or cut and whose size no one saw before: each counts as a call with
    /// another result.
    pub unknown_files: u64,
    /// Mappings that the program may have written through, which a replay does not: each counts as a
    /// call with another result.
    pub mapped_writes: u64,
    /// Operations of asynchronous I/O, by a ring or by plain calls of threads.
    pub asynchronous: u64,
    /// Set-user-ID and set-group-ID bits that were left out.
    pub special_bits: u64,
    /// Calls whose file could not be followed through the trace.
    pub contradictions: u64,
    /// Calls that were issued without a recorded duration.
    pub untimed: u64,
    /// Mean number of calls in progress, recorded; `None` for a trace without durations.
    pub concurrency_recorded: Option<f64>,
    /// Mean number of calls in progress, replayed.
    pub concurrency: Option<f64>,
}

impl Fidelity {
    /// Share of calls that must be issued with the recorded result for an unmarked result.
    pub const SUFFICIENT: f64 = 0.99;

    /// Compares.
    #[must_use]
    pub fn of(recorded: &Recorded, replayed: &Replayed) -> Self {
        let losses = recorded.skipped.iter().filter(|(reason, _)| reason.is_loss());
        let mut lost: BTreeMap<Reason, u64> = losses.map(|(reason, n)| (*reason, *n)).collect();
        if replayed.not_open > 0 {
            *lost.entry(Reason::NotOpen).or_default() += replayed.not_open;
        }
        let share =
            |part: u64, whole: u64| (part > 0 && whole > 0).then(|| part as f64 / whole as f64);
        Self {
            calls: replayed.issued + replayed.spared + lost.values().sum::<u64>(),
            issued: replayed.issued,
            spared: replayed.spared,
            differing: replayed.differing(),
            unknown_files: recorded.unknown_files,
            mapped_writes: recorded.mapped_writes,
            asynchronous: recorded.asynchronous,
            special_bits: recorded.special_bits,
            contradictions: recorded.contradictions,
            untimed: recorded.untimed,
            concurrency_recorded: share(recorded.inside_ns, recorded.elapsed_ns),
            concurrency: share(replayed.inside_ns, replayed.elapsed_ns),
            lost,
        }
    }

    /// Share of the recorded calls on files that were issued on known files and had the recorded
    /// result; `None` without calls.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let wrong = self.differing + self.unknown_files + self.mapped_writes;
        let same = (self.issued + self.spared).saturating_sub(wrong);
        (self.calls > 0).then(|| same as f64 / self.calls as f64)
    }
}
