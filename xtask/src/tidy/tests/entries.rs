//! `xtask/tidy.toml`.

use super::found;
use crate::tidy::EXCEPTIONS_FILE;

const STATS: &str = "crates/stats/src/lib.rs";

fn long_function() -> String {
    format!("fn long() {{\n{}}}\n", "    work();\n".repeat(70))
}

fn with(text: &str, entries: &str) -> Vec<String> {
    found(&[(STATS, text), (EXCEPTIONS_FILE, entries)])
}

fn entry(rule: &str, more: &str) -> String {
    format!("[[exception]]\nrule = \"{rule}\"\nfile = \"{STATS}\"\n{more}\n")
}

#[test]
fn an_entry_with_its_reason_excuses() {
    let long = entry("function-length", "item = \"long\"\nlimit = 72\nreason = \"a table\"");
    assert_eq!(with(&long_function(), &long), [""; 0]);
    let door = entry("door", "item = \"process::exit\"\nreason = \"first process of a namespace\"");
    assert_eq!(with("fn f() { std::process::exit(1) }\n", &door), [""; 0]);
    let all = entry("unwrap", "reason = \"a generated file\"");
    assert_eq!(with("fn f(x: Option<u8>) { x.unwrap(); x.expect(\"\"); }\n", &all), [""; 0]);
}

#[test]
fn an_entry_excuses_nothing_else() {
    let door = entry("door", "item = \"process::exit\"\nreason = \"first process\"");
    assert_eq!(
        with("fn f() { std::process::exit(1) }\nfn g() { std::env::args(); }\n", &door),
        ["crates/stats/src/lib.rs:2: `env::args` outside cli [door]"]
    );
}

#[test]
fn a_length_may_not_grow_beyond_its_entry() {
    let long = entry("function-length", "item = \"long\"\nlimit = 71\nreason = \"a table\"");
    assert_eq!(
        with(&long_function(), &long),
        ["crates/stats/src/lib.rs:1: function `long` of 72 lines (limit 70) [function-length]"]
    );
}

#[test]
fn an_entry_that_is_wrong_is_a_finding() {
    let good = "//! Statistics.\n";
    for (entry, expected) in [
        (
            entry("door", "reason = \"once true\""),
            "xtask/tidy.toml:2: an exception from `door` for crates/stats/src/lib.rs that fits nothing [exceptions]",
        ),
        (
            entry("function-length", "item = \"gone\"\nlimit = 90\nreason = \"once true\""),
            "xtask/tidy.toml:2: an exception from `function-length` for crates/stats/src/lib.rs (gone) that fits nothing [exceptions]",
        ),
        (
            entry("doors", "reason = \"text\""),
            "xtask/tidy.toml:2: an exception from `doors`, which is no rule [exceptions]",
        ),
        (
            entry("syntax", "reason = \"text\""),
            "xtask/tidy.toml:2: an exception from `syntax`, which knows none [exceptions]",
        ),
        (
            entry("exceptions", "reason = \"text\""),
            "xtask/tidy.toml:2: an exception from `exceptions`, which knows none [exceptions]",
        ),
        (
            entry("door", "reason = \" \""),
            "xtask/tidy.toml:2: an exception from `door` without a reason [exceptions]",
        ),
        (
            entry("file-length", "reason = \"text\""),
            "xtask/tidy.toml:2: an exception from `file-length` without `limit` [exceptions]",
        ),
        (
            entry("door", "limit = 3\nreason = \"text\""),
            "xtask/tidy.toml:2: `limit` in an exception from `door`, which counts nothing [exceptions]",
        ),
    ] {
        assert_eq!(with(good, &entry), [expected]);
    }
}

#[test]
fn a_wrong_entry_excuses_nothing() {
    let found = with("fn f() { std::process::exit(1) }\n", &entry("door", "reason = \"\""));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_file_of_entries_that_cannot_be_read_is_a_finding() {
    let unknown = with("", &entry("door", "why = \"text\"\nreason = \"text\""));
    assert_eq!(unknown.len(), 1);
    assert!(
        unknown[0]
            .starts_with("xtask/tidy.toml:4: an entry that cannot be read (unknown field `why`"),
        "{unknown:?}"
    );
    let missing = with("", &entry("door", ""));
    assert_eq!(
        missing,
        ["xtask/tidy.toml:1: an entry that cannot be read (missing field `reason`) [exceptions]"]
    );
}

#[test]
fn a_path_belongs_to_its_crate_or_folder() {
    for (path, room) in [
        ("crates/cli/src/main.rs", "cli"),
        ("xtask/src/lib.rs", "xtask"),
        ("docs/how-to/a.md", "docs"),
        ("README.md", "root"),
    ] {
        assert_eq!(crate::tidy::room_of(path), room);
    }
}
