//! Rounds that several nodes ran at the same time.
//!
//! In the order of the plan the neighbours of a round ran on other nodes, so a node whose slow rounds come in a row looks
//! calm there. The rounds of each node are therefore a series of their own, and an interval is as wide as the worse of
//! both orders demands: what hits all nodes at once, such as a shared network, is seen in the order of the plan.

use super::{Field, plain, residuals};
use crate::dependence::{Dependence, estimate, estimate_series};
use std::collections::BTreeMap;

/// Serial correlation of the rounds of each node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    pub(super) dependence: Dependence,
    /// Part of all rounds that the node with most of them has.
    part: f64,
}

impl Within {
    /// As [`Dependence::inflation`]: a mean over several series varies as much as one of the longest.
    pub(super) fn inflation(&self, rounds: usize) -> f64 {
        let longest = (self.part * rounds as f64).ceil() as usize;
        self.dependence.inflation(longest.clamp(1, rounds.max(1)))
    }
}

impl Field {
    /// With the node of each round, by a number; `None` for rounds that no node ran. On one node nothing changes.
    #[must_use]
    pub fn with_nodes(mut self, nodes: &[Option<usize>]) -> Self {
        let mut series: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (round, node) in nodes.iter().enumerate() {
            if let Some(node) = node {
                series.entry(*node).or_default().push(round);
            }
        }
        let most = series.values().map(Vec::len).max().unwrap_or(0);
        // A node that runs one round has none that could be like it.
        if series.len() < 2 || most < 2 || self.exact {
            return self;
        }
        let series: Vec<Vec<usize>> = series.into_values().collect();
        let part = most as f64 / self.rounds().max(1) as f64;
        let mut rest = residuals(&plain(&self.logs));
        let dependence = estimate_series(&rest, &series);
        // That a stack is slower on one node than on another is no dependence of rounds.
        for row in &mut rest {
            for rounds in &series {
                centre(row, rounds);
            }
        }
        self.dependence = estimate(&rest);
        self.within = Some(Within { dependence, part });
        self
    }

    /// Serial correlation of the rounds of each node; `None` on one machine.
    #[must_use]
    pub fn dependence_within(&self) -> Option<&Dependence> {
        self.within.as_ref().map(|within| &within.dependence)
    }
}

/// Takes the mean of these rounds out of them.
fn centre(row: &mut [Option<f64>], rounds: &[usize]) {
    let known: Vec<f64> = rounds.iter().filter_map(|round| row.get(*round).copied()?).collect();
    let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
    for round in rounds {
        if let Some(Some(value)) = row.get_mut(*round) {
            *value -= mean;
        }
    }
}

#[cfg(test)]
mod tests;
