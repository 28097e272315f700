//! Rules on the code itself.

use super::{GOOD_FILE, found};

const STATS: &str = "crates/stats/src/lib.rs";

/// Findings of `text` as the library of `stats`, without the file's name.
fn in_stats(text: &str) -> Vec<String> {
    strip(found(&[(STATS, text)]))
}

fn strip(found: Vec<String>) -> Vec<String> {
    found.into_iter().map(|line| line.replace(&format!("{STATS}:"), "")).collect()
}

fn function(name: &str, lines: usize) -> String {
    format!("fn {name}() {{\n{}}}\n", "    work();\n".repeat(lines - 2))
}

#[test]
fn functions_end_at_seventy_lines() {
    let text = format!("{}{}", function("short", 70), function("long", 71));
    assert_eq!(in_stats(&text), ["71: function `long` of 71 lines (limit 70) [function-length]"]);
}

#[test]
fn documentation_and_attributes_do_not_lengthen_a_function() {
    assert_eq!(
        in_stats(&format!("{}#[inline]\n{}", "/// Doc.\n".repeat(40), function("f", 70))),
        [""; 0]
    );
}

#[test]
fn methods_trait_defaults_nested_functions_and_tests_have_the_same_limit() {
    let method = format!("struct S;\nimpl S {{\n{}}}\n", function("method", 71));
    assert_eq!(
        in_stats(&method),
        ["3: function `method` of 71 lines (limit 70) [function-length]"]
    );
    let default = format!("trait T {{\nfn none();\n{}}}\n", function("default", 71));
    assert_eq!(
        in_stats(&default),
        ["3: function `default` of 71 lines (limit 70) [function-length]"]
    );
    let nested = format!("fn outer() {{\n{}}}\n", function("inner", 71));
    assert_eq!(
        in_stats(&nested),
        [
            "1: function `outer` of 73 lines (limit 70) [function-length]",
            "2: function `inner` of 71 lines (limit 70) [function-length]"
        ]
    );
    assert_eq!(
        found(&[("crates/stats/tests/t.rs", &format!("#[test]\n{}", function("t", 71)))]),
        ["crates/stats/tests/t.rs:2: function `t` of 71 lines (limit 70) [function-length]"]
    );
}

#[test]
fn functions_inside_macros_are_measured() {
    let text = format!("proptest! {{\n#[test]\n{}{}}}\n", function("a", 71), function("b", 70));
    assert_eq!(in_stats(&text), ["3: function `a` of 71 lines (limit 70) [function-length]"]);
    let rules = format!("macro_rules! m {{ () => {{\n{}}} }}\n", function("c", 71));
    assert_eq!(in_stats(&rules), ["2: function `c` of 71 lines (limit 70) [function-length]"]);
}

#[test]
fn a_long_closure_counts_for_the_function_around_it() {
    let text = format!("fn f() {{\nlet g = || {{\n{}}};\n}}\n", "    work();\n".repeat(70));
    assert_eq!(in_stats(&text), ["1: function `f` of 74 lines (limit 70) [function-length]"]);
    let constant = format!("const F: fn() = || {{\n{}}};\n", "    work();\n".repeat(80));
    assert_eq!(in_stats(&constant), [""; 0]);
}

#[test]
fn production_files_end_at_eight_hundred_lines() {
    assert_eq!(in_stats(&"// line\n".repeat(800)), [""; 0]);
    assert_eq!(
        in_stats(&"// line\n".repeat(801)),
        ["1: production file of 801 lines (limit 800) [file-length]"]
    );
    assert_eq!(found(&[("crates/stats/tests/long.rs", &"// line\n".repeat(900))]), [""; 0]);
}

#[test]
fn only_a_test_module_makes_a_test_file() {
    let long = "// line\n".repeat(801);
    // Reached through `#[cfg(test)] mod tests;`, and what lies below it.
    let declared =
        "#[cfg(test)]\nmod tests;\n#[cfg(all(test, unix))]\n#[path = \"oracle.rs\"]\nmod naive;\n";
    let files = |root| {
        found(&[
            (STATS, root),
            ("crates/stats/src/tests.rs", &long),
            ("crates/stats/src/tests/part.rs", &long),
            ("crates/stats/src/oracle.rs", &long),
        ])
    };
    assert_eq!(files(declared), [""; 0]);
    // The same names without the attribute are production code.
    assert_eq!(files("mod tests;\nmod oracle;\n").len(), 3);
    assert_eq!(files("#[cfg(any(test, feature = \"x\"))]\nmod tests;\nmod oracle;\n").len(), 3);
}

#[test]
fn test_modules_of_nested_and_inline_modules_are_found() {
    let panics = "fn f(x: Option<u8>) -> u8 { x.unwrap() }\n";
    assert_eq!(
        found(&[
            (STATS, "mod a;\nmod b {\n#[cfg(test)]\nmod tests;\n}\n"),
            ("crates/stats/src/a.rs", "#[cfg(test)]\nmod tests;\n"),
            ("crates/stats/src/a/tests.rs", panics),
            ("crates/stats/src/b/tests/mod.rs", panics),
            ("crates/stats/src/c/tests.rs", panics),
        ]),
        ["crates/stats/src/c/tests.rs:1: `unwrap` in production code [unwrap]"]
    );
}

#[test]
fn panicking_calls_are_found_wherever_they_stand() {
    let text = "fn f(x: Option<u8>, y: Result<u8, u8>) {
    x.unwrap();
    y.expect(\"text\");
    y.unwrap_err();
    y.expect_err(\"text\");
    assert_eq!(x.unwrap(), 1);
    [x].map(Option::unwrap);
    let z = || format!(\"{}\", vec![x.expect(\"text\")].len());
    x.unwrap_or(1); y.unwrap_or_else(|_| 1); x.unwrap_or_default();
}
macro_rules! m { ($x:expr) => { $x.unwrap() } }
";
    assert_eq!(
        in_stats(text),
        [
            "2: `unwrap` in production code [unwrap]",
            "3: `expect` in production code [unwrap]",
            "4: `unwrap_err` in production code [unwrap]",
            "5: `expect_err` in production code [unwrap]",
            "6: `unwrap` in production code [unwrap]",
            "7: `unwrap` in production code [unwrap]",
            "8: `expect` in production code [unwrap]",
            "11: `unwrap` in production code [unwrap]",
        ]
    );
}

#[test]
fn a_reason_excuses_its_own_lint_and_its_own_statement_only() {
    let text = "fn f(x: Option<u8>) -> u8 {
    #[allow(clippy::unwrap_used, reason = \"just set\")]
    let a = x.unwrap();
    #[allow(clippy::expect_used, reason = \"just set\")]
    let b = x.unwrap();
    a + b + x.unwrap()
}
";
    assert_eq!(
        in_stats(text),
        ["5: `unwrap` in production code [unwrap]", "6: `unwrap` in production code [unwrap]"]
    );
}

#[test]
fn a_whole_file_cannot_be_excused_by_one_attribute() {
    let text = "#![allow(clippy::unwrap_used, reason = \"easier\")]\nfn f(x: Option<u8>) -> u8 { x.unwrap() }\n";
    assert_eq!(in_stats(text), ["2: `unwrap` in production code [unwrap]"]);
}

#[test]
fn lints_are_not_switched_off_without_a_reason() {
    let text = "#![allow(dead_code)]
#[allow(clippy::unwrap_used)]
fn f(x: Option<u8>) -> u8 { x.unwrap() }
#[expect(unused_variables, reason = \" \")]
fn g(x: u8) {}
#[cfg_attr(test, allow(unused))]
fn h(#[allow(unused_mut, reason = \"the trait asks for it\")] mut x: u8) {}
";
    assert_eq!(
        in_stats(text),
        [
            "1: `dead_code` is switched off without a reason [allow-reason]",
            "2: `clippy::unwrap_used` is switched off without a reason [allow-reason]",
            "3: `unwrap` in production code [unwrap]",
            "4: `unused_variables` is switched off without a reason [allow-reason]",
            "6: `unused` is switched off without a reason [allow-reason]",
        ]
    );
}

#[test]
fn missing_docs_stays_on_in_production() {
    let text = "#[allow(missing_docs, reason = \"generated\")]\npub mod generated;\n";
    assert_eq!(in_stats(text), ["1: `missing_docs` is switched off [docs]"]);
    assert_eq!(found(&[("crates/stats/tests/t.rs", text)]), [""; 0]);
}

#[test]
fn only_cli_talks_to_the_terminal_and_the_environment() {
    let text = "use std::process::{self, abort};
use std::env::{self, consts as facts, var as read};
use std::env::{self as world};
use std::io::{Write, stdout};
fn f() {
    println!(\"text\");
    eprint!(\"text\");
    dbg!(1);
    process::exit(1);
    env::var_os(\"HOME\");
    std::env::temp_dir();
    stdout().flush();
    std::io::stderr().flush();
    m!(std::env::args());
}
";
    let names =
        ["process::abort", "env::var", "env::as", "println!", "eprint!", "dbg!", "process::exit"];
    let more = ["env::var_os", "env::temp_dir", "stdout()", "stderr()", "env::args"];
    let lines = [1, 2, 3, 6, 7, 8, 9, 10, 11, 12, 13, 14];
    let expected: Vec<String> = lines
        .iter()
        .zip(names.iter().chain(&more))
        .map(|(line, name)| format!("{line}: `{name}` outside cli [door]"))
        .collect();
    assert_eq!(in_stats(text), expected);
    for path in [
        "crates/cli/src/x.rs", "crates/testing/src/lib.rs", "xtask/src/x.rs",
        "crates/stats/benches/b.rs",
    ] {
        assert_eq!(found(&[(path, text)]), [""; 0], "{path}");
    }
}

#[test]
fn a_reason_does_not_open_the_door() {
    let text =
        "#[allow(clippy::print_stdout, reason = \"handy\")]\nfn f() { println!(\"text\"); }\n";
    assert_eq!(in_stats(text), ["2: `println!` outside cli [door]"]);
}

#[test]
fn a_mod_rs_only_declares() {
    let path = "crates/stats/src/part/mod.rs";
    assert_eq!(found(&[(path, "//! Part.\nmod a;\npub use a::A;\n")]), [""; 0]);
    assert_eq!(
        found(&[(path, "//! Part.\nmod a;\n\nfn work() {}\n")]),
        ["crates/stats/src/part/mod.rs:4: logic in a mod.rs [mod-rs]"]
    );
    assert_eq!(found(&[("crates/stats/tests/common/mod.rs", "fn work() {}\n")]), [""; 0]);
}

#[test]
fn modules_are_named_after_a_concept() {
    assert_eq!(
        found(&[
            ("crates/stats/src/util.rs", "//! Things.\n"),
            ("crates/stats/src/helpers/sum.rs", "//! Sum.\nmod utils {}\nmod utility_curve {}\n"),
        ]),
        [
            "crates/stats/src/helpers/sum.rs:1: a module named `helpers` [vague-name]",
            "crates/stats/src/helpers/sum.rs:2: a module named `utils` [vague-name]",
            "crates/stats/src/util.rs:1: a module named `util` [vague-name]",
        ]
    );
}

#[test]
fn unit_tests_stand_in_a_sibling_file() {
    let text = "fn f() {}\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn t() { super::f() }\n}\n";
    assert_eq!(in_stats(text), ["3: unit tests `tests` inside a production file [inline-tests]"]);
}

#[test]
fn the_good_file_would_be_a_bad_one_without_its_reasons() {
    let bare = GOOD_FILE.replace(", reason = \"the pattern is a constant, tested below\"", "");
    assert_eq!(
        strip(found(&[
            (STATS, &bare),
            ("crates/stats/src/tests.rs", ""),
            ("crates/stats/src/convert.rs", "")
        ])),
        [
            "32: `clippy::unwrap_used` is switched off without a reason [allow-reason]",
            "34: `unwrap` in production code [unwrap]",
            "35: `unwrap` in production code [unwrap]",
        ]
    );
}
