//! The host as a place of trials.

use crate::execute::Place;
use seekwell_agent::host_place::HostPlace;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use std::error::Error;

impl Place for HostPlace {
    fn run(
        &mut self,
        plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, Box<dyn Error + Send + Sync>> {
        self.run_trial(plan, trial, progress).map_err(Into::into)
    }
}
