//! Steady state: whether a series of measurements has stopped changing.
//!
//! Two rules. The window rule of the SNIA Solid State Storage Performance Test Specification
//! (version 2.0.2): within the last 5 rounds, maximum minus minimum is at most 20 % of the mean
//! and the best-fit line moves at most 10 % of the mean; not reached within 25 rounds is not
//! reached. And fio's `steadystate` criterion, in fio's own syntax and arithmetic.
//!
//! A trial that did not become steady is marked and never ranked silently.

use std::fmt;
use std::str::FromStr;

/// The SNIA window rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowRule {
    /// Rounds in the window.
    pub window: usize,
    /// Largest allowed (maximum - minimum) / mean in the window.
    pub range: f64,
    /// Largest allowed movement of the best-fit line over the window, over the mean.
    pub slope: f64,
    /// Rounds after which the attempt is given up.
    pub max_rounds: usize,
}

impl Default for WindowRule {
    fn default() -> Self {
        Self { window: 5, range: 0.20, slope: 0.10, max_rounds: 25 }
    }
}

/// Properties of a window of rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// First round of the window, from 0.
    pub first: usize,
    /// Mean over the window.
    pub mean: f64,
    /// (Maximum - minimum) / mean.
    pub range: f64,
    /// Movement of the best-fit line over the window, over the mean; negative when falling.
    pub slope: f64,
}

/// Result of the check for a steady series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steady {
    /// Reached with this window, the first that satisfies the rule.
    Reached(Window),
    /// Not reached yet; the last window, if there was one.
    NotYet(Option<Window>),
    /// Not reached within the allowed rounds; the last window.
    GivenUp(Option<Window>),
}

impl Steady {
    /// Returns true if the steady state was reached.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        matches!(self, Self::Reached(_))
    }
}

impl WindowRule {
    /// Judges the rounds so far. Values must be positive rates or times; rounds beyond the
    /// allowed number are not looked at.
    #[must_use]
    pub fn judge(&self, rounds: &[f64]) -> Steady {
        let rounds = &rounds[..rounds.len().min(self.max_rounds)];
        let mut last = None;
        for first in 0..(rounds.len() + 1).saturating_sub(self.window.max(2)) {
            let window = describe(rounds, first, self.window.max(2));
            if window.range <= self.range && window.slope.abs() <= self.slope {
                return Steady::Reached(window);
            }
            last = Some(window);
        }
        if rounds.len() >= self.max_rounds { Steady::GivenUp(last) } else { Steady::NotYet(last) }
    }
}

fn describe(rounds: &[f64], first: usize, length: usize) -> Window {
    let values = &rounds[first..first + length];
    let mean = values.iter().sum::<f64>() / length as f64;
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let moved = slope(values) * (length - 1) as f64;
    // A mean of 0 never counts as steady: the comparisons with infinity or NaN fail.
    Window { first, mean, range: (highest - lowest) / mean.abs(), slope: moved / mean.abs() }
}

/// Least-squares slope per step.
fn slope(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let mean = values.iter().sum::<f64>() / n;
    let (mut products, mut squares) = (0.0, 0.0);
    for (step, value) in values.iter().enumerate() {
        let x = step as f64 - middle;
        products += x * (value - mean);
        squares += x * x;
    }
    products / squares
}

/// The metric that fio's criterion looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioMetric {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Bw,
    /// Mean latency.
    Lat,
}

/// The limit of fio's criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FioLimit {
    /// Per cent of the window's mean.
    Percent(f64),
    /// In the metric's own unit (per second of window for a slope).
    Absolute(f64),
}

/// fio's `steadystate=` option: `iops:2%`, `iops_slope:0.1%`, `bw:4096`, `lat_slope:5%` …
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FioCriterion {
    /// Metric that is checked.
    pub metric: FioMetric,
    /// True if the slope is limited, false if the largest deviation from the mean is.
    pub slope: bool,
    /// The limit; the criterion is met strictly below it.
    pub limit: FioLimit,
}

/// A criterion that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "steady-state criterion \"{given}\" {what}; write METRIC:LIMIT with one of iops, iops_slope, \
     bw, bw_slope, lat, lat_slope and a positive limit such as 2% or 100"
)]
pub struct FioCriterionError {
    /// The text given.
    pub given: String,
    /// Problem with it.
    pub what: &'static str,
}

impl FromStr for FioCriterion {
    type Err = FioCriterionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |what| FioCriterionError { given: text.to_owned(), what };
        let (name, limit) = text.split_once(':').ok_or_else(|| wrong("has no limit"))?;
        let (metric, slope) = match name.strip_suffix("_slope") {
            Some(metric) => (metric, true),
            None => (name, false),
        };
        let metric = match metric {
            "iops" => FioMetric::Iops,
            "bw" => FioMetric::Bw,
            "lat" => FioMetric::Lat,
            _ => return Err(wrong("names an unknown metric")),
        };
        let (number, percent) = match limit.strip_suffix('%') {
            Some(number) => (number, true),
            None => (limit, false),
        };
        let value: f64 = number.parse().map_err(|_| wrong("has a limit that is not a number"))?;
        if !(value > 0.0 && value.is_finite()) {
            return Err(wrong("has a limit that is not positive"));
        }
        let limit = if percent { FioLimit::Percent(value) } else { FioLimit::Absolute(value) };
        Ok(Self { metric, slope, limit })
    }
}

impl fmt::Display for FioCriterion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = match self.metric {
            FioMetric::Iops => "iops",
            FioMetric::Bw => "bw",
            FioMetric::Lat => "lat",
        };
        let slope = if self.slope { "_slope" } else { "" };
        match self.limit {
            FioLimit::Percent(value) => write!(f, "{metric}{slope}:{value}%"),
            FioLimit::Absolute(value) => write!(f, "{metric}{slope}:{value}"),
        }
    }
}

impl FioCriterion {
    /// The number that fio compares with the limit, for a full window of one value per second:
    /// slope per step or largest deviation from the mean, in per cent of the mean where the limit
    /// is. `None` for fewer than 2 values.
    #[must_use]
    pub fn measure(&self, window: &[f64]) -> Option<f64> {
        if window.len() < 2 {
            return None;
        }
        let mean = window.iter().sum::<f64>() / window.len() as f64;
        let raw = if self.slope {
            slope(window).abs()
        } else {
            window.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max)
        };
        Some(match self.limit {
            FioLimit::Percent(_) => 100.0 * raw / mean.abs(),
            FioLimit::Absolute(_) => raw,
        })
    }
}

#[cfg(test)]
mod tests;
