//! The loop of a bench over the steps of a workload.

use super::step_of;
use crate::error::WorkloadError;
use crate::step::StepContext;
use seekwell_model::bench::{BenchResult, BenchStep};
use seekwell_model::warning::Warning;
use seekwell_model::workloads::{CacheState, StepOutline, WorkloadParams};
use std::collections::HashSet;

/// The target of a bench, as far as the loop needs it.
pub(super) trait Surroundings {
    /// Drops the target's data from the cache, before a step that begins cold.
    fn make_cold(&self) -> Result<Option<Warning>, WorkloadError>;

    /// Time to bring what a step has written to the device; `None` where that is not measured.
    fn flush_ns(&self, _outline: &StepOutline) -> Result<Option<u64>, WorkloadError> {
        Ok(None)
    }

    /// Adds the metrics that only the target knows.
    fn complete(&self, _outline: &StepOutline, _step: &mut BenchStep, _flush_ns: Option<u64>) {}
}

/// Runs the steps one after the other, until the context is stopped.
pub(super) fn run(
    params: &WorkloadParams,
    context: &StepContext<'_>,
    target: &impl Surroundings,
) -> Result<BenchResult, WorkloadError> {
    let mut result = BenchResult::default();
    for mut step in crate::steps(params) {
        if context.is_stopped() {
            break;
        }
        let outline = step.outline().clone();
        if outline.cache == CacheState::Cold {
            result.warnings.extend(target.make_cold()?);
        }
        let mut outcome = step.run(context)?;
        result.warnings.append(&mut outcome.warnings);
        let flush_ns = target.flush_ns(&outline)?;
        let mut found = step_of(&outline.name, outcome);
        target.complete(&outline, &mut found, flush_ns);
        result.steps.push(found);
    }
    keep_one_of_each(&mut result.warnings);
    Ok(result)
}

/// Keeps the first warning of each code.
pub(super) fn keep_one_of_each(warnings: &mut Vec<Warning>) {
    let mut seen = HashSet::new();
    warnings.retain(|warning| seen.insert(warning.code.clone()));
}
