use super::*;
use crate::fixture;
use crate::fixture::everything;
use seekwell_model::power_cut::CutLosses;
use seekwell_model::verdict::{Basis, DroppedStack, METHOD, StorageShare};

fn stack(label: &str, class: DurabilityClass, reasons: &[&str]) -> StackDurability {
    let reasons = reasons.iter().map(|reason| (*reason).to_owned()).collect();
    StackDurability { stack: label.to_owned(), class, reasons, cuts: None, known: None }
}

/// The winner of the fixtures with every kind of evidence.
fn view() -> RunView {
    let mut view = fixture::winner();
    view.verdict.method = METHOD;
    let evidence = &mut view.verdict.evidence;
    evidence.storage = Some(StorageShare { busy: 0.031, seen: false });
    evidence.durability = vec![
        stack("ext4/none", DurabilityClass::Synced, &[]),
        stack("xfs/none", DurabilityClass::Unsafe, &["mounted nobarrier: no flushes"]),
        stack("xfs/bfq", DurabilityClass::Synced, &[]),
    ];
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
        check("dependence", None, "too few trials to say"),
    ];
    view
}

#[test]
fn all_evidence_is_said_in_words() {
    let all: Vec<String> = sections(&view())
        .iter()
        .map(|section| format!("{}\n  {}", section.title, section.sentences.join("\n  ")))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    Storage
      Your workload hardly uses the storage: the device is busy for 3.1 % of the judged step at most, so no device could make it 5 % faster
    Fast and safe, against the pick
      Synced data survives; fastest is xfs/bfq: it takes 14 % longer (9 to 19 %)
      Even synced data may be lost; fastest is xfs/none, the pick
    After a power cut
      synced: synced data survives: ext4/none and xfs/bfq
      unsafe: even synced data may be lost (mounted nobarrier: no flushes): xfs/none
    The laboratory
      Drift: +8.1 % from the first round to the last (+4.0 % to +12.2 %)
      No order or carry-over effects detected
    ");
}

#[test]
fn a_leader_of_a_weaker_class_is_never_named_without_it() {
    let text = everything(&view(), 400);
    assert!(text.contains("After a power cut xfs/none is unsafe"), "{text}");
    assert!(text.contains("The best stack that is synced is xfs/bfq."), "{text}");
    assert!(text.contains("power cut"), "{text}");
    let trials = crate::PageTrials::of(&view());
    let html =
        crate::HtmlPage::of(&view(), &trials, "run.seekwell", crate::Inside::Whole(0)).text(&[]);
    assert!(html.contains("After a power cut xfs/none is unsafe"));
    let mut same = view();
    for stack in &mut same.verdict.evidence.durability {
        stack.class = DurabilityClass::Synced;
    }
    let text = everything(&same, 400);
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
    let text = everything(&view, 400);
    assert!(text.contains("~1.692–1.861"), "{text}");
    let said = sections(&view);
    insta::assert_snapshot!(said[0].sentences.join("\n"), @r"
    Pilot of 2 rounds, screen of 2 rounds, final of 20 rounds among 2 stacks, judged after 20 rounds
    1 stack left in the screen: ext4/none. Ratios with ~ are estimates from so few trials
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
        Some(CutCounts { cuts, survived, lost_synced, damaged, unmountable, losses: None })
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
    assert!(everything(&view, 200).contains("cuts survived"));
    assert!(everything(&view, 200).contains("97 of 100"));
    assert!(crate::markdown(&view, true).contains("| cuts survived |"));

    let losses = CutLosses { lost_transactions_max: Some(2), ..CutLosses::default() };
    view.verdict.evidence.durability[0].cuts.as_mut().unwrap().losses = Some(losses);
    let text = everything(&view, 200);
    let expected = "100 power cuts took at worst 2 of the committed transactions of ext4/none";
    assert!(text.contains(expected), "{text}");

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
    assert!(everything(&view, 100).contains("unpack ran with fsync=on, full_page_writes=off"));
    view.records[0].1.steps[1].settings.insert("fsync".to_owned(), "off".to_owned());
    let two = said(&view);
    assert_eq!(two.len(), before + 2);
    let label = &view.stack_of(&view.records[0].0).unwrap().label;
    assert_eq!(two[before], format!("unpack ran with fsync=off, full_page_writes=off: {label}"));
}
