//! The virtual place as a place of trials: it is told what comes next, and runs it ahead.

use crate::execute::Place;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_virtual::Lanes;
use std::error::Error;

impl Place for Lanes {
    fn run(
        &mut self,
        _plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, Box<dyn Error + Send + Sync>> {
        self.run_trial(trial, progress).map_err(Into::into)
    }

    fn announce(&mut self, trials: &[PlannedTrial]) {
        Lanes::announce(self, trials);
    }

    /// Virtual time costs nothing: what counts is how long the user waits.
    fn cost_ns(&self, _record: &Record, wall_ns: u64) -> u64 {
        wall_ns
    }
}
