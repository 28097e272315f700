//! Each trial relative to the stack that ratios refer to: the ticks of a picture.

use crate::view::{ByStack, RunView};
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
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
            if let Some((value, pair)) =
                record.metric(&verdict.metric).zip(view.candidate_of(trial))
            {
                base.insert((trial.round, pair.workload), value);
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
        let ratio = |(trial, record): &(&PlannedTrial, &Record)| {
            let pair = view.candidate_of(trial)?;
            let base = self.base.get(&(trial.round, pair.workload)).copied();
            let ratio = record.metric(&view.verdict.metric)? / base.or(self.base_median)?;
            (ratio.is_finite() && ratio > 0.0).then_some(ratio)
        };
        all.filter_map(ratio).collect()
    }
}
