//! A straight line through means, with its bounds.

use super::Interval;

#[cfg(test)]
mod tests;

/// Mean time of a flush after some writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Writes before the flush.
    pub dirty: u64,
    /// Flushes of which it is the mean.
    pub times: u64,
    /// Mean in nanoseconds.
    pub mean_ns: f64,
}

/// A constant and a cost of each further write, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Time before the first write counts.
    pub constant_ns: Interval,
    /// Time of each write.
    pub slope_ns: Interval,
}

/// The line by weighted least squares: the variance of a flush grows with its writes. Bounds are two standard errors
/// from what the points leave over; without two points to spare there is no bound but all numbers.
pub(super) fn line(points: &[Point]) -> Line {
    let weight = |point: &Point| point.times as f64 / point.dirty.max(1) as f64;
    let sum = |of: &dyn Fn(&Point) -> f64| points.iter().map(|p| weight(p) * of(p)).sum::<f64>();
    let (all, x) = (sum(&|_| 1.0), sum(&|p| p.dirty as f64));
    let (y, xx) = (sum(&|p| p.mean_ns), sum(&|p| (p.dirty as f64).powi(2)));
    let xy = sum(&|p| p.dirty as f64 * p.mean_ns);
    let spread = all * xx - x * x;
    if spread <= 0.0 {
        let anything = Interval { value: 0.0, low: 0.0, high: f64::INFINITY };
        return Line { constant_ns: anything, slope_ns: anything };
    }
    let slope = (all * xy - x * y) / spread;
    let constant = (y - slope * x) / all;
    let left = sum(&|p| (p.mean_ns - constant - slope * p.dirty as f64).powi(2));
    let spare = points.len().saturating_sub(2);
    let variance = if spare > 0 { left / spare as f64 } else { f64::INFINITY };
    let bounds = |value: f64, error: f64| Interval {
        value,
        low: value - 2.0 * error,
        high: value + 2.0 * error,
    };
    Line {
        constant_ns: bounds(constant, (variance * xx / spread).sqrt()),
        slope_ns: bounds(slope, (variance * all / spread).sqrt()),
    }
}
