use super::*;
use crate::paired::Standing;
use crate::rng::{Rng, seeded};
use proptest::prelude::*;

fn config() -> RaceConfig {
    let question = Question::new(Better::Lower, 0.02, 0.95);
    RaceConfig { horizon: Some(40), ..RaceConfig::new(question) }
}

/// Runs a race over a scripted laboratory: log effect and spread of each stack.
fn run(race: &mut Race, rng: &mut Rng, effects: &[f64], spread: f64) {
    while let Some(plan) = race.next_round() {
        record(race, &plan, rng, effects, spread);
    }
}

fn record(race: &mut Race, plan: &RoundPlan, rng: &mut Rng, effects: &[f64], spread: f64) {
    let drift = 0.05 * plan.round as f64;
    let values: Vec<(usize, Observed)> = plan
        .stacks
        .iter()
        .map(|&stack| {
            (stack, Observed::Value((effects[stack] + drift + spread * rng.normal()).exp()))
        })
        .collect();
    race.record(&values).unwrap();
}

#[test]
fn few_stacks_go_straight_to_the_final_and_are_placed() {
    let mut race = Race::new(Design::unstructured(3), config()).unwrap();
    let Some(plan) = race.next_round() else { panic!("over before it began") };
    assert!(plan.is_final);
    assert_eq!(race.next_round(), Some(plan), "asking changes nothing");
    run(&mut race, &mut seeded(1), &[0.12, 0.0, 0.6], 0.03);
    let outcome = race.outcome();
    assert_eq!(outcome.finding, Finding::Winner { stack: 1 });
    assert_eq!(outcome.best_guess, Some(1));
    assert_eq!(outcome.screening_risk, 0.0);
    let far = outcome.dropped.iter().find(|gone| gone.stack == 2).unwrap();
    assert!(matches!(far.reason, DropReason::WorseThanLeader { .. }), "{far:?}");
    assert!(far.ratio.unwrap().contains(0.6f64.exp()));
}

#[test]
fn a_large_field_is_halved_and_every_loser_listed() {
    let design = Design::product(&[6, 4, 2]);
    let mut rng = seeded(2);
    let effects: Vec<f64> = (0..48)
        .map(|s| 0.1 * design.level(s, 0) as f64 + 0.03 * design.level(s, 1) as f64)
        .collect();
    let mut race = Race::new(design, config()).unwrap();
    let mut sizes = Vec::new();
    while let Some(plan) = race.next_round() {
        if plan.is_final {
            break;
        }
        sizes.push(plan.stacks.len());
        record(&mut race, &plan, &mut rng, &effects, 0.02);
    }
    assert_eq!(sizes, vec![48, 24, 12]);
    let outcome = race.outcome();
    assert_eq!(outcome.dropped.len(), 40);
    assert_eq!(outcome.trials, 84);
    assert!(matches!(
        outcome.finding,
        Finding::Unresolved { reason: Unresolved::TooFewRounds { have: 0, need: 4 }, .. }
    ));
    for gone in &outcome.dropped {
        assert!(matches!(gone.reason, DropReason::NotInBetterHalf { .. }));
        assert!(gone.ratio.unwrap().centre > 1.0);
        assert!(gone.trials > 0);
    }
    run(&mut race, &mut rng, &effects, 0.02);
    // Two stacks are truly equal and best (the last axis does nothing).
    assert!(effects[race.outcome().best_guess.unwrap()] < 0.02);
}

#[test]
fn large_fields_are_decided() {
    let mut decided = 0;
    for seed in 0..8 {
        let design = Design::product(&[6, 4, 2]);
        let effects: Vec<f64> = (0..48)
            .map(|s| 0.1 * design.level(s, 0) as f64 + 0.03 * design.level(s, 1) as f64)
            .collect();
        let mut race = Race::new(design, config()).unwrap();
        run(&mut race, &mut seeded(seed), &effects, 0.02);
        let outcome = race.outcome();
        assert!(effects[outcome.best_guess.unwrap()] < 0.02);
        decided += usize::from(!matches!(outcome.finding, Finding::Unresolved { .. }));
    }
    assert!(decided >= 7, "{decided} of 8");
}

#[test]
fn identical_stacks_end_in_a_tie() {
    for seed in 0..20 {
        let mut race = Race::new(Design::unstructured(4), config()).unwrap();
        run(&mut race, &mut seeded(seed), &[0.0; 4], 0.01);
        let Finding::Tie { set, not_better } = race.outcome().finding else {
            panic!("{:?}", race.outcome().finding)
        };
        assert_eq!(set.len() + not_better.len(), 4);
    }
}

#[test]
fn exact_values_need_one_look() {
    let mut exact = config();
    exact.question.exact = true;
    let mut race = Race::new(Design::unstructured(2), exact).unwrap();
    while let Some(plan) = race.next_round() {
        let values: Vec<_> = plan
            .stacks
            .iter()
            .map(|&s| (s, Observed::Value(if s == 0 { 2.0 } else { 2.5 })))
            .collect();
        race.record(&values).unwrap();
    }
    let outcome = race.outcome();
    assert_eq!(outcome.finding, Finding::Winner { stack: 0 });
    assert_eq!(outcome.rounds, 6);
    assert!((outcome.dropped[0].ratio.unwrap().low - 1.25).abs() < 1e-12);
}

#[test]
fn the_same_values_give_the_same_race() {
    let effects: Vec<f64> = (0..20).map(|s| 0.01 * f64::from(s)).collect();
    let run_all = || {
        let mut race = Race::new(Design::unstructured(20), config()).unwrap();
        let mut plans = Vec::new();
        let mut rng = seeded(5);
        while let Some(plan) = race.next_round() {
            record(&mut race, &plan, &mut rng, &effects, 0.03);
            plans.push(plan);
        }
        (plans, race.outcome())
    };
    assert_eq!(run_all(), run_all());
}

#[test]
fn an_interruption_keeps_the_last_look_and_a_spent_budget_holds_one() {
    let prepare = || {
        let mut race = Race::new(Design::unstructured(2), config()).unwrap();
        let mut rng = seeded(6);
        for _ in 0..7 {
            let Some(plan) = race.next_round() else { panic!("over too early") };
            record(&mut race, &plan, &mut rng, &[0.0, 0.1], 0.05);
        }
        race
    };
    let mut interrupted = prepare();
    interrupted.stop(Stop::Interrupted).unwrap();
    assert_eq!(interrupted.next_round(), None);
    assert_eq!(interrupted.outcome().looked_at, 6);
    assert!(matches!(interrupted.outcome().finding, Finding::Unresolved { .. }));
    let mut spent = prepare();
    spent.stop(Stop::Budget).unwrap();
    assert_eq!(spent.outcome().looked_at, 7);
    assert_eq!(spent.record(&[]), Err(RaceError::Over));
    spent.stop(Stop::Budget).unwrap();
    assert_eq!(spent.outcome().looked_at, 7, "stopping twice changes nothing");
}

#[test]
fn a_budget_of_five_rounds_decides_nothing() {
    let mut race = Race::new(Design::unstructured(2), config()).unwrap();
    let mut rng = seeded(6);
    for _ in 0..5 {
        let Some(plan) = race.next_round() else { panic!("over too early") };
        record(&mut race, &plan, &mut rng, &[0.0, 0.5], 0.001);
    }
    race.stop(Stop::Budget).unwrap();
    assert!(matches!(
        race.outcome().finding,
        Finding::Unresolved { reason: Unresolved::TooFewRounds { have: 5, need: 6 }, .. }
    ));
}

#[test]
fn a_failing_stack_is_dropped_and_does_not_block() {
    let mut race = Race::new(Design::unstructured(3), config()).unwrap();
    let mut rng = seeded(7);
    while let Some(plan) = race.next_round() {
        let values: Vec<_> = plan
            .stacks
            .iter()
            .map(|&s| {
                (s, Observed::run((s != 2).then(|| (0.2 * s as f64 + 0.01 * rng.normal()).exp())))
            })
            .collect();
        race.record(&values).unwrap();
    }
    let outcome = race.outcome();
    assert_eq!(outcome.finding, Finding::Winner { stack: 0 });
    let failed = outcome.dropped.iter().find(|d| d.stack == 2).unwrap();
    assert_eq!(failed.reason, DropReason::Failed { failed: 3, of: 3 });
    assert_eq!(failed.ratio, None);
}

#[test]
fn a_stack_that_fails_in_the_screen_is_dropped() {
    let mut race = Race::new(Design::unstructured(20), config()).unwrap();
    let Some(plan) = race.next_round() else { panic!("over too early") };
    let values: Vec<_> = plan
        .stacks
        .iter()
        .map(|&s| (s, Observed::run((s != 3).then_some(1.0 + s as f64))))
        .collect();
    race.record(&values).unwrap();
    let outcome = race.outcome();
    let gone = outcome.dropped.iter().find(|d| d.stack == 3).unwrap();
    assert_eq!(gone.reason, DropReason::Failed { failed: 1, of: 1 });
    assert_eq!(outcome.dropped.len(), 10);
}

#[test]
fn a_field_in_which_everything_fails_ends() {
    let mut race = Race::new(Design::unstructured(20), config()).unwrap();
    let mut rounds = 0;
    while let Some(plan) = race.next_round() {
        race.record(&plan.stacks.iter().map(|&s| (s, Observed::Failed)).collect::<Vec<_>>())
            .unwrap();
        rounds += 1;
    }
    assert_eq!(rounds, 1, "nothing is left to run");
    assert_eq!(race.outcome().dropped.len(), 20);
    assert!(matches!(race.outcome().finding, Finding::Unresolved { .. }));
}

#[test]
fn finalists_that_all_fail_end_the_race() {
    let mut race = Race::new(Design::unstructured(3), config()).unwrap();
    let mut rounds = 0;
    while let Some(plan) = race.next_round() {
        race.record(&plan.stacks.iter().map(|&s| (s, Observed::Failed)).collect::<Vec<_>>())
            .unwrap();
        rounds += 1;
    }
    assert_eq!(rounds, 3);
    assert_eq!(race.outcome().dropped.len(), 3);
}

#[test]
fn settled_stacks_are_not_run_on() {
    // Three stacks: far worse, equal, and noisy enough to stay open.
    let spreads = [0.01, 0.01, 0.01, 0.10];
    let effects = [0.0, 0.5, 0.0, 0.02];
    let mut race = Race::new(Design::unstructured(4), config()).unwrap();
    let mut rng = seeded(10);
    let mut last = Vec::new();
    while let Some(plan) = race.next_round() {
        last.clone_from(&plan.stacks);
        let values: Vec<_> = plan
            .stacks
            .iter()
            .map(|&s| (s, Observed::Value((effects[s] + spreads[s] * rng.normal()).exp())))
            .collect();
        race.record(&values).unwrap();
    }
    assert!(!last.contains(&1) && last.contains(&3), "{last:?}");
    let outcome = race.outcome();
    let row = |stack: usize| outcome.comparison.as_ref().unwrap().rows[stack].clone();
    assert_eq!(row(1).standing, Standing::Worse);
    assert!(row(1).rounds < row(3).rounds.max(row(0).rounds));
}

#[test]
fn wrong_records_are_refused() {
    let mut race = Race::new(Design::unstructured(2), config()).unwrap();
    let error = race.record(&[(0, Observed::Value(1.0))]).unwrap_err();
    assert_eq!(error, RaceError::WrongStacks { round: 0, asked: vec![0, 1], given: vec![0] });
    let twice = race.record(&[(0, Observed::Value(1.0)), (0, Observed::Value(1.0))]).unwrap_err();
    assert!(matches!(twice, RaceError::WrongStacks { .. }));
    assert_eq!(race.outcome().rounds, 0, "a refused round leaves no trace");
    race.record(&[(0, Observed::Value(1.0)), (1, Observed::Value(-1.0))]).unwrap();
    assert_eq!(race.outcome().rounds, 1, "a value without a ratio is a failed trial");
}

#[test]
fn senseless_configurations_are_refused() {
    let refused = |change: fn(&mut RaceConfig)| {
        let mut config = config();
        change(&mut config);
        Race::new(Design::unstructured(4), config).is_err()
    };
    assert!(refused(|c| c.finalists = 1));
    assert!(refused(|c| c.question.confidence = 1.0));
    assert!(!refused(|c| c.horizon = Some(6)));
}

#[test]
fn an_empty_lab_is_over() {
    let race = Race::new(Design::unstructured(0), config()).unwrap();
    assert_eq!(race.next_round(), None);
    assert_eq!(race.outcome().best_guess, None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn every_race_ends_and_accounts_for_every_stack(
        stacks in 1usize..40,
        seed in 0u64..1000,
        fail in 0.0f64..0.3,
    ) {
        let mut race = Race::new(Design::unstructured(stacks), config()).unwrap();
        let mut rng = seeded(seed);
        let mut trials = 0;
        while let Some(plan) = race.next_round() {
            trials += plan.stacks.len();
            let values: Vec<_> = plan
                .stacks
                .iter()
                .map(|&s| {
                    let works = rng.uniform() >= fail;
                    (s, Observed::run(works.then(|| (0.01 * s as f64 + 0.05 * rng.normal()).exp())))
                })
                .collect();
            race.record(&values).unwrap();
            prop_assert!(trials < 100 * stacks + 1000);
        }
        let outcome = race.outcome();
        prop_assert_eq!(outcome.trials, trials);
        let mut gone: Vec<usize> = outcome.dropped.iter().map(|d| d.stack).collect();
        let in_final = outcome.comparison.map_or(vec![], |c| c.rows.iter().map(|r| r.stack).collect());
        gone.extend(in_final);
        gone.sort_unstable();
        gone.dedup();
        prop_assert_eq!(gone, (0..stacks).collect::<Vec<_>>());
    }
}

#[test]
fn an_estimate_is_a_ratio_in_the_direction_of_the_metric() {
    let ratio = |better| {
        let question = Question::new(better, 0.02, 0.95);
        let race = Race::new(Design::unstructured(3), RaceConfig::new(question)).unwrap();
        let estimate = |worse| Some(Estimate { worse, error: 0.03, spread: 0.1, trials: 4 });
        race.ratio(estimate(0.1 + 2.0_f64.ln()), estimate(0.1)).unwrap()
    };
    let Interval { low, centre, high } = ratio(Better::Lower);
    assert!((centre - 2.0).abs() < 1e-9 && low < 2.0 && high > 2.0, "{low} {centre} {high}");
    // 1.96 standard errors of the difference, 0.0424, each way.
    assert!((low - 2.0 * (-0.083_15_f64).exp()).abs() < 1e-3, "{low}");
    assert!((high - 2.0 * 0.083_15_f64.exp()).abs() < 1e-3, "{high}");
    let other = ratio(Better::Higher);
    assert!((other.centre * centre - 1.0).abs() < 1e-9);
    assert!((other.low * high - 1.0).abs() < 1e-9 && (other.high * low - 1.0).abs() < 1e-9);
}
