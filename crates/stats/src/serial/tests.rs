use super::*;
use crate::rng::seeded;

fn is_marked(series: &[f64]) -> bool {
    von_neumann(series).is_some_and(|p| p < 0.05)
}

fn autoregressive(seed: u64, count: usize, rho: f64) -> Vec<f64> {
    let mut rng = seeded(seed);
    let mut last = rng.normal();
    (0..count)
        .map(|_| {
            last = rho * last + (1.0 - rho * rho).sqrt() * rng.normal();
            last
        })
        .collect()
}

#[test]
fn ratio_of_a_short_series_by_hand() {
    // Squared steps 1, 1, 1, 1, 1; sum of squares about 3.5 is 17.5; ratio 5/17.5.
    let p = von_neumann(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    let z = (5.0 / 17.5 - 2.0) / (16.0f64 / 35.0).sqrt();
    assert!((p - normal_cdf(z)).abs() < 1e-15);
}

#[test]
fn nothing_is_said_of_too_little() {
    assert_eq!(von_neumann(&[1.0, 2.0, 3.0, 4.0, 5.0]), None);
    assert_eq!(von_neumann(&[1.0; 10]), None);
    assert_eq!(von_neumann(&[]), None);
}

#[test]
fn independent_series_are_marked_as_rarely_as_stated() {
    let marked = (0..4000).filter(|&seed| is_marked(&autoregressive(seed, 20, 0.0))).count();
    assert!((150..250).contains(&marked), "{marked} of 4000 at 5 %");
}

#[test]
fn dependent_series_are_marked() {
    let marked = (0..500).filter(|&seed| is_marked(&autoregressive(seed, 40, 0.6))).count();
    assert!(marked >= 475, "{marked} of 500");
}
