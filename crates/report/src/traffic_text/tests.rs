use super::*;
use crate::fixture::winner;
use crate::text::Palette;
use crate::view::RunView;
use crate::why_text::why_text;

fn group(kind: OriginKind, name: &str, requests: u64, written_bytes: u64) -> Group {
    Group { kind, name: name.to_owned(), requests, written_bytes, ..Group::default() }
}

/// Commits between a journal at the end of the disk and mail at its begin.
fn commits(count: u64, mean_bytes: u64) -> Traffic {
    let mut traffic = Traffic {
        elapsed_ns: count * 1_000_000,
        device_bytes: 1_000_000_000,
        groups: vec![
            group(OriginKind::Journal, "", count, count * 8_000),
            group(OriginKind::Data, "mail/", 50, 3_000_000),
            group(OriginKind::Flush, "after journal", count, 0),
        ],
        ways: vec![Way { ends: [0, 1], count: 2 * count - 1, mean_bytes }],
        drawn_every: 1,
        ..Traffic::default()
    };
    let mut before_us = 0;
    for commit in 0..count {
        for (group, place) in [(1, commit as u32), (0, 8_000), (2, 0)] {
            let at_us = commit * 1_000 + group as u64;
            let one = Drawn { at_us: at_us.max(before_us), took_us: 900, place, kib: 4, group };
            traffic.draw(one, before_us);
            before_us = one.at_us;
        }
    }
    traffic
}

fn cause(law: &str, amount: f64) -> Cause {
    Cause { laws: vec![law.to_owned()], amount, counted: None }
}

fn why() -> Why {
    Why {
        better: "xfs/none".to_owned(),
        worse: "ext4/none".to_owned(),
        metric: "unpack.elapsed_durable".to_owned(),
        at_better: 0.1,
        at_worse: 0.4,
        causes: vec![cause("flush", 0.16), cause("seek", 0.1), cause("bus", 0.04)],
        traffic: vec![commits(100, 200_000_000), commits(400, 800_000_000)],
        ..Why::default()
    }
}

#[test]
fn the_mechanism_names_what_flushes_follow_the_way_of_the_arm_and_the_bytes() {
    let why = why();
    let causes: Vec<&Cause> = why.causes.iter().collect();
    assert_eq!(
        mechanism(&why, &causes).unwrap(),
        "ext4/none: 400 flushes after journal (xfs/none: 100); 799 moves between the journal and mail/ of 800 MB \
         on average (xfs/none: 199 times, 200 MB); 3.20 MB of the journal (xfs/none: 800 kB)."
    );
    let same = Why { traffic: vec![commits(400, 1), commits(400, 1)], ..why.clone() };
    assert_eq!(mechanism(&same, &causes), None, "nothing that the worse stack has more of");
    assert_eq!(mechanism(&Why { traffic: vec![], ..why.clone() }, &causes), None);
}

#[test]
fn the_table_has_both_stacks_and_the_known_share_is_that_of_the_worse_known_one() {
    let mut why = why();
    why.traffic[0].groups.push(group(OriginKind::Unknown, "", 10, 0));
    let text = table(&why).unwrap().render(80, usize::MAX, Palette { colour: false }).0;
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            "origin                 xfs/none     size  ext4/none     size",
            "                       requests            requests",
            "the journal                 100   800 kB        400  3.20 MB",
            "mail/                        50  3.00 MB         50  3.00 MB",
            "flushes after journal       100        -        400        -",
            "unknown origin               10        -          0        -",
        ]
    );
    assert_eq!(known(&why).unwrap(), "The origin of at most 3.8 % of the requests is unknown.");
    why.traffic[0].groups.pop();
    assert_eq!(known(&why).unwrap(), "The origin of every request is known.");
}

#[test]
fn the_picture_has_the_journal_at_its_place_and_ends_with_each_stack() {
    let lines = picture(&why(), 50);
    assert_eq!(lines[0], "xfs/none (100 ms)");
    assert_eq!(lines[1], "   800 MB JJJJJJJJJJ");
    assert_eq!(lines[10], "      0 B dddddddddd");
    assert_eq!(lines[11], "          FFFFFFFFFF");
    assert_eq!(lines[14].trim_start(), format!("800 MB {}", "J".repeat(40)));
    assert_eq!(lines.len(), 2 * 13 + 1);
}

#[test]
fn the_race_of_as_many_requests_as_are_drawn_takes_less_than_150_kb_of_a_page() {
    // The most that is kept of a stack, at places and times as uneven as they can be.
    let mut traffic = commits(500, 1);
    traffic.packed.chunks_mut(5).enumerate().for_each(|(at, row)| {
        let uneven = (at as u32).wrapping_mul(2_654_435_761);
        row[0] = 10_000 + uneven % 10_000;
        row[1] = 10_000 + uneven % 10_000;
        row[2] = uneven % Traffic::PLACES;
    });
    traffic.elapsed_ns = 30_000_000_000;
    let with =
        RunView { why: Some(Why { traffic: vec![traffic.clone(), traffic], ..why() }), ..winner() };
    let without = RunView { why: Some(Why { traffic: vec![], ..why() }), ..winner() };
    let bytes = |view: &RunView| {
        let trials = crate::PageTrials::of(view);
        crate::HtmlPage::of(view, &trials, "r", crate::Inside::Nothing).text(&[]).len()
    };
    let race = bytes(&with) - bytes(&without);
    assert!(race < 150_000, "{race}");
}

#[test]
fn report_page_and_markdown_show_the_still_picture_within_the_limit() {
    let view = RunView { why: Some(why()), ..winner() };
    let markdown = crate::markdown(&view, false);
    assert!(markdown.contains("moves between the journal and mail/"), "{markdown}");
    assert!(markdown.contains("JJJJJJJJJJ"), "{markdown}");
    assert!(why_text(&view, 80).contains("flushes after journal"));
    let page =
        crate::HtmlPage::of(&view, &crate::PageTrials::of(&view), "r", crate::Inside::Nothing);
    let page = page.text(&[]);
    let start = page.find("<section id=\"race\">").unwrap();
    let section = &page[start..start + page[start..].find("</section>").unwrap()];
    for part in ["class=\"o0\"", "class=\"o2\"", "class=\"o3\"", "role=\"img\"", "href=\"#why\""] {
        assert!(section.contains(part), "{part}: {section}");
    }
    // The cause is said once, where it can be linked to.
    for once in ["id=\"why\"", "moves between the journal", "of the difference is"] {
        assert_eq!(page.matches(once).count(), 1, "{once}");
    }
    let plain =
        crate::HtmlPage::of(&winner(), &crate::PageTrials::of(&view), "r", crate::Inside::Nothing);
    assert!(!plain.text(&[]).contains("id=\"race\""));
}
