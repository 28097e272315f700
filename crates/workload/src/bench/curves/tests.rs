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

/// A round of one block size and one thread, with so many accesses per second.
fn round(iops: f64) -> BenchResult {
    let point = CurvePoint {
        at: 512,
        iops,
        mb_per_s: Some(iops * 512.0 / 1e6),
        seek_time_ns: (iops > 0.0).then(|| 1e9 / iops),
    };
    let curve = Curve {
        target: "disk".to_owned(),
        axis: CurveAxis::BlockBytes,
        points: vec![point],
        seek_time_ns: point.seek_time_ns,
    };
    BenchResult { curves: vec![curve], ..BenchResult::default() }
}

#[test]
fn speed_and_access_time_of_a_mean_curve_are_of_one_piece() {
    // Served from a cache once: 1,000 accesses per second in one round, 100,000 in another.
    let mean = mean_curve(&[round(1_000.0), round(100_000.0)]).unwrap();
    let point = mean.points[0];
    assert!((point.iops - 10_000.0).abs() < 1e-6, "{point:?}");
    let access = point.seek_time_ns.unwrap();
    assert!((point.iops * access / 1e9 - 1.0).abs() < 1e-12, "{point:?}");
    assert!((point.mb_per_s.unwrap() - 5.12).abs() < 1e-9);
    assert_eq!(mean.seek_time_ns, Some(access));
    // Nothing completed in a round: its access time is not known, and neither is the mean.
    assert_eq!(mean_curve(&[round(0.0)]).unwrap().points[0].seek_time_ns, None);
}
