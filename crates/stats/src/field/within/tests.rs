use crate::field::{Field, Observed};
use crate::question::{Better, Question};
use crate::rng::seeded;

const NODES: usize = 2;

fn question() -> Question {
    Question::new(Better::Lower, 0.02, 0.95)
}

/// Two equal stacks on nodes that take the rounds in turn. On each node by itself the second stack's successive rounds
/// correlate so.
fn in_turn(rounds: usize, correlation: f64, seed: u64) -> Vec<Vec<Observed>> {
    let mut rng = seeded(seed);
    let mut of_node: Vec<f64> = (0..NODES).map(|_| rng.normal()).collect();
    let mut second = Vec::new();
    for round in 0..rounds {
        let noise = &mut of_node[round % NODES];
        second.push(Observed::Value((0.05 * *noise).exp()));
        *noise = correlation * *noise + (1.0 - correlation * correlation).sqrt() * rng.normal();
    }
    let first = (0..rounds).map(|_| Observed::Value((0.01 * rng.normal()).exp())).collect();
    vec![first, second]
}

fn nodes(rounds: usize) -> Vec<Option<usize>> {
    (0..rounds).map(|round| Some(round % NODES)).collect()
}

#[test]
fn the_series_of_each_node_tells_what_the_order_of_the_plan_hides() {
    let field = Field::new(&in_turn(80, 0.85, 3), &question());
    let hidden = field.dependence().correlation.unwrap();
    let field = field.with_nodes(&nodes(80));
    let seen = field.dependence_within().unwrap().correlation.unwrap();
    assert!(hidden < 0.3 && seen > 0.6, "{hidden} {seen}");
}

/// Of 100 intervals that may miss on either side in 5 cases at most so many do.
#[test]
fn intervals_hold_what_they_say_when_the_rounds_of_a_node_depend_on_each_other() {
    let missed = |nodes: &[Option<usize>]| {
        let misses = (0..400).filter(|seed| {
            let field = Field::new(&in_turn(40, 0.6, *seed), &question()).with_nodes(nodes);
            let pair = field.pair(1, 0);
            pair.low(0.025) > 0.0 || pair.high(0.025) < 0.0
        });
        misses.count()
    };
    let (known, unknown) = (missed(&nodes(40)), missed(&[]));
    assert!(known <= 20 && unknown > 2 * known, "of 400: {known} with nodes, {unknown} without");
}

#[test]
fn one_node_or_one_round_on_each_changes_nothing() {
    let rows = in_turn(24, 0.6, 5);
    let plain = Field::new(&rows, &question());
    let one = vec![Some(0); 24];
    let each: Vec<Option<usize>> = (0..24).map(Some).collect();
    for nodes in [&[][..], &one, &each] {
        let field = Field::new(&rows, &question()).with_nodes(nodes);
        assert!(field.dependence_within().is_none());
        assert_eq!(field.pair(1, 0).low(0.01), plain.pair(1, 0).low(0.01));
    }
    // Both orders count: nothing gets narrower.
    let both = Field::new(&rows, &question()).with_nodes(&nodes(24)).pair(1, 0);
    assert!(both.low(0.01) <= plain.pair(1, 0).low(0.01));
}

/// That a stack is slower on one node than on the other is no spell.
#[test]
fn nodes_that_differ_are_no_dependent_rounds() {
    let mut rows = in_turn(40, 0.0, 8);
    for (round, value) in rows[1].iter_mut().enumerate() {
        if let Observed::Value(value) = value {
            *value *= if round % NODES == 0 { 1.5 } else { 1.0 };
        }
    }
    let field = Field::new(&rows, &question()).with_nodes(&nodes(40));
    let within = field.dependence_within().unwrap();
    assert!(within.correlation.unwrap() < 0.2, "{within:?}");
}
