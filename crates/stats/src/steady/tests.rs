use super::*;

#[test]
fn a_flat_series_is_steady() {
    assert_eq!(Window::of(&[100.0; 5]), Window { range: 0.0, slope: 0.0 });
    assert!(Window::of(&[100.0; 5]).is_steady());
    assert!(!Window::of(&[0.0; 5]).is_steady(), "zero throughput is not a steady state");
}

#[test]
fn range_and_slope_by_hand() {
    let window = Window::of(&[110.0, 103.0, 100.0, 99.0, 100.0]);
    assert!((window.range - 11.0 / 102.4).abs() < 1e-12);
    let moved = -((110.0 * 2.0 + 103.0) - (99.0 + 100.0 * 2.0)) / 10.0 * 4.0 / 102.4;
    assert!((window.slope - moved).abs() < 1e-12, "{} {moved}", window.slope);
    assert!(window.is_steady(), "the line falls 9.4 %");
}

#[test]
fn each_limit_counts_and_is_inclusive() {
    // Range exactly 20 % of the mean 100, no slope.
    assert!(Window::of(&[110.0, 90.0, 100.0, 90.0, 110.0]).is_steady());
    assert!(!Window::of(&[110.1, 89.9, 100.0, 89.9, 110.1]).is_steady());
    // A line that moves 9.9 % and one that moves 10.1 %, both within the range.
    let line = |step: f64| [-2.0, -1.0, 0.0, 1.0, 2.0].map(|x| 100.0 + step * x);
    assert!(Window::of(&line(2.475)).is_steady());
    assert!(!Window::of(&line(2.525)).is_steady());
}
