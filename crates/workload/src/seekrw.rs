//! `seekrw`: random accesses, and what the filesystem needed to find their blocks.

use crate::error::WorkloadError;
use crate::io::{Measure, Place, Populate, Setting};
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use crate::target::OpenTarget;
use seekwell_engine::offsets::Offsets;
use seekwell_engine::{Progress, Span};
use seekwell_host::fiemap::{self, Extent};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{CacheState, IoParams, SeekRwParams, StepOutline};
use seekwell_observe::counters::{DeviceCounters, totals_between};
use std::collections::{BTreeMap, HashSet};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

mod pointers;
#[cfg(test)]
mod tests;

use pointers::pointer_blocks;

/// Larger accesses may be split into several requests by the device's limits.
const LARGEST_REQUEST: Bytes = Bytes::kib(128);

/// Bytes of a page of the page cache.
const PAGE_BYTES: u64 = 4096;

/// The steps.
#[must_use]
pub fn steps(params: &SeekRwParams, place: Place) -> Vec<Box<dyn Step>> {
    let setting = |params: &IoParams| Setting { params: params.clone(), place };
    let mut steps: Vec<Box<dyn Step>> =
        vec![Box::new(Populate::new(params.each.populate(), setting(&params.each)))];
    for (outline, each) in params.measurements() {
        let measure = Measure::new(outline, setting(&each)).advised_random();
        steps.push(Box::new(Lookup { measure, params: each }));
    }
    steps
}

/// Random accesses between two looks at the device's counters.
#[derive(Debug)]
struct Lookup {
    measure: Measure,
    params: IoParams,
}

impl Step for Lookup {
    fn outline(&self) -> &StepOutline {
        self.measure.outline()
    }

    fn progress(&self) -> Option<Arc<Progress>> {
        self.measure.progress()
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        // FIEMAP reads the blocks that hold the mapping, so that it comes after the accesses.
        let device = kernel_name(context.device);
        let before = counters(device.as_deref());
        let mut outcome = self.measure.run(context)?;
        let target = self.measure.target(context)?;
        if self.params.read_percent < 100 {
            target.file.sync_data().map_err(WorkloadError::file("sync", &target.path))?;
        }
        let after = counters(device.as_deref());
        let seed = self.measure.seed(context);
        let found = Found { params: &self.params, target: &target, seed, raw: context.raw };
        outcome.metrics.extend(found.metrics(before.zip(after), outcome.ops));
        Ok(outcome)
    }
}

/// Name of a block device in sysfs.
pub(crate) fn kernel_name(device: &Path) -> Option<String> {
    let node = std::fs::canonicalize(device).ok()?;
    Some(node.file_name()?.to_str()?.to_owned())
}

/// The device's counters; `None` when there is no such device.
pub(crate) fn counters(device: Option<&str>) -> Option<DeviceCounters> {
    DeviceCounters::read(Path::new("/"), device?).ok()
}

/// Facts known after the accesses.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    /// Parameters of the step.
    pub params: &'a IoParams,
    /// On what.
    pub target: &'a OpenTarget,
    /// Seed of the job's offsets.
    pub seed: u64,
    /// True when the target is a whole device.
    pub raw: bool,
}

impl Found<'_> {
    /// The metrics of finding the blocks, as far as device and filesystem tell them.
    pub(crate) fn metrics(
        &self,
        counters: Option<(DeviceCounters, DeviceCounters)>,
        ops: u64,
    ) -> BTreeMap<String, f64> {
        let mut metrics = BTreeMap::new();
        let mut keep = |name: &str, value: Option<f64>| {
            metrics.extend(value.map(|value| (name.to_owned(), value)));
        };
        let file = &self.target.file;
        let extents = if self.raw { None } else { fiemap::extents(file.as_fd()).ok().flatten() };
        keep("extents", extents.as_ref().map(|extents| extents.len() as f64));
        let pointers = extents.as_ref().and_then(|all| pointer_blocks(file, all));
        keep("pointer_blocks", pointers.map(|blocks| blocks as f64));
        let totals = counters.and_then(|(before, after)| totals_between(&before, &after));
        if let Some(totals) = totals.filter(|_| ops > 0) {
            keep("device_reads_per_op", Some(totals.reads as f64 / ops as f64));
            keep("device_writes_per_op", Some(totals.writes as f64 / ops as f64));
            let data = self.data_reads(extents.as_deref(), ops);
            let metadata = data.and_then(|data| totals.reads.checked_sub(data));
            keep("metadata_reads", metadata.map(|reads| reads as f64));
        }
        metrics
    }

    /// Read requests that the data of the accesses itself needed: one for each piece of an extent
    /// that an access touches, past the cache; through it, one for each page that was not read
    /// before. `None` if that is unknown.
    fn data_reads(&self, extents: Option<&[Extent]>, ops: u64) -> Option<u64> {
        let size = self.params.size.0;
        if self.params.size > LARGEST_REQUEST || self.params.threads > 1 {
            return None;
        }
        let direct = self.params.cache == CacheState::Direct;
        match (self.params.read_percent, direct) {
            (0, true) => return Some(0),
            (100, _) => {}
            _ => return None,
        }
        let block_bytes = u32::try_from(size).ok()?;
        let span = self.target.span;
        let mut offsets = Offsets::new(self.params.pattern, span, block_bytes, (0, 1), self.seed)?;
        let places = (0..ops).map(|_| offsets.next_offset());
        if !direct {
            return Some(pages_touched(places, size, span));
        }
        let pieces = extents.unwrap_or_default();
        Some(places.map(|offset| pieces_touched(pieces, offset, size)).sum())
    }
}

/// Requests that reading fresh pages takes: pages of one access that follow each other are one.
fn pages_touched(places: impl Iterator<Item = u64>, size: u64, span: Span) -> u64 {
    let last_page = (span.offset + span.length).div_ceil(PAGE_BYTES);
    // A set, because a file may have half a thousand million pages and an access touches a few.
    let mut cached = HashSet::new();
    let mut requests = 0;
    for offset in places {
        let pages = offset / PAGE_BYTES..(offset + size).div_ceil(PAGE_BYTES);
        let mut reading = false;
        for page in pages.take_while(|page| *page < last_page) {
            let fresh = cached.insert(page);
            requests += u64::from(fresh && !reading);
            reading = fresh;
        }
    }
    requests
}

/// Pieces of extents that an access touches; a file without extents, or a device, is one piece.
fn pieces_touched(pieces: &[Extent], offset: u64, size: u64) -> u64 {
    if pieces.is_empty() {
        return 1;
    }
    let first = pieces.partition_point(|piece| piece.logical + piece.length <= offset);
    let touched = pieces[first..].iter().take_while(|piece| piece.logical < offset + size);
    touched.count() as u64
}
