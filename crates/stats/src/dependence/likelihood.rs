//! Likelihood of a series under a shape of dependence.

use super::Shape;
use crate::estimate::median;
use crate::special::normal_quantile;

/// Rounds of a stack below which nothing is estimated.
const FEWEST: usize = 6;

/// Least part of a variance that is new in every round.
const LEAST: f64 = 1e-6;

/// Normal scores of one or more series of a stack, so that single wild values count no more than other large ones.
pub(super) struct Scored(Vec<Vec<Option<f64>>>);

impl Scored {
    /// One series. `None` below 6 values, or when all are the same.
    pub(super) fn of(row: &[Option<f64>]) -> Option<Self> {
        Some(Self(vec![scores(row)?]))
    }

    /// Several series of rounds, such as those of each node, each about its own middle: that nodes differ is no
    /// dependence of their rounds. A series of one value tells nothing.
    pub(super) fn of_series(row: &[Option<f64>], series: &[Vec<usize>]) -> Option<Self> {
        let values = |rounds: &Vec<usize>| -> Vec<Option<f64>> {
            rounds.iter().map(|round| row.get(*round).copied().flatten()).collect()
        };
        let long = |values: &Vec<Option<f64>>| values.iter().flatten().count() > 1;
        let all: Vec<Vec<Option<f64>>> =
            series.iter().map(values).filter(long).map(|values| centred(&values)).collect();
        let joined = scores(&all.concat())?;
        let mut rest = joined.as_slice();
        let cut = |one: &Vec<Option<f64>>| {
            let (own, others) = rest.split_at(one.len());
            rest = others;
            own.to_vec()
        };
        Some(Self(all.iter().map(cut).collect()))
    }

    /// Values less one for each series: what is left to tell of dependence when each mean is unknown.
    pub(super) fn freedom(&self) -> usize {
        self.0.iter().map(|one| one.iter().flatten().count().saturating_sub(1)).sum()
    }
}

fn centred(values: &[Option<f64>]) -> Vec<Option<f64>> {
    let present: Vec<f64> = values.iter().flatten().copied().collect();
    let middle = median(&present).unwrap_or(0.0);
    values.iter().map(|value| value.map(|value| value - middle)).collect()
}

/// Normal scores of the values of a row; `None` below 6 values, or when all are the same.
fn scores(row: &[Option<f64>]) -> Option<Vec<Option<f64>>> {
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
    Some(row.iter().map(|value| value.map(score)).collect())
}

/// Sums of the filter over one series.
struct Sums {
    logs: f64,
    ones: f64,
    /// Squares that are left when the series has its own mean.
    squares: f64,
    /// Values less one for the mean.
    freedom: f64,
}

/// Logarithm of the restricted likelihood (Patterson, Thompson 1971), in which the mean of each series and their common
/// variance are unknown; by Kalman's filter, for which rounds without a value are no trouble.
pub(super) fn log_likelihood(scored: &Scored, shape: Shape) -> f64 {
    let (mut logs, mut ones, mut squares, mut freedom) = (0.0, 0.0, 0.0, 0.0);
    for series in &scored.0 {
        let sums = filtered(series, shape);
        logs += sums.logs;
        ones += sums.ones.ln();
        squares += sums.squares;
        freedom += sums.freedom;
    }
    let rest = f64::max(squares, LEAST);
    -0.5 * (logs + ones + freedom * rest.ln())
}

fn filtered(values: &[Option<f64>], shape: Shape) -> Sums {
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
    Sums { logs, ones, squares: squares - cross * cross / ones, freedom: count - 1.0 }
}
