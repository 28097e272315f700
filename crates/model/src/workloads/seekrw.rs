//! `seekrw`: a number of random accesses, and what the filesystem needed to find the blocks.

use super::io::{COMPRESSIBLE_FIELD, CONTENT_FIELD, REPEATED_FIELD, base};
use super::{
    CacheState, FieldConflict, IoParams, StepOutline, WorkloadKind, WorkloadParams, conflict,
};
use crate::field::{Values, field};
use crate::units::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters of `seekrw`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeekRwParams {
    /// States of the page cache, one step for each.
    pub caches: Vec<CacheState>,
    /// Parameters of each step, with the cache state of the first.
    pub each: IoParams,
}

/// Metrics of `seekrw` beyond those of a seek. Those that a filesystem or a device does not tell
/// are absent.
pub const LOOKUP_METRICS: &[&str] =
    &["extents", "pointer_blocks", "device_reads_per_op", "device_writes_per_op", "metadata_reads"];

/// A number of random accesses.
pub const SEEKRW: WorkloadKind = WorkloadKind {
    name: "seekrw",
    doc: "Random reads or writes of one length, with and without the page cache, and what the filesystem needed to find the blocks: requests per access, extents, pointer blocks, reads of metadata.",
    fields: &[
        field!("step": Text,
            "Name of the measured steps, followed by -direct and -cold where both are made; by default the kind's name."),
        field!("count": integer(1, 1_000_000_000_000), default "10_000", "Accesses in each step."),
        field!("size": size(Bytes(512), Bytes::mib(64)), default "\"512B\"",
            "Bytes per access, a multiple of the device's sector."),
        field!("write": Bool, default "false", "Write instead of read."),
        field!("cache": Choice(&["both", "direct", "cold"]), default "\"both\"",
            "`direct`: past the page cache. `cold`: through it, remounted and dropped before. `both`: one step each."),
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
    let mut each = base("seekrw", values);
    let size = each.size;
    if each.file_size.is_some_and(|file| file < size) {
        let problem = format!("file_size is smaller than one access of {size}");
        return conflict("file_size", problem, "make file_size at least as large as size");
    }
    let caches = match values.choice("cache") {
        Some(cache) => vec![cache],
        None => vec![CacheState::Direct, CacheState::Cold],
    };
    each.cache = caches[0];
    Ok(WorkloadParams::SeekRw(SeekRwParams { caches, each }))
}

impl SeekRwParams {
    /// `populate` and one step for each way to meet the page cache.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let mut steps = vec![self.each.populate()];
        steps.extend(self.measurements().into_iter().map(|(outline, _)| outline));
        steps
    }

    /// The measured steps, each with what it does.
    #[must_use]
    pub fn measurements(&self) -> Vec<(StepOutline, IoParams)> {
        let one = |cache: &CacheState| {
            let params = IoParams { cache: *cache, ..self.each.clone() };
            let name = match (self.caches.len(), cache) {
                (1, _) => self.each.step.clone(),
                (_, CacheState::Direct) => format!("{}-direct", self.each.step),
                _ => format!("{}-cold", self.each.step),
            };
            let mut outline = params.measured(name);
            outline.metrics.extend(LOOKUP_METRICS.iter().map(|name| (*name).to_owned()));
            (outline, params)
        };
        self.caches.iter().map(one).collect()
    }
}
