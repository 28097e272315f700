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

#[test]
fn a_step_without_a_time_is_not_called_short() {
    assert_eq!(run(0.0), None);
    assert!(run(0.0999).is_some());
}

#[test]
fn the_part_with_the_judged_step_is_named_with_its_size() {
    use seekwell_model::field::{Value, Values};
    use seekwell_model::units::Nanos;
    let with = |kind: &str, key: &'static str, value: Value| {
        let mut values = Values::default();
        values.set(key, value);
        seekwell_model::workloads::workload_kind(kind).unwrap().params(&values).unwrap()
    };
    let params = |kind: &str, key, value| with(kind, key, Value::Integer(value));
    let mut plan = fixture::plan(&["a"], Effort::Rounds(6));
    let command = plan.workloads[0].parts[0].clone();
    let by_time = with("stream", "time", Value::Duration(Nanos::seconds(2)));
    plan.workloads[0].parts =
        vec![command.clone(), params("mail", "files", 400), params("seek", "count", 7), by_time];
    assert_eq!(remedy(&plan, "step", 3), "give it 3 times as much to do");
    assert_eq!(remedy(&plan, "unpack", 3), "write files = 1200");
    assert_eq!(remedy(&plan, "seek", 3), "write count = 21");
    assert_eq!(remedy(&plan, "stream", 3), "give it 3 times as much to do");
    assert_eq!(remedy(&plan, "none", 3), "give it 3 times as much to do");
    // The background workload has parts of its own.
    plan.workloads[0].parts = vec![command];
    plan.workloads[0].beside = vec![params("seek", "count", 9)];
    assert_eq!(remedy(&plan, "seek", 3), "write count = 27");
}

#[test]
fn the_time_that_is_judged_is_the_one_that_may_be_short() {
    let mut plan = fixture::plan(&["a"], Effort::Rounds(6));
    let mut record = fixture::record(0.01);
    record.steps[0].metrics.insert("elapsed_durable".into(), 0.4);
    let said = |plan: &Plan, record: &Record| too_short(plan, &[(plan.trials[0], record.clone())]);
    assert!(said(&plan, &record).is_some());
    plan.lab.judge.metric = "step.elapsed_durable".into();
    assert_eq!(said(&plan, &record), None);
    plan.lab.judge.metric = "step.elapsed".into();
    record.status = Status::Failed { stage: "step".into(), reason: "no".into() };
    assert_eq!(said(&plan, &record), None);
}
