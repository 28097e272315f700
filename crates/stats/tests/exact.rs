//! Values without any noise, as a virtual disk gives them: exact answers, never NaN.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test stops at the first surprise")]

use seekwell_stats::axis::axes;
use seekwell_stats::checks::{Trial, check};
use seekwell_stats::design::Design;
use seekwell_stats::field::{Field, Observed};
use seekwell_stats::pilot::{PilotTrial, evaluate, pilot_stacks};
use seekwell_stats::race::{Race, RaceConfig};
use seekwell_stats::{Better, Finding, Question, compare};

fn question() -> Question {
    Question { exact: true, ..Question::new(Better::Lower, 0.02, 0.95) }
}

fn race_config() -> RaceConfig {
    RaceConfig { horizon: Some(40), ..RaceConfig::new(question()) }
}

/// Seconds of the stacks of a 6 × 4 design: the first axis alone matters.
fn seconds(stack: usize) -> f64 {
    [1.0, 1.0, 1.3, 1.5, 2.0, 4.0][stack / 4]
}

#[test]
fn equal_numbers_are_an_exact_tie_and_unequal_ones_an_exact_difference() {
    let rounds = |value: f64| vec![Some(value); 6];
    for value in [1e-9, 0.1, 3.0, 7e11] {
        let tie = compare(&[rounds(value), rounds(value)], &question()).unwrap();
        assert_eq!(tie.finding, Finding::Tie { set: vec![0, 1], not_better: vec![] });
        let ratio = tie.rows[1].joint.unwrap();
        assert_eq!((ratio.low, ratio.centre, ratio.high), (1.0, 1.0, 1.0));
        let apart = compare(&[rounds(2.0 * value), rounds(value)], &question()).unwrap();
        assert_eq!(apart.finding, Finding::Winner { stack: 1 });
        let ratio = apart.rows[0].ratio.unwrap();
        assert!((ratio.low - 2.0).abs() < 1e-12 && ratio.low == ratio.high);
        assert_eq!((tie.loss, apart.loss), (Some(0.0), Some(0.0)));
    }
}

#[test]
fn an_exact_difference_that_does_not_matter_is_a_tie_and_none_at_all_with_tie_width_zero() {
    let values = [vec![Some(1.0); 6], vec![Some(1.01); 6]];
    let tie = compare(&values, &question()).unwrap().finding;
    assert_eq!(tie, Finding::Tie { set: vec![0, 1], not_better: vec![] });
    let strict = Question { tie_width: 0.0, ..question() };
    assert_eq!(compare(&values, &strict).unwrap().finding, Finding::Winner { stack: 0 });
}

#[test]
fn a_race_of_exact_stacks_ends_at_its_first_look() {
    let mut race = Race::new(Design::product(&[6, 4]), race_config()).unwrap();
    while let Some(plan) = race.next_round() {
        let values: Vec<_> =
            plan.stacks.iter().map(|&s| (s, Observed::Value(seconds(s)))).collect();
        race.record(&values).unwrap();
    }
    let outcome = race.outcome();
    assert_eq!(outcome.finding, Finding::Tie { set: (0..8).collect(), not_better: vec![] });
    assert_eq!((outcome.looked_at, outcome.screening_risk), (6, 0.0));
    assert_eq!(outcome.dropped.len(), 16);
    for gone in &outcome.dropped {
        let ratio = gone.ratio.unwrap();
        let truth = seconds(gone.stack);
        assert!(ratio.low <= ratio.high && (ratio.centre / truth - 1.0).abs() < 0.01, "{ratio:?}");
    }
    let estimates = race.estimates();
    assert!(estimates.iter().flatten().all(|e| e.worse.is_finite() && e.error.is_finite()));
}

#[test]
fn a_race_of_one_number_is_a_tie_of_the_finalists() {
    let mut race = Race::new(Design::unstructured(40), race_config()).unwrap();
    while let Some(plan) = race.next_round() {
        race.record(&plan.stacks.iter().map(|&s| (s, Observed::Value(0.25))).collect::<Vec<_>>())
            .unwrap();
    }
    let Finding::Tie { set, not_better } = race.outcome().finding else { panic!("not a tie") };
    assert_eq!((set.len(), not_better.len()), (8, 0));
}

#[test]
fn checks_of_a_run_without_noise_speak_up_about_nothing() {
    let trials: Vec<Trial> = (0..8)
        .flat_map(|round| (0..4).map(move |position| (round, position)))
        .map(|(round, position)| {
            let stack = (round + position) % 4;
            Trial { stack, round, position, value: 1.0 + stack as f64 }
        })
        .collect();
    let found = check(&trials);
    for trend in [found.drift, found.order].into_iter().flatten() {
        assert!(!trend.detected() && !trend.p.is_nan(), "{trend:?}");
        assert!((trend.change.centre - 1.0).abs() < 1e-9);
    }
    assert!(found.carry_over.is_none_or(|c| !c.detected() && !c.p.is_nan()), "{found:?}");
    assert!(found.dependence_p.is_none_or(|p| !p.is_nan()));
}

#[test]
fn axes_and_pilots_are_exact() {
    let values: Vec<Vec<Option<f64>>> = (0..24).map(|s| vec![Some(seconds(s)); 6]).collect();
    let design = Design::product(&[6, 4]);
    let values: Vec<Vec<Observed>> =
        values.iter().map(|row| row.iter().map(|value| Observed::run(*value)).collect()).collect();
    let is_out: Vec<bool> = (0..24).map(|stack| seconds(stack) > 1.0).collect();
    let found = axes(&design, &Field::new(&values, &question()), &is_out, &question());
    assert!((found[0].out.last().unwrap().ratio.centre - 4.0).abs() < 1e-6);
    assert_eq!(found[1].within(), Some(1.0));
    let trials: Vec<PilotTrial> = (0..2)
        .flat_map(|round| pilot_stacks(&design).into_iter().map(move |stack| (round, stack)))
        .map(|(round, stack)| PilotTrial {
            stack,
            round,
            value: Some(seconds(stack)),
            seconds: 2.0,
        })
        .collect();
    let pilot = evaluate(&design, &trials);
    assert!(pilot.spread.is_none_or(|spread| spread < 1e-9));
    assert!(pilot.seconds.iter().all(|s| (s - 2.0).abs() < 1e-6));
}
