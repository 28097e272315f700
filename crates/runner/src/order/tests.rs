use super::*;
use crate::fixture;
use proptest::prelude::*;

#[test]
fn a_round_holds_every_candidate_once_and_rounds_differ_in_order() {
    let orders: Vec<Vec<u32>> = (0..20)
        .map(|round| round_order(7, 12, round).iter().map(|trial| trial.candidate).collect())
        .collect();
    for order in &orders {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..12).collect::<Vec<_>>());
    }
    let distinct: std::collections::BTreeSet<_> = orders.iter().collect();
    assert!(distinct.len() > 15, "orders hardly vary: {distinct:?}");
}

#[test]
fn all_trials_of_a_round_do_the_same_work_and_rounds_do_different_work() {
    let trials: Vec<PlannedTrial> = (0..5).flat_map(|round| round_order(1, 4, round)).collect();
    for trial in &trials {
        let same_round = |other: &&PlannedTrial| other.seed == trial.seed;
        let rounds: Vec<u32> = trials.iter().filter(same_round).map(|other| other.round).collect();
        assert_eq!(rounds, vec![trial.round; 4]);
    }
}

#[test]
fn a_budget_is_turned_into_rounds_and_never_into_fewer_than_can_make_a_winner() {
    let second = Cost { time_ns: 1_000_000_000, written: None };
    assert_eq!(rounds(Effort::Budget(Nanos::seconds(100)), &[second, second]), 50);
    assert_eq!(rounds(Effort::Budget(Nanos::seconds(1)), &[second, second]), FEWEST_ROUNDS);
    assert_eq!(rounds(Effort::Rounds(7), &[second]), 7);
}

#[test]
fn too_many_trials_are_refused_with_the_figures_and_the_mend() {
    let error = order(0, 100_000, 11).unwrap_err().to_string();
    for expected in ["100000", "11 rounds", "1100000", "shorten an axis"] {
        assert!(error.contains(expected), "{error}");
    }
}

fn raced(filesystems: u32, schedulers: u32, effort: Effort) -> PlannedRace {
    let plan = fixture::race(filesystems, schedulers, |lab| {
        lab.judge.method = Method::Auto;
        lab.judge.effort = effort;
    });
    plan.race.unwrap()
}

#[test]
fn up_to_twelve_stacks_with_a_budget_start_in_the_final() {
    let minute = Effort::Budget(Nanos::seconds(60));
    for (filesystems, schedulers) in [(2, 1), (3, 3), (4, 3)] {
        let race = raced(filesystems, schedulers, minute);
        assert_eq!((race.pilot_rounds, race.screen.len()), (0, 0), "{race:?}");
        assert_eq!(race.finalists, filesystems * schedulers);
        let first = if race.finalists < 5 { [6, 8, 10] } else { [4, 6, 8] };
        assert_eq!(race.looks[..3], first);
    }
    let more = raced(13, 1, minute);
    assert_eq!((more.pilot_rounds, more.finalists), (PILOT_ROUNDS, 8));
    assert!(!more.screen.is_empty());
    // Without a budget nothing says when to stop a final of more than eight.
    assert_eq!(raced(3, 3, Effort::Rounds(80)).pilot_rounds, PILOT_ROUNDS);
}

proptest! {
    #[test]
    fn a_longer_plan_begins_with_the_shorter_one(seed: u64, candidates in 1_u64..40, rounds in 1_u32..20) {
        let short = order(seed, candidates, rounds).unwrap();
        let long = order(seed, candidates, rounds + 1).unwrap();
        prop_assert_eq!(&long[..short.len()], &short[..]);
        let indices: Vec<u32> = long.iter().map(|trial| trial.index).collect();
        prop_assert_eq!(indices, (0..long.len() as u32).collect::<Vec<_>>());
    }
}
