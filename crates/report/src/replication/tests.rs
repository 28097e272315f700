use super::*;
use seekwell_model::replication::{LabRun, ModelChecks, NotCounted, NotCountedKind, ValueUse};

fn value(id: &str, ratio: Option<f64>) -> ValueOutcome {
    let measured = ratio.map(|ratio| ratio * 100.0);
    ValueOutcome {
        id: id.to_owned(),
        unit: "s".to_owned(),
        line: 7,
        usage: ValueUse::Predict,
        published: 100.0,
        measured: measured.map(|at| Quantity { low: at, centre: at, high: at, rounds: 6 }),
        ratio,
        range: None,
        reason: None,
        note: None,
        also: vec![],
        fitted_since: None,
    }
}

fn claim(id: &str, verdict: ClaimVerdict, says: &str) -> ClaimOutcome {
    ClaimOutcome {
        id: id.to_owned(),
        line: 8,
        says: says.to_owned(),
        form: "sign".to_owned(),
        verdict,
        agreement: match verdict {
            ClaimVerdict::Confirmed => Some(Agreement::Agrees),
            ClaimVerdict::NotConfirmed => Some(Agreement::OurError),
            _ => None,
        },
        experiment: None,
        tests: vec![],
        shown_by: vec![],
        because: None,
        reason: None,
        also: vec![],
        at_ends: None,
        not_counted: None,
    }
}

/// One value that agrees, one that misses, one without a trial; a claim of every kind.
fn replication() -> Replication {
    let claims = vec![
        claim("is-so", ClaimVerdict::Confirmed, "it is so"),
        claim("is-not", ClaimVerdict::NotConfirmed, "it is <script>alert(1)</script> so"),
        claim("elsewhere", ClaimVerdict::CannotBeTested, "another system does it"),
        claim("later", ClaimVerdict::NotMeasured, "nobody ran it"),
    ];
    let study = StudyOutcome {
        key: "003".to_owned(),
        title: "Raw \u{1b}[2Jdevices".to_owned(),
        author: "A. Nobody".to_owned(),
        kernel: "2.6".to_owned(),
        stands_for: String::new(),
        notes: vec![],
        errata: vec![],
        changes: vec![],
        labs: vec![],
        values: vec![value("near", Some(1.05)), value("far", Some(1.5)), value("unrun", None)],
        claims,
        quick_alone: None,
        quick_agreements: None,
    };
    Replication {
        format: "1.0".to_owned(),
        set: "quick".to_owned(),
        place: "virtual".to_owned(),
        device: None,
        frozen: "2026-11-20".to_owned(),
        studies: vec![study],
        models: Some(ModelChecks { models: 14, checked: 1, met: 0 }),
    }
}

/// The line of a text that names something.
fn line<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines().find(|line| line.contains(name)).unwrap()
}

#[test]
fn what_was_not_measured_is_a_dash_and_only_a_miss_is_red() {
    let text = replication_text(&replication(), 80, true);
    for (name, ratio, red) in
        [("near ", "1.05", false), ("far ", "1.50", true), ("unrun ", DASH, false)]
    {
        let line = line(&text, name);
        assert!(line.contains(ratio), "{line}");
        assert_eq!(line.contains("\u{1b}[31m"), red, "{line}");
    }
    for (name, verdict, red) in [
        ("is-so", "  agrees", false),
        ("is-not", "differs, our error", true),
        ("elsewhere", "cannot be tested", false),
        ("later", "not measured", false),
    ] {
        let line = line(&text, name);
        assert!(line.contains(verdict), "{line}");
        assert_eq!(line.contains("\u{1b}[31m"), red, "{line}");
    }
    assert!(!text.contains("\u{1b}[2J"), "a title reaches the terminal as it is:\n{text}");
    assert!(!replication_text(&replication(), 80, false).contains('\u{1b}'));
}

fn lab(name: &str, changed: &[&str], unknown: &[&str]) -> LabRun {
    LabRun {
        lab: name.to_owned(),
        set: "quick".to_owned(),
        file: format!("{name}.seekwell"),
        trials: 6,
        left_out: 0,
        kernel: "6.12".to_owned(),
        changed_models: changed.iter().map(|text| (*text).to_owned()).collect(),
        unknown_models: unknown.iter().map(|text| (*text).to_owned()).collect(),
    }
}

#[test]
fn runs_on_earlier_models_say_so_wherever_they_are_shown() {
    let mut found = replication();
    let shown = |found: &Replication| {
        [replication_text(found, 300, false), replication_markdown(found, Around::default())]
    };
    found.studies[0].labs = vec![lab("today", &[], &[])];
    for text in shown(&found) {
        assert!(!text.contains("earlier models") && !text.contains("without a record"), "{text}");
    }
    let old = lab("old", &["disk: rotating.rpm was 5400, is 7200"], &["stick"]);
    found.studies[0].labs.extend([old, lab("silent", &[], &["disk"])]);
    for text in shown(&found) {
        for words in [
            "made with earlier models (disk: rotating.rpm was 5400, is 7200)",
            "with today's values of disk, but without a record of how the models behaved",
        ] {
            let words = words.replace('\'', if text.contains("<html") { "&#39;" } else { "'" });
            assert!(text.contains(&words), "{words} is missing:\n{text}");
        }
    }
    let page = replication_markdown(&found, Around::default());
    assert!(page.contains("**1 of 3 runs were made with earlier models"), "{page}");
}

#[test]
fn markdown_tells_every_verdict_and_runs_nothing() {
    let text = replication_markdown(&replication(), Around::default());
    for word in
        ["agrees", "differs, our error", "cannot be tested", "not measured", "unrun", "1.50"]
    {
        assert!(text.contains(word), "{word} is missing:\n{text}");
    }
    assert!(!text.contains("<script>alert"), "{text}");
}

#[test]
fn what_stands_beside_says_whether_it_is_near_the_published_number() {
    let at = |centre: f64| Quantity { low: centre, centre, high: centre, rounds: 6 };
    let also = |found, published| Also { says: "then".to_owned(), found, published };
    let near = beside(&also(Some(at(1.381)), Some(1.369)));
    assert_eq!(
        near,
        "not scored: then: 1.381 (1.381 to 1.381), within 10 % of the published 1.369 (1.01)"
    );
    assert!(beside(&also(Some(at(2.07)), Some(1.369))).contains(", not within 10 % of"));
    assert_eq!(beside(&also(None, Some(1.0))), "not scored: then: not measured");
    assert!(!beside(&also(Some(at(1.0)), None)).contains("published"));
}

#[test]
fn charts_stand_beside_the_markdown_and_draw_what_was_measured() {
    let found = replication();
    let around = Around { introduction: Some("By hand.\n"), charts: Some("r") };
    let text = replication_markdown(&found, around);
    let hand = text.find("\n\nBy hand.\n").unwrap();
    assert!(text.find("| study | agrees |").unwrap() < hand, "the scores come first");
    assert!(hand < text.find("## Study 003").unwrap() && text.contains("](r-003.svg)"), "{text}");
    let chart = replication_chart(&found.studies[0]).unwrap();
    assert!(chart.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{chart}");
    assert_eq!(chart.matches("<circle").count(), 2);
    assert_eq!(chart.matches("<circle r=\"4\" fill=\"#b00020\"").count(), 1);
    assert!(chart.contains("far") && !chart.contains("unrun"), "{chart}");
    let nothing = StudyOutcome { values: vec![value("unrun", None)], ..found.studies[0].clone() };
    assert_eq!(replication_chart(&nothing), None);
}

#[test]
fn many_stacks_are_counted_and_few_are_named() {
    let shown = |stack: u32| ShownBy {
        file: if stack < 5 { "a.seekwell" } else { "b.seekwell" }.to_owned(),
        stacks: vec![format!("stack {stack}")],
        trials: vec![stack, stack + 10],
    };
    let few: Vec<ShownBy> = (0..4).map(shown).collect();
    assert_eq!(summed(&few)[3], "a.seekwell: stack 3 (trials 3, 13)");
    let many: Vec<ShownBy> = (0..6).map(shown).collect();
    let lines = ["a.seekwell: 10 trials, stacks: 5", "b.seekwell: 2 trials, stacks: 1"];
    assert_eq!(summed(&many), lines);
}

#[test]
fn results_that_are_no_evidence_are_not_in_the_score() {
    let mut found = replication();
    let reason = "it repeats is-so".to_owned();
    let repeat = NotCounted { kind: NotCountedKind::Stated, reason };
    found.studies[0].claims.push(ClaimOutcome {
        not_counted: Some(repeat),
        ..claim("again", ClaimVerdict::Confirmed, "it is so")
    });
    assert_eq!(
        score(&found.studies[0]),
        "1 of 2 agree, 0 differ with the cause shown, 1 differ by our error, 0 cannot be told, 1 not measured, 1 cannot be tested; not counted: 1 for a stated reason"
    );
    let text = replication_markdown(&found, Around::default());
    assert!(text.contains("| 1 | 0 | 1 | 0 | 1 | 1 | 1 for a stated reason |"), "{text}");
    assert!(text.contains("not counted: it repeats is-so"), "{text}");
    assert!(text.contains("<details><summary>Claims</summary>\n\n| claim |"), "{text}");
}

#[test]
fn the_quick_runs_have_a_score_of_their_own() {
    let mut found = replication();
    assert!(!replication_markdown(&found, Around::default()).contains("quick runs alone"));
    found.studies[0].quick_alone =
        Some(BTreeMap::from([(ClaimVerdict::NotConfirmed, 3), (ClaimVerdict::NotMeasured, 2)]));
    found.studies[0].quick_agreements =
        Some(BTreeMap::from([(Agreement::OurError, 1), (Agreement::CannotTell, 2)]));
    let text = replication_markdown(&found, Around::default());
    assert!(text.contains("| 003 | 0 | 0 | 1 | 2 | 2 | 0 |"), "{text}");
}

#[test]
fn a_study_begins_with_a_line_of_its_own() {
    let text = replication_text(&replication(), 80, false);
    let mut lines = text.lines().skip_while(|line| !line.starts_with("003 Raw "));
    assert!(lines.next().unwrap().ends_with("devices (A. Nobody)"), "{text}");
    assert!(lines.next().unwrap().starts_with("  1 of 2 agree"), "{text}");
}

#[test]
fn values_models_and_claims_come_first() {
    let mut found = replication();
    let lines = [
        "1 of 3 predicted values are within 10 %.",
        "Of 14 models of devices, published figures check 1, and 0 of 1 meet them all (within 10 %).",
        "Claims: 1 of 2 agree, 0 differ with the cause shown, 1 differ by our error, 0 cannot be told.",
    ];
    assert_eq!(first_lines(&found), lines);
    for text in
        [replication_text(&found, 200, false), replication_markdown(&found, Around::default())]
    {
        let at = |line: &str| text.find(line).unwrap();
        assert!(at(lines[0]) < at(lines[1]) && at(lines[1]) < at(lines[2]), "{text}");
        assert!(at(lines[2]) < at("003"), "{text}");
    }
    // Values on which something was changed after a miss are counted apart, and no model is not an unchecked one.
    found.studies[0].values[0].fitted_since = Some("2026-11-24".to_owned());
    found.models = None;
    let first = "1 of 3 predicted values are within 10 % (1 of these counts as fitted: something was changed after a run had missed it).";
    assert_eq!(first_lines(&found), [first, lines[2]]);
    let text = replication_markdown(&found, Around::default());
    assert!(text.contains("counts as fitted since 2026-11-24"), "{text}");
}

#[test]
fn a_cause_stands_with_its_experiment_and_errata_come_last() {
    let mut found = replication();
    let study = &mut found.studies[0];
    let quantity = Quantity { low: 1.3, centre: 1.381, high: 1.4, rounds: 6 };
    study.claims[1].agreement = Some(Agreement::Finding);
    study.claims[1].reason = Some("another allocator".to_owned());
    study.claims[1].experiment = Some(Tested {
        what: "then".to_owned(),
        wanted: "above 1".to_owned(),
        found: Some(quantity),
        holds: Some(true),
        agrees: Some(true),
    });
    study.errata = vec!["a slip".to_owned()];
    study.changes = vec!["2026-11-24: moved".to_owned()];
    for text in
        [replication_text(&found, 300, false), replication_markdown(&found, Around::default())]
    {
        assert!(text.contains("differs, cause shown"), "{text}");
        let cause = text.find("cause: another allocator").unwrap();
        let experiment = "experiment: then: 1.381 (1.300 to 1.400), wanted above 1: met";
        assert!(text.contains(experiment), "{text}");
        assert!(cause < text.find("2026-11-24: moved").unwrap(), "{text}");
        assert!(text.find("2026-11-24: moved").unwrap() < text.find("a slip").unwrap(), "{text}");
        assert!(!text.contains("likely reason: another"));
    }
}

#[test]
fn results_take_the_places_of_their_names_in_the_introduction() {
    let mut found = replication();
    let quantity = |centre| Some(Quantity { low: centre, centre, high: centre, rounds: 6 });
    found.studies[0].claims[0].tests = vec![Tested {
        what: "a / b".to_owned(),
        wanted: "above 1".to_owned(),
        found: quantity(2.0712),
        holds: Some(true),
        agrees: Some(true),
    }];
    let also = |centre| Also { says: "then".to_owned(), found: quantity(centre), published: None };
    found.studies[0].claims[0].also = vec![also(1.0), also(1.3812)];
    found.studies[0].values[0].also = vec![also(99.0)];
    let text =
        "takes {{near}} (then {{near#1}}), {{is-so}} times ({{is-so#2}}), {{unrun}} {{none}} {{";
    assert_eq!(
        introduction::filled(text, &found),
        "takes 105.0 s (then 99.00 s), 2.071 times (1.381), {{unrun}} {{none}} {{"
    );
}
