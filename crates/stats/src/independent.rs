//! Comparison of samples that share no rounds: runs made at different times.
//!
//! Nothing pairs a trial of one run with a trial of another, so the spread of both counts in full.
//! The interval is Welch's (1947), of the difference of the typical logarithms: the spreads may
//! differ, and it covers at the few values that runs have.
//!
//! A sample is either one run, whose trials may depend on their neighbours, or several runs, of which
//! each counts as one value. One run per side answers for chance among the trials, not for what changed
//! between the runs. Several also answer for what changes from run to run.

use crate::dependence;
use crate::estimate::{mean, variance};
use crate::granularity::half_steps;
use crate::interval::Interval;
use crate::shrink::VariancePrior;
use crate::special::t_quantile_upper;
use crate::typical::typical;

/// Degrees of freedom that the other stacks' variances from run to run are worth at most.
const MOST_BORROWED: f64 = 8.0;

/// One side of a comparison of one stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Typical logarithm.
    pub centre: f64,
    /// Variance of the centre.
    pub variance: f64,
    /// Degrees of freedom of that variance.
    pub freedom: f64,
    /// Half a step of what was measured, as a logarithm.
    pub half_step: f64,
}

/// The stacks of one run from `logs[stack][round]`; `None` for a stack with fewer than 2 values. With
/// `exact`, trials are independent and equal values are an exact result.
#[must_use]
pub fn of_run(logs: &[Vec<Option<f64>>], exact: bool) -> Vec<Option<Sample>> {
    let present = |row: &Vec<Option<f64>>| -> Vec<f64> { row.iter().flatten().copied().collect() };
    let rows: Vec<Vec<f64>> = logs.iter().map(present).collect();
    let values: Vec<Vec<f64>> =
        rows.iter().map(|row| row.iter().map(|log| log.exp()).collect()).collect();
    let half_steps = if exact { vec![0.0; rows.len()] } else { half_steps(&values) };
    let dependence = dependence::estimate(logs);
    let sample = |stack: usize| {
        let found = typical(&rows[stack])?;
        let inflation = if exact { 1.0 } else { dependence.inflation(found.count) };
        Some(Sample {
            centre: found.centre,
            variance: inflation * found.variance / found.count as f64,
            freedom: found.freedom,
            half_step: half_steps[stack],
        })
    };
    (0..rows.len()).map(sample).collect()
}

/// As [`of_run`], of the ratio of each stack to `reference` inside the rounds: what slowed all of a round
/// cancels. The reference itself is `None`.
#[must_use]
pub fn of_run_relative(
    logs: &[Vec<Option<f64>>],
    reference: usize,
    exact: bool,
) -> Vec<Option<Sample>> {
    let relative = |row: &Vec<Option<f64>>| -> Vec<Option<f64>> {
        let both = row.iter().zip(&logs[reference]);
        both.map(|(own, other)| Some((*own)? - (*other)?)).collect()
    };
    let rows: Vec<Vec<Option<f64>>> = logs.iter().map(relative).collect();
    let plain = of_run(logs, exact);
    let step_of = |stack: usize| plain[stack].as_ref().map_or(0.0, |own| own.half_step);
    let with_steps = |(stack, found): (usize, Option<Sample>)| {
        let half_step = step_of(stack) + step_of(reference);
        found.filter(|_| stack != reference).map(|found| Sample { half_step, ..found })
    };
    of_run(&rows, exact).into_iter().enumerate().map(with_steps).collect()
}

/// The stacks of several runs, `runs[run][stack]`: the spread from run to run counts, which is no less
/// than that of the trials within them explains, and is drawn towards that of all stacks. `None` for a
/// stack that one of the runs lacks, and for fewer than 2 runs.
#[must_use]
pub fn of_runs(runs: &[Vec<Option<Sample>>]) -> Vec<Option<Sample>> {
    let (count, stacks) = (runs.len(), runs.first().map_or(0, Vec::len));
    let of_stack = |stack: usize| -> Option<Vec<Sample>> {
        runs.iter().map(|run| run.get(stack).copied().flatten()).collect()
    };
    let all: Vec<Option<Vec<Sample>>> = (0..stacks).map(of_stack).collect();
    let centres = |own: &[Sample]| -> Vec<f64> { own.iter().map(|one| one.centre).collect() };
    let freedom = count as f64 - 1.0;
    let known: Vec<(f64, f64)> =
        all.iter().flatten().filter_map(|own| Some((variance(&centres(own))?, freedom))).collect();
    let spread = known.iter().any(|(own, _)| *own > 0.0);
    let prior = spread.then(|| VariancePrior::of(&known, 1.0)).flatten();
    let combined = |own: &Vec<Sample>| {
        let centres = centres(own);
        let mut found = (variance(&centres)?, freedom);
        if let Some(prior) = prior {
            let weight = prior.weight.min(MOST_BORROWED);
            let all = weight + freedom;
            found = ((weight * prior.typical + freedom * found.0) / all, all);
        }
        let within = mean(&own.iter().map(|one| one.variance).collect::<Vec<_>>())?;
        Some(Sample {
            centre: mean(&centres)?,
            variance: found.0.max(within) / count as f64,
            freedom: found.1,
            half_step: own.iter().map(|one| one.half_step).fold(0.0, f64::max),
        })
    };
    all.iter().map(|own| own.as_ref().and_then(combined)).collect()
}

/// The typical ratio `second` : `first`, with an interval that misses with probability `error`, half on
/// each side. `None` for an `error` outside 0 to 1.
///
/// ```
/// use seekwell_stats::independent::{of_run, ratio};
///
/// let logs = |values: [f64; 6]| vec![values.iter().map(|value| Some(value.ln())).collect()];
/// let before = of_run(&logs([10.0, 10.4, 9.8, 10.1, 10.3, 10.2]), true);
/// let after = of_run(&logs([11.1, 11.4, 10.7, 11.2, 11.0, 11.3]), true);
/// let found = ratio(&before[0].expect("six values"), &after[0].expect("six values"), 0.05);
/// let found = found.expect("an error between 0 and 1");
/// assert!(found.low > 1.06 && found.high < 1.13);
/// ```
#[must_use]
pub fn ratio(first: &Sample, second: &Sample, error: f64) -> Option<Interval> {
    if !(error > 0.0 && error < 1.0) {
        return None;
    }
    let centre = second.centre - first.centre;
    let (a, b) = (first.variance, second.variance);
    let total = a + b;
    let by_chance = if total > 0.0 {
        // Welch and Satterthwaite.
        let degrees = total * total / (a * a / first.freedom + b * b / second.freedom);
        t_quantile_upper(0.5 * error, degrees) * total.sqrt()
    } else {
        0.0
    };
    let reach = by_chance + first.half_step + second.half_step;
    Some(Interval { low: centre - reach, centre, high: centre + reach }.exp())
}

#[cfg(test)]
mod tests;
