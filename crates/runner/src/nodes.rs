//! The nodes of a cluster on which the rounds of a run were made.

use crate::records::{Outcome, Outcomes};
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{InForce, Record};
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// Name of the node that ran a trial; `None` for trials that do not depend on it.
fn node_of(in_force: &InForce) -> Option<&str> {
    in_force.node.as_ref().map(|node| node.name.as_str())
}

/// Rounds by the node that made them. Empty for a run on one machine.
pub(crate) fn by_node(outcomes: &Outcomes) -> BTreeMap<String, BTreeSet<u32>> {
    let strays = strays(outcomes.values());
    let mut rounds: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for (trial, outcome) in outcomes.values().filter(|(trial, _)| !strays.contains(&trial.index)) {
        if let Some(node) = node_of(&outcome.in_force) {
            rounds.entry(node.to_owned()).or_default().insert(trial.round);
        }
    }
    rounds
}

/// The node of each round, by a number; empty for a run on one machine.
pub(crate) fn of_rounds(outcomes: &Outcomes) -> Vec<Option<usize>> {
    let by_node = by_node(outcomes);
    let last = by_node.values().filter_map(BTreeSet::last).max();
    let mut nodes = vec![None; last.map_or(0, |last| *last as usize + 1)];
    for (node, rounds) in by_node.values().enumerate() {
        rounds.iter().for_each(|round| nodes[*round as usize] = Some(node));
    }
    nodes
}

/// Indices of trials that ran on another node than most trials of their round: a comparison never crosses nodes. Such
/// trials are left when a run continues without the folder that had the rest of a round.
pub(crate) fn strays<'a>(
    outcomes: impl Iterator<Item = &'a (PlannedTrial, Outcome)> + Clone,
) -> BTreeSet<u32> {
    away(outcomes.map(|(trial, outcome)| (trial, node_of(&outcome.in_force))))
}

/// The same of whole records.
pub(crate) fn strays_of(records: &[(PlannedTrial, Record)]) -> BTreeSet<u32> {
    away(records.iter().map(|(trial, record)| (trial, node_of(&record.in_force))))
}

/// Indices of trials that are not on the node of most trials of their round.
fn away<'a>(
    trials: impl Iterator<Item = (&'a PlannedTrial, Option<&'a str>)> + Clone,
) -> BTreeSet<u32> {
    if trials.clone().all(|(_, node)| node.is_none()) {
        return BTreeSet::new();
    }
    let mut counts: BTreeMap<u32, BTreeMap<Option<&str>, u32>> = BTreeMap::new();
    for (trial, node) in trials.clone() {
        *counts.entry(trial.round).or_default().entry(node).or_default() += 1;
    }
    let most = |round: u32| {
        let of_round = counts.get(&round)?;
        // The first name among equals, so that the choice does not depend on the order.
        let most = of_round.values().max()?;
        of_round.iter().find(|(_, count)| *count == most).map(|(node, _)| *node)
    };
    let is_stray = |(trial, node): &(&PlannedTrial, Option<&str>)| {
        most(trial.round).is_some_and(|of_most| of_most != *node)
    };
    trials.filter(is_stray).map(|(trial, _)| trial.index).collect()
}
