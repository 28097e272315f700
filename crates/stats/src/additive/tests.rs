use super::*;
use crate::rng::seeded;

#[test]
fn complete_rounds_give_centred_means() {
    let logs = vec![
        vec![Some(1.0), Some(5.0), Some(3.0)],
        vec![Some(2.0), Some(7.0), Some(3.0)],
        vec![Some(0.0), Some(3.0), Some(3.0)],
    ];
    let effects: Vec<f64> = stack_effects(&logs).into_iter().map(Option::unwrap).collect();
    // Stack means 3, 4, 2 about their mean 3.
    for (effect, expected) in effects.iter().zip([0.0, 1.0, -1.0]) {
        assert!((effect - expected).abs() < 1e-12);
    }
}

#[test]
fn holes_do_not_bias_an_additive_truth() {
    let mut rng = seeded(5);
    let truth = [0.0, 0.3, -0.2, 0.7];
    let logs: Vec<Vec<Option<f64>>> = truth
        .iter()
        .map(|s| (0..9).map(|r| (rng.uniform() < 0.7).then_some(s + f64::from(r) * 0.5)).collect())
        .collect();
    let effects: Vec<f64> = stack_effects(&logs).into_iter().map(Option::unwrap).collect();
    for (effect, expected) in effects.iter().zip(truth) {
        assert!((effect - (expected - 0.2)).abs() < 1e-9, "{effects:?}");
    }
}

#[test]
fn a_stack_without_values_has_no_effect() {
    let logs = vec![vec![None, None], vec![Some(1.0), Some(2.0)]];
    assert_eq!(stack_effects(&logs), vec![None, Some(0.0)]);
    assert!(stack_effects(&[]).is_empty());
}
