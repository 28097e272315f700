//! The nodes of a cluster on which the rounds of a run were made.

use crate::records::Records;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
mod tests;

/// Name of the node that ran a trial; `None` for trials that do not depend on it.
fn node_of(record: &Record) -> Option<&str> {
    record.in_force.node.as_ref().map(|node| node.name.as_str())
}

/// Rounds by the node that made them. Empty for a run on one machine.
pub(crate) fn by_node(records: &Records) -> BTreeMap<String, BTreeSet<u32>> {
    let strays = strays(records.values());
    let mut rounds: BTreeMap<String, BTreeSet<u32>> = BTreeMap::new();
    for (trial, record) in records.values().filter(|(trial, _)| !strays.contains(&trial.index)) {
        if let Some(node) = node_of(record) {
            rounds.entry(node.to_owned()).or_default().insert(trial.round);
        }
    }
    rounds
}

/// The node of each round, by a number; empty for a run on one machine.
pub(crate) fn of_rounds(records: &Records) -> Vec<Option<usize>> {
    let by_node = by_node(records);
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
    records: impl Iterator<Item = &'a (PlannedTrial, Record)> + Clone,
) -> BTreeSet<u32> {
    if records.clone().all(|(_, record)| node_of(record).is_none()) {
        return BTreeSet::new();
    }
    let mut counts: BTreeMap<u32, BTreeMap<Option<&str>, u32>> = BTreeMap::new();
    for (trial, record) in records.clone() {
        *counts.entry(trial.round).or_default().entry(node_of(record)).or_default() += 1;
    }
    let most = |round: u32| {
        let of_round = counts.get(&round)?;
        // The first name among equals, so that the choice does not depend on the order.
        let most = of_round.values().max()?;
        of_round.iter().find(|(_, count)| *count == most).map(|(node, _)| *node)
    };
    let is_stray = |(trial, record): &&(PlannedTrial, Record)| {
        most(trial.round).is_some_and(|node| node != node_of(record))
    };
    records.filter(is_stray).map(|(trial, _)| trial.index).collect()
}
