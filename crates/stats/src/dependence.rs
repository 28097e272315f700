//! Correlation of successive rounds, and its effect on an interval.
//!
//! A stack whose slow trials come in a row has fewer independent rounds than rounds. Few rounds do not
//! tell how correlated they are, so no single estimate is taken: a handful of [shapes](SHAPES), from
//! independent rounds over the correlation of neighbours to spells of many rounds, are weighed by how
//! likely they make what was seen ([likelihood](crate::dependence::likelihood)). All stacks together
//! say what is common, and each stack may be an exception. The interval is as wide as the weighted
//! chance of error over all shapes demands: what is not excluded widens it as far as it is likely.

mod likelihood;

use crate::estimate::mean;
use crate::special::{normal_cdf, normal_quantile};
use likelihood::{Scored, log_likelihood};

/// Correlation taken where too little is known to estimate it: twice the width of the interval.
pub const WORST: f64 = 0.6;

/// Stacks from which on few rounds tell enough of the correlation.
pub const STACKS_THAT_TELL: usize = 5;

/// Rounds from which on two stacks do. Of three, half as many rounds tell as much: what is left of
/// a round after its mean is taken out is one value fewer than its stacks.
pub const ROUNDS_THAT_TELL: usize = 20;

/// A shape of dependence: this share of the variance is first-order autoregressive, and the rest
/// independent from round to round. All of the variance: the correlation of neighbours. A part with a
/// correlation near 1: spells of many rounds.
#[derive(Clone, Copy, Debug)]
struct Shape {
    share: f64,
    correlation: f64,
    /// Weight before anything is known.
    prior: f64,
}

/// The shapes that are weighed.
const SHAPES: [Shape; 6] = [
    Shape { share: 0.0, correlation: 0.0, prior: 0.5 },
    Shape { share: 1.0, correlation: 0.3, prior: 0.1 },
    Shape { share: 1.0, correlation: 0.6, prior: 0.25 },
    Shape { share: 1.0, correlation: 0.85, prior: 0.03 },
    Shape { share: 0.4, correlation: 0.875, prior: 0.1 },
    Shape { share: 0.7, correlation: 0.875, prior: 0.02 },
];

/// Shape that is assumed at least where too little is known.
const ASSUMED: Shape = Shape { share: 1.0, correlation: WORST, prior: 0.0 };

/// Chance that a stack is unlike the others.
const EXCEPTION: f64 = 0.1;

/// Least chance of error at which the shapes are averaged. Further out the worst shape would decide
/// alone, however unlikely it is.
const AVERAGED_AT: f64 = 0.01;

/// Largest chance of error that is asked for.
const MOST_ERROR: f64 = 0.4;

/// Precision of a widening, as a part of it.
const WIDENING_TO: f64 = 1e-3;

/// Steps towards a widening at most.
const MOST_STEPS: usize = 8;

/// Weight below which a shape widens nothing.
const NEGLIGIBLE: f64 = 1e-6;

type Weights = [f64; SHAPES.len()];

/// Serial correlation of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Dependence {
    /// Belief about what all stacks have in common.
    pub common: Belief,
    /// Belief about each stack.
    pub stacks: Vec<Belief>,
    /// True if any stack had rounds enough to say something.
    pub estimated: bool,
    /// True if there are enough rounds to estimate it; otherwise at least [`WORST`] is assumed.
    pub told: bool,
}

/// Weights of the shapes of dependence, which sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief(Weights);

/// True if so many rounds of so many stacks tell the correlation.
#[must_use]
pub fn tells(stacks: usize, rounds: usize) -> bool {
    stacks >= STACKS_THAT_TELL
        || rounds >= ROUNDS_THAT_TELL
        || stacks.saturating_sub(1) * rounds >= ROUNDS_THAT_TELL
}

/// Weighs the shapes by `residuals[stack][round]`.
#[must_use]
pub fn estimate(residuals: &[Vec<Option<f64>>]) -> Dependence {
    let longest = residuals.iter().map(|row| row.iter().flatten().count()).max().unwrap_or(0);
    weighed(residuals, &residuals.iter().map(|row| Scored::of(row)).collect::<Vec<_>>(), longest)
}

/// The same for rounds that are several series, such as those of each node, given by their rounds: rounds of one series
/// may resemble each other, however many of others ran between them.
#[must_use]
pub fn estimate_series(residuals: &[Vec<Option<f64>>], series: &[Vec<usize>]) -> Dependence {
    let scored: Vec<Option<Scored>> =
        residuals.iter().map(|row| Scored::of_series(row, series)).collect();
    let pairs = scored.iter().flatten().map(Scored::freedom).max();
    weighed(residuals, &scored, pairs.map_or(0, |pairs| pairs + 1))
}

/// Weighs the shapes by scores of each stack's residuals, of which the longest has so many rounds.
fn weighed(
    residuals: &[Vec<Option<f64>>],
    scored: &[Option<Scored>],
    longest: usize,
) -> Dependence {
    let logs = |scored: &Scored| SHAPES.map(|shape| log_likelihood(scored, shape));
    let found: Vec<Option<Weights>> =
        scored.iter().map(|scored| scored.as_ref().map(logs)).collect();
    let known = found.iter().flatten().count();
    let independent = independent_parts(residuals);
    let likely: Vec<Option<Weights>> = found
        .iter()
        .zip(&independent)
        .map(|(logs, part)| logs.map(|logs| tempered(&logs, *part)))
        .collect();
    let with_exceptions: Vec<Option<Weights>> =
        likely.iter().map(|likely| likely.map(|likely| as_exception(&likely))).collect();
    let mut total = prior().map(f64::ln);
    for logs in with_exceptions.iter().flatten() {
        add(&mut total, logs, 1.0);
    }
    let common = Belief(normalized(&total));
    let of_stack = |stack: usize| match (&likely[stack], &with_exceptions[stack]) {
        (Some(likely), Some(own)) => {
            let mut others = total;
            add(&mut others, own, -1.0);
            common.or_worse(Belief::of_stack(&normalized(&others), likely))
        }
        _ => common,
    };
    Dependence {
        stacks: (0..residuals.len()).map(of_stack).collect(),
        common,
        estimated: known > 0,
        told: tells(known, longest),
    }
}

/// Part of each stack's values that is independent of the other stacks: what is left of a round after
/// its mean is taken out sums to 0, so that of two stacks one is the mirror image of the other.
fn independent_parts(residuals: &[Vec<Option<f64>>]) -> Vec<f64> {
    let rounds = residuals.iter().map(Vec::len).max().unwrap_or(0);
    let of_round = |round: usize| {
        let present = residuals.iter().filter(|row| row.get(round).is_some_and(Option::is_some));
        let stacks = present.count().max(1) as f64;
        (stacks - 1.0) / stacks
    };
    let parts: Vec<f64> = (0..rounds).map(of_round).collect();
    let of_stack = |row: &Vec<Option<f64>>| {
        let own: Vec<f64> =
            row.iter().zip(&parts).filter_map(|(value, part)| value.map(|_| *part)).collect();
        mean(&own).unwrap_or(0.0)
    };
    residuals.iter().map(of_stack).collect()
}

fn prior() -> Weights {
    SHAPES.map(|shape| shape.prior)
}

fn add(total: &mut Weights, logs: &Weights, sign: f64) {
    for (total, log) in total.iter_mut().zip(logs) {
        *total += sign * log;
    }
}

/// Likelihoods relative to the largest.
fn tempered(logs: &Weights, power: f64) -> Weights {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    logs.map(|log| (power * (log - most)).exp())
}

/// Logarithm of the likelihood of what is common, when the stack may be an exception.
fn as_exception(likely: &Weights) -> Weights {
    let exception: f64 = likely.iter().zip(prior()).map(|(one, prior)| one * prior).sum();
    likely.map(|one| ((1.0 - EXCEPTION) * one + EXCEPTION * exception).ln())
}

fn normalized(logs: &Weights) -> Weights {
    let weights = tempered(logs, 1.0);
    let sum: f64 = weights.iter().sum();
    weights.map(|weight| weight / sum)
}

impl Dependence {
    /// The largest correlation of neighbours that intervals assume of a stack.
    #[must_use]
    pub fn assumed(&self) -> f64 {
        let least = if self.told { 0.0 } else { WORST };
        self.stacks.iter().map(Belief::correlation).fold(least, f64::max)
    }

    /// Probability that a stack has spells of slow or fast rounds: the largest of all stacks.
    #[must_use]
    pub fn spells(&self) -> f64 {
        self.stacks.iter().map(Belief::spells).fold(0.0, f64::max)
    }
}

impl Belief {
    /// Belief about a stack with these likelihoods: it is like the others, or an exception.
    fn of_stack(others: &Weights, likely: &Weights) -> Self {
        let weight = |shape: usize| {
            let before = (1.0 - EXCEPTION) * others[shape] + EXCEPTION * SHAPES[shape].prior;
            before * likely[shape]
        };
        let weights: Weights = std::array::from_fn(weight);
        let sum: f64 = weights.iter().sum();
        Self(weights.map(|weight| weight / sum))
    }

    /// The belief that makes errors larger: a stack that looks calmer than all others is a lucky one.
    fn or_worse(self, own: Self) -> Self {
        let error = |belief: &Self| belief.inflation(ROUNDS_THAT_TELL);
        if error(&own) > error(&self) { own } else { self }
    }

    /// Independent rounds, for certain.
    #[must_use]
    pub fn independent() -> Self {
        Self(SHAPES.map(|shape| if shape.share > 0.0 { 0.0 } else { 1.0 }))
    }

    /// Belief about a value that is made of two, of which the first has this share of the variance.
    #[must_use]
    pub fn mixed(&self, other: &Self, share: f64) -> Self {
        Self(std::array::from_fn(|at| share * self.0[at] + (1.0 - share) * other.0[at]))
    }

    /// Correlation of neighbours, on average over the shapes.
    #[must_use]
    pub fn correlation(&self) -> f64 {
        self.average(|shape| shape.share * shape.correlation)
    }

    /// Probability of spells of slow or fast rounds.
    #[must_use]
    pub fn spells(&self) -> f64 {
        self.average(|shape| f64::from(u8::from(shape.share > 0.0 && shape.share < 1.0)))
    }

    /// Variance of a mean of so many values, relative to what their own variance says of independent
    /// ones; on average over the shapes.
    #[must_use]
    pub fn inflation(&self, count: usize) -> f64 {
        self.average(|shape| shape.inflation(count))
    }

    /// Factor by which an interval of a mean of so many values is wider, such that the chance to miss
    /// it on one side is `error` on average over the shapes. Below an error of 1 in 100 it is as wide
    /// as there, or as the geometric mean of the shapes demands.
    #[must_use]
    pub fn widening(&self, count: usize, error: f64) -> f64 {
        let parts = self.0.iter().zip(&SHAPES).filter(|(weight, _)| **weight > NEGLIGIBLE);
        let parts: Vec<(f64, f64)> =
            parts.map(|(weight, shape)| (*weight, shape.inflation(count).sqrt())).collect();
        let asked = -normal_quantile(error.min(MOST_ERROR));
        let usual = -normal_quantile(error.clamp(AVERAGED_AT, MOST_ERROR));
        let mut wider = self.inflation(count).sqrt();
        // The factor that is right at a distance changes little with it, so this settles quickly.
        for _ in 0..MOST_STEPS {
            let reach = wider * usual;
            let missed = parts.iter().map(|(weight, factor)| weight * normal_cdf(-reach / factor));
            let next = reach / -normal_quantile(missed.sum());
            let settled = (next / wider - 1.0).abs() < WIDENING_TO;
            wider = next;
            if settled {
                break;
            }
        }
        let typical: f64 = parts.iter().map(|(weight, factor)| weight * factor.ln()).sum();
        typical.exp().max(wider * usual / asked)
    }

    /// The belief after so many times the rounds, if they speak as those so far do.
    #[must_use]
    pub fn after(&self, times: f64) -> Self {
        let grown = |shape: usize| {
            let prior = SHAPES[shape].prior.ln();
            prior + times * (self.0[shape].max(f64::MIN_POSITIVE).ln() - prior)
        };
        Self(normalized(&std::array::from_fn(grown)))
    }

    /// Degrees of freedom that are left of a variance of such values.
    #[must_use]
    pub fn remaining_freedom(&self, freedom: f64) -> f64 {
        let left = self.average(|shape| {
            let square = shape.correlation * shape.correlation;
            1.0 / (1.0 + 2.0 * shape.share * shape.share * square / (1.0 - square))
        });
        (freedom * left).max(1.0)
    }

    fn average(&self, of: impl Fn(&Shape) -> f64) -> f64 {
        self.0.iter().zip(&SHAPES).map(|(weight, shape)| weight * of(shape)).sum()
    }
}

/// Variance of a mean of so many values, relative to what their own variance says of independent
/// ones, where too little is known of their correlation.
#[must_use]
pub fn worst_inflation(count: usize) -> f64 {
    ASSUMED.inflation(count)
}

impl Shape {
    /// Exact for few values, whose own variance is too small by the same correlation.
    fn inflation(&self, count: usize) -> f64 {
        if self.share <= 0.0 || count < 2 {
            return 1.0;
        }
        let (n, rho) = (count as f64, self.correlation);
        let away = 1.0 - rho;
        let lags = rho / away - rho * (1.0 - rho.powi(count as i32)) / (n * away * away);
        let total = 1.0 + 2.0 * self.share * lags;
        total * (n - 1.0) / (n - total).max(0.5)
    }
}

#[cfg(test)]
mod tests;
