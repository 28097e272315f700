use super::*;

#[test]
fn the_limit_is_five_per_cent_for_twice_as_slow() {
    assert!((LEAST_RESPONSE - 1.05f64.ln() / 2f64.ln()).abs() < 1e-15);
}

#[test]
fn a_metric_that_follows_the_device_sees_it() {
    let base = [10.0, 11.0, 10.5, 9.8, 10.2, 10.4];
    let slowed: Vec<f64> = base.iter().map(|v| v * 1.9).collect();
    let found = response(&base, &slowed, 2.0, 0.95).unwrap();
    assert_eq!(found.sees, Sees::Yes);
    assert!((found.change.centre - 1.9).abs() < 1e-9);
    assert!((found.elasticity.centre - 1.9f64.ln() / 2f64.ln()).abs() < 1e-9);
    // A rate falls where a time rises.
    let rates: Vec<f64> = base.iter().map(|v| v / 1.9).collect();
    assert_eq!(response(&base, &rates, 2.0, 0.95).unwrap().sees, Sees::Yes);
}

#[test]
fn a_metric_that_ignores_the_device_does_not() {
    let base = [10.0, 11.0, 10.5, 9.8, 10.2, 10.4];
    let same = [10.1, 11.0, 10.6, 9.8, 10.1, 10.5];
    assert_eq!(response(&base, &same, 2.0, 0.95).unwrap().sees, Sees::No);
    // Thirty-two times slower for 4 %.
    let hardly: Vec<f64> = base.iter().map(|v| v * 1.04).collect();
    assert_eq!(response(&base, &hardly, 32.0, 0.95).unwrap().sees, Sees::No);
}

#[test]
fn noise_leaves_it_open() {
    let base = [10.0, 14.0, 8.0, 12.0, 9.0, 15.0];
    let noisy = [12.0, 9.0, 13.0, 10.0, 14.0, 11.0];
    assert_eq!(response(&base, &noisy, 2.0, 0.95).unwrap().sees, Sees::Unclear);
}

#[test]
fn nonsense_gives_nothing() {
    assert_eq!(response(&[1.0], &[1.0], 2.0, 0.95), None);
    assert_eq!(response(&[1.0, 2.0], &[1.0], 2.0, 0.95), None);
    assert_eq!(response(&[1.0, 0.0], &[1.0, 2.0], 2.0, 0.95), None);
    assert_eq!(response(&[1.0, 2.0], &[1.0, 2.0], 1.0, 0.95), None);
}

#[test]
fn busy_time_bounds_the_gain() {
    assert_eq!(share_without_device(30, 100), Some(0.7));
    assert_eq!(share_without_device(150, 100), Some(0.0));
    assert_eq!(share_without_device(1, 0), None);
    assert_eq!(sees_by_busy_time(4, 100), Some(Sees::No));
    assert_eq!(sees_by_busy_time(6, 100), Some(Sees::Unclear));
    assert_eq!(sees_by_busy_time(0, 0), None);
}
