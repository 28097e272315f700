//! Values of one stack that fall into two separate groups: their median is a value that no trial had.

/// Fewest values that can be two groups.
const FEWEST: usize = 6;
/// Fewest values of a group, and smallest share of all.
const OF_GROUP: (usize, f64) = (2, 0.15);
/// Smallest ratio of the groups' nearest values.
const APART: f64 = 1.5;
/// Smallest ratio of the gap to the width of the wider group, both as logarithms.
const CLEAR: f64 = 2.0;

/// A group of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cluster {
    pub(crate) trials: usize,
    pub(crate) median: f64,
}

/// The two groups of these values; `None` if they are one.
pub(crate) fn two(values: &[f64]) -> Option<[Cluster; 2]> {
    let mut sorted: Vec<f64> = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let positive = sorted.first().is_some_and(|value| *value > 0.0);
    if sorted.len() < FEWEST || !positive || !sorted[sorted.len() - 1].is_finite() {
        return None;
    }
    let gap = |at: &usize| (sorted[*at] / sorted[*at - 1]).ln();
    let at = (1..sorted.len()).max_by(|one, other| gap(one).total_cmp(&gap(other)))?;
    let (low, high) = sorted.split_at(at);
    let smaller = low.len().min(high.len());
    let width = |group: &[f64]| (group[group.len() - 1] / group[0]).ln();
    let is_clear = gap(&at) >= APART.ln() && gap(&at) >= CLEAR * width(low).max(width(high));
    let is_large = smaller >= OF_GROUP.0 && smaller as f64 >= OF_GROUP.1 * sorted.len() as f64;
    let cluster = |group: &[f64]| {
        let median = seekwell_stats::estimate::median(group)?;
        Some(Cluster { trials: group.len(), median })
    };
    (is_clear && is_large).then(|| Some([cluster(low)?, cluster(high)?]))?
}

#[cfg(test)]
mod tests;
