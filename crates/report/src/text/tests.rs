use super::*;
use proptest::prelude::*;

const PLAIN: Palette = Palette { colour: false };

#[test]
fn words_wrap_and_long_ones_break_behind_a_slash() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("", 7), [""]);
    assert_eq!(wrap("filesystem/scheduler", 14), ["filesystem/", "scheduler"]);
    assert_eq!(wrap("abcdefghij", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(wrap("漢字漢字", 5), ["漢字", "漢字"]);
}

#[test]
fn paragraphs_hang() {
    assert_eq!(
        paragraph("  ! ", "a text that is longer than one line", 24),
        "  ! a text that is\n    longer than one line\n"
    );
}

#[test]
fn steering_characters_are_replaced() {
    assert_eq!(harmless("a\u{1b}[31mb\n\u{202e}c"), "a\u{fffd}[31mb\u{fffd}\u{fffd}c");
    assert_eq!(harmless("grün 漢字 – ×"), "grün 漢字 – ×");
}

fn table(label: &str) -> Table {
    let mut table = Table::default();
    table.column("stack", "", false);
    table.column("median", "ms", true);
    table.column("extra", "", true);
    table.row(None, vec![label.to_owned(), "412".to_owned(), "1".to_owned()]);
    table.row(Some(Ink::Good), vec!["b".to_owned(), "7".to_owned(), "22".to_owned()]);
    table
}

#[test]
fn numbers_stand_to_the_right_with_their_unit_below_the_title() {
    let (text, left_out) = table("ext4/none").render(40, 2, PLAIN);
    assert_eq!(
        text,
        "stack      median  extra\n               ms\next4/none     412      1\nb               7     22\n"
    );
    assert_eq!(left_out, 0);
}

#[test]
fn optional_columns_fall_away_before_labels_get_narrow() {
    let (text, left_out) = table("ext4/mq-deadline/journal-on-ram").render(42, 2, PLAIN);
    assert_eq!(
        text,
        "stack                            median\n                                     ms\next4/mq-deadline/journal-on-ram     412\nb                                     7\n"
    );
    assert_eq!(left_out, 1);
}

#[test]
fn long_labels_wrap_and_lose_nothing() {
    let label = "a-device[write_cache=write-through]/ext4-data-journal/mq-deadline";
    let (text, _) = table(label).render(40, 2, PLAIN);
    let shown: String =
        text.lines().skip(2).map(|line| line.get(..30).unwrap_or(line).trim()).collect();
    assert!(shown.starts_with(label), "{text}");
    assert!(text.lines().all(|line| width(line) <= 40), "{text}");
}

#[test]
fn colour_is_added_and_nothing_else_changes() {
    let (plain, _) = table("x").render(40, 2, PLAIN);
    let (coloured, _) = table("x").render(40, 2, Palette { colour: true });
    assert!(coloured.contains("\u{1b}[32mb           7     22\u{1b}[0m"), "{coloured:?}");
    let mut stripped = coloured;
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[2m", "\u{1b}[32m", "\u{1b}[33m"] {
        stripped = stripped.replace(code, "");
    }
    assert_eq!(stripped, plain);
}

proptest! {
    #[test]
    fn wrapped_lines_keep_every_character_and_the_width(text in "\\PC{0,200}", limit in 2_usize..60) {
        let lines = wrap(&text, limit);
        let kept: String = lines.concat().split_whitespace().collect();
        let expected: String = text.split_whitespace().collect();
        prop_assert_eq!(kept, expected);
        // One character may be wider than the limit allows for; none is split.
        prop_assert!(lines.iter().all(|line| width(line) <= limit || line.chars().count() == 1));
    }

    #[test]
    fn tables_keep_their_width_whatever_the_labels(label in "[a-z/,]{0,120}", limit in 40_usize..120) {
        let (text, _) = table(&label).render(limit, 2, PLAIN);
        prop_assert!(text.lines().all(|line| width(line) <= limit), "{}", text);
    }
}

#[test]
fn a_number_and_its_per_cent_sign_stay_together() {
    assert_eq!(wrap("about 12 % more", 8), ["about", "12 %", "more"]);
    assert_eq!(wrap("(2 to 12 %) or % alone", 9), ["(2 to", "12 %) or", "% alone"]);
    assert_eq!(wrap("  7 %  ", 20), ["7 %"]);
}
