use super::questions::{Answered, QUESTIONS};
use super::*;
use crate::fixture;

/// Two stacks, of which the second takes twice as long in ms.
fn entry(load: &str, device: &str, medians: [(&str, f64); 2]) -> Entry {
    let mut entry = Entry::of(&fixture::winner());
    (entry.load, entry.device) = (load.to_owned(), device.to_owned());
    let cell = entry.cells[0].clone();
    let cells = medians.map(|(filesystem, median)| Cell {
        stack: format!("{filesystem}/none"),
        filesystem: filesystem.to_owned(),
        scheduler: "none".to_owned(),
        median: Some(median),
        ratio: Some([Some(median / medians[0].1); 3]),
        ..cell.clone()
    });
    entry.pick = Some(cells[0].stack.clone());
    entry.cells = cells.to_vec();
    entry
}

fn xfs_wins() -> Entry {
    entry("log", "disk", [("xfs", 0.01), ("ext4", 0.03)])
}

#[test]
fn an_entry_has_the_answer_of_its_run_and_comes_back_from_its_line() {
    let view = fixture::winner();
    let found = Entry::of(&view);
    assert_eq!(found.pick.as_ref(), view.verdict.stacks.first());
    assert_eq!(found.cells.len(), view.plan.stacks.len());
    let lines = atlas_lines(&[found.clone(), xfs_wins()]).unwrap();
    assert_eq!(lines.lines().count(), 2);
    assert_eq!(atlas_entries(&lines).unwrap(), [found, xfs_wins()]);
}

#[test]
fn the_key_follows_everything_that_decides_what_a_trial_does() {
    let mut view = fixture::winner();
    let before = Entry::of(&view).key;
    view.environment["kernel"] = "another".into();
    let kernel = Entry::of(&view).key;
    view.plan.lab.seed += 1;
    let seed = Entry::of(&view).key;
    assert!(before != kernel && kernel != seed, "{before} {kernel} {seed}");
    view.environment["guest_revision"] = 9.into();
    let guest = Entry::of(&view).key;
    assert_ne!(guest, seed);
    let seed = guest;
    view.environment["image"] = "another build".into();
    assert_eq!(Entry::of(&view).key, seed);
}

#[test]
fn cells_that_moved_are_named_with_their_change() {
    let old = xfs_wins();
    assert_eq!(old.moved_to(&xfs_wins()), [""; 0]);
    let mut new = entry("log", "disk", [("xfs", 0.0125), ("ext4", 0.03)]);
    assert_eq!(old.moved_to(&new), ["xfs/none: +25.000 %"]);
    new.cells[0].median = None;
    new.cells[1].stack = "ext4/bfq".to_owned();
    let said = ["xfs/none: measured in one of the two alone", "ext4/none: gone", "ext4/bfq: new"];
    assert_eq!(old.moved_to(&new), said);
}

#[test]
fn a_cell_moves_with_any_request_but_not_with_the_start_of_a_step() {
    let record = fixture::record(&fixture::winner().plan.stacks[0], 1.0);
    let of = |record: &Record| cell_fingerprint([record]);
    let mut later = record.clone();
    let step = later.steps.last_mut().unwrap();
    (step.started_ns, step.ended_ns) = (step.started_ns + 768, step.ended_ns + 1024);
    assert_eq!(of(&record), of(&later));
    later.steps.last_mut().unwrap().device =
        Some(DeviceTotals { writes: 1, ..DeviceTotals::default() });
    let more = of(&later);
    assert_ne!(of(&record), more);
    later.steps.last_mut().unwrap().device =
        Some(DeviceTotals { writes: 2, ..DeviceTotals::default() });
    assert_ne!(more, of(&later));
    assert!(is_same_value(Some(1.0), Some(1.00009)) && !is_same_value(Some(1.0), Some(1.0002)));
    assert!(is_near_value(Some(1.0), Some(1.004)) && !is_near_value(Some(1.0), Some(1.006)));
    assert!(is_same_value(None, None) && !is_same_value(None, Some(1.0)));
}

#[test]
fn an_answer_names_pick_cost_survival_and_the_command_that_checks_it() {
    let entry = xfs_wins();
    let asked = Asked {
        entry: &entry,
        title: "A disk",
        model: "disk",
        loses: None,
        room: "a new and nearly empty partition of 32GiB at its start",
        now: Some("ext4"),
        recording: Some("a.trace is most like the load log."),
        load: "The load log is a log writer.",
        like: Some("/dev/sdb is ST1, 2TB, rotating"),
        own: "  seekwell plan log.toml\n",
    };
    let text = asked.text(80);
    let expected = "log on A disk\n  a.trace is most like the load log. The load log is a log writer. /dev/sdb is\n  \
                    ST1, 2TB, rotating: nearest in the atlas. Modelled as disk, a new and nearly\n  empty \
                    partition of 32GiB at its start. 2 × Example CPU.\n\n  Pick ";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("you have         ext4/none: 3.0 times as slow as the pick\n"), "{text}");
    assert!(
        text.ends_with("check it here\n  seekwell atlas check log/disk/xfs/none\non your own disk\n  seekwell plan log.toml\n"),
        "{text}"
    );
    assert!(asked.against("zfs").contains("not in the atlas"));
}

/// A kind in place of a model.
fn kind(model: &str) -> String {
    format!("a {model}")
}

fn answer(name: &str, entries: &[Entry]) -> Option<String> {
    let question = QUESTIONS.iter().find(|one| one.name == name).unwrap();
    Answered::of(question, entries).map(|answered| answered.sentence(&kind))
}

#[test]
fn an_answer_begins_with_the_choice_to_take_and_says_the_most_that_each_costs() {
    let equal = entry("mail", "card", [("ext4", 0.02), ("xfs", 0.0202)]);
    assert_eq!(
        answer("ext4-or-xfs", std::slice::from_ref(&equal)).unwrap(),
        "ext4 or xfs: at most 1 % longer (one case)."
    );
    assert_eq!(
        answer("ext4-or-xfs", &[xfs_wins(), equal.clone()]).unwrap(),
        "xfs everywhere (2 cases): at most 1 % longer; ext4 up to 3.0 times as slow (log, a disk)."
    );
    assert_eq!(
        answer("ext4-or-xfs", &[xfs_wins()]).unwrap(),
        "xfs everywhere (one case); ext4 up to 3.0 times as slow (log, a disk)."
    );
    let other_way = entry("mail", "card", [("ext4", 0.02), ("xfs", 0.03)]);
    assert_eq!(
        answer("ext4-or-xfs", &[xfs_wins(), other_way.clone()]).unwrap(),
        "xfs for log; ext4 for mail. Elsewhere xfs up to 1.5 times as slow (mail, a card), ext4 up to 3.0 times (log, a disk)."
    );
    assert_eq!(
        answer("ext4-or-xfs", &[xfs_wins(), other_way, equal]).unwrap(),
        "xfs for log; ext4 for mail. Elsewhere xfs up to 1.5 times as slow (mail, a card), ext4 up to 3.0 times (log, a disk)."
    );
    assert_eq!(answer("data-journal", &[xfs_wins()]), None);
}

#[test]
fn an_answer_names_choices_of_one_cost_once_and_no_load_or_device_of_the_question() {
    let of = |costs: &[(&str, f64)]| {
        let mut entry = xfs_wins();
        entry.load = "mail".to_owned();
        let cell = entry.cells[0].clone();
        let cell = |(filesystem, median): &(&str, f64)| Cell {
            filesystem: (*filesystem).to_owned(),
            median: Some(*median),
            ..cell.clone()
        };
        entry.cells = costs.iter().map(cell).collect();
        entry
    };
    let slow = of(&[("ext4", 1.0), ("xfs", 11288.0), ("btrfs", 11288.0)]);
    assert_eq!(
        answer("mail", &[slow]).unwrap(),
        "ext4 everywhere (one case); xfs and btrfs up to 11,300 times as slow (a disk)."
    );
    let slow = of(&[("ext4", 1.0), ("xfs", 2.5), ("btrfs", 3.0)]);
    assert_eq!(
        answer("mail", &[slow]).unwrap(),
        "ext4 everywhere (one case); xfs up to 2.5 times as slow (a disk); btrfs up to 3.0 times (a disk)."
    );
    let two = of(&[("ext4", 1.0), ("xfs", 1.001), ("btrfs", 1.02)]);
    assert_eq!(
        answer("mail", std::slice::from_ref(&two)).unwrap(),
        "ext4, xfs or btrfs: at most 2 % longer (one case)."
    );
    let mut third = of(&[("ext4", 1.0), ("xfs", 1.001), ("btrfs", 3.0)]);
    third.device = "sata-2tb-7200".to_owned();
    let said = "ext4 or xfs everywhere (one case); btrfs up to 3.0 times as slow";
    assert_eq!(answer("hdd", &[two, third.clone()]).unwrap(), format!("{said} (mail)."));
    assert_eq!(answer("mail", &[third]).unwrap(), format!("{said} (a sata-2tb-7200)."));
}

#[test]
fn a_site_has_a_page_per_run_and_question_and_refuses_other_conditions() {
    let entries = [xfs_wins(), entry("mail", "card<", [("ext4", 0.02), ("xfs", 0.0202)])];
    let pages = site(&entries, &|_| None, &kind).unwrap();
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    assert_eq!(
        names,
        ["index.html", "log.disk.html", "mail.card<.html", "question-ext4-or-xfs.html"]
    );
    let index = &pages[0].text;
    assert!(index.contains("href=\"log.disk.html\"") && index.contains("not run"), "{index}");
    assert!(!index.contains("card<\"") && index.contains("question-ext4-or-xfs.html"), "{index}");
    assert!(index.contains("differences of medians up to 4 % do not count"), "{index}");
    assert!(index.contains("data-text=\"log disk a disk "), "{index}");
    for page in &pages {
        // The keyboard reaches what scrolls, by a link or the table itself, and each head names its cells.
        let count = |part: &str| page.text.matches(part).count();
        let (table, label) =
            page.text.split_once("class=\"scroll\" role=\"region\" aria-label=\"").unwrap();
        assert!(!table.contains("class=\"scroll\""));
        let has_links = label.contains("<a href");
        assert_eq!(count("\" tabindex=\"0\">"), usize::from(!has_links), "{}", page.name);
        assert_eq!(count("<th scope=\""), count("<th") - count("<thead"));
        assert_eq!(count("<table"), 1);
    }
    assert!(pages[1].text.contains("seekwell atlas check log/disk/xfs/none"), "{}", pages[1].text);
    let mut other = xfs_wins();
    let (one, two) = ("6.12 (set, 1)", "6.12 (set, 2)");
    let built = |kernel: &str| Entry { kernel: kernel.to_owned(), ..xfs_wins() };
    let index = site(&[built(one), built(two)], &|_| None, &kind).unwrap().swap_remove(0).text;
    assert!(index.contains("Linux 6.12 (set, 1) and 6.12 (set, 2), "), "{index}");
    other.kernel = "another".to_owned();
    assert!(
        site(&[xfs_wins(), other], &|_| None, &kind)
            .unwrap_err()
            .to_string()
            .contains("cannot be in one matrix")
    );
}

#[test]
fn a_choice_that_keeps_less_is_not_the_answer_and_one_that_is_open_costs_nothing() {
    let cell = |stack: &str, median: f64, survives, ratio: [f64; 3]| {
        let cell = xfs_wins().cells[0].clone();
        let (stack, filesystem) = (format!("{stack}/none"), stack.to_owned());
        let (median, ratio) = (Some(median), Some(ratio.map(Some)));
        Cell { stack, filesystem, median, ratio, survives: Some(survives), ..cell }
    };
    let (synced, less) = (DurabilityClass::Synced, DurabilityClass::Unordered);
    let mut entry = xfs_wins();
    entry.load = "build".to_owned();
    entry.cells = vec![
        cell("ext4", 1.44, synced, [1.0; 3]),
        cell("ext4-nojournal", 1.0, less, [0.69, 0.68, 0.7]),
        cell("xfs", 3.0, synced, [2.1, 0.9, 4.0]),
    ];
    let entries = [entry];
    assert_eq!(
        answer("no-journal", &entries).unwrap(),
        "ext4, which keeps more than ext4-nojournal: at most 44 % longer (a disk)."
    );
    let question = QUESTIONS.iter().find(|one| one.name == "no-journal").unwrap();
    assert_eq!(
        Answered::of(question, &entries).unwrap().survival().unwrap(),
        "After a power cut, ext4-nojournal: synced data survives; other files may be lost, old or damaged."
    );
    // Its interval holds no difference: it is neither good nor the worst case.
    let question = QUESTIONS.iter().find(|one| one.name == "ext4-or-xfs").unwrap();
    assert_eq!(Answered::of(question, &entries).unwrap().rows[0].1, [Some(1.0), None]);
    assert_eq!(
        answer("ext4-or-xfs", &entries).unwrap(),
        "ext4 everywhere (one case); xfs too close to call."
    );
    let page = site(&entries, &|_| None, &kind).unwrap().swap_remove(1).text;
    let said = ["as good", "45 % faster, not eligible", "too close to call"];
    assert!(said.iter().all(|said| page.contains(&format!("<td>{said}</td>"))), "{page}");
}

#[test]
fn a_cell_is_held_against_the_pick_by_its_interval() {
    let mut entry = xfs_wins();
    entry.cells[1].ratio = Some([Some(1.2), Some(1.1), Some(1.3)]);
    let against = |ratio: [Option<f64>; 3]| {
        let mut entry = entry.clone();
        entry.cells[1].ratio = Some(ratio);
        let asked = Asked {
            entry: &entry,
            title: "A disk",
            model: "disk",
            loses: None,
            room: "a new and nearly empty partition of 32GiB at its start",
            now: None,
            load: "",
            recording: None,
            like: None,
            own: "",
        };
        asked.against("ext4")
    };
    let some = |ratio: [f64; 3]| against(ratio.map(Some));
    assert_eq!(some([1.2, 1.1, 1.3]), "ext4/none: 20 % longer than the pick");
    assert_eq!(some([2.0, 1.9, 2.1]), "ext4/none: 2.0 times as slow as the pick");
    assert_eq!(some([1.0001, 0.9, 1.1]), "ext4/none: too close to call");
    assert_eq!(some([1.0001, 1.0, 1.0002]), "ext4/none: as good as the pick");
    assert_eq!(some([0.5, 0.4, 0.6]), "ext4/none: 2.0 times as fast, not eligible");
    assert_eq!(against([Some(1.3), Some(1.1), None]), "ext4/none: 30 % longer than the pick");
    assert_eq!(against([Some(2.0), None, None]), "ext4/none: too close to call");
}
