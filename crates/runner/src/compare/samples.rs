//! The samples of a comparison: per stack and side, the typical value with its error.

use super::{NotComparable, Side};
use crate::records::outcomes_of;
use crate::values::judged_values;
use seekwell_stats::estimate::median;
use seekwell_stats::independent::{Sample, of_run, of_run_relative, of_runs};

/// One side of a stack.
#[derive(Clone, Debug)]
pub(super) struct OfSide {
    /// `None` where values are too few.
    pub sample: Option<Sample>,
    /// Median of the metric over all trials.
    pub median: Option<f64>,
    /// Trials that count; of the run that has fewest, where there are several.
    pub trials: usize,
}

/// Both sides of every stack that all runs share.
pub(super) struct Samples([Vec<OfSide>; 2]);

impl Samples {
    /// `shared[position]` is the index of a stack in each run, as `super::shared` finds them.
    pub(super) fn new(
        first: &[Side<'_>],
        second: &[Side<'_>],
        shared: &[Vec<usize>],
        reference: Option<&str>,
    ) -> Result<Self, NotComparable> {
        let of = |sides: &[Side<'_>], offset: usize| {
            let runs: Result<Vec<OfRun>, NotComparable> = sides
                .iter()
                .enumerate()
                .map(|(run, side)| OfRun::new(side, shared, offset + run, reference))
                .collect();
            runs.map(|runs| together(&runs, shared.len()))
        };
        Ok(Self([of(first, 0)?, of(second, first.len())?]))
    }

    pub(super) fn of(&self, position: usize) -> [&OfSide; 2] {
        self.0.each_ref().map(|side| &side[position])
    }
}

/// The stacks of one run, in the order in which they are compared.
struct OfRun {
    values: Vec<Vec<f64>>,
    samples: Vec<Option<Sample>>,
}

impl OfRun {
    fn new(
        side: &Side<'_>,
        shared: &[Vec<usize>],
        run: usize,
        reference: Option<&str>,
    ) -> Result<Self, NotComparable> {
        let all = judged_values(side.plan, &outcomes_of(side.plan, side.records));
        let rows: Vec<&Vec<Option<f64>>> = shared.iter().map(|of| &all[of[run]]).collect();
        let log = |row: &&Vec<Option<f64>>| row.iter().map(|v| v.map(f64::ln)).collect();
        let logs: Vec<Vec<Option<f64>>> = rows.iter().map(log).collect();
        let exact = side.backend == "virtual";
        let samples = match reference {
            None => of_run(&logs, exact),
            Some(label) => {
                let stacks = &side.plan.stacks;
                let named = |of: &Vec<usize>| stacks[of[run]].label == label;
                let position = shared.iter().position(named).ok_or_else(|| {
                    let labels: Vec<&str> = stacks.iter().map(|s| s.label.as_str()).collect();
                    NotComparable(format!(
                        "reference stack '{label}' is not in {}; it has {}",
                        side.name,
                        labels.join(", ")
                    ))
                })?;
                of_run_relative(&logs, position, exact)
            }
        };
        let values = rows.iter().map(|row| row.iter().flatten().copied().collect()).collect();
        Ok(Self { values, samples })
    }
}

fn together(runs: &[OfRun], stacks: usize) -> Vec<OfSide> {
    let samples = match runs {
        [one] => one.samples.clone(),
        many => of_runs(&many.iter().map(|run| run.samples.clone()).collect::<Vec<_>>()),
    };
    let side = |(position, sample): (usize, Option<Sample>)| {
        let all: Vec<f64> =
            runs.iter().flat_map(|run| run.values[position].iter().copied()).collect();
        let fewest = runs.iter().map(|run| run.values[position].len()).min().unwrap_or(0);
        OfSide { sample, median: median(&all), trials: fewest }
    };
    samples.into_iter().take(stacks).enumerate().map(side).collect()
}
