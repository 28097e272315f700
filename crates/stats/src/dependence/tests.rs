use super::*;
use crate::rng::seeded;

/// Residuals of stacks whose rounds have this correlation.
fn series(stacks: usize, rounds: usize, rho: f64, seed: u64) -> Vec<Vec<Option<f64>>> {
    let mut rng = seeded(seed);
    let row = |_| {
        let mut value = rng.normal();
        let next = |_| {
            value = rho * value + (1.0 - rho * rho).sqrt() * rng.normal();
            Some(value)
        };
        (0..rounds).map(next).collect()
    };
    (0..stacks).map(row).collect()
}

#[test]
fn the_correlation_of_long_series_is_found() {
    for rho in [0.0, 0.3, 0.6] {
        let found = estimate(&series(9, 400, rho, 5));
        assert!((found.correlation.unwrap() - rho).abs() < 0.05, "{rho}: {found:?}");
    }
}

#[test]
fn short_series_are_not_biased_much() {
    for (rho, rounds) in [(0.0, 6), (0.0, 14), (0.5, 14), (0.5, 20)] {
        let found =
            (0..400).map(|seed| estimate(&series(4, rounds, rho, seed)).correlation.unwrap());
        let mean = found.sum::<f64>() / 400.0;
        assert!((mean - rho).abs() < 0.12, "{rho} in {rounds} rounds: {mean}");
    }
}

#[test]
fn few_rounds_are_allowed_more() {
    let margin = |rounds| {
        let found = estimate(&series(2, rounds, 0.6, 3));
        found.assumed - found.correlation.unwrap()
    };
    assert!(margin(20) > margin(100));
}

#[test]
fn the_inflation_of_an_autoregressive_mean_is_the_known_one() {
    assert_eq!(Dependence::default().inflation(20), 1.0);
    let half = Dependence { correlation: Some(0.5), assumed: 0.5 };
    // (1 + rho) / (1 - rho) of many.
    assert!((half.inflation(100_000) - 3.0).abs() < 1e-3);
    assert!((half.freedom() - 0.6).abs() < 1e-12);
}

#[test]
fn nothing_is_known_of_two_rounds() {
    assert_eq!(estimate(&series(3, 2, 0.9, 1)), Dependence::default());
}

#[test]
fn rounds_of_several_nodes_are_series_of_their_own() {
    let calm: Vec<usize> = (0..40).step_by(2).collect();
    let rough: Vec<usize> = (1..40).step_by(2).collect();
    let one = series(6, 20, 0.7, 2);
    let other = series(6, 20, 0.7, 9);
    let mixed: Vec<Vec<Option<f64>>> = (0..6)
        .map(|stack| (0..20).flat_map(|round| [one[stack][round], other[stack][round]]).collect())
        .collect();
    let found = estimate_series(&mixed, &[calm, rough]).correlation.unwrap();
    let plain = estimate(&mixed).correlation.unwrap();
    assert!(found > 0.45 && plain < 0.25, "{found} {plain}");
}
