use super::*;
use crate::fixture::{self, demo, ratio, stack, verdict as verdict_of, view as view_of};
use seekwell_model::answer::{Answer, AxisAnswer, Depends, Unmeasured, Weaker};
use seekwell_model::plan::Candidate;
use seekwell_model::record::{DeviceTotals, Status};
use seekwell_model::stack::Backing;
use seekwell_model::verdict::{DurabilityClass, VerdictKind};

fn shown(view: &RunView) -> String {
    fixture::everything(view, 80)
}

fn coloured(view: &RunView, all: bool, height: Option<usize>) -> String {
    let path = Path::new("demo.seekwell");
    terminal(view, &Screen { width: 80, height, colour: true, all, path })
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
        let text = fixture::everything(&view, width);
        let wide = prose(&text).find(|line| crate::text::width(line) > width);
        assert_eq!(wide, None, "{width}");
    }
}

#[test]
fn a_wide_terminal_shows_every_step() {
    let text = fixture::everything(&fixture::winner(), 120);
    for step in ["read_archive", "read_directory", "remove"] {
        assert!(text.contains(step), "{step}");
    }
    assert!(!text.contains("omitted: widen"));
}

#[test]
fn colour_adds_codes_and_changes_nothing_else() {
    let mut view = fixture::winner();
    view.warnings = fixture::warnings();
    let mut coloured = coloured(&view, true, None);
    assert!(coloured.contains("\u{1b}[32mPick xfs with scheduler none"), "{coloured}");
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[32m", "\u{1b}[33m"] {
        coloured = coloured.replace(code, "");
    }
    assert_eq!(coloured, shown(&view));
    assert!(!shown(&view).contains('\u{1b}'));
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

/// Another answer of the demo.
fn answered(change: impl FnOnce(&mut Answer)) -> RunView {
    let mut view = demo();
    change(view.verdict.answer.as_mut().unwrap());
    view
}

/// `xfs/none` is certified and all others are out.
fn clear_winner() -> RunView {
    let mut view = fixture::winner();
    view.verdict.answer = Some(Answer {
        pick: Some("xfs/none".to_owned()),
        loss: Some(0.0),
        among: 3,
        certified: true,
        rounds: 8,
        out: vec!["xfs/bfq".to_owned(), "ext4/none".to_owned()],
        ..Answer::default()
    });
    view
}

/// All stacks that are left are within the tie.
fn equal_set() -> RunView {
    answered(|answer| {
        (answer.loss, answer.certified) = (Some(0.038), true);
        (answer.doubt, answer.more) = (None, None);
    })
}

fn no_bound() -> RunView {
    answered(|answer| {
        answer.loss = None;
        answer.cause = Some(
            "3 of 20 trials of xfs/none failed; had they ended, they could change the choice"
                .to_owned(),
        );
        answer.doubt = None;
    })
}

/// Two workloads, and no stack that ran both.
fn no_values() -> RunView {
    let mut view = demo();
    let mut archive = view.plan.workloads[0].clone();
    archive.name = "archive".to_owned();
    view.plan.workloads.push(archive);
    for (stack, pair) in (0..9).zip(&mut view.plan.candidates) {
        *pair = Candidate { stack, workload: stack % 2 };
    }
    view.verdict.ratios.clear();
    view.verdict.baseline = None;
    view.verdict.answer = Some(Answer {
        cause: Some("no stack ran every workload: nothing is compared".to_owned()),
        rounds: 8,
        ..Answer::default()
    });
    view
}

/// 126 stacks: 14 filesystems, 9 schedulers.
fn large_lab() -> RunView {
    let kinds: Vec<String> = (1..=14).map(|number| format!("fs{number}")).collect();
    let stacks: Vec<_> = kinds
        .iter()
        .flat_map(|kind| (1..=9).map(move |number| stack(kind, &format!("scheduler{number}"))))
        .collect();
    let value = |at: usize| 0.3 + 0.01 * at as f64;
    let row = |(at, stack): (usize, &seekwell_model::stack::Stack)| {
        let worse = value(at) / value(0);
        ratio(&stack.label, value(at), worse, worse * 0.9, worse * 1.1)
    };
    let rows: Vec<_> = stacks.iter().enumerate().map(row).collect();
    let labels = |from: usize, to: usize| -> Vec<String> {
        rows[from..to].iter().map(|row| row.stack.clone()).collect()
    };
    let answer = Answer {
        pick: Some(rows[0].stack.clone()),
        loss: Some(0.21),
        among: 126,
        rounds: 20,
        close: labels(1, 5),
        out: labels(5, 126),
        ..demo().verdict.answer.unwrap()
    };
    let seconds: Vec<f64> = (0..126).map(value).collect();
    let mut made = verdict_of(VerdictKind::Unresolved, &[], "", rows.clone());
    (made.tie, made.answer) = (0.05, Some(answer));
    view_of(stacks, &seconds, made)
}

/// Two filesystems, named by themselves.
fn single_axis() -> RunView {
    let mut stacks = vec![stack("ext4", "none"), stack("xfs", "none")];
    stacks.iter_mut().for_each(|stack| stack.label = stack.filesystem.name.clone());
    let rows = vec![ratio("xfs", 0.412, 1.0, 1.0, 1.0), ratio("ext4", 0.417, 1.012, 0.98, 1.045)];
    let mut made = verdict_of(VerdictKind::Tie, &["xfs"], "", rows);
    made.answer = Some(Answer {
        pick: Some("xfs".to_owned()),
        loss: Some(0.02),
        among: 2,
        certified: true,
        rounds: 8,
        close: vec!["ext4".to_owned()],
        ..Answer::default()
    });
    view_of(stacks, &[0.417, 0.412], made)
}

/// The better scheduler is another with each filesystem.
fn dependent_axes() -> RunView {
    answered(|answer| {
        let one = |with: &str, best: &str, worst: &str, ratio: f64| Depends {
            with: with.to_owned(),
            best: best.to_owned(),
            worst: worst.to_owned(),
            ratio,
            low: Some(ratio - 0.1),
            high: Some(ratio + 0.1),
        };
        answer.axes[1] = AxisAnswer {
            axis: "scheduler".to_owned(),
            left: vec!["none".to_owned(), "bfq".to_owned()],
            depends: vec![
                one("ext4", "none", "bfq", 1.3),
                one("xfs", "bfq", "none", 1.2),
                one("btrfs", "none", "bfq", 1.8),
            ],
            ..AxisAnswer::default()
        };
        answer.doubt = None;
    })
}

/// Modelled devices whose known error is larger than the difference.
fn model_error() -> RunView {
    let mut view = clear_winner();
    for stack in &mut view.plan.stacks {
        stack.device.backing = Backing::Model { model: "disk".to_owned(), size: None, start: None };
    }
    for (_, record) in &mut view.records {
        let step = record.steps.iter_mut().find(|step| step.name == "unpack").unwrap();
        let (writes, written_bytes) = (1000, 4_096_000);
        step.device = Some(DeviceTotals { writes, written_bytes, ..DeviceTotals::default() });
    }
    view.backend = "virtual".to_owned();
    view.environment["model_errors"] = serde_json::json!({
        "disk": { "small-writes": { "factor": 1.19, "figure": "random writes: 124 /s, model 104 /s" } }
    });
    view
}

fn interrupted() -> RunView {
    let mut view = answered(|answer| {
        (answer.loss, answer.rounds) = (Some(0.62), 4);
        answer.doubt = None;
        answer.unmeasured = vec![Unmeasured {
            stack: "btrfs/bfq".to_owned(),
            reason: "3 of 4 trials failed in mkfs".to_owned(),
        }];
        answer.out.pop();
        answer.among = 8;
    });
    view.is_over = false;
    view
}

fn weaker_class() -> RunView {
    answered(|answer| {
        answer.out.retain(|stack| stack != "btrfs/none");
        answer.weaker = Some(Weaker {
            stacks: 1,
            stack: "btrfs/none".to_owned(),
            class: DurabilityClass::Unsafe,
            pick_class: DurabilityClass::Synced,
            ratio: Some(0.53),
            low: Some(0.5),
            high: Some(0.57),
            loses: "lost data that a sync had returned for in 27 of 30 power cuts".to_owned(),
        });
        answer.among = 8;
    })
}

#[test]
fn first_screens_of_every_kind_of_run() {
    let all = [
        ("clear-winner", clear_winner()),
        ("pick-with-bound", demo()),
        ("equal-set", equal_set()),
        ("no-bound-by-failures", no_bound()),
        ("no-values", no_values()),
        ("large-lab", large_lab()),
        ("single-axis", single_axis()),
        ("dependent-axes", dependent_axes()),
        ("model-error", model_error()),
        ("interrupted", interrupted()),
        ("weaker-class", weaker_class()),
    ];
    for (name, view) in all {
        for width in [80, 120] {
            let text = fixture::screen(&view, width);
            insta::assert_snapshot!(format!("{name}-{width}"), text);
            assert!(text.lines().count() <= LINES, "{name}: {} lines", text.lines().count());
            let wide = text.lines().find(|line| crate::text::width(line) > width);
            assert_eq!(wide, None, "{name}");
        }
    }
}

#[test]
fn the_answer_is_the_last_line_of_a_text_that_scrolls() {
    let view = demo();
    let pick = "Pick ext4 with scheduler none: at most 11 % slower than the best of the nine.";
    let path = Path::new("demo.seekwell");
    let shown =
        |height| terminal(&view, &Screen { width: 100, height, colour: false, all: true, path });
    assert!(shown(Some(24)).trim_end().ends_with(pick));
    assert!(!shown(Some(1000)).trim_end().ends_with(pick));
    assert!(!shown(None).trim_end().ends_with(pick), "nothing scrolls in a file");
}

#[test]
fn an_interval_of_two_rounds_has_ends_that_fit() {
    let mut view = demo();
    (view.verdict.ratios[1].low, view.verdict.ratios[1].high) = (Some(1e-9), Some(1.2e43));
    let text = fixture::screen(&view, 80);
    assert!(text.contains("<0.001\u{2013}>999"), "{text}");
}

#[test]
fn each_trial_is_a_tick_of_its_row() {
    let mut view = demo();
    let row = |view: &RunView| -> String {
        let text = fixture::screen(view, 80);
        text.lines().find(|line| line.starts_with("  xfs   none")).unwrap().to_owned()
    };
    assert!(!row(&view).contains(['\u{2575}', '\u{2534}']), "all are where the ratio is");
    let mut changed = [1.05, 1.6, 1000.0].into_iter();
    let of_row =
        |pair: &&mut (seekwell_model::plan::PlannedTrial, seekwell_model::record::Record)| {
            view.plan.stacks[view.plan.candidates[pair.0.candidate as usize].stack as usize].label
                == "xfs/none"
        };
    for ((_, record), factor) in view.records.iter_mut().filter(of_row).zip(&mut changed) {
        let step = record.steps.iter_mut().find(|step| step.name == "unpack").unwrap();
        *step.metrics.get_mut("elapsed_durable").unwrap() *= factor;
    }
    let row = row(&view);
    let ticks = |mark: char| row.chars().filter(|c| *c == mark).count();
    assert_eq!((ticks('\u{2534}'), ticks('\u{2575}')), (1, 1), "one is off the scale: {row}");
}

#[test]
fn a_changed_file_is_said_on_the_first_screen() {
    let mut view = demo();
    assert!(!fixture::screen(&view, 80).contains("  ! "));
    view.warnings = vec![Warning::new(WarningCode::FileChanged, "trial 3 was changed".to_owned())];
    assert!(fixture::screen(&view, 80).contains("  ! file-changed: trial 3 was changed"));
}

#[test]
fn lines_that_make_a_stack_permanent_are_shown_on_request_alone() {
    let view = clear_winner();
    assert!(!fixture::screen(&view, 80).contains("mkfs"));
    assert!(fixture::everything(&view, 80).contains("mkfs.xfs"));
}

#[test]
fn colours_are_codes_around_the_same_text() {
    let view = demo();
    let mut text = coloured(&view, false, Some(10));
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[32m", "\u{1b}[33m"] {
        text = text.replace(code, "");
    }
    assert!(text.starts_with(&fixture::screen(&view, 80)), "{text}");
}

#[test]
fn stacks_of_a_run_without_a_bound_are_not_called_less_safe() {
    let mut view = clear_winner();
    let answer = crate::answer_text::answer(&view).into_owned();
    let (close, out) = (Vec::new(), Vec::new());
    view.verdict.answer =
        Some(seekwell_model::answer::Answer { loss: None, rounds: 0, close, out, ..answer });
    let screen = fixture::screen(&view, 80);
    assert!(screen.contains("without a bound (2)"), "{screen}");
    assert!(!screen.contains("not eligible"), "{screen}");
}
