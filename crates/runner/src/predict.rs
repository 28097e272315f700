//! What a trial will cost, guessed before the first one ran.
//!
//! The rates are those of a mid-range SATA SSD; the progress display replaces the guess by the
//! measured mean after the first round, so that an error here costs a wrong first estimate and
//! nothing else.

use seekwell_model::filesystems;
use seekwell_model::lab::Workload;
use seekwell_model::plan::{Cost, PlaceFacts};
use seekwell_model::stack::Stack;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{CacheState, StepOutline};

/// Agent start, loop device, mkfs, two mounts, unmount.
const FIXED_NS: u64 = 400_000_000;
/// Remount with dropped caches before a cold step.
const COLD_NS: u64 = 80_000_000;
/// Sequential throughput: 300 MB/s.
const BYTES_PER_SECOND: u64 = 300_000_000;
/// Creating, reading or removing a small file.
const FILE_NS: u64 = 60_000;
/// One direct operation on a device.
const DIRECT_NS: u64 = 120_000;
/// A command of unknown length.
const UNKNOWN_STEP_NS: u64 = 5_000_000_000;
/// Share of a step's bytes that metadata adds.
const METADATA_DIVISOR: u64 = 20;
/// What mkfs and mount write, besides the journal.
const MKFS_BYTES: u64 = 8 << 20;

/// Predicted cost of one trial.
#[must_use]
pub fn cost(stack: &Stack, workload: &Workload, _facts: &PlaceFacts) -> Cost {
    let steps: Vec<StepOutline> =
        workload.outlines().into_iter().map(|step| step.outline).collect();
    let time_ns = steps.iter().map(step_ns).fold(FIXED_NS, u64::saturating_add);
    let written =
        steps.iter().map(step_written).try_fold(0_u64, |sum, next| Some(sum.saturating_add(next?)));
    let written = written.map(|bytes| Bytes(bytes.saturating_add(mkfs_written(stack))));
    Cost { time_ns, written }
}

fn step_ns(step: &StepOutline) -> u64 {
    if let Some(time_ns) = step.time_ns {
        return time_ns;
    }
    let cold = if step.cache == CacheState::Cold { COLD_NS } else { 0 };
    let per_operation = if step.cache == CacheState::Direct { DIRECT_NS } else { FILE_NS };
    let operations = step.operations.map(|count| count.saturating_mul(per_operation));
    let transfer = step
        .bytes
        .map(|bytes| (u128::from(bytes.0) * 1_000_000_000 / u128::from(BYTES_PER_SECOND)) as u64);
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
    if definition.is_raw() {
        return 0;
    }
    let journal =
        definition.journal.map_or(0, |journal| stack.journal.size.unwrap_or(journal.default).0);
    MKFS_BYTES + journal
}

#[cfg(test)]
mod tests;
