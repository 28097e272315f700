use super::steps;

#[test]
fn long_requests_at_a_period_are_found_with_their_excess() {
    let took: Vec<f64> =
        (0..100).map(|at| if at % 16 == 5 { 2_100_000.0 } else { 100_000.0 }).collect();
    let found = steps(&took, 8).unwrap();
    assert_eq!((found.period, found.count), (128, 5));
    assert_eq!((found.between.low, found.between.high), (128.0, 128.0));
    assert_eq!(found.above_ns.value, 2_000_000.0);
}

#[test]
fn a_burst_of_long_requests_is_one_step() {
    let took: Vec<f64> =
        (0..400).map(|at| if at % 64 < 4 { 5_000_000.0 } else { 400_000.0 }).collect();
    assert_eq!(steps(&took, 1).unwrap().period, 64);
}

#[test]
fn equal_requests_and_two_long_ones_have_no_period() {
    assert_eq!(steps(&[100_000.0; 50], 8), None);
    let took: Vec<f64> = (0..50).map(|at| if at % 30 == 7 { 9e6 } else { 1e5 }).collect();
    assert_eq!(steps(&took, 8), None);
}
