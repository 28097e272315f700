use super::*;

#[test]
fn a_long_text_goes_on_below_itself_and_a_word_is_never_broken() {
    let text = "alpha beta gamma delta epsilon zeta";
    assert_eq!(hanging("name  ", text, None), format!("name  {text}\n"));
    assert_eq!(
        hanging("name  ", text, Some(26)),
        "name  alpha beta gamma\n      delta epsilon zeta\n"
    );
    let path = "/a/very/long/path/that/has/no/place/to/break";
    assert_eq!(hanging("a ", &format!("x {path} y"), Some(30)), format!("a x\n  {path}\n  y\n"));
}

#[test]
fn the_last_column_of_a_table_is_wrapped_below_its_heading() {
    let table = "device  what it is\nfixed   one two three four five\n";
    let narrow = "device  what it is\nfixed   one two three four\n        five\n";
    assert_eq!(wrap_last(table, "what it is", Some(28)), narrow);
    assert_eq!(wrap_last(table, "what it is", None), table);
    assert_eq!(wrap_last(table, "no such heading", Some(28)), table);
}

#[test]
fn a_name_from_outside_neither_steers_the_terminal_nor_reorders_a_line() {
    assert_eq!(harmless("a\u{1b}[31mb\tc\n"), "a\u{fffd}[31mb\tc\n");
    assert_eq!(harmless("disk\u{202e}gnp.exe"), "disk\\u{202e}gnp.exe");
    assert_eq!(harmless("\u{2066}a\u{200f}b\u{feff}"), "\\u{2066}a\\u{200f}b\\u{feff}");
    assert_eq!(harmless("grün 漢字"), "grün 漢字");
}

#[test]
fn long_lines_continue_below_their_own_text_and_short_ones_stay() {
    let fit = |text| fitted(text, 2, Some(30));
    assert_eq!(fitted("a b", 2, None), "a b");
    assert_eq!(fit("short\n  list"), "short\n  list\n");
    assert_eq!(
        fit("seekwell: error: one two three four five"),
        "seekwell: error: one two three\n  four five\n"
    );
    assert_eq!(
        fit("  - one two three four five six seven"),
        "  - one two three four five\n    six seven\n"
    );
    assert_eq!(
        fit("calls   12 on files, 13 on pipes and sockets"),
        "calls   12 on files, 13 on\n        pipes and sockets\n"
    );
    assert_eq!(
        fit("  key: one two three four five six"),
        "  key: one two three four five\n    six\n"
    );
}

#[test]
fn commands_to_copy_are_not_broken() {
    let fit = |text| fitted(text, 2, Some(30));
    assert_eq!(
        fit("stopped; continue with: seekwell run --resume -o a.seekwell"),
        "stopped; continue with:\n  seekwell run --resume -o a.seekwell\n"
    );
    assert_eq!(
        fit("no kernel was found; build one: `seekwell kernel build` takes minutes"),
        "no kernel was found; build\n  one: `seekwell kernel build`\n  takes minutes\n"
    );
}
