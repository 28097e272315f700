use super::*;
use crate::rng::seeded;

/// Ratio of the values of one stack in two runs, as independent trials.
fn ratio_interval(first: &[f64], second: &[f64], error: f64) -> Option<Interval> {
    let sample = |values: &[f64]| {
        of_run(&[values.iter().map(|value| Some(value.ln())).collect()], true).remove(0)
    };
    ratio(&sample(first)?, &sample(second)?, error)
}

/// Logarithms -1 and 1 three times each, and the same shifted: variance 1.2, share 0.2, 10 degrees
/// of freedom, whose 97.5 % quantile is 2.228139 in every table.
#[test]
fn equal_spreads_give_students_interval_with_both_counts() {
    let first: Vec<f64> = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0].map(f64::exp).to_vec();
    let second: Vec<f64> = first.iter().map(|value| value * 2.0).collect();
    let found = ratio_interval(&first, &second, 0.05).unwrap();
    let reach = 2.228_138_852 * 0.4_f64.sqrt();
    assert!((found.centre - 2.0).abs() < 1e-12);
    assert!((found.low - 2.0 * (-reach).exp()).abs() < 1e-6, "{found:?}");
    assert!((found.high - 2.0 * reach.exp()).abs() < 1e-6, "{found:?}");
}

#[test]
fn a_constant_side_leaves_the_degrees_of_freedom_of_the_other() {
    let first = [1.0; 6];
    let second: Vec<f64> = [-1.0, 1.0, -1.0, 1.0, -1.0, 1.0].map(f64::exp).to_vec();
    let found = ratio_interval(&first, &second, 0.05).unwrap();
    // t of 5 degrees of freedom.
    let reach = 2.570_581_836 * 0.2_f64.sqrt();
    assert!((found.high.ln() - reach).abs() < 1e-6, "{found:?}");
}

#[test]
fn what_has_no_ratio_or_no_spread_is_none_and_constants_are_exact() {
    assert_eq!(ratio_interval(&[1.0], &[1.0, 2.0], 0.05), None);
    assert_eq!(ratio_interval(&[1.0, 2.0], &[1.0, 2.0], 0.0), None);
    let exact = ratio_interval(&[2.0; 6], &[3.0; 4], 0.05).unwrap();
    assert_eq!((exact.low, exact.high), (exact.centre, exact.centre));
    assert!((exact.centre - 1.5).abs() < 1e-12);
}

/// Six trials each, the second run three times as noisy: what the interval promises holds.
#[test]
fn covers_at_six_trials_with_unequal_spreads() {
    let mut random = seeded(7);
    let runs = 4_000;
    let covered = (0..runs)
        .filter(|_| {
            let first: Vec<f64> = (0..6).map(|_| (0.05 * random.normal()).exp()).collect();
            let second: Vec<f64> = (0..6).map(|_| (0.15 * random.normal()).exp() * 1.1).collect();
            ratio_interval(&first, &second, 0.05).is_some_and(|found| found.contains(1.1))
        })
        .count();
    let share = covered as f64 / f64::from(runs);
    assert!((0.935..=0.965).contains(&share), "{share}");
}

/// Runs of eight trials whose machine moves by 5 % from run to run: single trials say nothing of it.
#[test]
fn three_runs_per_side_cover_what_changes_from_run_to_run() {
    let mut random = seeded(8);
    let mut covered = [0, 0];
    for _ in 0..400 {
        let mut run = || {
            let machine = 0.05 * random.normal();
            let trials = |_| (0..8).map(|_| Some(machine + 0.02 * random.normal())).collect();
            of_run(&(0..1).map(trials).collect::<Vec<_>>(), false)
        };
        let sides = [0, 1].map(|_| [run(), run(), run()]);
        let all = |side: &[Vec<Option<Sample>>; 3]| of_runs(side)[0].unwrap();
        let of_all = ratio(&all(&sides[0]), &all(&sides[1]), 0.05).unwrap();
        let of_one = ratio(&sides[0][0][0].unwrap(), &sides[1][0][0].unwrap(), 0.05).unwrap();
        covered[0] += u32::from(of_all.contains(1.0));
        covered[1] += u32::from(of_one.contains(1.0));
    }
    assert!((368..=396).contains(&covered[0]), "{covered:?}");
    assert!(covered[1] < 280, "{covered:?}");
}

#[test]
fn equal_values_are_exact_in_a_model_and_unmeasurable_elsewhere() {
    let row = vec![vec![Some(1.0); 6]];
    assert_eq!(of_run(&row, true)[0].unwrap().half_step, 0.0);
    assert_eq!(of_run(&row, false)[0].unwrap().half_step, f64::INFINITY);
}
