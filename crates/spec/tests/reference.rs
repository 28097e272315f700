//! The reference in `docs/` is what the definitions say.

use seekwell_spec::reference::{EXAMPLE, lab_reference_markdown, warnings_markdown};
use std::path::Path;

#[test]
fn the_reference_in_docs_is_the_one_that_the_definitions_make() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lab-reference.md");
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(
        kept == lab_reference_markdown(),
        "docs/lab-reference.md is out of date: run `cargo xtask docs`"
    );
}

#[test]
fn the_warnings_in_docs_are_those_of_the_catalogue() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/warnings.md");
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(kept == warnings_markdown(), "docs/warnings.md is out of date: run `cargo xtask docs`");
    for definition in seekwell_model::warning::WARNINGS {
        assert!(kept.contains(&format!("| `{}` |", definition.code)), "{}", definition.code);
    }
}

#[test]
fn the_example_of_the_reference_is_a_lab() {
    let lab = seekwell_spec::read_lab(EXAMPLE, "example.toml").unwrap();
    assert_eq!(lab.name, "mail");
}

#[test]
fn every_workload_step_and_filesystem_is_in_the_reference() {
    let text = lab_reference_markdown();
    for filesystem in seekwell_model::filesystems::FILESYSTEMS {
        assert!(text.contains(&format!("| `{}` |", filesystem.name)), "{}", filesystem.name);
    }
    for step in ["unpack", "read_archive", "read_directory", "remove", "seek-populate", "command"] {
        assert!(text.contains(&format!("`{step}`")), "{step}");
    }
}
