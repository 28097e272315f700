use super::{SeekCurve, SeekParameters};
use proptest::prelude::*;

fn none() -> SeekParameters {
    SeekParameters {
        track_us: None,
        average_us: None,
        full_us: None,
        a_us: None,
        b_us: None,
        c_us: None,
        table: None,
    }
}

#[test]
fn data_sheet_values_come_back_from_the_curve() {
    let cylinders = 60_000;
    let parameters = SeekParameters {
        track_us: Some(900.0),
        average_us: Some(9300.0),
        full_us: Some(17_000.0),
        ..none()
    };
    let curve = parameters.curve(cylinders).unwrap();
    assert_eq!(curve.ns(1), 900_000);
    assert_eq!(curve.ns(cylinders), 17_000_000);
    // The mean over pairs of evenly drawn cylinders, by summing over all distances.
    let n = f64::from(cylinders);
    let weighted: f64 = (1..cylinders).map(|d| 2.0 * (n - f64::from(d)) * curve.ns(d) as f64).sum();
    let mean_us = weighted / (n * n) / 1e3;
    assert!((mean_us - 9300.0).abs() < 2.0, "{mean_us}");
}

#[test]
fn no_distance_takes_no_time() {
    let curve = SeekCurve::Formula { a_ns: 5.0, b_ns: 0.0, c_ns: 0.0, cylinders: 10 };
    assert_eq!(curve.ns(0), 0);
    assert_eq!(curve.ns(1), 5);
}

#[test]
fn table_is_joined_by_straight_lines_and_level_outside() {
    let parameters = SeekParameters {
        table: Some(vec![[2.0, 1000.0], [4.0, 2000.0], [10.0, 1700.0]]),
        ..none()
    };
    let curve = parameters.curve(100).unwrap();
    let expected = [(1, 1000), (2, 1000), (3, 1500), (4, 2000), (6, 1900), (10, 1700), (99, 1700)];
    for (distance, us) in expected {
        assert_eq!(curve.ns(distance), us * 1000, "{distance}");
    }
}

#[test]
fn nothing_and_two_ways_at_once_are_refused() {
    let two = SeekParameters { a_us: Some(1.0), table: Some(vec![[1.0, 1.0]]), ..none() };
    for parameters in [none(), two] {
        let error = parameters.curve(100).unwrap_err();
        assert_eq!(error.key(), Some("rotating.seek"));
    }
}

proptest! {
    #[test]
    fn formula_never_falls(a in 0.0_f64..5000.0, b in 0.0_f64..20_000.0, c in 0.0_f64..20_000.0, cylinders in 2_u32..100_000) {
        let parameters = SeekParameters { a_us: Some(a), b_us: Some(b), c_us: Some(c), ..none() };
        let curve = parameters.curve(cylinders).unwrap();
        let mut last = 0;
        for step in 0..50 {
            let ns = curve.ns(cylinders * step / 50);
            prop_assert!(ns >= last);
            last = ns;
        }
    }
}
