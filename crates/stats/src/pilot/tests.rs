use super::*;
use crate::field::Observed;
use crate::question::{Better, Question};
use crate::race::Race;
use crate::rng::seeded;

fn question() -> Question {
    Question::new(Better::Lower, 0.02, 0.95)
}

fn pilot_trials(seed: u64, stacks: &[usize], rounds: usize, spread: f64) -> Vec<PilotTrial> {
    let mut rng = seeded(seed);
    let mut trials = Vec::new();
    for round in 0..rounds {
        for &stack in stacks {
            let log = 0.2 * stack as f64 + 0.1 * round as f64 + spread * rng.normal();
            trials.push(PilotTrial { stack, round, value: Some(log.exp()), seconds: 10.0 });
        }
    }
    trials
}

#[test]
fn a_pilot_covers_every_value_of_every_axis() {
    for sizes in [vec![6, 4, 4, 2], vec![4, 3, 4, 1], vec![2], vec![1, 1]] {
        let design = Design::product(&sizes);
        let chosen = pilot_stacks(&design);
        for (axis, &size) in sizes.iter().enumerate() {
            for level in 0..size {
                assert!(chosen.iter().any(|s| design.level(*s, axis) == level));
            }
        }
        let largest = sizes.iter().max().copied().unwrap();
        assert!(chosen.len() <= largest.max(2), "{sizes:?}: {chosen:?}");
    }
    assert_eq!(pilot_stacks(&Design::unstructured(9)), vec![0, 1]);
    assert_eq!(pilot_stacks(&Design::unstructured(1)), vec![0]);
    assert!(pilot_stacks(&Design::unstructured(0)).is_empty());
}

#[test]
fn spread_is_measured_inside_rounds() {
    let design = Design::unstructured(6);
    let stacks: Vec<usize> = (0..6).collect();
    let runs = 400;
    let mut squares = 0.0;
    for seed in 0..runs {
        let pilot = evaluate(&design, &pilot_trials(seed, &stacks, 2, 0.05));
        squares += pilot.spread.unwrap().powi(2) / runs as f64;
    }
    assert!((squares.sqrt() - 0.05).abs() < 0.003, "{squares}");
}

#[test]
fn too_small_a_pilot_has_no_spread_but_times() {
    let design = Design::unstructured(4);
    let one_round = evaluate(&design, &pilot_trials(1, &[0, 1], 1, 0.05));
    assert_eq!(one_round.spread, None);
    for seconds in one_round.seconds {
        assert!((seconds - 10.0).abs() < 1e-6);
    }
    let one_stack = evaluate(&design, &pilot_trials(1, &[0], 3, 0.05));
    assert_eq!(one_stack.spread, None);
    assert!(evaluate(&design, &[]).seconds.is_empty());
    let mut failed = pilot_trials(1, &[0, 1, 2], 2, 0.05);
    failed[0].value = None;
    assert!(evaluate(&design, &failed).spread.is_some(), "the two complete stacks are enough");
}

#[test]
fn times_follow_the_axes() {
    let design = Design::product(&[3, 2]);
    let seconds = |stack: usize| {
        10.0 * [1.0, 2.0, 4.0][design.level(stack, 0)] * [1.0, 1.1][design.level(stack, 1)]
    };
    let trials: Vec<PilotTrial> = [0, 3, 4, 0, 3, 4]
        .iter()
        .enumerate()
        .map(|(i, &stack)| PilotTrial {
            stack,
            round: i / 3,
            value: Some(1.0),
            seconds: seconds(stack),
        })
        .collect();
    let pilot = evaluate(&design, &trials);
    let predicted: f64 = 10.0 * pilot.seconds.iter().sum::<f64>();
    let actual: f64 = (0..6).map(|s| 10.0 * seconds(s)).sum();
    assert!((predicted / actual - 1.0).abs() < 0.1, "{predicted} {actual}");
}

#[test]
fn the_screen_is_predicted_trial_for_trial() {
    for stacks in [1, 8, 9, 48, 192, 480] {
        let config = RaceConfig::new(question());
        let mut race = Race::new(Design::unstructured(stacks), config.clone()).unwrap();
        let mut ran = Vec::new();
        while let Some(plan) = race.next_round() {
            if plan.is_final {
                break;
            }
            ran.push(plan.stacks.len());
            let values: Vec<_> =
                plan.stacks.iter().map(|&s| (s, Observed::Value(1.0 + s as f64 * 0.01))).collect();
            race.record(&values).unwrap();
        }
        assert_eq!(screen_rounds(stacks, &config), ran);
    }
}
