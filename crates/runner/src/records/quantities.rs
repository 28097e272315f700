//! Quantities of the judged step that may explain its value.

use seekwell_model::record::{DeviceTotals, Record, StepRecord};
use seekwell_stats::estimate::mean;

#[cfg(test)]
mod tests;

/// All quantities: a name, and an amount that is next to nothing, because 0 against a little is no difference.
pub(crate) const QUANTITIES: [(&str, f64); 14] = [
    ("flushes", 2.0),
    ("KiB per write", 1.0),
    ("KiB per read", 1.0),
    ("% of writes merged", 5.0),
    ("MB written", 1.0),
    ("MB read", 1.0),
    ("MB to the journal device", 1.0),
    ("bytes written per byte", 0.1),
    ("s of CPU", 0.005),
    // Modelled devices alone tell these four.
    ("s of the arm's movement", 0.05),
    ("s of waiting for the sector", 0.05),
    ("blocks erased", 1.0),
    ("MB programmed", 1.0),
    ("requests in flight", 0.2),
];

/// Samples that a step must hold before it is said how many requests were in flight.
const LEAST_SAMPLES: usize = 3;

/// The amounts of a step that are known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantities {
    /// A bit for each quantity that is known.
    known: u16,
    /// The amounts of those.
    amounts: Box<[f64]>,
}

impl Quantities {
    /// Those of a step of this record.
    pub(crate) fn of(record: &Record, step: &StepRecord) -> Self {
        let (mut known, mut amounts) = (0, Vec::with_capacity(QUANTITIES.len()));
        for (bit, amount) in all(record, step).into_iter().enumerate() {
            if let Some(amount) = amount.filter(|amount| amount.is_finite()) {
                known |= 1 << bit;
                amounts.push(amount);
            }
        }
        Self { known, amounts: amounts.into() }
    }

    /// Numbers of the quantities that are known, with their amounts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, f64)> {
        let known = (0..QUANTITIES.len()).filter(|bit| self.known & (1 << bit) != 0);
        known.zip(self.amounts.iter().copied())
    }
}

/// The amounts of all quantities; some that are not known are not finite.
fn all(record: &Record, step: &StepRecord) -> [Option<f64>; QUANTITIES.len()] {
    let disks = disks(record, step);
    let device = |amount: &dyn Fn(&DeviceTotals) -> f64| disks.as_ref().map(amount);
    let metric = |name: &str| step.metrics.get(name).copied();
    // Without a count it is not finite.
    let per = |sum: u64, count: u64| sum as f64 / count as f64;
    [
        disks.and_then(|disks| disks.flushes).map(|flushes| flushes as f64),
        device(&|of| per(of.written_bytes, of.writes) / 1024.0),
        device(&|of| per(of.read_bytes, of.reads) / 1024.0),
        device(&|of| per(100 * of.writes_merged, of.writes + of.writes_merged)),
        device(&|of| of.written_bytes as f64 / 1e6),
        device(&|of| of.read_bytes as f64 / 1e6),
        step.journal.map(|journal| journal.written_bytes as f64 / 1e6),
        metric("written_per_byte"),
        metric("cpu"),
        metric("arm_time"),
        metric("rotation_time"),
        metric("erases"),
        metric("programmed_bytes").map(|bytes| bytes / 1e6),
        in_flight(record, step),
    ]
}

/// Counters of the disk, or the sum of all disks below the layers: an array's own counters are of
/// requests to it, and know neither its flushes nor the writes of parity and copies. `None` where a
/// disk was not counted.
fn disks(record: &Record, step: &StepRecord) -> Option<DeviceTotals> {
    if record.in_force.members.len() != step.members.len() {
        return None;
    }
    match &step.members[..] {
        [] => step.device,
        members => members.iter().copied().reduce(DeviceTotals::with),
    }
}

/// Mean over the samples whose whole interval is inside the step. Others also contain mkfs or the step
/// before.
fn in_flight(record: &Record, step: &StepRecord) -> Option<f64> {
    if !step.members.is_empty() {
        // The samples are of the uppermost layer, whose requests are not those of the disks.
        return None;
    }
    let queues: Vec<f64> = record
        .timeline
        .windows(2)
        .filter(|pair| pair[0].at_ns >= step.started_ns && pair[1].at_ns <= step.ended_ns)
        .map(|pair| pair[1].queue_size)
        .collect();
    (queues.len() >= LEAST_SAMPLES).then(|| mean(&queues)).flatten()
}
