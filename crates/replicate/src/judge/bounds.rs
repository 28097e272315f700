//! Whole intervals compared with the bounds of a condition.

use crate::study::Condition;
use seekwell_model::replication::{Quantity, Tested};

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

    /// Tests a quantity; `holds` is the result by the rule that was frozen with the claims.
    pub(super) fn tested(
        self,
        what: String,
        wanted: String,
        found: Option<Quantity>,
        holds: Option<bool>,
    ) -> Tested {
        let agrees = found.and_then(|found| self.agrees(found));
        let broken = found.and_then(|found| self.broken(found));
        Tested { what, wanted, found, holds, agrees, broken }
    }

    /// Returns true if the whole interval meets the bounds, false if the whole interval breaks one; `None` when it
    /// includes one.
    pub(super) fn agrees(self, found: Quantity) -> Option<bool> {
        let parts = self.parts(found);
        if parts.iter().any(|(_, met)| *met == Some(false)) {
            return Some(false);
        }
        parts.iter().all(|(_, met)| met.is_some()).then_some(true)
    }

    /// Returns the bound that the whole interval breaks.
    pub(super) fn broken(self, found: Quantity) -> Option<f64> {
        self.parts(found).into_iter().find(|(_, met)| *met == Some(false)).map(|(bound, _)| bound)
    }

    /// Each bound, and true if the whole interval meets it.
    fn parts(self, found: Quantity) -> Vec<(f64, Option<bool>)> {
        [
            self.above.map(|bound| (bound, self.is_above(found, bound))),
            self.below.map(|bound| (bound, self.is_below(found, bound))),
            self.not_above.map(|bound| (bound, self.is_not_above(found, bound))),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn is_above(self, Quantity { low, high, .. }: Quantity, bound: f64) -> Option<bool> {
        if is_one(bound) {
            return self.is_win(low, high);
        }
        if low > bound { Some(true) } else { (high < bound).then_some(false) }
    }

    fn is_below(self, Quantity { low, high, .. }: Quantity, bound: f64) -> Option<bool> {
        if is_one(bound) {
            return self.is_win(high.recip(), low.recip());
        }
        if high < bound { Some(true) } else { (low > bound).then_some(false) }
    }

    fn is_not_above(self, found: Quantity, bound: f64) -> Option<bool> {
        let width = if is_one(bound) { 1.0 + self.tie } else { 1.0 };
        if found.low > bound * width {
            return Some(false);
        }
        (found.high <= bound * width).then_some(true)
    }

    /// Compares the interval of a ratio of two of our figures with 1: a win is wholly beyond the tie width, and an
    /// interval within it shows a tie.
    fn is_win(self, low: f64, high: f64) -> Option<bool> {
        let width = 1.0 + self.tie;
        if high < 1.0 || (low >= width.recip() && high <= width) {
            return Some(false);
        }
        (low > width).then_some(true)
    }
}

fn is_one(bound: f64) -> bool {
    (bound - 1.0).abs() < f64::EPSILON
}
