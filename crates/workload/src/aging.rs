//! `age`, `defragment` and `layout`: fragments files, defragments them, and counts their extents.

mod defragment;
mod fill;
pub mod free;
pub mod layout;

use crate::error::WorkloadError;
use crate::io::Place;
use crate::outcome::StepOutcome;
use crate::step::{self, Step, StepContext};
use layout::Layout;
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::{Clock, MonotonicClock};
use seekwell_model::workloads::StepOutline;
use seekwell_model::workloads::aging::{AgeParams, LayoutParams};

/// The steps of an `age` workload.
#[must_use]
pub fn age_steps(params: &AgeParams, place: Place) -> Vec<Box<dyn Step>> {
    step::each(params.steps(), |outline| fill::Age { outline, params: params.clone(), place })
}

/// The steps of a `defragment` or `layout` workload.
#[must_use]
pub fn layout_steps(params: &LayoutParams) -> Vec<Box<dyn Step>> {
    step::each(params.steps(), |outline| Look { outline, params: params.clone() })
}

/// Looks at a filesystem, and puts its files in order before, if that is wanted.
#[derive(Debug)]
struct Look {
    outline: StepOutline,
    params: LayoutParams,
}

impl Step for Look {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let step = &self.outline.name;
        let directory = context.filesystem(step)?;
        if !self.params.defragment {
            let (begin_ns, cpu_ns) = (MonotonicClock.now_ns(), thread_cpu_ns());
            let below = self.params.below.as_ref().map(|below| directory.join(below));
            let found = Layout::of(below.as_deref().unwrap_or(directory))?;
            let mut outcome = StepOutcome {
                ops: found.files,
                elapsed_ns: MonotonicClock.now_ns().saturating_sub(begin_ns),
                cpu_ns: thread_cpu_ns().saturating_sub(cpu_ns),
                ..StepOutcome::default()
            };
            found.add_to(&mut outcome);
            return Ok(outcome);
        }
        let before = Layout::of(directory)?;
        let mut outcome = defragment::run(step, directory, context)?;
        let after = Layout::of(directory)?;
        after.add_to(&mut outcome);
        outcome.set([
            ("extents_per_file_before", before.extents_per_file()),
            ("extent_distance_before", before.extent_distance()),
            ("free_extents_before", before.free.as_ref().map(|free| free.extents as f64)),
        ]);
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests;
