use super::*;
use crate::fixture;
use seekwell_model::record::Status;

fn shown(view: &RunView) -> String {
    terminal(view, 80, false)
}

#[test]
fn a_winner() {
    let mut view = fixture::winner();
    view.warnings = fixture::warnings();
    insta::assert_snapshot!(shown(&view));
}

#[test]
fn a_tie() {
    insta::assert_snapshot!(shown(&fixture::tie()));
}

#[test]
fn not_resolved() {
    insta::assert_snapshot!(shown(&fixture::unresolved()));
}

#[test]
fn failed_and_marked_trials() {
    let mut view = fixture::winner();
    for (trial, record) in &mut view.records {
        if trial.candidate == 0 {
            record.status =
                Status::Failed { stage: "mkfs".to_owned(), reason: "no space".to_owned() };
        } else if trial.candidate == 2 && trial.round < 2 {
            record.status = Status::Marked;
        }
    }
    view.verdict.ratios.truncate(2);
    insta::assert_snapshot!(shown(&view));
}

#[test]
fn a_single_stack() {
    let stacks = vec![fixture::stack("ext4", "none")];
    let reason = "only one stack has values: there is nothing to compare it with";
    let mut verdict = fixture::verdict(VerdictKind::Unresolved, &[], reason, vec![]);
    verdict.rounds = 8;
    insta::assert_snapshot!(shown(&fixture::view(stacks, &[0.731], verdict)));
}

#[test]
fn nothing_ran() {
    let mut view = fixture::unresolved();
    view.records.clear();
    view.verdict.ratios.clear();
    view.verdict.stacks.clear();
    view.verdict.baseline = None;
    view.verdict.reason =
        "no trial of any stack ended well; see the reasons of the failed trials".to_owned();
    insta::assert_snapshot!(shown(&view));
}

#[test]
fn long_labels() {
    let mut view = fixture::winner();
    let long = "usb-stick[write_cache=write-through,nr_requests=4]/ext4-no-dir-index-data-journal/mq-deadline";
    view.plan.stacks[0].label = long.to_owned();
    view.verdict.ratios[2].stack = long.to_owned();
    insta::assert_snapshot!(shown(&view));
}

/// Lines of the part that is not for copying.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with("      "))
}

#[test]
fn every_line_keeps_the_width_but_commands() {
    let mut view = fixture::tie();
    view.warnings = fixture::warnings();
    view.plan.stacks[0].label = "漢字/".repeat(30);
    view.verdict.ratios[2].stack = view.plan.stacks[0].label.clone();
    for width in [60, 72, 80, 100, 160] {
        let text = terminal(&view, width, false);
        let wide = prose(&text).find(|line| crate::text::width(line) > width);
        assert_eq!(wide, None, "{width}");
    }
}

#[test]
fn a_wide_terminal_shows_every_step() {
    let text = terminal(&fixture::winner(), 120, false);
    for step in ["read_archive", "read_directory", "remove"] {
        assert!(text.contains(step), "{step}");
    }
    assert!(!text.contains("omitted: widen"));
}

#[test]
fn colour_adds_codes_and_changes_nothing_else() {
    let mut view = fixture::winner();
    view.warnings = fixture::warnings();
    let mut coloured = terminal(&view, 80, true);
    assert!(coloured.contains("\u{1b}[32mWinner\u{1b}[0m"));
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[32m", "\u{1b}[33m"] {
        coloured = coloured.replace(code, "");
    }
    assert_eq!(coloured, terminal(&view, 80, false));
    assert!(!terminal(&view, 80, false).contains('\u{1b}'));
}

#[test]
fn names_from_outside_cannot_steer_the_terminal() {
    let mut view = fixture::winner();
    let evil = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}";
    view.plan.lab.question = evil.to_owned();
    view.backend = evil.to_owned();
    view.plan.stacks[1].label = evil.to_owned();
    view.verdict.ratios[0].stack = evil.to_owned();
    view.verdict.stacks = vec![evil.to_owned()];
    view.warnings = vec![Warning { code: evil.into(), text: evil.into(), remedy: evil.into() }];
    for (_, record) in &mut view.records {
        record.in_force.mkfs = vec![format!("mkfs.xfs {evil} /dev/loop3")];
    }
    view.environment["kernel"] = evil.into();
    view.environment["uncontrolled"] = serde_json::json!([evil]);
    let text = shown(&view);
    assert!(!text.chars().any(|c| c != '\n' && crate::text::is_harmful(c)), "{text:?}");
}

#[test]
fn metrics_of_the_lab_have_columns_of_their_own() {
    let mut view = fixture::winner();
    let mut values = seekwell_model::field::Values::default();
    let text = |text: &str| seekwell_model::field::Value::Text(text.into());
    values.set("run", text("true"));
    values.set("step", text("unpack"));
    let own = [("pages".to_owned(), "pages: (.*)".to_owned())];
    values.set("metrics", seekwell_model::field::Value::Table(own.into_iter().collect()));
    let kind = seekwell_model::workloads::workload_kind("command").unwrap();
    view.plan.workloads[0].parts = vec![kind.params(&values).unwrap()];
    for (_, record) in &mut view.records {
        let step = record.steps.iter_mut().find(|step| step.name == "unpack").unwrap();
        step.metrics.insert("pages".to_owned(), 4321.0);
    }
    let text = shown(&view);
    assert!(text.contains("pages") && text.contains("4321"), "{text}");
}
