use super::*;
use crate::rng::seeded;

fn residuals(stacks: usize, rounds: usize, rho: f64, seed: u64) -> Vec<Vec<Option<f64>>> {
    let mut rng = seeded(seed);
    (0..stacks)
        .map(|_| {
            let mut last = rng.normal();
            (0..rounds)
                .map(|_| {
                    last = rho * last + (1.0 - rho * rho).sqrt() * rng.normal();
                    Some(last)
                })
                .collect()
        })
        .collect()
}

#[test]
fn many_rounds_tell_the_correlation() {
    for rho in [0.0, 0.3, 0.6] {
        let found = estimate(&residuals(8, 60, rho, 1));
        assert!(found.told);
        assert!((found.common.unwrap() - rho).abs() < 0.12, "{rho}: {found:?}");
        assert!(found.assumed.iter().all(|assumed| *assumed > rho - 0.25));
    }
}

#[test]
fn few_rounds_of_few_stacks_tell_nothing_and_the_worst_is_assumed() {
    let found = estimate(&residuals(3, 8, 0.0, 2));
    assert!(!found.told && found.assumed.iter().all(|assumed| *assumed >= WORST));
    assert!(!estimate(&residuals(2, 16, 0.0, 2)).told);
    assert!(estimate(&residuals(3, 10, 0.0, 2)).told);
    assert!(estimate(&residuals(2, 20, 0.0, 2)).told);
    assert!(estimate(&residuals(5, 10, 0.0, 2)).told);
    let none = estimate(&[vec![Some(1.0); 3], vec![None; 3]]);
    assert_eq!((none.common, none.assumed), (None, vec![WORST, WORST]));
}

#[test]
fn the_mean_of_a_dependent_series_varies_as_said() {
    for (rho, count) in [(0.6, 10), (0.6, 40), (0.3, 20)] {
        let (mut means, mut own) = (Vec::new(), 0.0);
        for seed in 0..4000 {
            let row = &residuals(1, count, rho, seed)[0];
            let values: Vec<f64> = row.iter().flatten().copied().collect();
            means.push(mean(&values).unwrap());
            own += variance(&values).unwrap() / count as f64 / 4000.0;
        }
        let ratio = variance(&means).unwrap() / own / inflation(rho, count);
        assert!((0.9..1.1).contains(&ratio), "{rho}, {count}: {ratio}");
    }
    assert_eq!(inflation(0.0, 10), 1.0);
}

#[test]
fn long_spells_are_seen_in_slow_waves() {
    let spell = |stack: usize, round: usize| {
        if (round / 10 + stack).is_multiple_of(2) { 1.0 } else { -1.0 }
    };
    let mut rng = seeded(3);
    let rows: Vec<Vec<Option<f64>>> = (0..6)
        .map(|stack| (0..40).map(|r| Some(0.6 * spell(stack, r) + 0.8 * rng.normal())).collect())
        .collect();
    assert!(estimate(&rows).waves > 2.0, "{:?}", estimate(&rows));
    let calm: Vec<f64> = (0..50).map(|s| estimate(&residuals(6, 40, 0.0, s)).waves).collect();
    assert!(mean(&calm).unwrap() < 1.25);
}
