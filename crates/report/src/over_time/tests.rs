use super::*;
use crate::fixture;
use seekwell_model::comparison::Difference;
use seekwell_model::lab::Better;

fn run(name: &str, day: u32, pick: &str) -> PastRun {
    let mut view = fixture::demo();
    let answer = view.verdict.answer.as_mut().unwrap();
    answer.close.retain(|label| label != pick);
    if answer.pick.as_deref() != Some(pick) {
        answer.close.push("ext4/none".to_owned());
    }
    answer.pick = Some(pick.to_owned());
    PastRun::of(name, &format!("2026-11-{day}T17:29:56.273Z"), &view)
}

fn stack(label: &str, ratio: f64, change: Change) -> StackComparison {
    StackComparison {
        stack: label.to_owned(),
        ratio: Some(ratio),
        low: Some(ratio * 0.98),
        high: Some(ratio * 1.02),
        first_median: Some(0.35),
        second_median: Some(0.35 * ratio),
        first_trials: 14,
        second_trials: 14,
        change,
        threshold: None,
    }
}

fn change(second: &str, stacks: Vec<StackComparison>) -> RunComparison {
    RunComparison {
        format: "1.0".to_owned(),
        first: "a.seekwell".to_owned(),
        second: second.to_owned(),
        first_runs: vec![],
        second_runs: vec![],
        reference: None,
        withheld: None,
        backend: "host".to_owned(),
        metric: "unpack.elapsed_durable".to_owned(),
        better: Better::Lower,
        confidence: 0.95,
        tie: 0.05,
        fail_above: None,
        stacks,
        only_first: vec![],
        only_second: vec![],
        differences: vec![],
        first_doubts: vec![],
        second_doubts: vec![],
    }
}

/// Three runs: the pick stays and is slower from the second on, with another kernel.
fn slower() -> (Vec<PastRun>, Vec<RunComparison>) {
    let names = ["a.seekwell", "b.seekwell", "c.seekwell"];
    let runs = (1..).zip(names).map(|(day, name)| run(name, 20 + day, "ext4/none")).collect();
    let of = |name: &str, ratio: f64, xfs: f64| {
        let mut found = change(
            name,
            vec![
                stack("xfs/none", xfs, if xfs > 1.05 { Change::Worse } else { Change::Same }),
                stack("ext4/none", ratio, Change::Worse),
                StackComparison {
                    ratio: None,
                    low: None,
                    high: None,
                    second_median: None,
                    second_trials: 0,
                    ..stack("btrfs/none", 1.0, Change::TooFew)
                },
            ],
        );
        let kernel = |text: &str| Some(text.to_owned());
        found.differences = vec![Difference {
            what: "kernel".to_owned(),
            first: kernel("6.1"),
            second: kernel("6.12"),
            stacks: vec![],
        }];
        found
    };
    (runs, vec![of("b.seekwell", 1.07, 1.0), of("c.seekwell", 1.08, 1.7)])
}

fn text(runs: &[PastRun], changes: &[RunComparison]) -> String {
    OverTime::of(runs, changes).unwrap().text(80, false, false)
}

#[test]
fn the_text_of_runs_over_time() {
    let (runs, changes) = slower();
    insta::assert_snapshot!(text(&runs, &changes));
}

#[test]
fn a_change_request_gets_the_same() {
    let (runs, changes) = slower();
    insta::assert_snapshot!(OverTime::of(&runs, &changes).unwrap().markdown());
}

#[test]
fn the_page_has_a_mark_for_each_value_and_escapes_names() {
    let (mut runs, mut changes) = slower();
    runs[1].name = "<script>".to_owned();
    for found in &mut changes {
        found.stacks[0].stack = "<b>xfs".to_owned();
    }
    let page = OverTime::of(&runs, &changes).unwrap().html();
    assert!(
        page.contains("<h1>Pick ext4 with scheduler none in all three runs; it is 8\u{a0}% slower"),
        "{page}"
    );
    assert!(!page.contains("<script>") && !page.contains("<b>xfs"), "{page}");
    // Three runs of two stacks, and of the third stack the first run alone.
    assert_eq!(page.matches("<circle class=\"mark\"").count(), 7);
    assert_eq!(page.matches("class=\"whisker\"").count(), 4);
}

#[test]
fn sentences_say_since_when() {
    let said = |picks: [&str; 3], ratios: [(f64, Change); 2]| {
        let runs: Vec<PastRun> =
            (1..).zip(picks).map(|(day, pick)| run("a", 20 + day, pick)).collect();
        let of = |(ratio, found): (f64, Change)| change("b", vec![stack(picks[2], ratio, found)]);
        let changes = ratios.map(of);
        OverTime::of(&runs, &changes).unwrap().sentence()
    };
    let (same, open) = ((1.0, Change::Same), (1.03, Change::NotResolved));
    let ext4 = ["ext4/none"; 3];
    assert_eq!(
        said(ext4, [same, same]),
        "Pick ext4 with scheduler none in all three runs; within 5 % of the first run."
    );
    assert_eq!(
        said(ext4, [same, open]),
        "Pick ext4 with scheduler none in all three runs; no change above 5.1 % is shown."
    );
    assert_eq!(
        said(ext4, [same, (1.08, Change::Worse)]),
        "Pick ext4 with scheduler none in all three runs; it is 8 % slower (6 to 10 %) since run 3."
    );
    assert_eq!(
        said(ext4, [(0.5, Change::Better), (0.5, Change::Better)]),
        "Pick ext4 with scheduler none in all three runs; it is 2.0 times as fast since run 2."
    );
    assert_eq!(
        said(ext4, [(2.0, Change::Worse), (2.0, Change::Worse)]),
        "Pick ext4 with scheduler none in all three runs; it was 2.0 times as fast before run 2."
    );
    assert_eq!(
        said(["ext4/none", "xfs/bfq", "xfs/bfq"], [same, same]),
        "The pick changed: ext4/none in run 1, xfs/bfq since run 2 (ext4/none is too close to call); within 5 % of the \
         first run."
    );
}

#[test]
fn what_explains_a_change_is_the_main_doubt() {
    let (runs, mut changes) = slower();
    assert!(text(&runs, &changes).contains("cannot separate a change of the setup"));
    changes[1].withheld = Some("b.seekwell was busy".to_owned());
    assert!(
        text(&runs, &changes)
            .contains("Main doubt: b.seekwell was busy: that alone makes runs differ.")
    );
    changes[1].withheld = None;
    changes.iter_mut().for_each(|found| found.backend = "virtual".to_owned());
    assert!(!text(&runs, &changes).contains("Main doubt"), "a virtual machine is never busy");
}

#[test]
fn many_stacks_are_cut_and_every_line_fits() {
    let (runs, mut changes) = slower();
    for found in &mut changes {
        found
            .stacks
            .extend((0..30).map(|at| stack(&format!("fs{at}/scheduler"), 1.0, Change::Same)));
    }
    let report = OverTime::of(&runs, &changes).unwrap();
    assert!(report.text(80, false, false).contains("21 more stacks: --all shows them"));
    assert!(report.text(80, false, true).contains("fs29/scheduler"));
    assert!(report.html().contains("Show all 33 stacks"));
    for width in [80, 100, 120] {
        let text = report.text(width, false, true);
        let wide = text.lines().find(|line| crate::text::width(line) > width);
        assert_eq!(wide, None, "{text}");
    }
}

#[test]
fn fewer_than_two_runs_have_no_report_over_time() {
    let (runs, changes) = slower();
    assert!(OverTime::of(&runs[..1], &[]).is_none());
    assert!(OverTime::of(&runs, &changes[..1]).is_none());
}
