//! Steady state: whether a series of measurements has stopped changing, by the window rule of the SNIA
//! Solid State Storage Performance Test Specification (version 2.0.2): maximum minus minimum is at
//! most 20 % of the mean, and the best-fit line moves at most 10 % of the mean.
//!
//! A trial that did not become steady is marked and never ranked silently.

/// Largest allowed (maximum - minimum) / mean in the window.
pub const MAX_RANGE: f64 = 0.20;
/// Largest allowed movement of the best-fit line over the window, over the mean.
pub const MAX_SLOPE: f64 = 0.10;

/// Properties of a window of rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// (Maximum - minimum) / mean.
    pub range: f64,
    /// Movement of the best-fit line over the window, over the mean; negative when falling.
    pub slope: f64,
}

impl Window {
    /// Describes the rates of a window in their order.
    #[must_use]
    pub fn of(rates: &[f64; 5]) -> Self {
        let mean = rates.iter().sum::<f64>() / 5.0;
        let highest = rates.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let [first, second, _, fourth, fifth] = rates;
        // Least-squares slope over steps -2 to 2, times the four steps of the window.
        let moved = (2.0 * (fifth - first) + fourth - second) / 10.0 * 4.0;
        Self { range: (highest - lowest) / mean.abs(), slope: moved / mean.abs() }
    }

    /// True if the window is steady. A mean of 0 never counts: the comparison with NaN fails.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.range <= MAX_RANGE && self.slope.abs() <= MAX_SLOPE
    }
}

#[cfg(test)]
mod tests;
