//! The question that a comparison answers: direction, tie width, confidence.

/// Complete paired rounds below which nothing is decided. With 5 pairs even the range of all
/// values misses the median in one case of 16, with 6 in one of 32 (2 · 0.5^n).
pub const MIN_ROUNDS: usize = 6;

/// Better direction of the judged metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Smaller is better: seconds, latencies.
    Lower,
    /// Larger is better: operations or megabytes per second.
    Higher,
}

/// Question asked of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// Direction of the metric.
    pub better: Better,
    /// Relative difference that does not matter, as a fraction: 0.02 for 2 %. 0 is allowed: then
    /// only exact equality is a tie.
    pub tie_width: f64,
    /// Confidence of the verdict, as a fraction: 0.95.
    pub confidence: f64,
    /// True if repetition gives the same value to the last digit and rounds are independent, as in a
    /// model of a device: then equal values are an exact result. On real devices they only show the
    /// resolution of the values.
    pub exact: bool,
}

impl Question {
    /// A question about real devices.
    #[must_use]
    pub fn new(better: Better, tie_width: f64, confidence: f64) -> Self {
        Self { better, tie_width, confidence, exact: false }
    }

    /// The tie width in logarithms.
    #[must_use]
    pub fn log_tie(&self) -> f64 {
        self.tie_width.ln_1p()
    }
}
