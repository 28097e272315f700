use super::*;

fn word(ends_at: usize, step: Option<&str>) -> Word {
    Word { ends_at, step: step.map(str::to_owned) }
}

fn step(name: &str, alone: bool) -> StepRecord {
    let mut step = StepRecord { name: name.to_owned(), ..StepRecord::default() };
    if alone {
        step.metrics.insert("device_written_bytes".to_owned(), 1.0);
    }
    step
}

fn card(pages: u64, erases: u64, sectors: u64) -> Evidence {
    let flash = FlashEvidence {
        page_bytes: 2048,
        pages_programmed: pages,
        erases,
        ..FlashEvidence::default()
    };
    Evidence { sectors_written: sectors, flash: Some(flash), ..Evidence::default() }
}

fn disk(seek_ns: u64, rotation_ns: u64, transfer_ns: u64) -> Evidence {
    let rotating =
        RotatingEvidence { seek_ns, rotation_ns, transfer_ns, ..RotatingEvidence::default() };
    Evidence { sectors_written: 999, rotating: Some(rotating), ..Evidence::default() }
}

fn heard(bytes: usize, evidence: Evidence) -> OutputPart {
    OutputPart { at_ns: 0, bytes, evidence: vec![evidence] }
}

#[test]
fn a_step_is_charged_until_the_agents_next_word() {
    let mut steps = [step("mkfs", true), step("write", true), step("umount", true)];
    // The word of `write` comes in two parts; the record in three.
    let words =
        [word(10, Some("mkfs")), word(30, Some("write")), word(40, Some("umount")), word(90, None)];
    let heard = [
        heard(10, card(1, 0, 4)),
        heard(15, card(5, 1, 20)),
        heard(5, card(7, 2, 24)),
        heard(10, card(107, 12, 224)),
        heard(20, card(108, 12, 225)),
        heard(20, card(109, 12, 226)),
        heard(10, card(110, 12, 228)),
    ];
    add(&mut steps, &words, &heard);
    let [mkfs, write, umount] = &steps;
    assert_eq!(mkfs.metrics["erases"], 2.0);
    assert_eq!(mkfs.metrics["programmed_bytes"], 6.0 * 2048.0);
    assert_eq!(write.metrics["erases"], 10.0);
    assert_eq!(write.metrics["programmed_bytes"], 100.0 * 2048.0);
    assert_eq!(write.metrics["programmed_per_byte"], 100.0 * 2048.0 / (200.0 * 512.0));
    assert_eq!(umount.metrics["programmed_bytes"], 3.0 * 2048.0);
    assert!(write.metrics.keys().all(|name| !name.ends_with("_time")), "{:?}", write.metrics);
}

#[test]
fn of_a_disk_and_a_journal_on_flash_each_is_counted_where_it_has_counts() {
    let before = [disk(1, 2, 3), card(0, 0, 0)];
    let after = [disk(1_000_000_001, 2_000_000_002, 500_000_003), card(4, 1, 8)];
    let found = between(&before, &after);
    let expected = [
        ("arm_time", 1.0),
        ("rotation_time", 2.0),
        ("transfer_time", 0.5),
        ("erases", 1.0),
        ("programmed_bytes", 8192.0),
        // The disk's own sectors are not the stick's.
        ("programmed_per_byte", 2.0),
    ];
    let expected: BTreeMap<String, f64> =
        expected.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    assert_eq!(found, expected);
}

#[test]
fn wear_is_counted_by_the_bytes_of_the_load_and_by_time() {
    let worn = |wear: f64, erases: u64| {
        let mut card = card(0, erases, 0);
        let flash = card.flash.as_mut().unwrap();
        (flash.wear, flash.rated_erases) = (wear, Some(1000));
        card
    };
    let year_ns = 31_557_600_000_000_000;
    let part = |at_ns, evidence| OutputPart { at_ns, bytes: 10, evidence };
    let heard = [
        part(year_ns, vec![worn(100.0, 10), worn(0.0, 0)]),
        part(3 * year_ns, vec![worn(300.0, 40), worn(10.0, 10)]),
    ];
    let words = [word(10, Some("write")), word(20, None)];
    let mut steps = [step("write", false)];
    let bytes = [("device_written_bytes", 6e6), ("written_per_byte", 3.0)];
    steps[0].metrics.extend(bytes.map(|(name, value)| (name.to_owned(), value)));
    add(&mut steps, &words, &heard);
    // 40 erases of 2 MB; the first card wears by 100 a year, and has 700 left.
    assert_eq!(steps[0].metrics["erases_per_mb"], 20.0);
    assert_eq!(steps[0].metrics["time_to_rating"], 7.0);
    steps[0] = step("write", true);
    add(&mut steps, &words, &[heard[0].clone(), heard[0].clone()]);
    assert!(!steps[0].metrics.contains_key("erases_per_mb"), "nothing written by the load");
    assert!(!steps[0].metrics.contains_key("time_to_rating"), "nothing erased");
}

#[test]
fn nothing_is_said_where_nothing_is_known() {
    // A device without a medium; nothing written; a step that shared the device; one that said nothing;
    // one whose end nobody heard.
    assert_eq!(between(&[Evidence::default()], &[Evidence::default()]), BTreeMap::new());
    assert!(!between(&[card(0, 0, 0)], &[card(3, 0, 0)]).contains_key("programmed_per_byte"));
    let mut steps = [step("reads", false), step("beside", true), step("last", true)];
    let words = [word(5, Some("reads")), word(10, Some("last"))];
    let heard = [heard(5, card(0, 0, 0)), heard(5, card(9, 9, 9))];
    let before = steps.clone();
    add(&mut steps, &words, &heard);
    assert_eq!(steps, before);
}

#[test]
fn before_a_step_with_company_the_company_has_begun() {
    let mut steps = [step("reads-alone", true), step("reads", false), step("umount", true)];
    let words = [
        word(1, Some("reads-alone")),
        word(2, Some("reads")),
        word(3, Some("umount")),
        word(4, None),
    ];
    add(&mut steps, &words, &[1, 2, 4, 8].map(|erases| heard(1, card(0, erases, 0))));
    let erases = steps.map(|step| step.metrics.get("erases").copied());
    assert_eq!(erases, [None, None, Some(4.0)]);
}

#[test]
fn steps_of_one_name_follow_each_other() {
    let mut steps = [step("poll", true), step("layout", true), step("poll", true)];
    let words =
        [word(1, Some("poll")), word(2, Some("layout")), word(3, Some("poll")), word(4, None)];
    let heard = [1, 2, 4, 8].map(|erases| heard(1, card(0, erases, 0)));
    add(&mut steps, &words, &heard);
    assert_eq!(steps.map(|step| step.metrics["erases"]), [1.0, 2.0, 4.0]);
}
