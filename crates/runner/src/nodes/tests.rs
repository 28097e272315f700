use super::*;
use crate::fixture;
use seekwell_model::record::Node;

fn on(name: Option<&str>) -> Record {
    let mut record = fixture::record(1.0);
    let node = |name: &str| Node { name: name.to_owned(), ..Node::default() };
    record.in_force.node = name.map(node);
    record
}

/// Outcomes of rounds of three trials by their nodes.
fn records(nodes: &[[Option<&str>; 3]]) -> Outcomes {
    let plan = fixture::plan(&["a", "b", "c"], seekwell_model::lab::Effort::Rounds(6));
    let all = nodes.iter().enumerate().flat_map(|(round, nodes)| {
        nodes.iter().enumerate().map(move |(place, node)| {
            let index = (round * 3 + place) as u32;
            let trial =
                PlannedTrial { index, round: round as u32, candidate: place as u32, seed: 1 };
            (trial, on(*node))
        })
    });
    crate::records::outcomes(&plan, all)
}

#[test]
fn a_trial_away_from_the_node_of_its_round_is_a_stray() {
    let all = records(&[
        [Some("n1"), Some("n1"), Some("n1")],
        [Some("n2"), Some("n1"), Some("n2")],
        [Some("n3"), None, Some("n3")],
    ]);
    assert_eq!(strays(all.values()), BTreeSet::from([4, 7]));
    let rounds: Vec<_> = by_node(&all).into_iter().collect();
    let one = |name: &str, round| (name.to_owned(), BTreeSet::from([round]));
    assert_eq!(rounds, [one("n1", 0), one("n2", 1), one("n3", 2)]);
}

#[test]
fn a_run_on_one_machine_has_no_nodes() {
    let all = records(&[[None, None, None]]);
    assert_eq!(strays(all.values()), BTreeSet::new());
    assert!(by_node(&all).is_empty());
}
