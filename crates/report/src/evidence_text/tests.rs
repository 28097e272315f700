use super::*;
use crate::fixture;
use crate::terminal;
use seekwell_model::verdict::{Basis, DroppedStack, METHOD, StorageShare};

fn beside(what: &str, at_highest: f64, at_lowest: f64) -> Beside {
    Beside { what: what.to_owned(), at_highest, at_lowest }
}

fn axes() -> Vec<AxisFound> {
    let filesystem = AxisFound {
        axis: "filesystem".to_owned(),
        highest: "ext4".to_owned(),
        lowest: "xfs".to_owned(),
        ratio: 1.74,
        low: Some(1.66),
        high: Some(1.83),
        measurable: true,
        at_most: Some(1.83),
        share: 0.93,
        confirmed: true,
        beside: vec![beside("flushes", 1240.0, 402.0), beside("KiB per write", 11.2, 40.75)],
    };
    let scheduler = AxisFound {
        axis: "scheduler".to_owned(),
        highest: "bfq".to_owned(),
        lowest: "none".to_owned(),
        ratio: 1.01,
        low: Some(0.99),
        high: Some(1.021),
        measurable: false,
        at_most: Some(1.021),
        share: 0.01,
        confirmed: false,
        beside: vec![],
    };
    vec![filesystem, scheduler]
}

fn stack(label: &str, class: DurabilityClass, reasons: &[&str]) -> StackDurability {
    let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
    StackDurability { stack: label.to_owned(), class, reasons, cuts: None }
}

/// The winner of the fixtures with everything that can stand beside it.
fn view() -> RunView {
    let mut view = fixture::winner();
    view.verdict.method = METHOD;
    let evidence = &mut view.verdict.evidence;
    evidence.axes = axes();
    evidence.interactions = vec![InteractionFound {
        axes: ["filesystem".to_owned(), "scheduler".to_owned()],
        values: ["xfs".to_owned(), "bfq".to_owned()],
        ratio: 1.12,
        low: Some(1.08),
        high: Some(1.16),
    }];
    evidence.storage = Some(StorageShare { busy: 0.031, seen: false });
    evidence.durability = vec![
        stack("ext4/none", DurabilityClass::Synced, &[]),
        stack("xfs/none", DurabilityClass::Unsafe, &["mounted nobarrier: no flushes"]),
        stack("xfs/bfq", DurabilityClass::Synced, &[]),
    ];
    evidence.control = Some(ControlFound {
        stack: "ext4/none".to_owned(),
        ratio: Some(1.002),
        low: Some(0.97),
        high: Some(1.035),
        pairs: 20,
        separated: false,
    });
    let check = |name: &str, found: Option<bool>, text: &str| CheckFound {
        name: name.to_owned(),
        found,
        text: text.to_owned(),
        change: None,
        p: None,
    };
    evidence.checks = vec![
        check("drift", Some(true), "+8.1 % from the first round to the last (+4.0 % to +12.2 %)"),
        check("order", Some(false), "no"),
        check("carry-over", Some(false), "no"),
        check("temperature", None, "too few trials to say"),
    ];
    view
}

#[test]
fn everything_beside_a_verdict_is_said_in_words() {
    let all: Vec<String> = sections(&view())
        .iter()
        .map(|section| format!("{}\n  {}", section.title, section.sentences.join("\n  ")))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    What made the difference
      Your workload does not see the storage: the device was busy for 3.1 % of the judged step at most, so no device could make it 5 % faster
      filesystem: ext4 is worse: its value is 1.7 times that of xfs (1.7 to 1.8); found in one half of the rounds, confirmed in the other by stacks that differ in nothing else; consistent with 1240 against 402 flushes and 11.2 against 40.8 KiB per write (ext4 against xfs)
      scheduler: nothing measurable; averaged over the other axes, no two of its values differ by more than 2.1 %
      xfs with bfq: 12 % (8 % to 16 %) higher than the effects of filesystem and scheduler alone predict
    After a power cut
      synced: synced data survives: ext4/none and xfs/bfq
      unsafe: even synced data may be lost (mounted nobarrier: no flushes): xfs/none
      Stacks of different classes make different promises: compare within one class
    The laboratory
      Control: the copy of ext4/none has 1.002 (0.970 to 1.035) of its metric in 20 rounds: equal, as expected
      detected: drift: +8.1 % from the first round to the last (+4.0 % to +12.2 %)
      Not detected: order and carry-over
    ");
}

#[test]
fn a_leader_of_a_weaker_class_is_never_named_without_it() {
    let text = terminal(&view(), 400, false);
    assert!(text.contains("Mind that xfs/none is unsafe after a power cut"), "{text}");
    assert!(text.contains("the first that is synced: xfs/bfq"), "{text}");
    assert!(text.contains("power cut"), "{text}");
    let trials = crate::PageTrials::of(&view());
    let html =
        crate::HtmlPage::of(&view(), &trials, "run.seekwell", crate::Inside::Whole(0)).text(&[]);
    assert!(html.contains("Mind that xfs/none is unsafe"));
    let mut same = view();
    for stack in &mut same.verdict.evidence.durability {
        stack.class = DurabilityClass::Synced;
    }
    let text = terminal(&same, 400, false);
    assert!(!text.contains("power cut"), "{text}");
}

#[test]
fn a_race_keeps_those_who_left_in_sight_and_apart() {
    let mut view = fixture::winner();
    view.verdict.ratios[2].basis = Basis::Screen;
    view.verdict.evidence.race = Some(RaceCourse {
        pilot_rounds: 2,
        screen_rounds: 2,
        final_rounds: 20,
        finalists: vec!["xfs/none".to_owned(), "xfs/bfq".to_owned()],
        looks: vec![10, 20, 40, 80],
        looked_at: 20,
        best_guess: Some("xfs/none".to_owned()),
        dropped: vec![DroppedStack {
            stack: "ext4/none".to_owned(),
            part: "screen".to_owned(),
            trials: 2,
            ratio: Some(1.7),
            low: Some(1.5),
            high: Some(1.9),
            reason: "rank 3 by the estimates of the screen, which kept 2".to_owned(),
        }],
        screening_risk: 0.001,
    });
    let text = terminal(&view, 400, false);
    assert!(text.contains("~1.692–1.861"), "{text}");
    let said = sections(&view);
    insta::assert_snapshot!(said[0].sentences.join("\n"), @r"
    Pilot of 2 rounds, screen of 2 rounds, final of 20 rounds among 2 stacks, judged after 20 rounds
    1 left in the screen: ext4/none. Their ratios are estimates, not certified results
    ");
    let json = crate::json::tests::json_of(&view);
    assert_eq!(json["trials"][0]["part"], "pilot");
    assert_eq!(json["trials"][23]["part"], "final");
    assert_eq!(json["verdict"]["evidence"]["race"]["dropped"][0]["part"], "screen");
}

#[test]
fn stacks_that_lose_synced_data_in_power_cuts_are_named() {
    let mut view = view();
    let counts = |survived: u64, lost_synced: u64, damaged: u64, unmountable: u64| {
        let cuts = survived + lost_synced + damaged + unmountable;
        Some(CutCounts { cuts, survived, lost_synced, damaged, unmountable })
    };
    let durability = &mut view.verdict.evidence.durability;
    durability[0].cuts = counts(100, 0, 0, 0);
    durability[1].cuts = counts(97, 3, 0, 0);
    durability[2].cuts = counts(95, 0, 5, 0);
    let all = sections(&view);
    let section = all.iter().find(|section| section.title == "After a power cut").unwrap();
    insta::assert_snapshot!(section.sentences[..3].join("\n"), @r"
    xfs/none may lose synced data: 3 of 100 power cuts lost some
    No synced data was lost in 200 power cuts: ext4/none and xfs/bfq
    xfs/bfq needs its checker after a power cut: it found damage after 5 of 100
    ");
    assert!(terminal(&view, 200, false).contains("cuts survived"));
    assert!(terminal(&view, 200, false).contains("97 of 100"));
    assert!(crate::markdown(&view).contains("| cuts survived |"));

    // A filesystem that is gone is another finding than lost data of one that is there.
    let durability = &mut view.verdict.evidence.durability;
    durability[1].cuts = counts(95, 3, 0, 2);
    durability[2].cuts = counts(96, 0, 0, 4);
    let all = sections(&view);
    let section = all.iter().find(|section| section.title == "After a power cut").unwrap();
    insta::assert_snapshot!(section.sentences[..4].join("\n"), @r"
    xfs/none may lose synced data: 3 of 100 power cuts lost some
    xfs/none may be unusable after a power cut: 2 of 100 left a filesystem that cannot be mounted, read or unmounted
    xfs/bfq may be unusable after a power cut: 4 of 100 left a filesystem that cannot be mounted, read or unmounted
    No synced data was lost in 100 power cuts: ext4/none
    ");
}

#[test]
fn a_confirmation_of_an_earlier_method_is_said_to_be_one() {
    let said = |method| axis(&axes()[0], Better::Lower, method);
    let old = "called confirmed by an earlier version, perhaps from the trials that found it";
    assert!(said(1).contains(old) && !said(1).contains("found in one half"), "{}", said(1));
    assert!(!said(METHOD).contains(old) && said(METHOD).contains("found in one half"));
}

#[test]
fn settings_of_a_database_are_one_line_or_one_for_each_of_several() {
    let mut view = fixture::winner();
    let said = |view: &RunView| {
        let all = sections(view);
        let section = all.into_iter().find(|section| section.title == "After a power cut");
        section.map_or_else(Vec::new, |section| section.sentences)
    };
    let before = said(&view).len();
    for (_, record) in &mut view.records {
        let pairs = [("fsync", "on"), ("full_page_writes", "off")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        record.steps[1].settings.extend(pairs);
    }
    let one = said(&view);
    assert_eq!(one.len(), before + 1);
    assert_eq!(one[before], "unpack ran with fsync=on, full_page_writes=off");
    assert!(terminal(&view, 100, false).contains("unpack ran with fsync=on, full_page_writes=off"));
    view.records[0].1.steps[1].settings.insert("fsync".to_owned(), "off".to_owned());
    let two = said(&view);
    assert_eq!(two.len(), before + 2);
    let label = &view.stack_of(&view.records[0].0).unwrap().label;
    assert_eq!(two[before], format!("unpack ran with fsync=off, full_page_writes=off: {label}"));
}
