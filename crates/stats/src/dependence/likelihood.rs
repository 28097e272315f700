//! Likelihood of a series under a shape of dependence.

use super::Shape;
use crate::special::normal_quantile;

/// Rounds of a stack below which nothing is estimated.
const FEWEST: usize = 6;

/// Least part of a variance that is new in every round.
const LEAST: f64 = 1e-6;

/// Normal scores of a series, so that single wild values count no more than other large ones.
pub(super) struct Scored(Vec<Option<f64>>);

impl Scored {
    /// `None` below 6 values, or when all are the same.
    pub(super) fn of(row: &[Option<f64>]) -> Option<Self> {
        let mut sorted: Vec<f64> = row.iter().flatten().copied().collect();
        let count = sorted.len();
        if count < FEWEST {
            return None;
        }
        sorted.sort_unstable_by(f64::total_cmp);
        if sorted[count - 1] - sorted[0] <= f64::EPSILON {
            return None;
        }
        let score = |value: f64| {
            let below = sorted.partition_point(|other| *other < value);
            let up_to = sorted.partition_point(|other| *other <= value);
            // The middle rank of equal values, by Blom's formula.
            let rank = 0.5 * (below + 1 + up_to) as f64;
            normal_quantile((rank - 0.375) / (count as f64 + 0.25))
        };
        Some(Self(row.iter().map(|value| value.map(score)).collect()))
    }
}

/// Logarithm of the restricted likelihood (Patterson, Thompson 1971), in which mean and variance are
/// unknown; by Kalman's filter, for which rounds without a value are no trouble.
pub(super) fn log_likelihood(scored: &Scored, shape: Shape) -> f64 {
    let values = &scored.0;
    let (share, rho) = (shape.share, shape.correlation);
    // The filter runs on the values and on a series of ones, which estimates the mean.
    let (mut slow, mut slow_of_one, mut unsure) = (0.0, 0.0, share);
    let (mut logs, mut squares, mut cross, mut ones, mut count) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for value in values {
        if let Some(value) = value {
            let spread = (unsure + 1.0 - share).max(LEAST);
            let (new, new_of_one) = (value - slow, 1.0 - slow_of_one);
            let gain = unsure / spread;
            logs += spread.ln();
            squares += new * new / spread;
            cross += new * new_of_one / spread;
            ones += new_of_one * new_of_one / spread;
            count += 1.0;
            slow += gain * new;
            slow_of_one += gain * new_of_one;
            unsure *= 1.0 - gain;
        }
        slow *= rho;
        slow_of_one *= rho;
        unsure = rho * rho * unsure + share * (1.0 - rho * rho);
    }
    let rest = (squares - cross * cross / ones).max(LEAST);
    -0.5 * (logs + ones.ln() + (count - 1.0) * rest.ln())
}
