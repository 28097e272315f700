use super::*;
use crate::rng::seeded;
use crate::special::normal_quantile;

/// All looks up to the horizon.
fn planned(stacks: usize, horizon: usize) -> Vec<usize> {
    let mut all = vec![];
    while all.last().is_none_or(|last| *last < horizon) {
        all.push(next(all.last().copied().unwrap_or(0), stacks, horizon));
    }
    all
}

#[test]
fn looks_come_a_quarter_apart_up_to_the_horizon() {
    assert_eq!(planned(2, 20), vec![6, 8, 10, 13, 16, 20]);
    assert_eq!(planned(9, 14), vec![4, 6, 8, 10, 13, 14]);
    assert_eq!(planned(9, 3), vec![3]);
    assert_eq!(next(14, 9, 14), 17);
    assert_eq!(next(17, 9, 14), 21);
}

/// Chance that a run of equal stacks errs at any of its looks, as a part of `error`: paths of a
/// sum of independent values, drawn so that they cross a bound, and weighted for that.
fn chance_of_any(error: f64, looks: &[(usize, f64)]) -> f64 {
    const PATHS: usize = 20_000;
    let rounds = |look: usize| looks[look].0 as f64;
    let bounds: Vec<f64> = looks.iter().map(|(_, share)| -normal_quantile(error * share)).collect();
    let slope = |look: usize| bounds[look] / rounds(look).sqrt();
    let all: f64 = looks.iter().map(|(_, share)| share).sum();
    let mut rng = seeded(1);
    let mut total = 0.0;
    for _ in 0..PATHS {
        let mut left = rng.uniform() * all;
        let aimed = looks.iter().position(|(_, share)| {
            left -= share;
            left <= 0.0
        });
        let aimed = aimed.unwrap_or(looks.len() - 1);
        let (mut sum, mut before, mut crossed, mut likely) = (0.0, 0.0f64, false, 0.0);
        for look in 0..looks.len() {
            let now = rounds(look);
            let drawn = (now.min(rounds(aimed)) - before.min(rounds(aimed))).max(0.0);
            sum += (now - before).sqrt() * rng.normal() + slope(aimed) * drawn;
            before = now;
            crossed |= sum > bounds[look] * now.sqrt();
            let tilt = slope(look);
            likely += looks[look].1 / all * (tilt * sum - 0.5 * tilt * tilt * now).exp();
        }
        total += if crossed { 1.0 / likely } else { 0.0 };
    }
    total / PATHS as f64 / error
}

#[test]
fn all_looks_together_err_no_more_often_than_one_may() {
    for (stacks, horizon) in [(2, 6), (2, 20), (9, 14), (9, 80)] {
        let before = planned(stacks, horizon).into_iter();
        let before = before.map(|rounds| (rounds, share(rounds, horizon, false)));
        let behind = added(horizon).take(8).map(|rounds| (rounds, added_share(horizon, rounds)));
        let all: Vec<(usize, f64)> = before.chain(behind).collect();
        for error in [0.05, 0.05 / 8.0] {
            let chance = chance_of_any(error, &all);
            // All looks behind the horizon taken together with those before it: 6 % too much at most.
            assert!((0.6..=1.1).contains(&chance), "{stacks} {horizon} {error}: {chance}");
        }
    }
}

#[test]
fn an_early_end_spends_what_the_horizon_would_have() {
    assert_eq!(share(10, 20, true), PLANNED);
    assert!(share(10, 20, false) < 0.1);
    assert_eq!(share(20, 20, false), PLANNED);
    assert!((share(25, 20, true) - 0.15).abs() < 1e-12);
}

#[test]
fn all_shares_sum_to_the_error() {
    let more: f64 = (1..60).map(|more| (1.0 - PLANNED) * 0.5f64.powi(more)).sum();
    assert!(PLANNED + more <= 1.0 + 1e-12);
}
