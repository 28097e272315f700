//! Estimates of many stacks from few trials each: variances and effects that borrow from all
//! stacks.
//!
//! With one or two trials per stack the stack that looks best is mostly the luckiest. Three
//! things are borrowed. Round offsets: values are centred inside each round. Variances: a stack's
//! own variance is pulled towards the common one as far as the spread of variances says (Smyth
//! 2004). Effects: a stack's mean is pulled towards what its axis values predict, as far as the
//! interactions between axes turn out small against the noise (best linear unbiased prediction).

use crate::design::Design;
use crate::estimate::{mean, median, variance};
use crate::linear::{Fit, weighted_least_squares};
use crate::special::{digamma, trigamma, trigamma_inverse};

/// Values of one round: stack and "worse by" logarithm.
pub type Round = Vec<(usize, f64)>;

/// Estimate of one stack after screening.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Estimated "worse by" in logarithms, on a common scale of all stacks.
    pub worse: f64,
    /// Standard deviation of that estimate.
    pub error: f64,
    /// Estimated standard deviation of a single trial.
    pub spread: f64,
    /// Trials behind it.
    pub trials: usize,
}

/// The spread of variances over stacks: stack variances are as if drawn around `typical` with
/// `weight` degrees of freedom behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariancePrior {
    /// Typical variance of a single trial's logarithm.
    pub typical: f64,
    /// Degrees of freedom that the common variance is worth against a stack's own.
    pub weight: f64,
}

/// Share of the scatter around the additive model that is taken as real differences while no
/// stack has been tried twice and nothing can tell.
const UNREPLICATED_SHARE: f64 = 0.2;

/// No variance is taken smaller than this (0.01 % of noise), so that exact data stay solvable.
const LEAST_VARIANCE: f64 = 1e-8;

/// Most passes between round offsets and stack estimates; small rounds, whose offset leans on
/// the estimates, settle within a dozen.
const PASSES: usize = 12;

/// Passes end when no estimate moves by more than this, 0.01 %.
const SETTLED: f64 = 1e-4;

/// Rounds of at most this many stacks are centred by a weighted mean: a median of so few follows
/// single stacks.
const SMALL_ROUND: usize = 8;

/// Estimates every stack from all rounds so far. `None` for a stack without a value.
///
/// `known_spread` is the standard deviation of a single trial's logarithm from a pilot; it is
/// used until stacks have been tried twice.
#[must_use]
pub fn estimate(
    design: &Design,
    rounds: &[Round],
    known_spread: Option<f64>,
) -> Vec<Option<Estimate>> {
    let rows: Vec<Vec<f64>> = (0..design.stacks()).map(|s| design.main_effects(s)).collect();
    let mut found = vec![None; design.stacks()];
    for _ in 0..PASSES {
        let values = centred(rounds, &found);
        let next = shrink(&rows, &values, known_spread);
        let settled = found.iter().zip(&next).all(|(a, b)| moved(*a, *b) <= SETTLED);
        found = next;
        if settled {
            break;
        }
    }
    found
}

/// Distance that an estimate moved; infinite if it appeared.
fn moved(before: Option<Estimate>, after: Option<Estimate>) -> f64 {
    match (before, after) {
        (Some(before), Some(after)) => (after.worse - before.worse).abs(),
        (None, None) => 0.0,
        _ => f64::INFINITY,
    }
}

/// Values of each stack with the offset of their round taken out: what the round has in common
/// after the stacks' current estimates.
fn centred(rounds: &[Round], found: &[Option<Estimate>]) -> Vec<Vec<f64>> {
    let mut values = vec![Vec::new(); found.len()];
    for round in rounds {
        let offset = offset(round, found);
        for &(stack, value) in round {
            values[stack].push(value - offset);
        }
    }
    values
}

/// The median of what is left of a round after the current estimates; in a small round the mean,
/// each stack weighted by the reciprocal of its variance.
fn offset(round: &Round, found: &[Option<Estimate>]) -> f64 {
    let rest = |&(stack, value): &(usize, f64)| value - found[stack].map_or(0.0, |e| e.worse);
    let weights: Option<Vec<f64>> =
        round.iter().map(|(stack, _)| found[*stack].map(|e| e.spread.powi(-2))).collect();
    match weights {
        Some(weights) if round.len() <= SMALL_ROUND && !round.is_empty() => {
            let total: f64 = weights.iter().sum();
            round.iter().zip(&weights).map(|(item, weight)| rest(item) * weight).sum::<f64>()
                / total
        }
        _ => median(&round.iter().map(rest).collect::<Vec<_>>()).unwrap_or(0.0),
    }
}

fn shrink(
    rows: &[Vec<f64>],
    values: &[Vec<f64>],
    known_spread: Option<f64>,
) -> Vec<Option<Estimate>> {
    let means: Vec<Option<f64>> = values.iter().map(|v| mean(v)).collect();
    let prior = fit_variance_prior(values);
    let (variances, between) = match prior {
        Some(prior) => {
            let variances: Vec<f64> = values.iter().map(|v| prior.moderated(v)).collect();
            let between = between_stacks(rows, values, &means, &variances);
            (variances, between)
        }
        None => {
            let scatter = unreplicated_scatter(rows, &means);
            let noise = known_spread.map_or((1.0 - UNREPLICATED_SHARE) * scatter, |s| s * s);
            let between = (scatter - noise).max(UNREPLICATED_SHARE * scatter);
            (vec![noise.max(LEAST_VARIANCE); values.len()], between.max(LEAST_VARIANCE))
        }
    };
    let fit = additive_fit(rows, values, &means, &variances, between);
    let one = |stack: usize| {
        let own = means[stack]?;
        let trials = values[stack].len();
        let noise = variances[stack] / trials as f64;
        let model = fit.predict(&rows[stack]);
        let trust = between / (between + noise);
        let model_error = (1.0 - trust) * (1.0 - trust) * fit.variance_of(&rows[stack]);
        Some(Estimate {
            worse: model + trust * (own - model),
            error: (trust * noise + model_error).sqrt(),
            spread: variances[stack].sqrt(),
            trials,
        })
    };
    (0..values.len()).map(one).collect()
}

impl VariancePrior {
    /// Fits typical variance and its weight to variances with their degrees of freedom, by the
    /// moments of their logarithms (Smyth 2004, section 6.2). Variances that are alike because they
    /// share data scatter less than they differ: `alike` is the factor that makes up for it, 1 for
    /// independent ones. `None` for fewer than 3.
    #[must_use]
    pub fn of(own: &[(f64, f64)], alike: f64) -> Option<Self> {
        if own.len() < 3 {
            return None;
        }
        let level: Vec<f64> = own
            .iter()
            .map(|(s2, freedom)| {
                s2.max(LEAST_VARIANCE).ln() - digamma(0.5 * freedom) + (0.5 * freedom).ln()
            })
            .collect();
        let expected = mean(&own.iter().map(|(_, f)| trigamma(0.5 * f)).collect::<Vec<_>>())?;
        let excess = alike * variance(&level)? - expected;
        let weight = 2.0 * trigamma_inverse(excess);
        let centre = mean(&level)?;
        let typical = if weight.is_infinite() {
            centre.exp()
        } else {
            (centre + digamma(0.5 * weight) - (0.5 * weight).ln()).exp()
        };
        Some(Self { typical: typical.max(LEAST_VARIANCE), weight })
    }

    /// The variance of a stack's trials, pulled towards the typical one.
    #[must_use]
    pub fn moderated(&self, values: &[f64]) -> f64 {
        let own = variance(values).unwrap_or(0.0);
        let freedom = values.len().saturating_sub(1) as f64;
        let pulled = if self.weight.is_infinite() {
            self.typical
        } else {
            (self.weight * self.typical + freedom * own) / (self.weight + freedom)
        };
        pulled.max(LEAST_VARIANCE)
    }
}

/// Fits typical variance and its weight to the variances of all stacks tried at least twice.
/// `None` where fewer than 3 stacks were.
#[must_use]
pub fn fit_variance_prior(values: &[Vec<f64>]) -> Option<VariancePrior> {
    let own: Vec<(f64, f64)> = values
        .iter()
        .filter(|v| v.len() >= 2)
        .map(|v| (variance(v).unwrap_or(0.0), (v.len() - 1) as f64))
        .collect();
    VariancePrior::of(&own, 1.0)
}

fn additive_fit(
    rows: &[Vec<f64>],
    values: &[Vec<f64>],
    means: &[Option<f64>],
    variances: &[f64],
    between: f64,
) -> Fit {
    let columns = rows.first().map_or(0, Vec::len);
    weighted_least_squares(
        columns,
        (0..rows.len()).filter_map(|stack| {
            let own = means[stack]?;
            let noise = variances[stack] / values[stack].len() as f64;
            Some((rows[stack].as_slice(), own, 1.0 / (between + noise)))
        }),
    )
}

/// Variance of the stacks' true effects around the additive model, by the moment estimate of
/// DerSimonian and Laird iterated to its fixed point (Paule, Mandel 1982).
fn between_stacks(
    rows: &[Vec<f64>],
    values: &[Vec<f64>],
    means: &[Option<f64>],
    variances: &[f64],
) -> f64 {
    let columns = rows.first().map_or(0, Vec::len);
    let known = means.iter().flatten().count();
    let freedom = known.saturating_sub(columns) as f64;
    if freedom < 1.0 {
        return f64::MAX.sqrt();
    }
    let excess = |between: f64| -> f64 {
        let fit = additive_fit(rows, values, means, variances, between);
        let total: f64 = (0..rows.len())
            .filter_map(|stack| {
                let rest = means[stack]? - fit.predict(&rows[stack]);
                let noise = variances[stack] / values[stack].len() as f64;
                Some(rest * rest / (between + noise))
            })
            .sum();
        total - freedom
    };
    let (mut low, mut high) = (LEAST_VARIANCE, 1.0);
    let (mut at_low, mut at_high) = (excess(low), excess(high));
    if at_low <= 0.0 {
        return low;
    }
    while at_high > 0.0 && high < 1e6 {
        high *= 10.0;
        at_high = excess(high);
    }
    // False position on the logarithm, the end that stays being halved (Illinois), to 1 %.
    let mut last = high;
    for _ in 0..40 {
        let weight = at_low / (at_low - at_high);
        let middle = (low.ln() + weight * (high / low).ln()).exp();
        if (middle / last).ln().abs() < 0.01 {
            return middle;
        }
        last = middle;
        let found = excess(middle);
        if found > 0.0 {
            (low, at_low, at_high) = (middle, found, 0.5 * at_high);
        } else {
            (high, at_high, at_low) = (middle, found, 0.5 * at_low);
        }
    }
    last
}

/// Scatter of single trials around the additive model, robust against a few noisy stacks.
fn unreplicated_scatter(rows: &[Vec<f64>], means: &[Option<f64>]) -> f64 {
    let columns = rows.first().map_or(0, Vec::len);
    let known: Vec<(&[f64], f64)> =
        rows.iter().zip(means).filter_map(|(row, own)| Some((row.as_slice(), (*own)?))).collect();
    let fit = weighted_least_squares(columns, known.iter().map(|(row, own)| (*row, *own, 1.0)));
    let squares: Vec<f64> =
        known.iter().map(|(row, own)| (own - fit.predict(row)).powi(2)).collect();
    let freedom = known.len().saturating_sub(columns).max(1) as f64;
    // The median square of a normal deviate is 0.4549 of its variance.
    let typical = median(&squares).unwrap_or(0.0) / 0.4549;
    (typical * known.len() as f64 / freedom).max(LEAST_VARIANCE)
}

#[cfg(test)]
mod tests;
