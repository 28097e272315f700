//! Rules on any text. The words are put together here so that this file does not break the rule.

use super::{found, tree};
use crate::tidy::check;

fn in_readme(text: &str) -> Vec<String> {
    found(&[("README.md", text)])
}

#[test]
fn paths_of_one_machine_are_found() {
    let shared = concat!("../", "shared");
    let work = concat!("/wo", "rk/");
    let text =
        format!("See {shared}/DESIGN.md\nor `{work}main`,\nnot frame{work}x or ./a{work}y\n");
    assert_eq!(
        in_readme(&text),
        [
            format!("README.md:1: `{shared}`, a path outside the project [workplace]"),
            format!("README.md:2: `{work}`, an absolute path of one machine [workplace]"),
        ]
    );
}

#[test]
fn hosts_of_package_registries_are_found_in_code_too() {
    let host = concat!("crates", ".io");
    assert_eq!(
        found(&[("crates/stats/src/lib.rs", &format!("//! Statistics.\n// from {host}\n"))]),
        [format!("crates/stats/src/lib.rs:2: `{host}`, a package registry's host [workplace]")]
    );
}

#[test]
fn a_developers_own_words_are_found() {
    let words = ["sesame".to_owned()];
    let findings = check(&tree(&[("docs/a.md", "open\nsesame street\n")]), &words);
    let lines: Vec<String> =
        findings.iter().map(|f| format!("{}:{}: {}", f.file, f.line, f.what)).collect();
    assert_eq!(lines, ["docs/a.md:2: `sesame`, a word of your own list"]);
}

#[test]
fn a_lock_file_points_to_the_public_registry() {
    let public = concat!("registry+https://github.com/rust-lang/crates", ".io-index");
    let lock = |source: &str| format!("[[package]]\nname = \"a\"\nsource = \"{source}\"\n");
    assert_eq!(found(&[("Cargo.lock", &lock(public))]), [""; 0]);
    assert_eq!(
        found(&[("Cargo.lock", &lock("registry+https://mirror.example/index"))]),
        [
            "Cargo.lock:3: `source = \"registry+https://mirror.example/index\"` in a lock file [lock]"
        ]
    );
}
