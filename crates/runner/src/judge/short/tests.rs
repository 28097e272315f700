use super::*;
use crate::fixture;
use seekwell_model::lab::Effort;

fn run(seconds: f64) -> Option<Warning> {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    plan.lab.judge.metric = "step.elapsed".to_owned();
    let records: Vec<_> =
        plan.trials.iter().map(|trial| (*trial, fixture::record(seconds))).collect();
    too_short(&plan, &records)
}

#[test]
fn a_judged_step_of_20_ms_is_named_with_what_would_do() {
    let warning = run(0.02).unwrap();
    assert_eq!(warning.code, "too-short");
    assert!(warning.text.starts_with("step takes 20.000 ms"), "{}", warning.text);
    assert_eq!(warning.remedy, "give it 25 times as much to do");
    assert_eq!(run(0.1), None);
}

#[test]
fn the_size_of_a_mail_store_is_named() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    let mut values = seekwell_model::field::Values::default();
    values.set("files", seekwell_model::field::Value::Integer(400));
    let kind = seekwell_model::workloads::workload_kind("mail").unwrap();
    plan.workloads[0].parts = vec![kind.params(&values).unwrap()];
    assert_eq!(remedy(&plan, "unpack", 25), "write files = 10000");
}

#[test]
fn a_latency_is_not_shorter_in_a_short_step() {
    let mut plan = fixture::plan(&["a", "b"], Effort::Rounds(6));
    plan.lab.judge.metric = "step.latency_p99".to_owned();
    let records: Vec<_> =
        plan.trials.iter().map(|trial| (*trial, fixture::record(0.001))).collect();
    assert_eq!(too_short(&plan, &records), None);
}
