use super::*;
use seekwell_model::bench::{BenchStep, CurveComparison, CurveComparisonRow, CurvePoint, Surface};

fn curve(target: &str, scale: f64) -> Curve {
    let points = (9..=22).map(|power| {
        let at = 1_u64 << power;
        // 10 µs for the access and 200 MB/s after it.
        let seconds = scale * (10e-6 + at as f64 / 200e6);
        CurvePoint {
            at,
            iops: 1.0 / seconds,
            mb_per_s: Some(at as f64 / 1e6 / seconds),
            seek_time_ns: Some(seconds * 1e9),
        }
    });
    let points: Vec<CurvePoint> = points.collect();
    let seek_time_ns = points[0].seek_time_ns;
    Curve { target: target.to_owned(), axis: CurveAxis::BlockBytes, points, seek_time_ns }
}

fn two() -> BenchResult {
    let row = |block_bytes, ratio: f64| CurveComparisonRow {
        block_bytes,
        ratio: Some(ratio),
        low: Some(ratio * 0.99),
        high: Some(ratio * 1.01),
    };
    BenchResult {
        workload: "sweep".to_owned(),
        target: "/dev/a and /mnt/<b>".to_owned(),
        curves: vec![curve("/dev/a", 1.0), curve("/mnt/<b>", 2.0)],
        comparison: Some(CurveComparison {
            targets: ["/dev/a".to_owned(), "/mnt/<b>".to_owned()],
            rounds: 6,
            confidence: 0.95,
            tie_width: 0.05,
            rows: vec![row(512, 0.5), row(4096, 1.5)],
            crossings: vec![2_000.0],
            alike: Some(false),
        }),
        ..BenchResult::default()
    }
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
fn two_curves_are_one_chart_a_table_and_a_verdict() {
    insta::assert_snapshot!(crate::bench_text(&two()));
}

#[test]
fn a_surface_is_a_table_of_as_many_columns_as_fit() {
    let step = BenchStep { name: "random-read-64KiB-r4KiB".to_owned(), ..BenchStep::default() };
    let text = crate::bench_text(&BenchResult { steps: vec![step.clone(), step], ..grid() });
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn names_are_escaped_in_the_chart_and_lines_follow_the_points() {
    let svg = bench_svg(&two()).unwrap();
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("/mnt/&lt;b&gt;") && !svg.contains("<b>"));
    // Two curves and their two lines in the legend.
    assert_eq!(svg.matches("<polyline").count(), 4);
    let first = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(first.split(' ').count(), 14);
    let html = crate::bench_html(&two());
    assert!(html.contains("<svg xmlns=") && html.contains("id=\"bench\""));
    assert!(!html.contains("<b>"));
}

#[test]
fn a_surface_is_a_heat_map_with_a_cell_for_each_value() {
    let svg = bench_svg(&grid()).unwrap();
    assert_eq!(svg.matches("<rect").count(), 5 + 9);
    assert_eq!(bench_svg(&BenchResult::default()), None);
}

#[test]
fn one_point_is_no_division_by_zero() {
    let mut single = curve("/dev/a", 1.0);
    single.points.truncate(1);
    let text = chart(std::slice::from_ref(&single));
    assert!(text.contains('A') && !text.contains("NaN"), "{text}");
    single.points.clear();
    assert_eq!(chart(&[single]), "");
}
