//! A run on the nodes of a cluster: the comparison within each node.
//!
//! All trials of a round run on one node, so nodes never differ inside a comparison. A winner of all rounds must still
//! hold on each node: many rounds of one kind of node may outvote another kind.

use crate::nodes;
use crate::question::question;
use crate::records::Outcomes;
use seekwell_model::lab::Better;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::verdict::{Decision, NodeFound, NodeStanding, Verdict, VerdictKind};
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_stats::field::Observed;
use seekwell_stats::interval::Interval;
use seekwell_stats::paired::{self, Comparison, ErrorShare, Standing};
use seekwell_stats::question::Question;
use std::collections::BTreeSet;

#[cfg(test)]
mod tests;

/// Compares the stacks within each node, and takes a winner back that another stack beats on one.
pub(super) fn add(
    plan: &Plan,
    outcomes: &Outcomes,
    values: &[Vec<Option<f64>>],
    verdict: &mut Verdict,
) {
    let rounds = nodes::by_node(outcomes);
    let ranked = &values[..plan.ranked().min(values.len())];
    let position = |label: &String| plan.stacks.iter().position(|stack| stack.label == *label);
    let leader = verdict.baseline.as_ref().and_then(position);
    let error = (1.0 - plan.lab.judge.confidence) / (rounds.len().max(1) as f64);
    verdict.evidence.nodes = rounds
        .iter()
        .map(|(node, rounds)| of_node(plan, &within(ranked, rounds), leader, error, node))
        .collect();
    withdraw(verdict);
}

/// The doubt about trials that ran on another node than their round.
pub(super) fn strays(records: &[(PlannedTrial, Record)]) -> Option<Warning> {
    let strays = nodes::strays_of(records).len();
    let text = format!(
        "{strays} of {} trials ran on another node than their round and are not compared",
        records.len()
    );
    (strays > 0).then(|| Warning::new(WarningCode::OtherNode, text))
}

/// The values of some rounds.
fn within(values: &[Vec<Option<f64>>], rounds: &BTreeSet<u32>) -> Vec<Vec<Observed>> {
    let observed = |value: Option<f64>| value.map_or(Observed::NotRun, Observed::Value);
    let of_stack = |row: &Vec<Option<f64>>| {
        let of_round = |round: &u32| row.get(*round as usize).copied().flatten();
        rounds.iter().map(|round| observed(of_round(round))).collect()
    };
    values.iter().map(of_stack).collect()
}

fn of_node(
    plan: &Plan,
    values: &[Vec<Observed>],
    leader: Option<usize>,
    error: f64,
    node: &str,
) -> NodeFound {
    let question = Question { confidence: 1.0 - error, ..question(plan) };
    let share = ErrorShare { error, stacks: values.len() };
    let label = |stack: usize| plan.stacks[stack].label.clone();
    let own = paired::compare_on_nodes(values, &question, share, &[]).ok();
    let led = leader.and_then(|led| paired::compare_led_by(values, &question, share, led).ok());
    let best = own.as_ref().and_then(|own| own.baseline);
    // The best stack of the node where that is another one, else the closest rival.
    let rival = match (&led, leader) {
        (Some(led), Some(leader)) => {
            best.filter(|best| *best != leader).or_else(|| closest(led, plan.lab.judge.better))
        }
        _ => None,
    };
    let joint = rival.zip(led.as_ref()).and_then(|(rival, led)| led.rows.get(rival)?.joint);
    NodeFound {
        node: node.to_owned(),
        rounds: complete(values),
        leader: best.map(label),
        standing: led.as_ref().map_or(NodeStanding::Open, |led| standing(plan, led)),
        rival: rival.map(label),
        ratio: joint.map(|joint| joint.centre),
        low: joint.map(|joint| joint.low).filter(|low| *low > 0.0),
        high: joint.map(|joint| joint.high).filter(|high| high.is_finite()),
    }
}

/// Rounds in which every stack that has values has one.
fn complete(values: &[Vec<Observed>]) -> u32 {
    let is_value = |trial: &Observed| matches!(trial, Observed::Value(_));
    let known: Vec<&Vec<Observed>> = values.iter().filter(|row| row.iter().any(is_value)).collect();
    let rounds = known.first().map_or(0, |row| row.len());
    (0..rounds).filter(|round| known.iter().all(|row| is_value(&row[*round]))).count() as u32
}

/// The rival with the best ratio to the leader.
fn closest(led: &Comparison, better: Better) -> Option<usize> {
    let rivals = led.rows.iter().filter(|row| Some(row.stack) != led.baseline);
    let known = rivals.filter_map(|row| Some((row.stack, row.joint?.centre)));
    let found = match better {
        Better::Lower => known.min_by(|a, b| a.1.total_cmp(&b.1)),
        Better::Higher => known.max_by(|a, b| a.1.total_cmp(&b.1)),
    };
    found.map(|(stack, _)| stack)
}

fn standing(plan: &Plan, led: &Comparison) -> NodeStanding {
    let is_better = |joint: &Interval| match plan.lab.judge.better {
        Better::Lower => joint.high < 1.0,
        Better::Higher => joint.low > 1.0,
    };
    let mut rivals = led.rows.iter().filter(|row| Some(row.stack) != led.baseline).peekable();
    let tells = |row: &&paired::Row| row.standing != Standing::TooFewRounds;
    if rivals.clone().filter(tells).any(|row| row.joint.as_ref().is_some_and(is_better)) {
        return NodeStanding::Differs;
    }
    let is_beaten = |row: &paired::Row| {
        matches!(row.standing, Standing::Worse | Standing::Failing | Standing::Absent)
    };
    let is_known = led.baseline.is_some() && rivals.peek().is_some();
    if is_known && rivals.all(is_beaten) { NodeStanding::Holds } else { NodeStanding::Open }
}

/// Takes a winner back that another stack is shown to beat on a node, and a tie that one beats there by more than the tie
/// width: opposite findings of two kinds of nodes
/// look like a tie when they are joined.
fn withdraw(verdict: &mut Verdict) {
    let is_tie = verdict.kind == VerdictKind::Tie;
    let width = 1.0 + verdict.tie;
    let is_far = |one: &NodeFound| match verdict.better {
        Better::Lower => one.high.is_some_and(|high| high < 1.0 / width),
        Better::Higher => one.low.is_some_and(|low| low > width),
    };
    let nodes = verdict.evidence.nodes.iter();
    let differs = nodes.filter(|one| one.standing == NodeStanding::Differs);
    let against: Vec<&NodeFound> = differs.filter(|one| !is_tie || is_far(one)).collect();
    if verdict.kind == VerdictKind::Unresolved || against.is_empty() {
        return;
    }
    let winner = verdict.stacks.first().cloned().unwrap_or_default();
    let mut stacks = vec![winner.clone()];
    let mut others = Vec::new();
    for one in &against {
        let rival = one.rival.clone().unwrap_or_default();
        others.push(format!("{rival} is better on {}", one.node));
        if !stacks.contains(&rival) {
            stacks.push(rival);
        }
    }
    verdict.kind = VerdictKind::Unresolved;
    verdict.decision = Some(Decision::Inconclusive);
    let others = others.join(", ");
    verdict.sentence = if is_tie {
        format!("No verdict for all nodes: all rounds together show no difference, but {others}.")
    } else {
        format!("No winner on all nodes: {winner} wins over all rounds, but {others}.")
    };
    verdict.reason =
        "nodes disagree; run the lab on each kind of node by itself, with --sbatch=--constraint=NAME or \
         --partition, for a verdict on each"
            .to_owned();
    verdict.stacks = stacks;
}
