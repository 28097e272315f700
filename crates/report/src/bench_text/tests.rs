use super::*;
use crate::fixture;
use seekwell_model::bench::LatencySummary;

fn step(name: &str, ops: u64) -> BenchStep {
    BenchStep {
        name: name.to_owned(),
        ops,
        elapsed_ns: 2_000_000_000,
        iops: ops as f64 / 2.0,
        mb_per_s: Some(20.5),
        cpu_ns_per_op: Some(3_200.0),
        latency_ns: Some(LatencySummary {
            mean: 199_400.0,
            p50: 180_223,
            p99: 410_111,
            p999: 1_200_127,
            max: 9_830_399,
        }),
        ..BenchStep::default()
    }
}

fn result(steps: Vec<BenchStep>) -> BenchResult {
    BenchResult {
        workload: "seek".to_owned(),
        target: "/tmp/file".to_owned(),
        steps,
        warnings: fixture::warnings(),
    }
}

#[test]
fn one_step_is_some_lines() {
    insta::assert_snapshot!(bench_text(&result(vec![step("seek", 9_996)])));
}

#[test]
fn several_steps_are_a_table() {
    let bare = BenchStep { mb_per_s: None, latency_ns: None, ..step("remove", 7) };
    insta::assert_snapshot!(bench_text(&result(vec![step("4k", 9_996), step("64k", 123), bare])));
}

#[test]
fn what_is_not_known_is_not_printed_as_zero() {
    let bare = BenchStep { mb_per_s: None, cpu_ns_per_op: None, latency_ns: None, ..step("x", 3) };
    let text = bench_text(&result(vec![bare]));
    assert!(
        !text.contains("MB/s,") && !text.contains("CPU") && !text.contains("latency"),
        "{text}"
    );
    assert!(bench_text(&result(vec![])).contains("no step was run"));
}
