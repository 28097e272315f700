use super::*;

#[test]
fn product_counts_the_last_axis_fastest() {
    let design = Design::product(&[2, 3]);
    assert_eq!(design.stacks(), 6);
    assert_eq!((design.level(0, 0), design.level(0, 1)), (0, 0));
    assert_eq!((design.level(1, 0), design.level(1, 1)), (0, 1));
    assert_eq!((design.level(3, 0), design.level(3, 1)), (1, 0));
    assert_eq!(design.main_columns(), 4);
    assert_eq!(design.main_effects(1), vec![1.0, 1.0, 0.0, 1.0]);
    assert_eq!(design.main_effects(5), vec![1.0, -1.0, -1.0, -1.0]);
}

#[test]
fn columns_of_a_full_product_sum_to_zero() {
    let design = Design::product(&[3, 2, 4]);
    for column in 1..design.main_columns() {
        let total: f64 = (0..design.stacks()).map(|s| design.main_effects(s)[column]).sum();
        assert_eq!(total, 0.0);
    }
}

#[test]
fn an_axis_with_one_value_has_no_column() {
    assert_eq!(Design::product(&[1, 2]).main_columns(), 2);
    let flat = Design::unstructured(5);
    assert_eq!((flat.stacks(), flat.axes(), flat.main_columns()), (5, 0, 1));
    assert_eq!(flat.main_effects(4), vec![1.0]);
}

#[test]
fn uneven_stacks_are_refused() {
    assert_eq!(Design::new(vec![vec![0, 1], vec![0]]), None);
    assert!(Design::new(Vec::new()).is_some());
}
