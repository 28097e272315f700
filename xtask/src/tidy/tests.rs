//! Small trees with planted violations, one rule at a time, beside the good tree that all of them
//! start from.

mod arrows;
mod circles;
mod code;
mod entries;
mod language;
mod text;

use super::{Finding, Rule, check};
use crate::tree::Tree;

const ROOT_MANIFEST: &str = r#"[workspace]
members = ["crates/*", "xtask"]

[workspace.lints.rust]
missing_docs = "deny"
unsafe_op_in_unsafe_fn = { level = "forbid" }

[workspace.lints.clippy]
undocumented_unsafe_blocks = "deny"
unwrap_used = "deny"
expect_used = "deny"
print_stdout = "deny"
print_stderr = "deny"
exit = "deny"
dbg_macro = "deny"
todo = "deny"
unimplemented = "deny"
"#;

/// A production file that comes close to every rule and breaks none.
const GOOD_FILE: &str = r##"//! Reads and converts.
#![allow(dead_code, reason = "a fixture")]

use std::process::{Command, Stdio};

mod convert;
#[cfg(test)]
mod tests;

/// `println!("{}", x.unwrap())` stands in words here: "std::env::var" too.
pub fn first(values: &[u8], env: Option<u8>) -> Option<u8> {
    let text = "x.unwrap(); unsafe { } println!()";
    // x.expect("a comment")
    let print = text.len() as u8;
    if print != 3 {
        return values.first().copied().or(env).unwrap_or_default().checked_add(1);
    }
    // SAFETY: the slice is not empty, checked above.
    let value = unsafe { *values.get_unchecked(0) };
    Some(value)
}

/// Starts `name` with its output in a pipe.
pub fn start(name: &str) -> std::io::Result<std::process::Child> {
    Command::new(name).env("LC_ALL", "C").stdout(Stdio::piped()).stderr(Stdio::null()).spawn()
}

/// The program's version at build time, and the file it came from.
pub const VERSION: (&str, fn() -> std::io::Result<std::path::PathBuf>) =
    (env!("CARGO_PKG_VERSION"), std::env::current_exe);

#[allow(clippy::unwrap_used, reason = "the pattern is a constant, tested below")]
fn pattern() -> u32 {
    assert_eq!(1, "1".parse::<u32>().unwrap());
    "12".parse().unwrap()
}

fn one_statement(value: Option<u8>) -> u8 {
    #[expect(clippy::expect_used, reason = "filled by the constructor")]
    let value = value.expect("present");
    value
}

#[test]
fn a_test_may_panic() {
    println!("{}", "1".parse::<u8>().unwrap());
}
"##;

const TEST_FILE: &str = r#"use super::*;

fn shared() -> u8 {
    println!("{:?}", std::env::var("HOME"));
    std::process::exit("1".parse().expect("number"))
}
"#;

const CLI_FILE: &str = r#"//! The command line.
fn main() {
    eprintln!("{:?}", std::env::args().next());
    std::process::exit(2)
}
"#;

fn manifest(package: &str, dependencies: &str) -> String {
    format!("[package]\nname = \"{package}\"\n\n{dependencies}\n[lints]\nworkspace = true\n")
}

/// A tree in order, with `changes` written over it.
fn tree(changes: &[(&str, &str)]) -> Tree {
    let model = manifest("seekwell-model", "[dev-dependencies]\nanyhow = \"1\"\n");
    let stats = manifest("seekwell-stats", "[dependencies]\nseekwell-model.workspace = true\n");
    let cli = manifest("seekwell", "[dependencies]\nseekwell-stats = { path = \"../stats\" }\n");
    let good = [
        ("Cargo.toml", ROOT_MANIFEST),
        ("README.md", "A frame/work of crates, and a man of the world: see ../README.md\n"),
        ("crates/model/Cargo.toml", &model),
        ("crates/model/src/lib.rs", GOOD_FILE),
        ("crates/model/src/tests.rs", TEST_FILE),
        ("crates/model/src/convert.rs", "//! Converts.\nmod deep;\n"),
        ("crates/model/src/convert/deep.rs", "//! Deep.\n"),
        (
            "crates/model/build.rs",
            "fn main() { println!(\"{:?}\", std::env::var(\"OUT_DIR\")); }\n",
        ),
        ("crates/model/tests/whole.rs", TEST_FILE),
        ("crates/stats/Cargo.toml", &stats),
        ("crates/stats/src/lib.rs", "//! Statistics.\n"),
        ("crates/cli/Cargo.toml", &cli),
        ("crates/cli/src/main.rs", CLI_FILE),
    ];
    good.iter().chain(changes).map(|(path, text)| (path.to_string(), text.to_string())).collect()
}

fn findings(changes: &[(&str, &str)]) -> Vec<Finding> {
    check(&tree(changes), &[])
}

/// The findings as `file:line: what [rule]`.
fn found(changes: &[(&str, &str)]) -> Vec<String> {
    let brief = |finding: &Finding| {
        let Finding { file, line, what, rule, .. } = finding;
        format!("{file}:{line}: {what} [{}]", rule.name())
    };
    findings(changes).iter().map(brief).collect()
}

#[test]
fn a_tree_in_order_has_no_findings() {
    assert_eq!(found(&[]), [""; 0]);
}

#[test]
fn a_finding_says_what_why_and_what_to_do() {
    let text = "//! Doc.\nfn f(x: Option<u8>) -> u8 { x.unwrap() }\n";
    let messages: Vec<String> =
        findings(&[("crates/stats/src/lib.rs", text)]).iter().map(ToString::to_string).collect();
    assert_eq!(
        messages,
        ["crates/stats/src/lib.rs:2: `unwrap` in production code, a panic tells the user neither \
          where nor what to do, return a typed error, or say why it cannot fail: \
          #[allow(..., reason = \"...\")] [unwrap]"]
    );
}

#[test]
fn every_rule_is_found_by_its_name() {
    for rule in Rule::ALL {
        assert_eq!(Rule::by_name(rule.name()), Some(*rule));
    }
    assert_eq!(Rule::by_name("no-such-rule"), None);
}

#[test]
fn a_file_that_does_not_parse_is_a_finding_and_the_others_are_still_judged() {
    assert_eq!(
        found(&[
            ("crates/stats/src/lib.rs", "//! Doc.\nfn broken( {}\n"),
            ("crates/stats/src/other.rs", "fn f(x: Option<u8>) -> u8 { x.unwrap() }\n"),
        ])
        .iter()
        .map(|text| text.split(" (").next().unwrap_or_default())
        .collect::<Vec<_>>(),
        [
            "crates/stats/src/lib.rs:2: not Rust that parses",
            "crates/stats/src/other.rs:1: `unwrap` in production code [unwrap]"
        ]
    );
}

#[test]
fn a_tree_on_disk_is_read_with_and_without_git() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (path, text) in
        tree(&[("crates/stats/src/lib.rs", "fn f() { std::process::exit(1) }\n")]).iter()
    {
        std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        std::fs::write(root.join(path), text).unwrap();
    }
    let expected = ["crates/stats/src/lib.rs:1"];
    let places = || {
        let findings = check(&Tree::read(root).unwrap(), &[]);
        findings
            .iter()
            .map(|finding| format!("{}:{}", finding.file, finding.line))
            .collect::<Vec<_>>()
    };
    assert_eq!(places(), expected);
    let status = std::process::Command::new("git").args(["init", "-q"]).current_dir(root).status();
    assert!(status.unwrap().success());
    assert_eq!(places(), expected);
}
