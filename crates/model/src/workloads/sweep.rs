//! `sweep`: random reads at every block size, from a sector to megabytes.

use super::io::{COMPRESSIBLE_FIELD, CONTENT_FIELD, REPEATED_FIELD, base};
use super::{FieldConflict, IoParams, StepOutline, WorkloadKind, WorkloadParams, conflict};
use crate::field::{Values, field};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Parameters of `sweep`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepParams {
    /// Block sizes in ascending order.
    pub sizes: Vec<Bytes>,
    /// Parameters at each size, with the largest size.
    pub each: IoParams,
}

const SMALLEST: Bytes = Bytes(512);
const LARGEST: Bytes = Bytes::mib(64);

/// Random access at each block size.
pub const SWEEP: WorkloadKind = WorkloadKind {
    name: "sweep",
    doc: "Random reads at each block size from 512 B to 4 MiB: from bound by access time to bound by bandwidth. The smallest size estimates the seek time.",
    fields: &[
        field!("step": Text,
            "Prefix of the names of the measured steps, STEP-SIZE; by default the kind's name."),
        field!("sizes": SizeList { min: SMALLEST, max: LARGEST },
            default "[\"512B\", \"1KiB\", \"2KiB\", \"4KiB\", \"8KiB\", \"16KiB\", \"32KiB\", \"64KiB\", \"128KiB\", \"256KiB\", \"512KiB\", \"1MiB\", \"2MiB\", \"4MiB\"]",
            "Block sizes, one step each."),
        field!("count": integer(1, 1_000_000_000_000),
            "Operations at each size, over all threads. Without `count` and `time` each size takes 1 s."),
        field!("time": Duration,
            "Ends each size after this time, or at `count`, whichever comes first."),
        field!("threads": integer(1, 1024), default "1", "Threads, each with offsets of its own."),
        field!("write": Bool, default "false", "Write instead of read."),
        field!("cache": Choice(&["direct", "cold"]), default "\"direct\"",
            "`direct`: past the page cache. `cold`: through it, dropped before each size."),
        field!("file_size": size(Bytes::kib(4), Bytes(1 << 50)), default "\"256MiB\"",
            "Size of the file that is used, written in full before; on a raw device how much of it is used."),
        CONTENT_FIELD,
        COMPRESSIBLE_FIELD,
        REPEATED_FIELD,
    ],
    on_raw: true,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let mut sizes = values.sizes("sizes");
    if sizes.is_empty() {
        sizes = (9..=22).map(|power| Bytes(1 << power)).collect();
    }
    sizes.sort_unstable();
    sizes.dedup();
    let (smallest, largest) = (sizes[0], sizes[sizes.len() - 1]);
    let each = IoParams { size: largest, ..base("sweep", values) };
    if each.file_size.is_some_and(|file| file < largest) {
        let problem = format!("file_size is smaller than the largest size, {largest}");
        let remedy = format!("make it at least {largest}, or end the sizes at {smallest}");
        return conflict("file_size", problem, remedy);
    }
    let unbound = each.count.is_none().then_some(Nanos::seconds(1));
    let each = IoParams { time: each.time.or(unbound), ..each };
    Ok(WorkloadParams::Sweep(SweepParams { sizes, each }))
}

impl SweepParams {
    /// `populate` and one step for each size.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let mut steps = vec![self.each.populate()];
        steps.extend(self.measurements().into_iter().map(|(outline, _)| outline));
        steps
    }

    /// The measured steps, each with what it does.
    #[must_use]
    pub fn measurements(&self) -> Vec<(StepOutline, IoParams)> {
        let one = |size: &Bytes| {
            let params = IoParams { size: *size, ..self.each.clone() };
            (params.measured(format!("{}-{size}", self.each.step)), params)
        };
        self.sizes.iter().map(one).collect()
    }
}
