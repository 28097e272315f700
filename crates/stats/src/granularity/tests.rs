use super::*;

#[test]
fn values_that_never_repeat_have_no_step() {
    assert_eq!(half_steps(&[vec![0.1, 0.2, 0.3], vec![0.4, 0.5, 0.6]]), vec![0.0, 0.0]);
}

#[test]
fn the_step_is_the_divisor_of_all_values() {
    let found = half_steps(&[vec![0.03; 6], vec![0.04, 0.04, 0.05, 0.04, 0.04, 0.04]]);
    let half = |ticks: f64| -(1.0 - 0.5 / ticks).ln();
    assert!((found[0] - half(3.0)).abs() < 1e-6, "{found:?}");
    assert!((found[1] - half(4.0)).abs() < 1e-6, "{found:?}");
}

#[test]
fn without_a_divisor_the_nearest_other_value_tells() {
    let found = half_steps(&[vec![1.0 / 3.0; 6], vec![0.25; 6]]);
    assert!((found[0] + (1.0f64 - 0.125).ln()).abs() < 1e-9, "{found:?}");
}

#[test]
fn noise_of_several_steps_averages_over_them() {
    let values: Vec<f64> = (0..20).map(|n| f64::from(100 + (n * 7) % 10)).collect();
    assert_eq!(half_steps(&[values]), vec![0.0]);
}

#[test]
fn one_value_alone_has_an_unknown_step() {
    assert_eq!(half_steps(&[vec![2.0; 6], vec![2.0; 6]]), vec![f64::INFINITY; 2]);
}
