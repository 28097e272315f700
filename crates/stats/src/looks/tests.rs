use super::*;
use crate::rng::seeded;
use crate::special::normal_quantile;

#[test]
fn looks_come_a_quarter_apart_for_ever() {
    assert_eq!(up_to(80), vec![6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 64, 80]);
    assert!((2..40).all(|look| rounds_at(look) > rounds_at(look - 1)));
    assert_eq!(held_after(5), (0, false));
    assert_eq!(held_after(6), (1, true));
    assert_eq!(held_after(39), (8, false));
}

/// Chance that a run of equal stacks errs at any of its looks, as a part of `error`: paths of a
/// sum of independent values, drawn so that they cross a bound, and weighted for that.
fn chance_of_any(error: f64, shares: &[f64]) -> f64 {
    const PATHS: usize = 20_000;
    let rounds = |look: usize| rounds_at(look) as f64;
    let bounds: Vec<f64> = shares.iter().map(|share| -normal_quantile(error * share)).collect();
    let slope = |look: usize| bounds[look] / rounds(look).sqrt();
    let all: f64 = shares.iter().sum();
    let mut rng = seeded(1);
    let mut total = 0.0;
    for _ in 0..PATHS {
        let mut left = rng.uniform() * all;
        let aimed = shares.iter().position(|share| {
            left -= share;
            left <= 0.0
        });
        let aimed = aimed.unwrap_or(shares.len() - 1);
        let (mut sum, mut before, mut crossed, mut likely) = (0.0, 0.0f64, false, 0.0);
        for look in 0..shares.len() {
            let now = rounds(look);
            let drawn = (now.min(rounds(aimed)) - before.min(rounds(aimed))).max(0.0);
            sum += (now - before).sqrt() * rng.normal() + slope(aimed) * drawn;
            before = now;
            crossed |= sum > bounds[look] * now.sqrt();
            let tilt = slope(look);
            likely += shares[look] / all * (tilt * sum - 0.5 * tilt * tilt * now).exp();
        }
        total += if crossed { 1.0 / likely } else { 0.0 };
    }
    total / PATHS as f64 / error
}

#[test]
fn all_looks_together_err_no_more_often_than_one_may() {
    let shares: Vec<f64> = (0..COUNTED).map(share).collect();
    // Errors of a pair of stacks: one of 2, of 8, and of 20.
    for error in [0.025, 0.00625, 0.0025] {
        let chance = chance_of_any(error, &shares);
        assert!((0.7..=1.0).contains(&chance), "{error}: {chance}");
    }
}

#[test]
fn a_run_of_fixed_rounds_spends_the_error_once() {
    let fixed: f64 = SINGLE + (1..60).map(|more| (1.0 - SINGLE) * 0.5f64.powi(more)).sum::<f64>();
    assert!(fixed <= 1.0 + 1e-12, "{fixed}");
    assert!(prolonged_share(10, 11) > prolonged_share(10, 14));
}
