//! Agreement of the sentences about axes with the table above them.
//!
//! An effect is a mean over rounds, a row of the table a trimmed mean of the same rounds, and a noisy stack has
//! a wide row while the mean over its axis is narrow. A reader compares the two. So the interval of
//! an effect is made to contain what the table shows, and an effect that the table leaves open is
//! not stated.

use crate::axes::Axis;
use seekwell_model::plan::Plan;
use seekwell_model::verdict::{AxisFound, Basis, InteractionFound, Ratio, Verdict};
use seekwell_stats::design::Design;
use seekwell_stats::estimate::mean;

/// The rows of the table, by stack.
struct Rows<'a> {
    /// Logarithms of the ratios to the leader.
    logs: Vec<Option<f64>>,
    design: &'a Design,
    axes: &'a [Axis],
    /// The least factor that holds the width of every paired row, both ways from its middle;
    /// infinite if one has no interval.
    widest: f64,
}

/// Widens the effects of a verdict until they contain the rows of its table, and removes what is then
/// no effect.
pub(super) fn settle(plan: &Plan, axes: &[Axis], design: &Design, verdict: &mut Verdict) {
    let rows = Rows::new(plan, axes, design, &verdict.ratios);
    for axis in &mut verdict.evidence.axes {
        rows.settle_axis(axis);
    }
    verdict.evidence.interactions.retain_mut(|found| rows.settle_interaction(found));
}

impl<'a> Rows<'a> {
    fn new(plan: &Plan, axes: &'a [Axis], design: &'a Design, ratios: &[Ratio]) -> Self {
        let row = |stack: usize| {
            let label = &plan.stacks[stack].label;
            ratios.iter().find(|row| row.stack == *label)
        };
        let log = |stack: usize| row(stack)?.ratio.filter(|ratio| *ratio > 0.0).map(f64::ln);
        let width = |row: &Ratio| match (row.low, row.high) {
            (Some(low), Some(high)) => (high / low).sqrt(),
            _ => f64::INFINITY,
        };
        let paired = ratios.iter().filter(|row| row.basis == Basis::Paired);
        Self {
            logs: (0..design.stacks()).map(log).collect(),
            design,
            axes,
            widest: paired.map(width).fold(1.0, f64::max),
        }
    }

    fn position(&self, axis: &str, value: &str) -> Option<(usize, usize)> {
        let number = self.axes.iter().position(|known| known.name == axis)?;
        let level = self.axes[number].values.iter().position(|known| known == value)?;
        Some((number, level))
    }

    /// Logarithm of the ratio of one value of an axis to another, over the pairs of rows that differ in
    /// this axis alone.
    fn difference(&self, axis: usize, high: usize, low: usize) -> Option<f64> {
        let alike = |a: usize, b: usize| {
            (0..self.axes.len()).all(|other| {
                other == axis || self.design.level(a, other) == self.design.level(b, other)
            })
        };
        let at = |level: usize| {
            (0..self.logs.len()).filter(move |stack| self.design.level(*stack, axis) == level)
        };
        let pairs = at(high).flat_map(|a| at(low).map(move |b| (a, b)));
        let logs: Vec<f64> = pairs
            .filter(|(a, b)| alike(*a, *b))
            .filter_map(|(a, b)| Some(self.logs[a]? - self.logs[b]?))
            .collect();
        mean(&logs)
    }

    fn settle_axis(&self, found: &mut AxisFound) {
        let (Some((axis, high)), Some((_, low))) =
            (self.position(&found.axis, &found.highest), self.position(&found.axis, &found.lowest))
        else {
            return;
        };
        if let Some(shown) = self.difference(axis, high, low).map(f64::exp) {
            found.low = found.low.map(|end| end.min(shown));
            found.high = found.high.map(|end| end.max(shown));
        }
        if found.measurable && found.low.is_none_or(|low| low <= 1.0) {
            (found.measurable, found.confirmed) = (false, false);
            found.beside.clear();
        }
        let values = self.axes[axis].values.len();
        let pairs = (0..values).flat_map(|a| (0..a).map(move |b| (a, b)));
        let apart = pairs.filter_map(|(a, b)| self.difference(axis, a, b));
        let apart = apart.map(|log| log.abs().exp()).fold(1.0, f64::max);
        let at_most = found.at_most.map(|most| most.max(apart));
        // A bound of 2.7 is no news beside a row that reaches from 0.02 to 70.
        found.at_most = at_most.filter(|most| *most >= self.widest);
    }

    /// Returns false if the table leaves the direction open.
    fn settle_interaction(&self, found: &mut InteractionFound) -> bool {
        let Some(shown) = self.departure(found) else { return true };
        found.low = found.low.map(|end| end.min(shown));
        found.high = found.high.map(|end| end.max(shown));
        let above = found.low.is_some_and(|low| low > 1.0);
        above || found.high.is_some_and(|high| high < 1.0)
    }

    /// The metric of a combination against what its two values predict, by the rows; `None` if a
    /// combination of the two axes has no row.
    fn departure(&self, found: &InteractionFound) -> Option<f64> {
        let (a, x) = self.position(&found.axes[0], &found.values[0])?;
        let (b, y) = self.position(&found.axes[1], &found.values[1])?;
        let cell = |x: usize, y: usize| {
            let of_cell = (0..self.logs.len())
                .filter(|s| self.design.level(*s, a) == x && self.design.level(*s, b) == y);
            mean(&of_cell.filter_map(|stack| self.logs[stack]).collect::<Vec<_>>())
        };
        let (rows, columns) = (self.axes[a].values.len(), self.axes[b].values.len());
        let mut sums = [0.0; 3];
        for row in 0..rows {
            for column in 0..columns {
                let value = cell(row, column)?;
                sums[0] += if row == x { value / columns as f64 } else { 0.0 };
                sums[1] += if column == y { value / rows as f64 } else { 0.0 };
                sums[2] += value / (rows * columns) as f64;
            }
        }
        Some((cell(x, y)? - sums[0] - sums[1] + sums[2]).exp())
    }
}

#[cfg(test)]
mod tests;
