//! The shape of a load: what it asks of a filesystem, without times and amounts, so that recordings of different
//! machines and lengths compare.

use super::{ASYNCHRONOUS, SYNCED_WRITE, Summary, Transfer};
use seekwell_trace::calls::Class;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// Doublings of a size that make two loads entirely different in it: 4 KiB and 4 MiB.
const SIZE_DOUBLINGS: f64 = 10.0;

/// Doublings of writes per sync from one sync for each write to none at all.
const SYNC_DOUBLINGS: f64 = 16.0;

/// Doublings of calls at a time that make two loads entirely different in it.
const DEPTH_DOUBLINGS: f64 = 5.0;

/// Demands of a load on a filesystem. `None` is a part that it does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Reads as a share of reads and writes.
    pub reads: Option<f64>,
    /// Names made, removed and renamed as a share of these and of reads and writes.
    pub names: Option<f64>,
    /// Writes for each sync; `None` without syncs.
    pub writes_per_sync: Option<f64>,
    /// Median size of reads, bytes.
    pub read_bytes: Option<f64>,
    /// Median size of writes, bytes.
    pub write_bytes: Option<f64>,
    /// Share of reads that begin where the last one of the file ended.
    pub reads_in_a_row: Option<f64>,
    /// The same of writes.
    pub writes_in_a_row: Option<f64>,
    /// Mean number of calls and asynchronous operations in progress while there is one.
    pub depth: Option<f64>,
}

impl Shape {
    /// The shape of a recorded load; `None` if it has neither reads nor writes nor names.
    #[must_use]
    pub fn of(summary: &Summary) -> Option<Self> {
        let counted = |wanted: &[&str]| -> u64 {
            let named = summary.classes.iter().filter(|class| wanted.contains(&class.class));
            named.map(|class| class.count).sum()
        };
        let (reads, writes) = (summary.reads.count, summary.writes.count);
        let names = counted(&[Class::Name.name()]) + summary.create_calls;
        let syncs = counted(&[Class::Sync.name(), SYNCED_WRITE, ASYNCHRONOUS[2]]);
        let in_progress_ns = summary.in_calls_ns + summary.operations_ns;
        (reads + writes + names > 0).then(|| Self {
            reads: share(reads, reads + writes),
            names: share(names, names + reads + writes),
            writes_per_sync: share(writes, syncs),
            read_bytes: summary.reads.sizes.p50.map(|bytes| bytes as f64),
            write_bytes: summary.writes.sizes.p50.map(|bytes| bytes as f64),
            reads_in_a_row: in_a_row(&summary.reads),
            writes_in_a_row: in_a_row(&summary.writes),
            depth: share(in_progress_ns, summary.in_progress_ns),
        })
    }

    /// Distance to another load: 0 is the same, 1 has nothing in common. The mean over the parts, in which those of
    /// reads count as much as both loads read, and those of writes as much as both write.
    #[must_use]
    pub fn distance(&self, other: &Self) -> f64 {
        let reading = (self.reads.unwrap_or(0.0) + other.reads.unwrap_or(0.0)) / 2.0;
        let shares = |one: Option<f64>, other: Option<f64>| Some((one? - other?).abs());
        let doublings = |one: Option<f64>, other: Option<f64>, whole: f64| {
            Some(((one?.max(1.0) / other?.max(1.0)).log2().abs() / whole).min(1.0))
        };
        let synced = |one: Option<f64>| {
            one.map_or(0.0, |writes| 1.0 - ((1.0 + writes).log2() / SYNC_DOUBLINGS).min(1.0))
        };
        let sizes = |one, other| doublings(one, other, SIZE_DOUBLINGS);
        let parts = [
            (1.0, shares(self.reads, other.reads)),
            (1.0, shares(self.names, other.names)),
            (2.0, Some((synced(self.writes_per_sync) - synced(other.writes_per_sync)).abs())),
            (reading, sizes(self.read_bytes, other.read_bytes)),
            (1.0 - reading, sizes(self.write_bytes, other.write_bytes)),
            (reading, shares(self.reads_in_a_row, other.reads_in_a_row)),
            (1.0 - reading, shares(self.writes_in_a_row, other.writes_in_a_row)),
            (0.5, doublings(self.depth, other.depth, DEPTH_DOUBLINGS)),
        ];
        let known = parts.iter().filter_map(|(weight, part)| Some((weight, (*part)?)));
        let (sum, weights) = known
            .fold((0.0, 0.0), |(sum, all), (weight, part)| (sum + weight * part, all + weight));
        if weights > 0.0 { sum / weights } else { 1.0 }
    }
}

fn in_a_row(transfer: &Transfer) -> Option<f64> {
    share(transfer.sequential, transfer.located)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
