use super::*;
use crate::fixture;
use seekwell_model::verdict::Needed;

fn open(more_s: u64, probability: Option<f64>) -> RunView {
    let mut view = fixture::unresolved();
    view.verdict.kind = VerdictKind::Unresolved;
    let more_ns = more_s * 1_000_000_000;
    view.verdict.evidence.needed = Some(Needed { rounds: 20, more_ns, probability });
    view.host_ns = None;
    view
}

#[test]
fn an_open_verdict_has_a_command_with_probability_and_time() {
    let line = next_command(&open(600, Some(0.7)), Path::new("/x/my run.seekwell")).unwrap();
    assert_eq!(
        line,
        "seekwell run --resume -o '/x/my run.seekwell' --until-decided --at-most 13min  # decides with a probability of 70 %, in about 10 min"
    );
    let line = next_command(&open(3600, None), Path::new("a.seekwell")).unwrap();
    assert!(line.ends_with("--at-most 2h  # about 60 min"), "{line}");
}

#[test]
fn virtual_time_is_told_as_time_of_the_host() {
    let mut view = open(3600, None);
    view.environment = serde_json::json!({ "place": "virtual" });
    let trials: u64 = view.records.iter().map(|(_, record)| record.elapsed_ns).sum();
    view.host_ns = Some(trials / 60);
    let line = next_command(&view, Path::new("a")).unwrap();
    assert!(line.contains("--place virtual --until-decided --at-most 2min"), "{line}");
}

#[test]
fn a_clear_verdict_has_none_and_neither_has_one_of_years() {
    let mut view = open(600, None);
    view.verdict.kind = VerdictKind::Winner;
    assert_eq!(next_command(&view, Path::new("a")), None);
    assert_eq!(next_command(&open(100_000_000, None), Path::new("a")), None);
}

#[test]
fn a_run_whose_rounds_are_not_over_is_completed_with_the_options_that_it_had() {
    let mut view = open(600, Some(0.7));
    view.is_over = false;
    view.environment = serde_json::json!({
        "place": "virtual",
        "options": ["--place", "virtual", "--set", "sata-2tb-5400:rotating.rpm=5900", "--bring", "/a b"],
    });
    assert_eq!(
        next_command(&view, Path::new("a.seekwell")).unwrap(),
        "seekwell run --resume -o a.seekwell --place virtual --set sata-2tb-5400:rotating.rpm=5900 --bring '/a b'"
    );
}
