use super::*;
use crate::fixture;
use crate::question::question;
use seekwell_model::lab::Effort;
use seekwell_model::plan::Prolonged;
use seekwell_model::verdict::METHOD;

/// Two equal stacks whose trials vary so much that no planned look decides.
fn hopeless(rounds: usize) -> Vec<Vec<Observed>> {
    let mut random = seekwell_stats::seeded(5);
    let mut row = || (0..rounds).map(|_| Observed::Value((2.0 * random.normal()).exp())).collect();
    vec![row(), row()]
}

fn ahead(rounds: usize, judged_rounds: u32, method: u32) -> Outlook {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    plan.prolonged = Some(Prolonged { rounds: 0, judged_rounds, judged_trials: 0, method });
    of_rounds(&plan, &hopeless(rounds), 2, &question(&plan), &[]).unwrap()
}

#[test]
fn the_last_look_that_is_planned_ahead_may_be_at_the_horizon() {
    assert_eq!([1, 10, 11, 200].map(horizon), [80, 80, 88, 1_000]);
    // Looks after 20 rounds come at 25, 31 and so on up to 232, eight times 29.
    let last = ahead(29, 20, METHOD);
    assert_eq!(last.rounds, 232);
    assert!(last.probability < 0.8, "{last:?}");
    assert_eq!(ahead(10, 6, 0).rounds, 80);
}

#[test]
fn what_is_done_costs_nothing() {
    let outlook = Outlook { rounds: 20, probability: 0.5 };
    let needed = Needed { rounds: 20, more_ns: 8_000, probability: Some(0.5) };
    assert_eq!(cost(outlook, 12, 1_000), needed);
    assert_eq!(cost(outlook, 30, 1_000), Needed { more_ns: 0, ..needed });
}

#[test]
fn more_rounds_help_against_width_and_too_few_rounds_alone() {
    let comparison = |reason| Comparison {
        baseline: None,
        rows: vec![],
        finding: Finding::Unresolved { candidates: vec![], reason, rounds_needed: None },
        dependence: None,
    };
    let helps = |reason| may_help(&comparison(reason));
    assert!(helps(Unresolved::TooWide) && helps(Unresolved::TooFewRounds { have: 3, need: 6 }));
    assert!(!helps(Unresolved::NoData) && !helps(Unresolved::Identical));
    let won =
        Comparison { finding: Finding::Winner { stack: 0 }, ..comparison(Unresolved::NoData) };
    assert!(!may_help(&won));
}
