use super::*;
use crate::estimate::variance;
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
        assert!(found.told && found.estimated);
        assert!((found.common.correlation() - rho).abs() < 0.1, "{rho}: {found:?}");
        assert!(found.stacks.iter().all(|own| own.correlation() > rho - 0.1), "{found:?}");
    }
}

#[test]
fn few_rounds_of_few_stacks_tell_nothing_and_the_worst_is_assumed() {
    let found = estimate(&residuals(3, 8, 0.0, 2));
    assert!(!found.told && found.assumed() >= WORST);
    assert!(!estimate(&residuals(2, 16, 0.0, 2)).told);
    assert!(estimate(&residuals(3, 10, 0.0, 2)).told);
    assert!(estimate(&residuals(2, 20, 0.0, 2)).told);
    assert!(estimate(&residuals(5, 10, 0.0, 2)).told);
    let none = estimate(&[vec![Some(1.0); 3], vec![None; 3]]);
    assert!(!none.estimated && none.assumed() >= WORST);
    assert_eq!(none.stacks, [none.common; 2]);
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
        let said = Shape { share: 1.0, correlation: rho, prior: 0.0 }.inflation(count);
        let ratio = variance(&means).unwrap() / own / said;
        assert!((0.9..1.1).contains(&ratio), "{rho}, {count}: {ratio}");
    }
    assert_eq!(Belief::independent().inflation(10), 1.0);
}

/// Stacks in slow and fast spells of about eight rounds.
fn spells(stacks: usize, rounds: usize, seed: u64) -> Vec<Vec<Option<f64>>> {
    let mut rng = seeded(seed);
    let draw = |rng: &mut crate::rng::Rng| if rng.uniform() < 0.5 { 0.6 } else { -0.6 };
    (0..stacks)
        .map(|_| {
            let mut spell = draw(&mut rng);
            (0..rounds)
                .map(|_| {
                    if rng.uniform() < 0.125 {
                        spell = draw(&mut rng);
                    }
                    Some(spell + 0.8 * rng.normal())
                })
                .collect()
        })
        .collect()
}

#[test]
fn forty_rounds_tell_spells_from_calm() {
    let typical = |rows: &dyn Fn(u64) -> Vec<Vec<Option<f64>>>| {
        let all: Vec<f64> = (0..40).map(|s| estimate(&rows(s)).common.inflation(40)).collect();
        mean(&all).unwrap()
    };
    // The truth is 6.3.
    assert!(typical(&|seed| spells(8, 40, seed)) > 4.5);
    assert!(typical(&|seed| residuals(8, 40, 0.0, seed)) < 1.2);
}

#[test]
fn one_stack_may_be_an_exception_but_none_is_calmer_than_all() {
    let mut rows = residuals(8, 40, 0.0, 5);
    rows[3] = residuals(1, 40, 0.8, 6).remove(0);
    let found = estimate(&rows);
    assert!(found.stacks[3].correlation() > 0.4, "{found:?}");
    assert!(found.stacks[0].correlation() < 0.15, "{found:?}");
    let mut rows = residuals(8, 40, 0.6, 7);
    rows[3] = residuals(1, 40, 0.0, 8).remove(0);
    let found = estimate(&rows);
    assert!(found.stacks[3].inflation(40) >= found.common.inflation(40), "{found:?}");
}

#[test]
fn missing_rounds_and_the_scale_of_values_change_little() {
    let rows = residuals(8, 40, 0.6, 9);
    let with_gaps: Vec<Vec<Option<f64>>> = rows
        .iter()
        .enumerate()
        .map(|(stack, row)| {
            let missing = |round: usize| (round + stack).is_multiple_of(9);
            row.iter().enumerate().map(|(r, v)| v.filter(|_| !missing(r))).collect()
        })
        .collect();
    let (whole, gaps) = (estimate(&rows).common, estimate(&with_gaps).common);
    assert!((whole.correlation() - gaps.correlation()).abs() < 0.1, "{whole:?} {gaps:?}");
    let cubed: Vec<Vec<Option<f64>>> =
        rows.iter().map(|row| row.iter().map(|v| v.map(|v| v.powi(3))).collect()).collect();
    assert_eq!(estimate(&cubed), estimate(&rows), "ranks alone count");
}

#[test]
fn a_widening_keeps_the_chance_of_error() {
    assert!((Belief::independent().widening(20, 0.05) - 1.0).abs() < 2e-3);
    let certain = |shape: usize| {
        let mut weights = [0.0; SHAPES.len()];
        weights[shape] = 1.0;
        Belief(weights)
    };
    for (shape, of) in SHAPES.iter().enumerate() {
        let (found, right) = (certain(shape).widening(20, 0.05), of.inflation(20).sqrt());
        assert!((found - right).abs() < 3e-3 * right, "{of:?}: {found} {right}");
    }
    let unsure = certain(0).mixed(&certain(2), 0.9).widening(20, 0.05);
    assert!(1.0 < unsure && unsure < certain(2).widening(20, 0.05), "{unsure}");
}
