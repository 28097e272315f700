use super::*;
use seekwell_model::replication::{
    Also, LabRun, Line, ModelChecks, NotCounted, NotCountedKind, Panel, Quantity, StudyPage,
    Suspected, Tested, ValueOutcome, ValueUse,
};

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

fn at(centre: f64) -> Option<Quantity> {
    Some(Quantity { low: centre, centre, high: centre, rounds: 6 })
}

/// Three bars, two lines, a finding and four misses.
/// An effect of twice, and this without its cause.
fn suspected(without: f64) -> Suspected {
    let at = |centre| Some(Quantity { low: centre - 0.1, centre, high: centre + 0.1, rounds: 6 });
    Suspected {
        cause: "seeks".to_owned(),
        effect: "ext3 takes".to_owned(),
        with: at(2.0),
        without: at(without),
    }
}

#[test]
fn a_suspected_cause_is_judged_by_the_part_of_the_effect_that_goes_with_it() {
    let words = |without| suspected_words(&suspected(without));
    let said = |end: &str| format!("Suspected: seeks. ext3 takes 2.00 times with it, {end}.");
    assert_eq!(words(1.0), said("1.00 without: the effect goes away"));
    assert_eq!(words(1.19), said("1.19 without: 75 % of the effect goes away"));
    assert_eq!(words(1.9), said("1.90 without: the effect stays"));
    let none = Suspected { with: suspected(1.05).without, ..suspected(1.0) };
    assert!(suspected_words(&none).ends_with("there is no effect."));
    let unmeasured = Suspected { without: None, ..suspected(1.0) };
    assert!(suspected_words(&unmeasured).ends_with("— without: not measured."));
}

fn page() -> StudyPage {
    let bar = |name: &str, published: Option<f64>, ours, fitted| Bar {
        name: name.to_owned(),
        value: None,
        published,
        says: published.is_none().then(|| "fastest".to_owned()),
        ours,
        fitted,
    };
    let miss = |index: u8| Miss {
        says: format!("miss {index}"),
        published: (index == 0).then_some(100.0),
        unit: "s".to_owned(),
        found: 1234.0,
        wanted: (index > 0).then(|| "above 10".to_owned()),
        factor: 12.34,
        reason: (index > 0).then(|| "of <b>that".to_owned()),
    };
    let point = |(tick, value): &(&str, f64)| Some(((*tick).to_owned(), at(*value)?));
    let line = |published, points: &[(&str, f64)]| Line {
        name: if published { "theirs" } else { "our card" }.to_owned(),
        published,
        of: None,
        at: points.iter().filter_map(point).collect(),
    };
    let panel = |title: &str, unit: &str| Panel {
        title: title.to_owned(),
        unit: unit.to_owned(),
        bars: vec![],
        ticks: vec![],
        lines: vec![],
    };
    let bars = vec![
        bar("ext3", Some(100.0), at(50.0), false),
        bar("raw", Some(25.0), at(25.0), true),
        bar("ext4", None, None, false),
    ];
    let lines = vec![line(false, &[("512", 1.0), ("1k", 10.0)]), line(true, &[("512", 5.0)])];
    let ticks = vec!["512".to_owned(), "1k".to_owned()];
    StudyPage {
        asked: "Is raw faster?".to_owned(),
        findings: vec!["Not than `ext4`.".to_owned()],
        suspected: vec![suspected(1.2)],
        panels: vec![
            Panel { bars, ..panel("Elapsed", "s") },
            Panel { ticks, lines, ..panel("Rate", "") },
        ],
        misses: (0..4).map(miss).collect(),
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
        page: page(),
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

#[test]
fn the_terminal_shows_bars_claims_findings_and_the_largest_misses() {
    let text = replication_text(&replication(), 100, true);
    for wanted in [
        "  Elapsed (s)\n    ext3                             published      100  ours     50.0\n",
        "    raw                              published     25.0  ours     25.0  fitted\n",
        "    ext4                             published        —  ours        —\n      study: fastest\n",
        "  agrees               it is so\n",
        "\u{1b}[31m  differs, our error   it is <script>",
        "  cannot be tested     another system does it\n",
        "  not measured         nobody ran it\n",
        "  - Not than `ext4`.\n",
        "  miss: miss 0: published 100 s, ours 1,230 s. No likely reason is known.\n",
        "  miss: miss 1: wanted above 10, ours 1,230 s. Of <b>that.\n",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing:\n{text}");
    }
    assert!(!text.contains("miss 2") && !text.contains("Rate"), "{text}");
    assert!(!text.contains("\u{1b}[2J"), "a title reaches the terminal as it is:\n{text}");
    assert!(!replication_text(&replication(), 80, false).contains('\u{1b}'));
}

fn lab(name: &str, changed: &[&str], unknown: &[&str]) -> LabRun {
    LabRun {
        lab: name.to_owned(),
        set: "quick".to_owned(),
        file: format!("{name}.seekwell"),
        trials: 6,
        left_out: 1,
        kernel: "6.12".to_owned(),
        changed_models: changed.iter().map(|text| (*text).to_owned()).collect(),
        unknown_models: unknown.iter().map(|text| (*text).to_owned()).collect(),
    }
}

/// The lines of a table.
fn table(found: &Replication, name: &str) -> Vec<String> {
    let tables = replication_tables(found);
    let table = tables.iter().find(|table| table.name == name).unwrap();
    table.text.lines().map(str::to_owned).collect()
}

#[test]
fn runs_on_earlier_models_are_counted_on_the_page_and_named_in_the_table() {
    let mut found = replication();
    found.studies[0].labs = vec![lab("today", &[], &[])];
    let page = replication_markdown(&found, "r");
    assert!(!page.contains("earlier models"), "{page}");
    let old = lab("old", &["disk: rotating.rpm was 5400, is 7200"], &["stick"]);
    found.studies[0].labs.extend([old, lab("silent", &[], &["disk"])]);
    let page = replication_markdown(&found, "r");
    assert!(page.contains("**1 of 3 runs were made with earlier models.**"), "{page}");
    let wanted = [
        "study,lab,set,file,trials,left_out,kernel,models",
        "003,today,quick,today.seekwell,6,1,6.12,today's",
        "003,old,quick,old.seekwell,6,1,6.12,\"made with earlier models (disk: rotating.rpm was 5400, is 7200)\"",
        "003,silent,quick,silent.seekwell,6,1,6.12,\"with today's values of disk, but without a record of how the models behaved\"",
    ];
    assert_eq!(table(&found, "runs"), wanted);
}

#[test]
fn the_page_has_the_score_the_picture_findings_and_misses_of_each_study() {
    let found = replication();
    let page = replication_markdown(&found, "r");
    let wanted = [
        "**1 of 3 predicted values are within 10 %.**",
        "| 003 | 1 | 0 | 1 | 0 | 1 | 1 |",
        "frozen on 2026-11-20, before any model ran. Set: quick; backend: virtual.",
        "[values](r-values.csv), [claims](r-claims.csv), [conditions](r-conditions.csv), [runs](r-runs.csv), [notes](r-notes.csv)",
        "## 003 Raw \u{fffd}\\[2Jdevices",
        "A. Nobody, 2.6. Is raw faster?",
        "![Study 003: published and ours](r-003.svg)",
        "- Not than `ext4`.",
        "1. miss 0: published 100 s, ours 1,230 s. No likely reason is known.",
        "2. miss 1: wanted above 10, ours 1,230 s. Of \\<b\\>that.",
    ];
    let mut rest = page.as_str();
    for one in wanted {
        let Some(at) = rest.find(one) else { panic!("{one} is missing or early:\n{page}") };
        rest = &rest[at + one.len()..];
    }
    assert!(!page.contains("miss 2") && !page.contains("<script>") && !page.contains("Quick runs"));
}

#[test]
fn the_picture_has_two_bars_a_name_and_hollow_shapes_for_what_was_fitted_or_published() {
    let found = replication();
    let chart = replication_chart(&found.studies[0]).unwrap();
    assert!(chart.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{chart}");
    assert!(chart.contains("aria-label=\"Raw \u{fffd}[2Jdevices: published and measured\""));
    // The longest bar has 344.0, ours half of it; each is drawn once besides the legend.
    let bars = |fill: &str, width: &str| {
        let bar = |part: &&str| part.starts_with(fill) && part.contains(width);
        chart.split("<rect fill=").filter(bar).count()
    };
    assert_eq!(bars("\"#9a9a9a\"", "width=\"344.0\""), 1);
    assert_eq!(bars("\"#1f5fa8\"", "width=\"172.0\""), 1);
    assert_eq!(bars("\"#ffffff\" stroke=\"#1f5fa8\"", "width=\"86.0\""), 1);
    for words in [">study: fastest<", ">not measured<", ">Elapsed (s)<", ">Rate<", ">our card<"] {
        assert!(chart.contains(words), "{words}: {chart}");
    }
    // Two points and a name of ours, one point and a name of theirs.
    assert_eq!(chart.matches("<circle r=\"2.5\" fill=\"#1f5fa8\"").count(), 3);
    assert_eq!(chart.matches("<circle r=\"5\" fill=\"none\"").count(), 2);
    let mut nothing = found.studies[0].clone();
    nothing.page.panels.truncate(1);
    nothing.page.panels[0].bars.iter_mut().for_each(|bar| bar.ours = None);
    assert_eq!(replication_chart(&nothing), None);
}

#[test]
fn tables_have_every_value_and_claim_and_a_missing_number_is_empty() {
    let mut found = replication();
    let study = &mut found.studies[0];
    study.values[1].reason = Some("=odd".to_owned());
    study.values[0].range = Some([90.0, 123.456]);
    study.values[0].fitted_since = Some("2026-11-24".to_owned());
    let says = "then".to_owned();
    study.values[0].also = vec![Also { says, found: at(1.3812), published: Some(1.369) }];
    study.claims[1].experiment = Some(Tested {
        what: "a / b".to_owned(),
        wanted: "above 1".to_owned(),
        found: at(0.5),
        agrees: Some(false),
        ..Tested::default()
    });
    study.claims[1].reason = Some("another allocator".to_owned());
    study.errata = vec!["a slip".to_owned()];
    study.changes = vec!["2026-11-24: moved".to_owned()];
    assert_eq!(
        table(&found, "values")[1..],
        [
            "near,7,predict,2026-11-24,100,s,105.0,105.0,105.0,6,1.050,90.00,123.5,,",
            "far,7,predict,,100,s,150.0,150.0,150.0,6,1.500,,,'=odd,",
            "unrun,7,predict,,100,s,,,,,,,,,",
        ]
    );
    let claims = table(&found, "claims");
    assert_eq!(claims[1], "is-so,8,it is so,agrees,,,,,,");
    assert!(claims[2].ends_with(",\"differs, our error\",,another allocator,,,,"), "{}", claims[2]);
    assert_eq!(
        table(&found, "conditions")[1..],
        [
            "near,not scored,,then,,1.369,1.381,1.381,1.381,6,",
            "is-not,experiment,a / b,,above 1,,0.5000,0.5000,0.5000,6,false",
        ]
    );
    assert_eq!(
        table(&found, "notes")[1..],
        ["003,replacement,", "003,change after a miss,2026-11-24: moved", "003,erratum,a slip"]
    );
}

#[test]
fn results_that_are_no_evidence_are_not_in_the_score() {
    let mut found = replication();
    let reason = "it repeats is-so".to_owned();
    let repeat = NotCounted { kind: NotCountedKind::Stated, reason };
    found.studies[0].claims.push(ClaimOutcome {
        not_counted: Some(repeat),
        ..claim("again", ClaimVerdict::Confirmed, "it is so once more")
    });
    assert_eq!(
        score(&found.studies[0]),
        "1 of 2 agree, 0 differ with the cause shown, 1 differ by our error, 0 cannot be told, 1 not measured, 1 cannot be tested, 1 not counted"
    );
    assert!(!replication_text(&found, 80, false).contains("it is so once more"));
    let line = table(&found, "claims").pop().unwrap();
    assert_eq!(line, "again,8,it is so once more,agrees,it repeats is-so,,,,,");
}

#[test]
fn the_quick_runs_have_a_score_of_their_own() {
    let mut found = replication();
    found.studies[0].quick_agreements =
        Some(BTreeMap::from([(Agreement::OurError, 1), (Agreement::CannotTell, 2)]));
    let text = replication_markdown(&found, "r");
    let quick = " Quick runs alone: 0 of 3 agree.";
    assert!(text.contains(quick), "{text}");
}

#[test]
fn values_models_and_claims_come_first() {
    let mut found = replication();
    let lines = [
        "1 of 3 predicted values are within 10 %.",
        "Published figures check 1 of 14 models of devices; 0 of those checked meet them all (within 10 %).",
        "Claims: 1 of 2 agree, 0 differ with the cause shown, 1 differ by our error, 0 cannot be told.",
    ];
    assert_eq!(first_lines(&found), lines);
    let text = replication_text(&found, 200, false);
    assert!(text.starts_with(&lines.join("\n")), "{text}");
    // Values on which something was changed after a miss are counted apart, and no model is not an unchecked one.
    found.studies[0].values[0].fitted_since = Some("2026-11-24".to_owned());
    found.models = None;
    let first = "1 of 3 predicted values are within 10 % (1 fitted: something was changed after a run had missed).";
    assert_eq!(first_lines(&found), [first, lines[2]]);
    found.studies[0].values.clear();
    assert_eq!(first_lines(&found), [lines[2]]);
}
