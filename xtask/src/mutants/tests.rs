use super::*;

const TEXT: &str = "fn one(a: u8, b: u8) -> bool {
    if a == 1 && !(b < 2) {
        return false;
    }
    match a {
        3 => true,
        _ => b > 4,
    }
}
const NO: bool = 1 == 2;
";

#[test]
fn every_place_is_found_once_with_its_line() {
    let found: Vec<(usize, String)> =
        places(TEXT).unwrap().into_iter().map(|place| (place.line, place.change)).collect();
    let expected = [
        (1, "one returns true at once"),
        (1, "one returns false at once"),
        (2, "the condition becomes its opposite"),
        (2, "&& becomes ||"),
        (2, "== becomes !="),
        (2, "! goes"),
        (2, "< becomes <="),
        (6, "this arm is never taken"),
        (7, "> becomes >="),
    ];
    let expected: Vec<(usize, String)> =
        expected.into_iter().map(|(line, change)| (line, change.to_owned())).collect();
    assert_eq!(found, expected);
}

#[test]
fn changes_within_changes_keep_their_switches() {
    let text = rendered(TEXT, &places(TEXT).unwrap(), 40);
    syn::parse_file(&text).unwrap();
    for number in 40..49 {
        assert!(text.contains(&format!("crate::mutant({number})")), "{number} in {text}");
    }
    assert!(text.contains("3 if !crate::mutant(47) => true"), "{text}");
    assert!(text.contains("(if crate::mutant(48) { (b) >= (4) } else { (b) > (4) })"), "{text}");
    assert!(text.contains("const NO: bool = 1 == 2;"), "{text}");
    assert!(
        text.contains(
            "{ if crate::mutant(40) { return true; } if crate::mutant(41) { return false; }"
        ),
        "{text}"
    );
}

#[test]
fn a_draw_is_the_same_with_the_same_seed() {
    let all = || {
        let places = places(TEXT).unwrap();
        let mutant = |(place, number)| Mutant { number, area: 0, file: String::new(), place };
        places.into_iter().zip(0..).map(mutant).collect::<Vec<_>>()
    };
    let numbers = |seed| {
        let drawn = drawn(all(), Choice { count: 4, seed });
        drawn.iter().map(|mutant| mutant.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(1), numbers(1));
    assert_ne!(numbers(1), numbers(2));
    assert_eq!(numbers(1).len(), 4);
}

#[test]
fn crates_of_the_copy_are_told_from_those_of_the_tree_and_others_are_not() {
    let lock = "version = 4\n\n[[package]]\nname = \"seekwell\"\nversion = \"0.1.0\"\n\n\
                [[package]]\nname = \"syn\"\nversion = \"0.1.0\"\nsource = \"registry\"\n";
    let expected = "version = 4\n\n[[package]]\nname = \"seekwell\"\nversion = \"0.1.0-mutants\"\n\n\
                    [[package]]\nname = \"syn\"\nversion = \"0.1.0\"\nsource = \"registry\"\n";
    assert_eq!(with_own_version(lock), expected);
    let manifest =
        "[workspace.package]\nversion = \"0.1.0\"\n\n[dependencies]\nsyn = { version = \"2\" }\n";
    assert_eq!(
        with_own_version(manifest),
        manifest.replace("version = \"0.1.0\"\n", "version = \"0.1.0-mutants\"\n")
    );
}

#[test]
fn a_mutant_is_killed_by_a_failing_test_or_by_time() {
    let mut tried = Tried::default();
    for ending in [Ending::Failed, Ending::Overdue, Ending::Passed, Ending::Failed] {
        tried.add(ending);
    }
    assert_eq!(tried.words(), "3 of 4 mutants killed (2 by a failing test, 1 ended after 120 s)");
}
