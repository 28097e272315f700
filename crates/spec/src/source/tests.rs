use super::*;

fn diagnostic(text: &str, start: usize, end: usize) -> Diagnostic {
    let source = Source::new("lab.toml", text);
    source.diagnostic(Problem::new(Span { start, end }, "wrong", "write right"))
}

#[test]
fn columns_count_characters_and_not_bytes() {
    let mistake = diagnostic("a = 1\nnämé = \"x\"\n", 15, 18);
    assert_eq!((mistake.line, mistake.column), (2, 8));
    assert_eq!(mistake.value.as_deref(), Some("\"x\""));
    assert_eq!(mistake.excerpt, "  |\n2 | nämé = \"x\"\n  |        ^^^");
}

#[test]
fn a_range_over_several_lines_is_marked_on_its_first() {
    let mistake = diagnostic("list = [\n  1,\n]\n", 7, 14);
    assert_eq!(mistake.excerpt, "  |\n1 | list = [\n  |        ^");
    assert_eq!(mistake.value.as_deref(), Some("[ …"));
}

#[test]
fn a_place_beyond_the_end_or_inside_a_character_is_moved_into_the_text() {
    let mistake = diagnostic("ä", 1, 1);
    assert_eq!((mistake.line, mistake.column), (1, 1));
    let mistake = diagnostic("a = 1\n", 600, 700);
    assert_eq!((mistake.line, mistake.column), (2, 1));
}

#[test]
fn the_middle_of_a_long_line_is_shown_with_the_mistake_marked() {
    let text = format!("{}WRONG{}", "x".repeat(1000), "y".repeat(1000));
    let mistake = diagnostic(&text, 1000, 1005);
    assert_eq!(mistake.column, 1001);
    let lines: Vec<&str> = mistake.excerpt.lines().collect();
    assert!(lines.iter().all(|line| line.chars().count() < 120), "{lines:?}");
    let from = lines[2].find('^').unwrap();
    let marked: String = lines[1].chars().skip(from).take(5).collect();
    assert_eq!(marked, "WRONG");
    assert_eq!(lines[2].matches('^').count(), 5);
}

#[test]
fn nothing_in_a_lab_can_steer_the_terminal() {
    let mistake = diagnostic("name = \"\x1b[2J\u{202e}\u{7}\"", 7, 16);
    let text = mistake.to_string();
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
    assert!(!text.contains('\u{202e}'), "{text:?}");
}

#[test]
fn a_mistake_without_a_place_has_no_excerpt() {
    let source = Source::new("lab.toml", "a = 1\n");
    let mistake = source.diagnostic(Problem::new(None, "wrong", "write right"));
    assert_eq!(mistake.to_string(), "lab.toml:1:1: wrong\n = write right");
    assert_eq!(mistake.value, None);
}
