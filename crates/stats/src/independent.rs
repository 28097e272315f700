//! Comparison of samples that share no rounds: two runs made at different times.
//!
//! Nothing pairs a trial of one run with a trial of another, so the spread of both counts in full.
//! The interval is Welch's (1947), of the difference of the mean logarithms: the spreads may
//! differ, and it covers at the few values that runs have. It answers for chance among the trials,
//! not for what changed between the runs.

use crate::estimate::{mean, variance};
use crate::interval::{Interval, Method};
use crate::special::t_quantile_upper;

/// The typical ratio `second` : `first` of positive numbers, with an interval that misses with
/// probability `error`, half on each side. `None` with fewer than 2 values in one of them, a value
/// that is not positive and finite, or an `error` outside 0 to 1.
///
/// ```
/// use seekwell_stats::independent::ratio_interval;
///
/// let before = [10.0, 10.4, 9.8, 10.1, 10.3, 10.2];
/// let after = [11.1, 11.4, 10.7, 11.2, 11.0, 11.3];
/// let ratio = ratio_interval(&before, &after, 0.05).expect("six values each");
/// assert!(ratio.low > 1.06 && ratio.high < 1.13);
/// ```
#[must_use]
pub fn ratio_interval(first: &[f64], second: &[f64], error: f64) -> Option<Interval> {
    if !(error > 0.0 && error < 1.0) {
        return None;
    }
    let first = logs(first)?;
    let second = logs(second)?;
    let centre = mean(&second)? - mean(&first)?;
    let share = |values: &[f64]| Some(variance(values)? / values.len() as f64);
    let (a, b) = (share(&first)?, share(&second)?);
    let total = a + b;
    if total == 0.0 {
        let exact = Interval { low: centre, centre, high: centre, method: Method::Exact };
        return Some(exact.exp());
    }
    // Welch and Satterthwaite.
    let freedom = |share: f64, count: usize| share * share / (count as f64 - 1.0);
    let degrees = total * total / (freedom(a, first.len()) + freedom(b, second.len()));
    let reach = t_quantile_upper(0.5 * error, degrees) * total.sqrt();
    let interval =
        Interval { low: centre - reach, centre, high: centre + reach, method: Method::StudentT };
    Some(interval.exp())
}

fn logs(values: &[f64]) -> Option<Vec<f64>> {
    values.iter().map(|value| (*value > 0.0 && value.is_finite()).then(|| value.ln())).collect()
}

#[cfg(test)]
mod tests;
