use super::*;
use crate::fixture;
use seekwell_model::verdict::{Needed, VerdictKind};

fn open(more_s: u64, probability: Option<f64>) -> RunView {
    let mut view = fixture::unresolved();
    view.verdict.kind = VerdictKind::Unresolved;
    let more_ns = more_s * 1_000_000_000;
    view.verdict.evidence.needed = Some(Needed { rounds: 20, more_ns, probability });
    view.host_ns = None;
    view
}

#[test]
fn an_open_answer_has_a_command_with_probability_and_time() {
    let next = next_step(&open(600, Some(0.7)), Path::new("/x/my run.seekwell")).unwrap();
    assert_eq!(next.why, "To decide (about 10 min, 70 % likely):");
    assert_eq!(
        next.command,
        "seekwell run --resume -o '/x/my run.seekwell' --until-decided --at-most 13min"
    );
    let next = next_step(&open(3600, None), Path::new("a.seekwell")).unwrap();
    assert_eq!(next.why, "To decide (about 60 min):");
    assert!(next.command.ends_with("--at-most 2h"), "{next:?}");
}

#[test]
fn a_bound_above_the_tie_is_a_reason_to_stop() {
    let next = next_step(&fixture::demo(), Path::new("demo.seekwell")).unwrap();
    assert_eq!(
        next.why,
        "If 11 % does not matter to you, stop here. To come within 5 % (about 4 min):"
    );
}

#[test]
fn virtual_time_is_told_as_time_of_the_host() {
    let mut view = open(3600, None);
    view.environment = serde_json::json!({ "place": "virtual" });
    let trials: u64 = view.records.iter().map(|(_, record)| record.elapsed_ns).sum();
    view.host_ns = Some(trials / 60);
    let next = next_step(&view, Path::new("a")).unwrap();
    assert!(next.command.contains("--place virtual --until-decided --at-most 2min"), "{next:?}");
}

#[test]
fn a_certified_answer_has_none_and_neither_has_one_of_years() {
    let mut view = open(600, None);
    view.verdict.kind = VerdictKind::Winner;
    assert_eq!(next_step(&view, Path::new("a")), None);
    assert_eq!(next_step(&open(100_000_000, None), Path::new("a")), None);
}

#[test]
fn a_run_whose_rounds_are_not_over_is_completed_with_the_options_that_it_had() {
    let mut view = open(600, Some(0.7));
    view.is_over = false;
    view.environment = serde_json::json!({
        "place": "virtual",
        "options": ["--place", "virtual", "--set", "sata-2tb-5400:rotating.rpm=5900", "--bring", "/a b"],
    });
    let next = next_step(&view, Path::new("a.seekwell")).unwrap();
    assert_eq!(next.why, "To complete the run:");
    assert_eq!(
        next.command,
        "seekwell run --resume -o a.seekwell --place virtual --set sata-2tb-5400:rotating.rpm=5900 --bring '/a b'"
    );
}

#[test]
fn a_run_whose_time_is_used_up_needs_more_of_it() {
    let mut view = open(600, None);
    view.is_over = false;
    view.plan.lab.judge.effort = Effort::Budget(Nanos::seconds(40));
    for (_, record) in &mut view.records {
        record.cost_ns = Some(0);
    }
    let command = |view: &RunView| next_step(view, Path::new("a.seekwell")).unwrap().command;
    assert_eq!(command(&view), "seekwell run --resume -o a.seekwell");
    view.records[0].1.cost_ns = Some(21_000_000_000);
    assert_eq!(command(&view), "seekwell run --resume -o a.seekwell --for 40s");
}
