use super::*;
use crate::field::Observed;
use crate::rng::seeded;
use proptest::prelude::*;

fn stacks(rows: &[&[f64]]) -> Vec<Vec<Option<f64>>> {
    rows.iter().map(|row| row.iter().copied().map(Some).collect()).collect()
}

fn question(tie: f64) -> Question {
    Question::new(Better::Lower, tie, 0.95)
}

/// A question about a model, whose values are exact.
fn exact(tie: f64) -> Question {
    Question { exact: true, ..question(tie) }
}

/// Rounds of stacks with given effects, spread and a strong common drift.
fn noisy(seed: u64, effects: &[f64], rounds: usize, spread: f64) -> Vec<Vec<Option<f64>>> {
    let mut rng = seeded(seed);
    let mut values = vec![Vec::new(); effects.len()];
    for round in 0..rounds {
        for (stack, effect) in effects.iter().enumerate() {
            let log = effect + 0.1 * round as f64 + spread * rng.normal();
            values[stack].push(Some(log.exp()));
        }
    }
    values
}

#[test]
fn a_clear_difference_has_a_winner_and_its_ratio() {
    let found = compare(&noisy(1, &[0.2, 0.0, 0.4], 8, 0.01), &question(0.02)).unwrap();
    assert_eq!(found.finding, Finding::Winner { stack: 1 });
    assert_eq!(found.baseline, Some(1));
    let ratio = found.rows[0].ratio.unwrap();
    assert!(ratio.contains(0.2f64.exp()), "{ratio:?}");
    assert!((ratio.centre / 0.2f64.exp() - 1.0).abs() < 0.02);
    let joint = found.rows[0].joint.unwrap();
    assert!(joint.low < ratio.low && joint.high > ratio.high);
    assert_eq!(found.rows[0].standing, Standing::Worse);
    assert_eq!(found.rows[1].standing, Standing::Leader);
    assert_eq!(found.loss, Some(0.0));
}

#[test]
fn higher_is_better_turns_the_leader_not_the_ratio() {
    let values = noisy(2, &[0.0, 0.3], 8, 0.01);
    let found = compare(&values, &Question::new(Better::Higher, 0.02, 0.95)).unwrap();
    assert_eq!(found.finding, Finding::Winner { stack: 1 });
    let ratio = found.rows[0].ratio.unwrap();
    assert!((ratio.centre / (-0.3f64).exp() - 1.0).abs() < 0.02, "stack over leader");
    assert!(ratio.low < ratio.centre && ratio.centre < ratio.high);
    let turned = compare(&values, &question(0.02)).unwrap();
    assert_eq!(turned.finding, Finding::Winner { stack: 0 });
}

#[test]
fn five_rounds_never_decide() {
    let values = noisy(3, &[0.0, 1.0], 5, 0.001);
    let found = compare(&values, &question(0.02)).unwrap();
    let Finding::Unresolved { candidates, reason, rounds_needed } = found.finding else {
        panic!("{:?}", found.finding)
    };
    assert_eq!(candidates, vec![0], "what is wholly worse is out");
    assert_eq!(reason, Unresolved::TooFewRounds { have: 5, need: 6 });
    assert_eq!(rounds_needed, Some(6));
    assert!(found.rows[1].ratio.is_some(), "the interval is shown all the same");
    let equal = stacks(&[&[1.0; 5], &[1.0; 5]]);
    assert!(matches!(
        compare(&equal, &exact(0.02)).unwrap().finding,
        Finding::Unresolved { reason: Unresolved::TooFewRounds { have: 5, need: 6 }, .. }
    ));
}

#[test]
fn incomplete_rounds_do_not_count() {
    let mut values = noisy(4, &[0.0, 1.0], 8, 0.001);
    values[0][1] = None;
    values[1][4] = None;
    values[1][6] = None;
    let found = compare(&values, &question(0.02)).unwrap();
    assert_eq!(found.rows[1].rounds, 5);
    assert!(matches!(found.finding, Finding::Unresolved { .. }));
}

#[test]
fn zero_variance_is_an_exact_tie_or_an_exact_difference() {
    let tie = compare(&stacks(&[&[3.0; 6], &[3.0; 6]]), &exact(0.0)).unwrap();
    assert_eq!(tie.finding, Finding::Tie { set: vec![0, 1], not_better: vec![] });
    let ratio = tie.rows[1].ratio.unwrap();
    assert_eq!((ratio.low, ratio.centre, ratio.high), (1.0, 1.0, 1.0));

    let values = stacks(&[&[3.0; 6], &[2.0; 6]]);
    let winner = compare(&values, &exact(0.02)).unwrap();
    assert_eq!(winner.finding, Finding::Winner { stack: 1 });
    let ratio = winner.rows[0].joint.unwrap();
    assert!((ratio.low - 1.5).abs() < 1e-15 && ratio.low == ratio.high);

    // Small but exact: inside the stated width it does not matter, and is called a tie.
    let small = compare(&stacks(&[&[1.0; 6], &[1.01; 6]]), &exact(0.02)).unwrap();
    assert_eq!(small.finding, Finding::Tie { set: vec![0, 1], not_better: vec![] });
}

#[test]
fn equal_stacks_with_little_noise_tie() {
    let found = compare(&noisy(5, &[0.0, 0.0, 0.0, 0.5], 40, 0.01), &question(0.02)).unwrap();
    let Finding::Tie { mut set, not_better } = found.finding else { panic!("{:?}", found.finding) };
    assert_eq!(Some(set[0]), found.baseline, "the leader comes first");
    set.sort_unstable();
    assert_eq!(set, vec![0, 1, 2]);
    assert_eq!(not_better, Vec::<usize>::new());
    assert_eq!(found.rows[3].standing, Standing::Worse);
}

#[test]
fn not_better_is_neither_beaten_nor_tied() {
    // The second stack scatters widely above the first: it may be equal, may be 6 % worse, but
    // cannot be 2 % better.
    let base = [0.0; 10];
    let spread = [0.09, -0.02, 0.07, 0.00, 0.05, 0.08, -0.01, 0.02, 0.03, 0.00];
    let values = stacks(&[
        &base.map(|v: f64| v.exp()),
        &spread.map(|v: f64| v.exp()),
        &base.map(|v: f64| (v + 0.001).exp()),
    ]);
    let found = compare(&values, &exact(0.02)).unwrap();
    assert_eq!(found.finding, Finding::Tie { set: vec![0, 2], not_better: vec![1] });
}

#[test]
fn much_noise_is_not_resolved_and_says_how_much_more() {
    let found = compare(&noisy(6, &[0.0, 0.0], 6, 0.1), &question(0.02)).unwrap();
    let Finding::Unresolved { candidates, reason, rounds_needed } = found.finding else {
        panic!("{:?}", found.finding)
    };
    assert_eq!(candidates.len(), 2);
    assert_eq!(reason, Unresolved::TooWide);
    let rounds = rounds_needed.unwrap();
    assert!((7..5000).contains(&rounds), "{rounds}");
}

#[test]
fn a_stack_without_values_takes_no_part() {
    let mut values = noisy(7, &[0.0, 0.5, 0.0], 8, 0.01);
    values[2] = vec![None; 8];
    let found = compare(&values, &question(0.02)).unwrap();
    assert_eq!(found.finding, Finding::Winner { stack: 0 });
    assert_eq!(found.rows[2].standing, Standing::Absent);
    assert_eq!(found.rows[2].ratio, None);
}

#[test]
fn one_stack_or_none_has_no_verdict() {
    let none = compare(&[vec![None; 8]], &question(0.02)).unwrap();
    assert_eq!(none.baseline, None);
    assert!(matches!(none.finding, Finding::Unresolved { reason: Unresolved::NoData, .. }));
    let empty = compare(&[], &question(0.02)).unwrap();
    assert!(matches!(empty.finding, Finding::Unresolved { reason: Unresolved::NoData, .. }));
    let one = compare(&stacks(&[&[1.0; 8]]), &question(0.02)).unwrap();
    assert!(matches!(one.finding, Finding::Unresolved { reason: Unresolved::OneStack, .. }));
}

#[test]
fn bad_input_is_refused_in_words() {
    let uneven = compare(&stacks(&[&[1.0], &[1.0, 2.0]]), &question(0.02)).unwrap_err();
    assert_eq!(uneven, PairedError::RoundCount { stack: 1, found: 2, expected: 1 });
    for (tie, confidence) in [(0.02, 1.0), (0.02, 0.0), (-0.1, 0.95), (f64::NAN, 0.95)] {
        let bad = Question::new(Better::Lower, tie, confidence);
        assert!(matches!(compare(&[], &bad), Err(PairedError::Question { .. })));
    }
}

#[test]
fn what_is_no_positive_number_is_a_failed_trial_and_spoils_nothing() {
    let mut values = noisy(8, &[0.0, 0.5], 16, 0.01);
    for (round, odd) in [(3, 0.0), (9, f64::NAN)] {
        values[1][round] = Some(odd);
    }
    let found = compare(&values, &question(0.02)).unwrap();
    assert_eq!((found.rows[1].rounds, found.rows[1].failed), (14, 2));
    assert_eq!(found.finding, Finding::Winner { stack: 0 });
}

#[test]
fn a_stack_whose_slow_trials_fail_does_not_win_on_the_rest() {
    // Truly equal; the slowest third of the first one's trials time out.
    let (mut named, mut open) = (0, 0);
    for seed in 0..200 {
        let mut values = noisy(seed, &[0.0, 0.0], 20, 0.1);
        let mut rng = seeded(seed);
        for (round, value) in values[0].iter_mut().enumerate() {
            let noise = 0.1 * rng.normal();
            *value = (noise < 0.043).then(|| (0.1 * round as f64 + noise - 0.08).exp());
        }
        let found = compare(&values, &question(0.02)).unwrap();
        named += usize::from(found.finding == Finding::Winner { stack: 0 });
        open += usize::from(matches!(
            found.finding,
            Finding::Unresolved { reason: Unresolved::Failures { .. }, .. }
        ));
    }
    assert_eq!(named, 0);
    assert!(open > 150, "{open}");
}

#[test]
fn values_in_steps_decide_nothing_within_a_step() {
    // Three ticks and four ticks: the truth of each may lie half a tick beside.
    let ticks = stacks(&[&[0.03; 12], &[0.04; 12]]);
    let found = compare(&ticks, &question(0.02)).unwrap();
    assert!(matches!(found.finding, Finding::Unresolved { .. }), "{:?}", found.finding);
    // Ten and twenty are told apart by the same clock.
    let far = stacks(&[&[0.10; 12], &[0.20; 12], &[0.21; 12]]);
    assert_eq!(compare(&far, &question(0.02)).unwrap().finding, Finding::Winner { stack: 0 });
    let same = compare(&stacks(&[&[0.1; 12], &[0.1; 12]]), &question(0.02)).unwrap();
    let reason = Unresolved::Identical;
    assert!(matches!(same.finding, Finding::Unresolved { reason: r, .. } if r == reason));
}

#[test]
fn rounds_for_solves_its_own_inequality() {
    let rounds = rounds_for(0.1, 0.02, 0.05).unwrap();
    let reach = |n: u64| t_quantile_upper(0.025, n as f64 - 1.0) * 0.1 / (n as f64).sqrt();
    assert!(reach(rounds) <= 0.02 && reach(rounds - 1) > 0.02, "{rounds}");
    assert_eq!(rounds_for(0.1, 0.0, 0.05), None);
    assert_eq!(rounds_for(0.1, -1.0, 0.05), None);
    assert_eq!(rounds_for(0.1, 1e-9, 0.05), None);
    assert_eq!(rounds_for(0.0, 0.0, 0.05), Some(2));
    assert_eq!(rounds_for(0.1, f64::NAN, 0.05), None);
}

#[test]
fn identical_stacks_rarely_have_a_winner() {
    let runs = 2000;
    let wrong = (0..runs)
        .filter(|&seed| {
            let found = compare(&noisy(seed, &[0.0, 0.0], 10, 0.05), &question(0.02)).unwrap();
            matches!(found.finding, Finding::Winner { .. })
        })
        .count();
    assert!(wrong as f64 / (runs as f64) <= 0.06, "{wrong} of {runs}");
}

#[test]
fn verdicts_among_close_stacks_are_rarely_wrong() {
    // The leader is picked from the data. Wrong is: a winner that is not the best, or a leader of
    // a tie that is worse than the best by more than the tie width.
    let effects = [0.0, 0.0, 0.021, 0.021, 0.021, 0.05];
    let (mut wrong, mut decided, mut all_right) = (0, 0, 0);
    let runs = 2000;
    for seed in 0..runs {
        let found = compare(&noisy(seed, &effects, 12, 0.012), &question(0.02)).unwrap();
        let leader = found.baseline.unwrap();
        match found.finding {
            Finding::Winner { .. } => {
                decided += 1;
                wrong += 1;
            }
            Finding::Tie { .. } => {
                decided += 1;
                wrong += u32::from(effects[leader] > 0.02);
            }
            Finding::Unresolved { .. } => {}
        }
        all_right += u32::from(found.rows.iter().all(|row| {
            let truth = (effects[row.stack] - effects[leader]).exp();
            row.stack == leader || row.joint.unwrap().contains(truth)
        }));
    }
    assert!(decided > 200, "the case must be decidable: {decided}");
    assert!(f64::from(wrong) / runs as f64 <= 0.05, "{wrong} of {runs}");
    // Both ends of all rows at once: twice the error at most.
    assert!(f64::from(all_right) / runs as f64 >= 0.9, "{all_right} of {runs}");
}

#[test]
fn for_two_stacks_both_intervals_are_the_same() {
    let found = compare(&noisy(9, &[0.0, 0.1], 12, 0.02), &question(0.02)).unwrap();
    let (single, joint) = (found.rows[1].ratio.unwrap(), found.rows[1].joint.unwrap());
    assert!((single.low - joint.low).abs() < 1e-12 && (single.high - joint.high).abs() < 1e-12);
}

proptest! {
    #[test]
    fn a_common_factor_per_round_changes_nothing(
        seed in 0u64..1000,
        factors in proptest::collection::vec(0.1f64..10.0, 8),
    ) {
        let values = noisy(seed, &[0.0, 0.05, 0.1], 8, 0.02);
        let scaled: Vec<Vec<Option<f64>>> = values
            .iter()
            .map(|row| row.iter().zip(&factors).map(|(v, f)| v.map(|v| v * f)).collect())
            .collect();
        let a = compare(&values, &question(0.02)).unwrap();
        let b = compare(&scaled, &question(0.02)).unwrap();
        prop_assert_eq!(a.finding, b.finding);
        for (a, b) in a.rows.iter().zip(&b.rows) {
            let (a, b) = (a.ratio.unwrap(), b.ratio.unwrap());
            prop_assert!((a.low / b.low - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn holes_and_few_rounds_never_panic(
        values in proptest::collection::vec(
            proptest::collection::vec(proptest::option::of(1u8..4), 7), 0..5),
        tie in 0.0f64..0.5,
    ) {
        let values: Vec<Vec<Option<f64>>> = values
            .into_iter()
            .map(|row| row.into_iter().map(|v| v.map(f64::from)).collect())
            .collect();
        let found = compare(&values, &question(tie)).unwrap();
        if let Finding::Winner { stack } = found.finding {
            for row in found.rows.iter().filter(|row| row.stack != stack) {
                let out = matches!(row.standing, Standing::Absent | Standing::Failing);
                prop_assert!(out || row.rounds + row.failed >= 6);
            }
        }
        for row in &found.rows {
            if let Some(ratio) = row.ratio {
                prop_assert!(ratio.low >= 0.0 && ratio.low <= ratio.high);
            }
        }
    }
}

proptest! {
    #[test]
    fn rounds_for_equals_counting_up(
        spread in 0.0f64..0.3,
        room in 0.01f64..0.2,
        error in 1e-4f64..0.5,
    ) {
        let enough = |rounds: u64| {
            let n = rounds as f64;
            t_quantile_upper(0.5 * error, n - 1.0) * spread / n.sqrt() <= room
        };
        prop_assert_eq!(rounds_for(spread, room, error), (2..1_000_000).find(|n| enough(*n)));
    }
}

#[test]
fn what_is_wholly_worse_is_not_still_possible() {
    let mut seen = 0;
    for seed in 0..200 {
        let values = noisy(seed, &[0.0, 0.0, 0.4], 8, 0.03);
        let found = compare(&values, &question(0.02)).unwrap();
        let Finding::Unresolved { candidates, .. } = &found.finding else { continue };
        for row in &found.rows {
            let low = row.joint.map_or(0.0, |joint| joint.low);
            let possible = candidates.contains(&row.stack);
            assert!(possible || low > 1.0, "seed {seed}: {row:?}");
            assert!(!(possible && low > 1.0), "seed {seed}: {row:?}");
            seen += usize::from(low > 1.0);
        }
    }
    assert!(seen > 10, "{seen}");
}

/// The promise of the answer: 95 of 100 bounds hold, whichever stack was picked.
#[test]
fn the_loss_bound_holds_as_often_as_it_says() {
    let effects = [0.0, 0.005, 0.02, 0.03, 0.05, 0.3];
    let (mut missed, mut bounds) = (0, vec![]);
    let runs = 1000;
    for seed in 0..runs {
        let found = compare(&noisy(seed, &effects, 10, 0.05), &question(0.02)).unwrap();
        let loss = found.loss.unwrap();
        missed += u32::from(effects[found.baseline.unwrap()] > loss.ln_1p());
        bounds.push(loss);
    }
    assert!(f64::from(missed) / runs as f64 <= 0.05, "{missed} of {runs}");
    bounds.sort_by(f64::total_cmp);
    // A bound that is never missed because it is useless would pass, too.
    assert!((0.02..0.08).contains(&bounds[500]), "{}", bounds[500]);
}

#[test]
fn the_bound_does_not_depend_on_the_tie() {
    let values = noisy(3, &[0.0, 0.02, 0.3], 10, 0.05);
    let bound = |tie| compare(&values, &question(tie)).unwrap().loss;
    assert_eq!(bound(0.01), bound(0.2));
}

#[test]
fn doubtful_trials_leave_no_certificate_and_no_stack_out() {
    let mut values: Vec<Vec<Observed>> = noisy(4, &[0.0, 0.5, 0.6], 8, 0.01)
        .iter()
        .map(|row| row.iter().map(|value| Observed::run(*value)).collect())
        .collect();
    values[2] = vec![Observed::Doubtful; 8];
    let share = ErrorShare { error: 0.05, stacks: 3 };
    let found = compare_on_nodes(&values, &question(0.02), share, &[]).unwrap();
    assert_eq!((found.baseline, found.loss, found.rival), (Some(0), None, Some(2)));
    assert!(matches!(
        found.finding,
        Finding::Unresolved { reason: Unresolved::Doubtful { stack: 2, doubtful: 8, of: 8 }, .. }
    ));
}

#[test]
fn failures_that_could_change_the_choice_leave_no_bound() {
    let mut values = noisy(4, &[0.0, 0.5], 20, 0.01);
    for round in [1, 5, 9, 13] {
        values[1][round] = None;
    }
    let found = compare(&values, &question(0.02)).unwrap();
    assert_eq!(found.loss, Some(0.0), "four of twenty count as the best result anybody had");
    let mut values = noisy(4, &[0.0, 0.01], 20, 0.01);
    for round in [1, 5, 9, 13, 17] {
        values[0][round] = None;
    }
    let found = compare(&values, &question(0.02)).unwrap();
    assert!(found.loss.is_none_or(|loss| loss > 0.02), "{:?}", found.loss);
}
