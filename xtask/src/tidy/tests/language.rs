//! Banned phrases, openings of doc comments, and subjects of commits.

use super::found;
use crate::tidy::commits;

const STATS: &str = "crates/stats/src/lib.rs";

const PHRASES: &str = "[[phrase]]\nphrases = [\"for ever\", \"virtual place\", \"place virtual\"]\n\
                       say = \"forever\"\n";

const LIST: (&str, &str) = ("xtask/phrases.toml", PHRASES);

fn in_stats(text: &str) -> Vec<String> {
    found(&[LIST, (STATS, text)])
}

fn line(file: &str, line: usize, phrase: &str) -> String {
    format!("{file}:{line}: `{phrase}` (say: forever) [phrase]")
}

#[test]
fn phrases_are_found_in_strings_also_inside_macros() {
    let text = "//! Doc.\nfn f() -> String {\n    let _ = \"It waits For\n  ever.\";\n    \
                format!(\"x {} for ever\", 1)\n}\n";
    assert_eq!(in_stats(text), [line(STATS, 3, "for ever"), line(STATS, 5, "for ever")]);
}

#[test]
fn phrases_are_found_in_the_first_paragraph_of_a_doc_comment() {
    let text =
        "//! Doc.\n\n/// Waits for\n/// ever.\n///\n/// Here it may wait for ever.\nfn f() {}\n";
    assert_eq!(in_stats(text), [line(STATS, 3, "for ever")]);
}

#[test]
fn code_comments_tests_and_longer_words_are_free() {
    let text = "//! Doc.\n// It waits for ever.\n\
                const A: &str = \"wait for everybody; --place virtual; `for ever_x\";\n\
                #[test]\nfn t() { assert_eq!(\"for ever\", A); }\n";
    assert_eq!(in_stats(text), [""; 0]);
    assert_eq!(
        found(&[LIST, ("crates/stats/tests/t.rs", "const A: &str = \"for ever\";\n")]),
        [""; 0]
    );
}

#[test]
fn programs_that_measure_are_read_too() {
    for file in ["crates/stats/examples/one/main.rs", "crates/stats/benches/one.rs"] {
        let text = "//! Doc.\nfn f() -> &'static str {\n    \"for ever\"\n}\n";
        assert_eq!(found(&[LIST, (file, text)]), [line(file, 3, "for ever")]);
    }
}

#[test]
fn phrases_are_found_in_pages_labs_and_scripts() {
    for file in
        ["README.md", "docs/a.md", "labs/a.toml", "scripts/demo", "web/src/a.ts", "Makefile"]
    {
        assert_eq!(
            found(&[LIST, (file, "one\n# in the virtual\n# place\n")]),
            [line(file, 2, "virtual place")]
        );
    }
    for file in ["docs/lab-reference.md", "testdata/a.md", "web/src/a.css", "benches/a.md"] {
        assert_eq!(found(&[LIST, (file, "the virtual place\n")]), [""; 0], "{file}");
    }
}

#[test]
fn a_list_of_phrases_that_cannot_be_read_is_a_finding() {
    let found = found(&[("xtask/phrases.toml", "[[phrase]]\nwords = []\n")]);
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("xtask/phrases.toml:1: a list of phrases"), "{found:?}");
}

#[test]
fn a_doc_comment_names_the_thing() {
    let text = "//! What a file is for.\n\n/// Whether it is so.\n/// Where not.\nfn f() {}\n\n\
                /// Those whose first word is one of the list.\nfn g() {}\n\n\
                macro_rules! m { () => {\n    /// `Whose` it is.\n    fn h() {}\n} }\n";
    let opening = |at: usize, word: &str| {
        format!("{STATS}:{at}: a doc comment that opens with `{word}` [doc-opening]")
    };
    assert_eq!(in_stats(text), [opening(1, "What"), opening(3, "Whether"), opening(11, "Whose")]);
    for word in ["Which", "Who", "Why", "When", "How", "Whatever"] {
        assert_eq!(in_stats(&format!("//! {word} it is.\n")), [opening(1, word)]);
    }
}

#[test]
fn subjects_of_commits_end_at_seventy_two_characters() {
    let (fits, long) = ("ä".repeat(72), "a".repeat(73));
    assert_eq!(
        commits::check(&format!("1234567 {fits}\n89abcde {long}\n")),
        [format!(
            "89abcde: subject of 73 characters (limit 72), it does not fit a line of the log, say \
             one thing and move the rest to the body: {long}"
        )]
    );
}

#[test]
fn a_range_is_read_from_git() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        let status = std::process::Command::new("git")
            .args(identity)
            .args(["-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(root)
            .status();
        assert!(status.unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["commit", "-q", "--allow-empty", "-m", &"a".repeat(90)]);
    git(&["tag", "first"]);
    git(&["commit", "-q", "--allow-empty", "-m", "short"]);
    assert!(commits::command(root, "first..HEAD").unwrap());
    assert!(!commits::command(root, "HEAD").unwrap());
    assert!(commits::command(root, "nothing..HEAD").is_err());
}
