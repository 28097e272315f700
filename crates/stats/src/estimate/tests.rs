use super::*;
use proptest::prelude::*;

#[test]
fn nothing_gives_nothing() {
    assert_eq!(mean(&[]), None);
    assert_eq!(variance(&[1.0]), None);
    assert_eq!(std_dev(&[]), None);
    assert_eq!(median(&[]), None);
    assert_eq!(quantile(&[], 0.5), None);
    assert_eq!(quantile(&[1.0], 1.5), None);
    assert_eq!(skewness(&[2.0, 2.0]), None);
}

#[test]
fn small_cases_by_hand() {
    assert_eq!(mean(&[1.0, 2.0, 6.0]), Some(3.0));
    assert_eq!(variance(&[1.0, 2.0, 6.0]), Some(7.0));
    assert_eq!(median(&[5.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[5.0, 1.0, 2.0, 4.0]), Some(3.0));
    assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.25), Some(1.75));
    // Walsh averages of 1, 2, 9: 1, 1.5, 5, 2, 5.5, 9.
    assert_eq!(skewness(&[0.0, 0.0, 3.0]), Some(2.0 / 2.0f64.powf(1.5)));
}

#[test]
fn a_constant_sample_has_exactly_no_spread() {
    for value in [0.1, 0.1 + 0.2, -1e-9, 123.456] {
        assert_eq!(mean(&[value; 37]), Some(value));
        assert_eq!(variance(&[value; 37]), Some(0.0));
    }
}

proptest! {
    #[test]
    fn median_is_the_middle_of_the_sorted(
        mut values in proptest::collection::vec(-1e6f64..1e6, 1..60),
    ) {
        let got = median(&values).unwrap();
        values.sort_unstable_by(f64::total_cmp);
        let n = values.len();
        let expected = 0.5 * (values[(n - 1) / 2] + values[n / 2]);
        prop_assert!((got - expected).abs() <= 1e-9);
        prop_assert!((quantile(&values, 0.5).unwrap() - expected).abs() <= 1e-9);
    }
}
