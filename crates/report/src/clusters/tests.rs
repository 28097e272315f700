use super::*;
use seekwell_stats::seeded;

#[test]
fn values_near_two_numbers_are_two_groups() {
    let values = [0.7, 4.5, 0.71, 0.69, 4.4, 4.6, 0.72, 4.55];
    let [low, high] = two(&values).unwrap();
    assert_eq!((low.trials, high.trials), (4, 4));
    assert!((low.median - 0.705).abs() < 1e-9 && (high.median - 4.525).abs() < 1e-9);
}

#[test]
fn an_outlier_is_no_group_and_neither_is_spread() {
    assert_eq!(two(&[1.0, 1.1, 0.9, 1.0, 1.05, 0.95, 9.0]), None);
    assert_eq!(two(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), None);
    assert_eq!(two(&[1.0, 1.0, 1.0, 9.0, 9.0]), None, "too few");
    assert_eq!(two(&[0.0, 0.0, 0.0, 9.0, 9.0, 9.0]), None, "no ratio");
}

#[test]
fn noise_of_one_group_is_seldom_called_two() {
    let mut random = seeded(3);
    let called = (0..2000).filter(|_| {
        let values: Vec<f64> = (0..14).map(|_| (0.2 * random.normal()).exp()).collect();
        two(&values).is_some()
    });
    let called = called.count();
    assert!(called <= 5, "{called} of 2000");
}
