//! Whole intervals compared with the bounds of a condition.

use crate::study::Condition;
use seekwell_model::replication::Quantity;

#[cfg(test)]
mod tests;

/// Bounds of a condition, and the width within which two of our own figures are a tie.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    pub(super) above: Option<f64>,
    pub(super) below: Option<f64>,
    pub(super) not_above: Option<f64>,
    pub(super) tie: f64,
}

/// Rounding of a bound that is written as a number, such as 0.95 for a tie of 5 %.
const ROUNDING: f64 = 1.005;

/// Returns true if a ratio differs from 1 by more than a tie.
pub(super) fn differs_from(ratio: f64, tie: f64) -> bool {
    let width = (1.0 + tie) * ROUNDING;
    ratio > width || ratio < width.recip()
}

impl Bounds {
    /// Bounds of a range that has no tie: a published number with its width.
    pub(super) fn range(low: f64, high: f64) -> Self {
        Self { above: Some(low), below: Some(high), ..Self::default() }
    }

    /// Bounds of a condition of a study's file.
    pub(super) fn of(condition: &Condition, tie: f64) -> Self {
        let Condition { above, below, not_above, .. } = condition;
        Self { above: *above, below: *below, not_above: *not_above, tie }
    }

    /// Returns true if the whole interval meets the bounds, false if the whole interval breaks one; `None` when it
    /// includes one.
    pub(super) fn agrees(self, found: Quantity) -> Option<bool> {
        let parts = [
            self.above.map(|bound| self.is_above(found, bound)),
            self.below.map(|bound| self.is_below(found, bound)),
            self.not_above.map(|bound| self.is_not_above(found, bound)),
        ];
        let parts: Vec<Option<bool>> = parts.into_iter().flatten().collect();
        if parts.contains(&Some(false)) {
            return Some(false);
        }
        (!parts.contains(&None)).then_some(true)
    }

    fn is_above(self, Quantity { low, centre, high, .. }: Quantity, bound: f64) -> Option<bool> {
        if is_one(bound) {
            return self.is_win([low, centre, high]);
        }
        if low > bound { Some(true) } else { (high < bound).then_some(false) }
    }

    fn is_below(self, Quantity { low, centre, high, .. }: Quantity, bound: f64) -> Option<bool> {
        if is_one(bound) {
            return self.is_win([high.recip(), centre.recip(), low.recip()]);
        }
        if high < bound { Some(true) } else { (low > bound).then_some(false) }
    }

    fn is_not_above(self, found: Quantity, bound: f64) -> Option<bool> {
        let width = if is_one(bound) { 1.0 + self.tie } else { 1.0 };
        if found.low > bound && found.centre > bound * width {
            return Some(false);
        }
        (found.high <= bound * width).then_some(true)
    }

    /// Compares a ratio of two of our figures with 1: a ratio within the tie width is no win, and an interval within
    /// it shows a tie.
    fn is_win(self, [low, centre, high]: [f64; 3]) -> Option<bool> {
        let width = 1.0 + self.tie;
        if high < 1.0 || (low >= width.recip() && high <= width) {
            return Some(false);
        }
        (low > 1.0 && centre > width).then_some(true)
    }
}

fn is_one(bound: f64) -> bool {
    (bound - 1.0).abs() < f64::EPSILON
}
