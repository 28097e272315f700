use super::*;
use crate::fixture::{self, judge};
use crate::order::round_order;
use crate::records::Records;
use seekwell_model::lab::Effort;
use seekwell_model::record::Node;

/// Rounds of two stacks: each node with the value of the second stack, where the first one has 1, and the number of its rounds.
fn run(nodes: &[(&str, f64, u32)]) -> Verdict {
    let rounds: u32 = nodes.iter().map(|(_, _, rounds)| rounds).sum();
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(rounds));
    let mut random = seekwell_stats::seeded(7);
    let mut all = Records::new();
    let of_rounds = nodes.iter().flat_map(|one| std::iter::repeat_n(one, one.2 as usize));
    for (round, (name, second, _)) in (0..).zip(of_rounds) {
        for trial in round_order(plan.lab.seed, 2, round) {
            let value = if trial.candidate == 0 { 1.0 } else { *second };
            let mut record = fixture::record(value * (0.01 * random.normal()).exp());
            record.in_force.node = Some(Node { name: (*name).to_owned(), ..Node::default() });
            all.insert(trial.index, (trial, record));
        }
    }
    judge(&plan, &all)
}

fn standings(verdict: &Verdict) -> Vec<(&str, u32, NodeStanding)> {
    let one = |node: &NodeFound| (node.rounds, node.standing);
    let all = verdict.evidence.nodes.iter();
    all.map(|node| (node.node.as_str(), one(node).0, one(node).1)).collect()
}

#[test]
fn a_winner_holds_on_each_node_that_tells() {
    let verdict = run(&[("n1", 1.5, 12), ("n2", 1.3, 12), ("n3", 1.4, 3)]);
    assert_eq!((verdict.kind, &*verdict.stacks), (VerdictKind::Winner, &["a".to_owned()][..]));
    let expected = [
        ("n1", 12, NodeStanding::Holds),
        ("n2", 12, NodeStanding::Holds),
        ("n3", 3, NodeStanding::Open),
    ];
    assert_eq!(standings(&verdict), expected);
    assert_eq!(verdict.evidence.nodes[0].leader.as_deref(), Some("a"));
    assert_eq!(verdict.evidence.nodes[0].rival.as_deref(), Some("b"));
    let ratio = verdict.evidence.nodes[1].ratio.unwrap();
    assert!((ratio - 1.3).abs() < 0.05, "{ratio}");
}

/// Of many rounds on one node the few on the other one would be outvoted.
#[test]
fn a_winner_that_loses_on_one_node_is_withdrawn() {
    let verdict = run(&[("n1", 2.0, 60), ("n2", 0.9, 8)]);
    let standing = [("n1", 60, NodeStanding::Holds), ("n2", 8, NodeStanding::Differs)];
    assert_eq!(standings(&verdict), standing);
    assert_eq!(verdict.kind, VerdictKind::Unresolved);
    assert_eq!(verdict.stacks, ["a", "b"]);
    assert_eq!(
        verdict.sentence,
        "No winner on all nodes: a wins over all rounds, but b is better on n2."
    );
}

/// Opposite findings of two nodes look like a tie when they are joined.
#[test]
fn a_tie_of_nodes_that_disagree_is_withdrawn() {
    let verdict = run(&[("n1", 1.25, 30), ("n2", 0.8, 30)]);
    let standings = standings(&verdict);
    assert!(standings.iter().any(|one| one.2 == NodeStanding::Differs), "{standings:?}");
    assert_eq!(verdict.kind, VerdictKind::Unresolved, "{}", verdict.sentence);
    let near = run(&[("n1", 1.004, 30), ("n2", 0.996, 30)]);
    assert_eq!(near.kind, VerdictKind::Tie, "{}", near.sentence);
}

#[test]
fn a_run_on_one_machine_says_nothing_of_nodes() {
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut all = Records::new();
    for round in 0..6 {
        for trial in round_order(plan.lab.seed, 2, round) {
            all.insert(trial.index, (trial, fixture::record(f64::from(trial.candidate + 1))));
        }
    }
    assert!(judge(&plan, &all).evidence.nodes.is_empty());
}

/// Two nodes take the rounds in turn, and on each of them the second stack is slow and fast for four rounds at a time.
/// Without the nodes it is a winner; with them it has too few independent rounds.
#[test]
fn spells_on_single_nodes_widen_the_intervals_of_all() {
    let rounds = 24;
    let plan = fixture::plan(&["a", "b"], Effort::Rounds(rounds));
    let judged = |nodes: usize| {
        let mut random = seekwell_stats::seeded(11);
        let mut all = Records::new();
        for round in 0..rounds {
            let is_slow = (round / 8 + round % 2) % 2 == 0;
            for trial in round_order(plan.lab.seed, 2, round) {
                let second = if is_slow { 1.12 } else { 1.02 };
                let value = if trial.candidate == 0 { 1.0 } else { second };
                let mut record = fixture::record(value * (0.005 * random.normal()).exp());
                let name = format!("n{}", round as usize % nodes);
                record.in_force.node = Some(Node { name, ..Node::default() });
                all.insert(trial.index, (trial, record));
            }
        }
        judge(&plan, &all)
    };
    let (one, two) = (judged(1), judged(2));
    let found =
        |verdict: &Verdict| verdict.evidence.dependence.clone().unwrap().correlation.unwrap();
    assert!(found(&one) < 0.1 && found(&two) > 0.5, "{} {}", found(&one), found(&two));
    let width = |verdict: &Verdict| {
        let ratio = verdict.ratios.iter().find(|ratio| ratio.ratio != Some(1.0)).unwrap();
        (ratio.high.unwrap() / ratio.low.unwrap()).ln()
    };
    assert!(width(&two) > 1.5 * width(&one), "{} {}", width(&one), width(&two));
}
