use super::*;

#[test]
fn an_eighth_at_each_end_is_left_out() {
    let mut values: Vec<f64> = (0..8).map(f64::from).collect();
    values[7] = 1000.0;
    let found = typical(&values).unwrap();
    assert_eq!((found.centre, found.count, found.freedom), (3.5, 8, 5.0));
    // Below eight values it is the plain mean and variance.
    let plain = typical(&[1.0, 2.0, 3.0]).unwrap();
    assert_eq!((plain.centre, plain.variance, plain.freedom), (2.0, 1.0, 2.0));
    assert_eq!(typical(&[1.0]), None);
}

#[test]
fn unknown_values_are_bounded_while_they_are_left_out() {
    let mut values = vec![1.0; 16];
    values[0] = f64::INFINITY;
    values[1] = f64::INFINITY;
    assert!(typical(&values).is_some());
    values[2] = f64::INFINITY;
    assert_eq!(typical(&values), None);
}
