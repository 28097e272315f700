//! Each trial relative to the stack that ratios refer to: the ticks of a picture.

use crate::view::{ByStack, RunView};
use std::collections::BTreeMap;

/// The trials of a run, and what each is divided by.
pub(crate) struct TrialRatios<'a> {
    trials: ByStack<'a>,
    /// Value of the stack that ratios refer to, by round and workload.
    base: BTreeMap<(u32, u32), f64>,
    base_median: Option<f64>,
}

impl<'a> TrialRatios<'a> {
    pub(crate) fn of(view: &'a RunView) -> Self {
        let trials = view.by_stack();
        let verdict = &view.verdict;
        let baseline = verdict.baseline.as_deref().unwrap_or_default();
        let mut base = BTreeMap::new();
        for (trial, record) in trials.of(baseline) {
            if let (Some(value), Some(one)) =
                (record.metric(&verdict.metric), view.plan.candidates.get(trial.candidate as usize))
            {
                base.insert((trial.round, one.workload), value);
            }
        }
        let of_baseline = verdict.ratios.iter().find(|row| row.stack == baseline);
        let base_median = of_baseline.and_then(|row| row.median);
        Self { trials, base, base_median }
    }

    /// Ratio of each trial to the trial of the same round and workload of the stack that ratios refer to, or to
    /// its median where that round has none. That stack itself has none.
    pub(crate) fn of_stack(&self, label: &str) -> Vec<f64> {
        let view = self.trials.view;
        if view.verdict.baseline.as_deref() == Some(label) {
            return vec![];
        }
        let all = self.trials.of(label).iter();
        let ratio = |(trial, record): &(
            &seekwell_model::plan::PlannedTrial,
            &seekwell_model::record::Record,
        )| {
            let candidate = view.plan.candidates.get(trial.candidate as usize)?;
            let base = self.base.get(&(trial.round, candidate.workload)).copied();
            let ratio = record.metric(&view.verdict.metric)? / base.or(self.base_median)?;
            (ratio.is_finite() && ratio > 0.0).then_some(ratio)
        };
        all.filter_map(ratio).collect()
    }
}
