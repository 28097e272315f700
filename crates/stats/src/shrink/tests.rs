use super::*;
use crate::rng::seeded;

#[test]
fn a_common_offset_per_round_changes_nothing() {
    let design = Design::product(&[3, 4]);
    let mut rng = seeded(1);
    let rounds: Vec<Round> =
        (0..3).map(|_| (0..12).map(|s| (s, 0.1 * rng.normal())).collect()).collect();
    let moved: Vec<Round> = rounds
        .iter()
        .enumerate()
        .map(|(r, round)| round.iter().map(|(s, v)| (*s, v + 5.0 * r as f64)).collect())
        .collect();
    for (a, b) in estimate(&design, &rounds, None).iter().zip(estimate(&design, &moved, None)) {
        let (a, b) = (a.unwrap(), b.unwrap());
        assert!((a.worse - b.worse).abs() < 1e-9 && (a.error - b.error).abs() < 1e-9);
    }
}

#[test]
fn one_trial_each_is_carried_by_the_axes() {
    // Without interactions, the additive model knows more than the single trial.
    let design = Design::product(&[6, 4, 4]);
    let mut rng = seeded(2);
    let truth: Vec<f64> = (0..96)
        .map(|s| 0.2 * design.level(s, 0) as f64 + 0.05 * design.level(s, 1) as f64)
        .collect();
    let round: Round = (0..96).map(|s| (s, truth[s] + 0.1 * rng.normal())).collect();
    let found = estimate(&design, std::slice::from_ref(&round), None);
    let centre = |values: &[f64]| {
        let m = mean(values).unwrap();
        values.iter().map(|v| v - m).collect::<Vec<f64>>()
    };
    let square = |values: Vec<f64>| {
        let error = centre(&values).into_iter().zip(centre(&truth)).map(|(a, b)| (a - b).powi(2));
        error.sum::<f64>()
    };
    let shrunk = square(found.iter().map(|e| e.unwrap().worse).collect());
    let raw = square(round.iter().map(|(_, v)| *v).collect());
    assert!(shrunk < 0.4 * raw, "{shrunk} {raw}");
}

#[test]
fn many_trials_are_believed() {
    // A strong interaction: one stack is far better than its axes predict.
    let design = Design::product(&[4, 4]);
    let mut rng = seeded(3);
    let rounds: Vec<Round> = (0..20)
        .map(|_| {
            (0..16).map(|s| (s, if s == 5 { -0.5 } else { 0.0 } + 0.02 * rng.normal())).collect()
        })
        .collect();
    let found = estimate(&design, &rounds, None);
    let gap = found[6].unwrap().worse - found[5].unwrap().worse;
    assert!((gap - 0.5).abs() < 0.02, "{gap}");
    assert_eq!(found[5].unwrap().trials, 20);
    assert!((found[5].unwrap().spread - 0.02).abs() < 0.008);
}

#[test]
fn a_stack_without_values_has_no_estimate() {
    let design = Design::unstructured(3);
    let found = estimate(&design, &[vec![(0, 1.0), (2, 2.0)], vec![(0, 1.1), (2, 2.2)]], None);
    assert!(found[0].is_some() && found[1].is_none() && found[2].is_some());
    assert_eq!(estimate(&design, &[], None), vec![None; 3]);
}

#[test]
fn exact_values_stay_finite() {
    let design = Design::product(&[2, 2]);
    let round: Round = vec![(0, 0.0), (1, 0.1), (2, 0.2), (3, 0.3)];
    for estimate in estimate(&design, &[round.clone(), round], None) {
        let estimate = estimate.unwrap();
        assert!(estimate.worse.is_finite() && estimate.error.is_finite());
    }
}

#[test]
fn equal_variances_are_pooled_and_unequal_ones_kept() {
    let mut rng = seeded(4);
    let mut sample = |spread: f64| -> Vec<f64> { (0..5).map(|_| spread * rng.normal()).collect() };
    let equal: Vec<Vec<f64>> = (0..200).map(|_| sample(0.1)).collect();
    let prior = fit_variance_prior(&equal).unwrap();
    assert!((prior.typical / 0.01 - 1.0).abs() < 0.2, "{prior:?}");
    assert!(prior.weight > 20.0, "{prior:?}");
    let mixed: Vec<Vec<f64>> =
        (0..200).map(|k| sample(if k % 4 == 0 { 0.4 } else { 0.05 })).collect();
    let prior = fit_variance_prior(&mixed).unwrap();
    assert!(prior.weight < 3.0, "{prior:?}");
    let (noisy, calm) = (prior.moderated(&mixed[0]), prior.moderated(&mixed[1]));
    assert!(noisy > 4.0 * calm, "{noisy} {calm}");
    assert_eq!(fit_variance_prior(&equal[..2]), None);
    assert_eq!(fit_variance_prior(&vec![vec![1.0]; 9]), None);
}
