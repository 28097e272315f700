//! Dependence of successive values: whether a series of rounds is as good as independent.

use crate::estimate::variance;
use crate::special::normal_cdf;

/// One-sided p value of positive serial dependence from von Neumann's ratio of the mean square
/// of successive differences to the variance, normal approximation; `None` for fewer than 6
/// values or a constant series.
#[must_use]
pub fn von_neumann(series: &[f64]) -> Option<f64> {
    let spread = variance(series)?;
    if series.len() < 6 || spread == 0.0 {
        return None;
    }
    let n = series.len() as f64;
    let successive: f64 = series.windows(2).map(|w| (w[1] - w[0]).powi(2)).sum();
    let ratio = successive / (spread * (n - 1.0));
    // Mean and variance of the ratio for independent normal values.
    let expected = 2.0;
    let width = (4.0 * (n - 2.0) / (n * n - 1.0)).sqrt();
    Some(normal_cdf((ratio - expected) / width))
}

#[cfg(test)]
mod tests;
