//! Correlation of successive rounds, and its effect on an interval.
//!
//! A stack whose slow trials come in a row has fewer independent rounds than rounds. The
//! correlation of a stack's trials with those of the round before is estimated from the residuals
//! after removing stack and round. Few rounds estimate it badly, so each correlation is shrunk towards
//! the common one, and that towards 0, in proportion to their uncertainty. Intervals assume the
//! estimate and a margin for its error.

use crate::estimate::{mean, variance};

/// Correlation taken where too little is known to estimate it: twice the width of the interval.
pub const WORST: f64 = 0.6;

/// Stacks from which on few rounds tell enough of the correlation.
pub const STACKS_THAT_TELL: usize = 5;

/// Rounds from which on two stacks do. Of three, half as many rounds tell as much: what is left of
/// a round after its mean is taken out is one value fewer than its stacks.
pub const ROUNDS_THAT_TELL: usize = 20;

/// Rounds of a stack below which nothing is estimated.
const FEWEST: usize = 6;

/// Variance of correlations between runs, before anything is known.
const BETWEEN_RUNS: f64 = 0.4 * 0.4;

/// Variance of correlations between the stacks of a run.
const BETWEEN_STACKS: f64 = 0.15 * 0.15;

/// Margin on the estimate below [`ROUNDS_THAT_TELL`] rounds, in standard deviations of its error.
/// From there on a margin makes wrong certificates no rarer under any noise that was tried, and costs
/// identical stacks 15 of 100 ties.
const MARGIN_OF_FEW: f64 = 0.7;

/// Slow waves of a stack's series that are looked at for spells that last for many rounds.
const WAVES: usize = 4;

/// Degrees of freedom with which slow waves are taken to be as weak as in independent rounds.
const CALM: f64 = 6.0;

/// Largest correlation that is reckoned with.
const LARGEST: f64 = 0.95;

/// Serial correlation of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    /// The correlation of successive rounds that all stacks have in common; `None` where too few
    /// rounds were run to estimate one.
    pub common: Option<f64>,
    /// Correlation that intervals assume, by stack.
    pub assumed: Vec<f64>,
    /// Variance of slow waves over the series against that of single rounds, at least 1: what spells
    /// of many rounds add beyond the correlation of neighbours.
    pub waves: f64,
    /// True if there are enough rounds to estimate it; otherwise at least [`WORST`] is assumed.
    pub told: bool,
}

/// True if so many rounds of so many stacks tell the correlation.
#[must_use]
pub fn tells(stacks: usize, rounds: usize) -> bool {
    stacks >= STACKS_THAT_TELL
        || rounds >= ROUNDS_THAT_TELL
        || stacks.saturating_sub(1) * rounds >= ROUNDS_THAT_TELL
}

/// Estimates the correlation at lag 1 from `residuals[stack][round]`.
#[must_use]
pub fn estimate(residuals: &[Vec<Option<f64>>]) -> Dependence {
    let found: Vec<Option<(f64, f64)>> = residuals.iter().map(|row| of_stack(row)).collect();
    let known = found.iter().flatten().count();
    let longest = residuals.iter().map(|row| row.iter().flatten().count()).max().unwrap_or(0);
    let told = tells(known, longest);
    // What is left after the rounds are taken out sums to 0: one stack fewer is independent.
    let independent = (known.max(1) as f64 - 1.0) / known.max(1) as f64;
    let (mut weight, mut total) = (1.0 / BETWEEN_RUNS, 0.0);
    for (correlation, error) in found.iter().flatten() {
        let each = independent / (error + BETWEEN_STACKS);
        weight += each;
        total += each * correlation;
    }
    let (common, error) = (total / weight, 1.0 / weight);
    let margin = if longest < ROUNDS_THAT_TELL { MARGIN_OF_FEW } else { 0.0 };
    let assumed = |found: &Option<(f64, f64)>| {
        let prior = error + BETWEEN_STACKS;
        let (own, own_error) = found.unwrap_or((common, f64::INFINITY));
        let trust = prior / (prior + own_error);
        let centre = common + trust * (own - common);
        let upper = (centre + margin * ((1.0 - trust) * prior).sqrt()).clamp(0.0, LARGEST);
        if told { upper } else { upper.max(WORST) }
    };
    Dependence {
        common: (known > 0).then_some(common),
        assumed: found.iter().map(assumed).collect(),
        waves: waves(residuals, independent),
        told,
    }
}

/// Correlation of a stack's successive rounds without its bias (Kendall 1954), and the variance of
/// its error. Independent of single wild values: they count no more than the next smaller ones.
fn of_stack(row: &[Option<f64>]) -> Option<(f64, f64)> {
    let mut sorted: Vec<f64> = row.iter().flatten().copied().collect();
    let count = sorted.len();
    if count < FEWEST {
        return None;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = count.div_ceil(10);
    let (low, high) = (sorted[cut], sorted[count - 1 - cut]);
    let clipped: Vec<Option<f64>> = row.iter().map(|v| v.map(|v| v.clamp(low, high))).collect();
    let present: Vec<f64> = clipped.iter().flatten().copied().collect();
    let centre = mean(&present)?;
    let squares = variance(&present)? * (count as f64 - 1.0);
    if squares <= 0.0 {
        return None;
    }
    let products: f64 =
        clipped.windows(2).filter_map(|pair| Some((pair[0]? - centre) * (pair[1]? - centre))).sum();
    let n = count as f64;
    let correlation = (n * products / squares + 1.0) / (n - 4.0);
    Some((correlation, n / ((n - 4.0) * (n - 4.0))))
}

/// Strength of slow waves over all stacks (Müller 2007), drawn towards that of independent rounds.
fn waves(residuals: &[Vec<Option<f64>>], independent: f64) -> f64 {
    let strengths: Vec<f64> = residuals
        .iter()
        .filter_map(|row| slow_part(&row.iter().flatten().copied().collect::<Vec<_>>()))
        .collect();
    let freedom = (WAVES * strengths.len()) as f64 * independent;
    let Some(typical) = mean(&strengths) else { return 1.0 };
    ((freedom * typical + CALM) / (freedom + CALM)).max(1.0)
}

/// Mean square of the slowest cosine waves of a series, relative to its variance.
fn slow_part(series: &[f64]) -> Option<f64> {
    if series.len() < ROUNDS_THAT_TELL {
        return None;
    }
    let (n, centre, variance) = (series.len() as f64, mean(series)?, variance(series)?);
    let wave = |number: usize| {
        let turn = std::f64::consts::PI * number as f64 / n;
        let sum: f64 = series
            .iter()
            .enumerate()
            .map(|(at, value)| (value - centre) * (turn * (at as f64 + 0.5)).cos())
            .sum();
        2.0 * sum * sum / n
    };
    let strength = (1..=WAVES).map(wave).sum::<f64>() / WAVES as f64;
    (variance > 0.0).then(|| strength / variance)
}

/// Variance of a mean of so many values with this correlation, relative to what their own variance
/// says of independent ones: first-order autoregressive, exact for few values.
#[must_use]
pub fn inflation(correlation: f64, count: usize) -> f64 {
    if correlation <= 0.0 || count < 2 {
        return 1.0;
    }
    let n = count as f64;
    let (mut power, mut total) = (1.0, 1.0);
    for lag in 1..count {
        power *= correlation;
        total += 2.0 * (1.0 - lag as f64 / n) * power;
    }
    total * (n - 1.0) / (n - total).max(0.5)
}

/// Degrees of freedom that are left of a variance of values with this correlation.
#[must_use]
pub fn remaining_freedom(correlation: f64, freedom: f64) -> f64 {
    let square = correlation.max(0.0).powi(2);
    (freedom * (1.0 - square) / (1.0 + square)).max(1.0)
}

#[cfg(test)]
mod tests;
