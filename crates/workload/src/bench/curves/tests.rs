use super::*;

fn row(block_bytes: u64, low: f64, ratio: f64, high: f64) -> CurveComparisonRow {
    CurveComparisonRow { block_bytes, ratio: Some(ratio), low: Some(low), high: Some(high) }
}

#[test]
fn targets_are_alike_when_every_interval_lies_within_the_tie_width() {
    let close = row(512, 0.98, 1.0, 1.02);
    assert_eq!(alike(&[close, row(1024, 0.96, 0.97, 1.01)], 0.05), Some(true));
    assert_eq!(alike(&[close, row(1024, 1.10, 1.12, 1.14)], 0.05), Some(false));
    assert_eq!(alike(&[close, row(1024, 0.80, 1.0, 1.20)], 0.05), None);
    assert_eq!(alike(&[], 0.05), None);
}

#[test]
fn curves_cross_where_certainty_changes_sides() {
    let rows = [
        row(1024, 1.9, 2.0, 2.1),
        // Perhaps either way: says nothing.
        row(2048, 0.9, 1.0, 1.1),
        row(4096, 0.48, 0.5, 0.52),
        row(8192, 0.48, 0.5, 0.52),
    ];
    let found = crossings(&rows);
    // Half way between 1 KiB and 4 KiB on a logarithmic axis.
    assert!(found.len() == 1 && (found[0] - 2048.0).abs() < 1e-6, "{found:?}");
    assert_eq!(crossings(&rows[2..]), Vec::<f64>::new());
}
