//! The typical value of a sample: its trimmed mean, with the variance that goes with it.
//!
//! A trial that fell into a rare slow mode is a result of its own, and not what a stack typically
//! does. From 8 values on, the eighth part at each end is left out of the mean. The variance is
//! that of the winsorized sample (Tukey, McLaughlin 1963; Yuen 1974), so that what was left out
//! still widens the interval.

use crate::estimate::{mean, variance};

/// One value in so many is left out at each end.
pub const TRIM_ONE_IN: usize = 8;

/// Values left out at each end of a sample of this size.
#[must_use]
pub fn trimmed(count: usize) -> usize {
    count / TRIM_ONE_IN
}

/// Trimmed mean of a sample and the spread behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Typical {
    /// Trimmed mean.
    pub centre: f64,
    /// Variance of one value, such that `variance / count` is the variance of the centre.
    pub variance: f64,
    /// Degrees of freedom of the variance.
    pub freedom: f64,
    /// Values in the sample, those left out included.
    pub count: usize,
}

/// Trimmed mean of a sample; `None` below 2 values, or when a value that takes part is not finite.
///
/// Infinite values stand for trials whose value is unknown and assumed to be the worst or the best
/// possible: the mean stays finite while they are among the values left out.
#[must_use]
pub fn typical(values: &[f64]) -> Option<Typical> {
    let count = values.len();
    if count < 2 || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let cut = trimmed(count);
    let kept = &sorted[cut..count - cut];
    let (lowest, highest) = (kept[0], kept[kept.len() - 1]);
    if !lowest.is_finite() || !highest.is_finite() {
        return None;
    }
    let centre = mean(kept)?;
    sorted[..cut].fill(lowest);
    sorted[count - cut..].fill(highest);
    let (n, left) = (count as f64, (count - 2 * cut) as f64);
    let scale = n * (n - 1.0) / (left * (left - 1.0));
    Some(Typical { centre, variance: variance(&sorted)? * scale, freedom: left - 1.0, count })
}

#[cfg(test)]
mod tests;
