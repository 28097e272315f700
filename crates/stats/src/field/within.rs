//! Rounds that several nodes ran at the same time.
//!
//! In the order of the plan the neighbours of a round ran on other nodes, so a node whose slow rounds come in a row looks
//! calm there. The rounds of each node are therefore a series of their own, and an interval is as wide as the worse of
//! both orders demands: what hits all nodes at once, such as a shared network, is seen in the order of the plan.

use super::{Cell, Field, residuals};
use crate::dependence::{Belief, Dependence, estimate_series, worst_inflation};
use std::collections::BTreeMap;

/// Serial correlation of the rounds of each node.
#[derive(Clone, Debug)]
pub(super) struct Within {
    pub(super) dependence: Dependence,
    /// Part of all rounds that the node with most of them has.
    part: f64,
}

/// The same, of a pair of stacks.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfPair {
    belief: Belief,
    told: bool,
    part: f64,
}

/// Rounds of the node that has most, of so many in all.
fn longest(part: f64, rounds: usize) -> usize {
    ((part * rounds as f64).ceil() as usize).clamp(1, rounds.max(1))
}

impl Within {
    pub(super) fn inflation(&self, rounds: usize) -> f64 {
        self.dependence.common.inflation(longest(self.part, rounds))
    }
}

impl OfPair {
    pub(super) fn inflation(&self, rounds: usize) -> f64 {
        let rounds = longest(self.part, rounds);
        self.belief.inflation(rounds).max(self.worst(rounds))
    }

    /// As [`Belief::widening`]: a mean over several series varies as much as one of the longest.
    pub(super) fn widening(&self, rounds: usize, error: f64) -> f64 {
        let rounds = longest(self.part, rounds);
        self.belief.widening(rounds, error).max(self.worst(rounds).sqrt())
    }

    fn worst(&self, rounds: usize) -> f64 {
        if self.told { 1.0 } else { worst_inflation(rounds) }
    }

    pub(super) fn remaining_freedom(&self, freedom: f64) -> f64 {
        // Where nothing is told the worst is assumed, which is margin enough.
        if self.told { self.belief.remaining_freedom(freedom) } else { freedom }
    }

    pub(super) fn after(&self, times: f64) -> Self {
        Self { belief: self.belief.after(times), ..*self }
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
        let plain: Vec<Vec<Option<f64>>> =
            self.logs.iter().map(|row| row.iter().map(Cell::log).collect()).collect();
        let series: Vec<Vec<usize>> = series.into_values().collect();
        let part = most as f64 / self.rounds().max(1) as f64;
        let dependence = estimate_series(&residuals(&plain), &series);
        self.within = Some(Within { dependence, part });
        self
    }

    /// Serial correlation of the rounds of each node; `None` on one machine.
    #[must_use]
    pub fn dependence_within(&self) -> Option<&Dependence> {
        self.within.as_ref().map(|within| &within.dependence)
    }

    pub(super) fn within_pair(&self, stack: usize, leader: usize) -> Option<OfPair> {
        let Within { dependence, part } = self.within.as_ref()?;
        let belief = self.belief(dependence, stack, leader);
        Some(OfPair { belief, told: dependence.told, part: *part })
    }
}

#[cfg(test)]
mod tests;
