use super::demerit;

#[test]
fn of_equal_distributions_is_zero_in_any_order() {
    let found = demerit(&[1, 2, 3, 6], &[6, 3, 2, 1]).unwrap();
    assert_eq!((found.rms, found.mean), (0.0, 3.0));
    assert_eq!(found.relative(), 0.0);
}

#[test]
fn is_the_root_mean_square_of_the_distances() {
    // Sorted pairs (1,2), (3,3), (8,12): squares 1, 0, 16.
    let found = demerit(&[8, 1, 3], &[2, 12, 3]).unwrap();
    assert_eq!(found.rms, (17.0_f64 / 3.0).sqrt());
    assert_eq!(found.mean, 4.0);
}

#[test]
fn is_missing_where_it_means_nothing() {
    assert_eq!(demerit(&[], &[]), None);
    assert_eq!(demerit(&[1], &[1, 2]), None);
    assert_eq!(demerit(&[0, 0], &[1, 2]), None);
}
