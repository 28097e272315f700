use super::*;
use seekwell_model::lab::Better;
use seekwell_model::warning::Warning;
use seekwell_model::warning::WarningCode;

fn stack(name: &str, ratio: f64, change: Change, threshold: Option<Threshold>) -> StackComparison {
    StackComparison {
        stack: name.to_owned(),
        ratio: Some(ratio),
        low: Some(ratio * 0.97),
        high: Some(ratio * 1.03),
        first_median: Some(0.25),
        second_median: Some(0.25 * ratio),
        first_trials: 10,
        second_trials: 12,
        change,
        threshold,
    }
}

fn comparison() -> RunComparison {
    RunComparison {
        first_runs: vec!["before.seekwell".to_owned()],
        second_runs: vec!["after.seekwell".to_owned()],
        reference: None,
        withheld: None,
        backend: "host".to_owned(),
        format: "1.0".to_owned(),
        first: "before.seekwell".to_owned(),
        second: "after.seekwell".to_owned(),
        metric: "unpack.elapsed_durable".to_owned(),
        better: Better::Lower,
        confidence: 0.95,
        tie: 0.02,
        fail_above: Some(0.05),
        stacks: vec![
            stack("ext4", 1.25, Change::Worse, Some(Threshold::Failed)),
            stack("xfs", 0.8, Change::Better, Some(Threshold::Held)),
            stack("btrfs", 1.04, Change::NotResolved, Some(Threshold::NotResolved)),
            StackComparison {
                ratio: None,
                low: None,
                high: None,
                second_median: None,
                second_trials: 0,
                ..stack("f2fs", 1.0, Change::TooFew, Some(Threshold::NotResolved))
            },
        ],
        only_first: vec!["jfs".to_owned()],
        only_second: vec![],
        differences: vec![
            Difference {
                what: "kernel".to_owned(),
                first: Some("6.1.0-\u{1b}[31m".to_owned()),
                second: Some("6.12.1".to_owned()),
                stacks: vec![],
            },
            Difference {
                what: "firmware".to_owned(),
                first: None,
                second: Some("B2".to_owned()),
                stacks: ["ext4", "xfs", "btrfs", "f2fs"].map(str::to_owned).to_vec(),
            },
        ],
        first_doubts: vec![],
        second_doubts: vec![Warning::new(
            WarningCode::BusyProcessors,
            "something waited for a processor in 71 % of the time",
        )],
    }
}

#[test]
fn the_text_of_a_comparison() {
    insta::assert_snapshot!(compare_text(&comparison(), 80, false));
}

#[test]
fn it_fits_and_steers_no_terminal() {
    for width in [60, 80, 120] {
        let text = compare_text(&comparison(), width, false);
        assert!(!text.contains('\u{1b}'), "{text}");
        let widest = text.lines().map(crate::text::width).max().unwrap();
        assert!(widest <= width.max(80), "{widest} of {width}:\n{text}");
    }
}

#[test]
fn the_same_machine_is_said_to_be_the_same() {
    let mut found = comparison();
    found.differences.clear();
    found.fail_above = None;
    let text = compare_text(&found, 200, false);
    assert!(text.contains("were the same in both runs, as far as they were read"), "{text}");
    assert!(!text.contains("Threshold"), "{text}");
}

#[test]
fn the_cause_is_named_as_far_as_the_design_tells_it() {
    let text = |change: &dyn Fn(&mut RunComparison)| {
        let mut found = comparison();
        change(&mut found);
        compare_text(&found, 2_000, false)
    };
    assert!(
        text(&|_| {}).contains("cannot tell a change of the setup from a change of the machine")
    );
    let several = text(&|found| found.first_runs.push("second.seekwell".to_owned()));
    assert!(several.starts_with("before.seekwell, second.seekwell -> after.seekwell"), "{several}");
    assert!(several.contains("larger than the ups and downs from run to run"), "{several}");
    let related = text(&|found| found.reference = Some("ext4/none".to_owned()));
    assert!(related.contains("ratio of the ratios to ext4/none, second to first"), "{related}");
    assert!(related.contains("slowed ext4/none too and cancels"), "{related}");
    let withheld = text(&|found| found.withheld = Some("b was busy".to_owned()));
    assert!(withheld.contains("because b was busy: that alone makes runs differ"), "{withheld}");
}

#[test]
fn a_change_request_gets_conclusion_threshold_and_table() {
    insta::assert_snapshot!(compare_markdown(&comparison()));
}
