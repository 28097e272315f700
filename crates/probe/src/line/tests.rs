use super::{Point, line};

fn point(dirty: u64, mean_ns: f64) -> Point {
    Point { dirty, times: 3, mean_ns }
}

#[test]
fn points_on_a_line_give_it_without_bounds_around_it() {
    let points: Vec<_> = [1, 4, 16, 64].map(|n| point(n, 300.0 + 50.0 * n as f64)).into();
    let found = line(&points);
    for (interval, value) in [(found.constant_ns, 300.0), (found.slope_ns, 50.0)] {
        for end in [interval.low, interval.value, interval.high] {
            assert!((end - value).abs() < 1e-3, "{interval:?}");
        }
    }
}

#[test]
fn points_beside_a_line_give_bounds_that_hold_it() {
    let found = line(&[point(1, 360.0), point(4, 480.0), point(16, 1120.0), point(64, 3480.0)]);
    for (interval, value) in [(found.constant_ns, 300.0), (found.slope_ns, 50.0)] {
        assert!(interval.low < value && value < interval.high, "{interval:?}");
        assert!(interval.high - interval.low > 1.0, "{interval:?}");
    }
}

#[test]
fn two_points_have_a_line_whose_bounds_are_unknown_and_one_point_has_none() {
    let found = line(&[point(1, 350.0), point(4, 500.0)]);
    assert!((found.slope_ns.value - 50.0).abs() < 1e-6, "{found:?}");
    assert_eq!(found.slope_ns.high, f64::INFINITY);
    assert_eq!(line(&[point(1, 350.0)]).slope_ns.high, f64::INFINITY);
}
