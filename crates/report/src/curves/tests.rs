use super::*;
use seekwell_model::bench::{BenchResult, BenchStep, CurvePoint, Surface};

fn curve() -> Curve {
    let points = (9..=22).map(|power| {
        let at = 1_u64 << power;
        // 10 µs for the access and 200 MB/s after it.
        let seconds = 10e-6 + at as f64 / 200e6;
        CurvePoint {
            at,
            iops: 1.0 / seconds,
            mb_per_s: Some(at as f64 / 1e6 / seconds),
            seek_time_ns: Some(seconds * 1e9),
        }
    });
    let points: Vec<CurvePoint> = points.collect();
    let seek_time_ns = points[0].seek_time_ns;
    Curve { target: "/dev/a".to_owned(), axis: CurveAxis::BlockBytes, points, seek_time_ns }
}

fn grid() -> BenchResult {
    let surface = Surface {
        pass: "random-read".to_owned(),
        files: vec![65_536, 1 << 20],
        records: (12..=21).map(|power| 1 << power).collect(),
        mb_per_s: vec![
            (0..10).map(|n| (n < 5).then_some(100.0 * f64::from(n + 1))).collect(),
            (0..10).map(|n| (n < 9).then_some(50.0 * f64::from(n + 1))).collect(),
        ],
    };
    BenchResult { surfaces: vec![surface], ..BenchResult::default() }
}

#[test]
fn a_curve_is_a_table() {
    let result = BenchResult {
        workload: "sweep".to_owned(),
        target: "/mnt/<b>".to_owned(),
        curves: vec![curve()],
        ..BenchResult::default()
    };
    insta::assert_snapshot!(crate::bench_text(&result));
}

#[test]
fn a_surface_is_a_table_of_as_many_columns_as_fit() {
    let step = BenchStep { name: "random-read-64KiB-r4KiB".to_owned(), ..BenchStep::default() };
    let text = crate::bench_text(&BenchResult { steps: vec![step.clone(), step], ..grid() });
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    insta::assert_snapshot!(text);
}
