use super::*;
use crate::fixture::{self, judge};
use crate::judge::warnings;
use crate::order::{self, Expanded};
use seekwell_model::lab::{Effort, Workload};
use seekwell_model::plan::{BackendFacts, Candidate};
use seekwell_model::record::Status;
use seekwell_model::verdict::VerdictKind;
use seekwell_model::workloads::workload_kind;
use std::collections::BTreeMap;

/// A plan whose step `seek` must be steady.
fn planned() -> Plan {
    let mut values = seekwell_model::field::Values::default();
    values.set("steady", seekwell_model::field::Value::Text("snia".into()));
    let part = workload_kind("seek").unwrap().params(&values).unwrap();
    let workload = Workload { name: "seek".into(), parts: vec![part], beside: vec![] };
    let mut lab = fixture::lab(Effort::Rounds(6), vec![workload]);
    lab.judge.metric = "seek.elapsed".into();
    let stacks = vec![fixture::stack("a"), fixture::stack("b")];
    let candidates = (0..2).map(|stack| Candidate { stack, workload: 0 }).collect();
    let expanded = Expanded { stacks, candidates, left_out: vec![], warnings: vec![] };
    order::plan(&lab, expanded, &BackendFacts::default()).unwrap()
}

/// A record whose step takes 10 s with ten samples a second of these operations per second.
fn record(rate: impl Fn(f64) -> f64) -> Record {
    let mut record = fixture::record(1.0);
    record.steps[0].name = "seek".into();
    record.steps[0].started_ns = 2_000_000_000;
    record.steps[0].ended_ns = 12_000_000_000;
    record.timeline = (1..150)
        .map(|tenth| Sample {
            at_ns: tenth * 100_000_000,
            reads_per_s: rate(tenth as f64 / 10.0 - 2.0),
            ..Sample::default()
        })
        .collect();
    record
}

fn marked(rate: impl Fn(f64) -> f64) -> (Status, Vec<Warning>) {
    let plan = planned();
    let mut found = record(rate);
    mark(&plan, &plan.trials[0], &mut found);
    (found.status, found.steps[0].warnings.clone())
}

#[test]
fn a_steady_step_stays_as_it_is() {
    // What was before and after the step does not count.
    let rate = |t: f64| if (0.0..=10.0).contains(&t) { 1000.0 + (t * 7.0).sin() } else { 5.0 };
    assert_eq!(marked(rate), (Status::Ok, vec![]));
}

#[test]
fn a_step_that_still_changes_is_marked_and_says_by_how_much() {
    let falling = |t: f64| 1000.0 - 40.0 * t;
    let (status, warnings) = marked(falling);
    assert_eq!(status, Status::Marked);
    assert_eq!(warnings[0].code, "not-steady");
    assert_eq!(
        warnings[0].text,
        "seek: not steady: over its five fifths the rate has a range of 40 % of the mean (at most 20 %) and a slope of -40 % (at most 10 %)"
    );
}

#[test]
fn what_cannot_be_judged_is_not_taken_as_steady() {
    let plan = planned();
    let mut found = record(|_| 1000.0);
    found.timeline.truncate(22);
    mark(&plan, &plan.trials[0], &mut found);
    assert_eq!(found.status, Status::Marked);
    assert!(found.steps[0].warnings[0].text.contains("2 samples of the timeline are too few"));
}

#[test]
fn a_failed_trial_stays_failed() {
    let plan = planned();
    let mut found = record(|t| 1000.0 - 40.0 * t);
    found.status = Status::Failed { stage: "seek".into(), reason: "no space".into() };
    mark(&plan, &plan.trials[0], &mut found);
    assert!(matches!(found.status, Status::Failed { .. }));
}

#[test]
fn a_trial_that_was_not_steady_never_ranks_silently() {
    let plan = planned();
    let mut all = BTreeMap::new();
    for trial in &plan.trials {
        let slope = if trial.candidate == 1 { 40.0 } else { 0.0 };
        let mut found = record(|t| 1000.0 - slope * t);
        mark(&plan, trial, &mut found);
        all.insert(trial.index, (*trial, found));
    }
    let verdict = judge(&plan, &all);
    assert_eq!(verdict.kind, VerdictKind::Unresolved);
    let records: Vec<_> = all.into_values().collect();
    let said = warnings(&plan, &records);
    assert!(said.iter().any(|w| w.code == "not-steady" && w.text.contains("6 times")), "{said:?}");
}
