//! Estimate of the time of a trial, made before the first one ran.
//!
//! The rates are those of a mid-range SATA SSD; the progress display replaces the guess by the
//! measured mean after the first round, so that an error here costs a wrong first estimate and
//! nothing else. On the virtual backend it estimates the time of this machine, not the virtual time
//! that the trial reports: a disk then costs the time to model its requests.

use seekwell_model::filesystems;
use seekwell_model::lab::Workload;
use seekwell_model::plan::{BackendFacts, Cost};
use seekwell_model::stack::{Backing, Stack};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{CacheState, OperationCost, StepOutline};

/// Rates of one backend.
struct Rates {
    /// Agent start, device, mkfs, two mounts, unmount.
    fixed_ns: u64,
    /// Remount with dropped caches before a cold step.
    cold_ns: u64,
    /// Sequential throughput.
    bytes_per_second: u64,
    /// Creating, reading or removing a small file.
    file_ns: u64,
    /// A character that passes through a buffer.
    character_ns: u64,
    /// A call that the page cache answers.
    call_ns: u64,
    /// One access that waits for the device.
    access_ns: u64,
    /// A write with its sync.
    sync_ns: u64,
    /// Factor by which a step of fixed duration runs faster than real time.
    times_real: u64,
}

/// This kernel on a mid-range SATA SSD.
const HOST: Rates = Rates {
    fixed_ns: 400_000_000,
    cold_ns: 80_000_000,
    bytes_per_second: 300_000_000,
    file_ns: 60_000,
    character_ns: 15,
    call_ns: 3_000,
    access_ns: 120_000,
    sync_ns: 3_000_000,
    times_real: 1,
};

/// A guest on a modelled disk, in time of this machine.
const GUEST: Rates = Rates {
    fixed_ns: 300_000_000,
    cold_ns: 10_000_000,
    bytes_per_second: 400_000_000,
    file_ns: 250_000,
    character_ns: 15,
    call_ns: 3_000,
    access_ns: 40_000,
    sync_ns: 400_000,
    times_real: 20,
};

/// A command of unknown length.
const UNKNOWN_STEP_NS: u64 = 5_000_000_000;
/// Share of a step's bytes that metadata adds.
const METADATA_DIVISOR: u64 = 20;
/// Bytes that mkfs and mount write, besides the journal.
const MKFS_BYTES: u64 = 8 << 20;

/// Predicted cost of one trial.
#[must_use]
pub fn cost(stack: &Stack, workload: &Workload, _facts: &BackendFacts) -> Cost {
    let steps: Vec<StepOutline> =
        workload.outlines().into_iter().map(|step| step.outline).collect();
    let rates = match stack.device.backing {
        Backing::Model { .. } => GUEST,
        _ => HOST,
    };
    let step_ns = |step: &StepOutline| step_ns(step, &rates);
    let time_ns = steps.iter().map(step_ns).fold(rates.fixed_ns, u64::saturating_add);
    let written =
        steps.iter().map(step_written).try_fold(0_u64, |sum, next| Some(sum.saturating_add(next?)));
    let written = written.map(|bytes| Bytes(bytes.saturating_add(mkfs_written(stack))));
    Cost { time_ns, written }
}

fn step_ns(step: &StepOutline, rates: &Rates) -> u64 {
    if let Some(time_ns) = step.time_ns {
        return time_ns / rates.times_real;
    }
    let cold = if step.cache == CacheState::Cold { rates.cold_ns } else { 0 };
    let per_operation = match step.operation {
        OperationCost::File => rates.file_ns,
        OperationCost::Character => rates.character_ns,
        OperationCost::Call => rates.call_ns,
        OperationCost::Access => rates.access_ns,
        OperationCost::Sync => rates.sync_ns,
    };
    let operations = step.operations.map(|count| count.saturating_mul(per_operation));
    let transfer = step.bytes.map(|bytes| {
        (u128::from(bytes.0) * 1_000_000_000 / u128::from(rates.bytes_per_second)) as u64
    });
    match (operations, transfer) {
        (None, None) => UNKNOWN_STEP_NS,
        (operations, transfer) => cold + operations.unwrap_or(0).max(transfer.unwrap_or(0)),
    }
}

/// Bytes written by a step; `None` when it writes and does not say how much.
fn step_written(step: &StepOutline) -> Option<u64> {
    if !step.writes {
        return Some(0);
    }
    let bytes = match step.bytes {
        Some(bytes) => bytes.0,
        // Removing writes metadata only, about a block per hundred files.
        None => step.operations.map(|count| count * 4096 / 100)?,
    };
    Some(bytes + bytes / METADATA_DIVISOR)
}

fn mkfs_written(stack: &Stack) -> u64 {
    let Some(definition) = filesystems::filesystem(&stack.filesystem.kind) else { return 0 };
    if definition.is_never_made() {
        return 0;
    }
    let journal =
        definition.journal.map_or(0, |journal| stack.journal.size.unwrap_or(journal.default).0);
    MKFS_BYTES + journal
}

#[cfg(test)]
mod tests;
