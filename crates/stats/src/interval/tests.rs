use super::*;
use crate::rng::{Rng, seeded};
use proptest::prelude::*;

fn sample(seed: u64, count: usize, draw: impl Fn(&mut Rng) -> f64) -> Vec<f64> {
    let mut rng = seeded(seed);
    (0..count).map(|_| draw(&mut rng)).collect()
}

/// The means of many drawn resamples, sorted: what the saddlepoint approximation stands for.
fn drawn_means(values: &[f64], count: usize) -> Vec<f64> {
    let mut rng = seeded(99);
    let mut means: Vec<f64> = (0..count)
        .map(|_| {
            values.iter().map(|_| values[rng.index(values.len())]).sum::<f64>()
                / values.len() as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    means
}

#[test]
fn t_interval_by_hand() {
    // Mean 3.5, standard deviation √3.5, t(5, 2.5 %) = 2.570581836.
    let got = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.05).unwrap();
    let reach = 2.570_581_835_636_314 * (3.5f64 / 6.0).sqrt();
    assert!((got.low - (3.5 - reach)).abs() < 1e-12);
    assert!((got.high - (3.5 + reach)).abs() < 1e-12);
    assert!(got.contains(3.5) && !got.contains(0.0));
}

#[test]
fn nothing_is_claimed_where_nothing_is_known() {
    assert_eq!(mean_interval(&[], 0.05), None);
    assert_eq!(mean_interval(&[1.0], 0.05), None);
    assert_eq!(mean_interval(&[1.0, f64::NAN], 0.05), None);
    assert_eq!(mean_interval(&[1.0, f64::INFINITY], 0.05), None);
    assert_eq!(mean_interval(&[1.0, 2.0], 0.0), None);
    assert_eq!(mean_interval(&[1.0, 2.0], 1.0), None);
    assert_eq!(geometric_mean_interval(&[1.0, 0.0], 0.05), None);
    assert_eq!(bca(&[2.0; 30], 0.05), None);
}

#[test]
fn equal_values_are_exact() {
    for count in [2, 6, 40] {
        let got = mean_interval(&vec![0.3; count], 0.05).unwrap();
        assert_eq!((got.low, got.centre, got.high), (0.3, 0.3, 0.3));
    }
}

#[test]
fn bca_takes_part_from_twenty_values() {
    let skewed = |rng: &mut Rng| rng.normal().exp();
    let few = mean_interval(&sample(1, 19, skewed), 0.05).unwrap();
    let (above, below) = (few.high - few.centre, few.centre - few.low);
    assert!((above - below).abs() < 1e-12, "Student's t alone is symmetric");
    let many = sample(1, 20, skewed);
    let got = mean_interval(&many, 0.05).unwrap();
    let (low, high) = bca(&many, 0.05).unwrap();
    assert!(got.low <= low && got.high >= high);
    assert!(got.high - got.centre > got.centre - got.low, "the long tail lies above");
}

#[test]
fn saddlepoint_quantiles_equal_drawn_ones() {
    let shapes: [fn(&mut Rng) -> f64; 3] = [
        Rng::normal,
        |rng| (0.7 * rng.normal()).exp(),
        |rng| f64::from(u8::from(rng.uniform() < 0.25)) + 0.1 * rng.normal(),
    ];
    for (seed, shape) in shapes.into_iter().enumerate() {
        for count in [20, 40] {
            let values = sample(seed as u64, count, shape);
            let drawn = drawn_means(&values, 100_000);
            let spread = drawn[84_134] - drawn[15_866];
            let smooth = ResampledMean::of(&values).unwrap();
            for score in [-3.0, -1.96, -0.5, 0.0, 0.5, 1.96, 3.0] {
                let rank = crate::special::normal_cdf(score) * 100_000.0;
                let expected = drawn[rank as usize];
                let got = smooth.quantile_at(score);
                // A tenth of a standard error of the mean; two-mode means come in steps.
                let off = (got - expected).abs() / spread;
                assert!(off < 0.06, "shape {seed}, n {count}, score {score}: {got} {expected}");
            }
        }
    }
}

#[test]
fn bca_agrees_with_drawn_bca() {
    let values = sample(4, 25, |rng| rng.normal().exp());
    let drawn = drawn_means(&values, 200_000);
    let centre = mean(&values).unwrap();
    let below = drawn.partition_point(|m| *m < centre) as f64 / 200_000.0;
    let bias = normal_quantile(below);
    let acceleration = skewness(&values).unwrap() / (6.0 * 5.0);
    let (low, high) = bca(&values, 0.05).unwrap();
    for (z, got) in [(-1.959_964, low), (1.959_964, high)] {
        let score = bias + (bias + z) / (1.0 - acceleration * (bias + z));
        let rank = crate::special::normal_cdf(score) * 200_000.0;
        let expected = drawn[rank as usize];
        assert!((got / expected - 1.0).abs() < 0.02, "{got} {expected}");
    }
}

#[test]
fn far_tails_stop_at_the_outermost_value() {
    let mut values = vec![0.0; 19];
    values.push(1.0);
    let (low, high) = bca(&values, 1e-9).unwrap();
    assert!(low >= 0.0 && high <= 1.0, "{low} {high}");
    let smooth = ResampledMean::of(&values).unwrap();
    assert_eq!(smooth.quantile_at(40.0), 1.0);
    assert!(smooth.quantile_at(-40.0).abs() < 1e-12);
}

#[test]
fn coverage_at_six_and_at_twenty() {
    type Case = (fn(&mut Rng) -> f64, f64, usize);
    let shapes: [Case; 3] = [
        (Rng::normal, 0.0, 6),
        (|rng| (0.5 * rng.normal()).exp(), 0.125f64.exp(), 20),
        (
            |rng| {
                let mut slow = || 0.2 * f64::from(u8::from(rng.uniform() < 0.3));
                slow() - slow() + 0.02 * rng.normal()
            },
            0.0,
            20,
        ),
    ];
    for (which, (shape, truth, count)) in shapes.into_iter().enumerate() {
        let runs = 2000;
        let covered = (0..runs)
            .filter(|&seed| {
                mean_interval(&sample(seed, count, shape), 0.05).unwrap().contains(truth)
            })
            .count();
        let share = covered as f64 / runs as f64;
        assert!((0.93..=0.97).contains(&share), "shape {which}: {share}");
    }
}

proptest! {
    #[test]
    fn ends_enclose_the_centre_and_grow_with_confidence(
        values in proptest::collection::vec(-100f64..100.0, 2..60),
        error in 1e-5f64..0.5,
    ) {
        let narrow = mean_interval(&values, error).unwrap();
        let wide = mean_interval(&values, error / 2.0).unwrap();
        prop_assert!(narrow.low <= narrow.centre && narrow.centre <= narrow.high);
        prop_assert!(wide.low <= narrow.low + 1e-9 && wide.high >= narrow.high - 1e-9);
    }

    #[test]
    fn mirrored_values_give_mirrored_ends(
        values in proptest::collection::vec(-100f64..100.0, 2..40),
    ) {
        let mirrored: Vec<f64> = values.iter().map(|v| -v).collect();
        let a = mean_interval(&values, 0.05).unwrap();
        let b = mean_interval(&mirrored, 0.05).unwrap();
        prop_assert!((a.low + b.high).abs() < 1e-8 && (a.high + b.low).abs() < 1e-8);
    }

    #[test]
    fn few_distinct_values_never_make_nan(
        values in proptest::collection::vec(0u8..3, 2..80),
        error in 1e-8f64..0.9,
    ) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let got = mean_interval(&values, error).unwrap();
        prop_assert!(got.low.is_finite() && got.high.is_finite() && got.low <= got.high);
    }
}
