//! `ARCHITECTURE.md` names files and functions; what it names exists.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

/// Words of the page like `file.rs: a, b` or `file.rs: Type::function`, as file and names.
fn named(page: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (at, _) in page.match_indices(".rs: ") {
        let begin = page[..at].rfind(|c: char| c.is_whitespace() || c == '`').map_or(0, |i| i + 1);
        let file = format!("{}.rs", &page[begin..at]);
        let rest = &page[at + ".rs: ".len()..];
        let end = rest.find("  ").unwrap_or(rest.len()).min(rest.find('`').unwrap_or(rest.len()));
        let names = rest[..end.min(rest.find('\n').unwrap_or(end))].split(", ");
        let names = names.filter(|name| *name != "…");
        found.push((file, names.map(str::to_owned).collect()));
    }
    found
}

#[test]
fn every_function_that_the_page_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let named = named(&page);
    assert!(named.len() >= 14, "{named:?}");
    for (file, names) in named {
        let text = std::fs::read_to_string(root.join("crates").join(&file));
        let text = text.unwrap_or_else(|error| panic!("{file}: {error}"));
        for name in names {
            for part in name.split("::") {
                let is_defined = ["fn ", "struct ", "enum ", "const ", "trait ", "mod ", "use "]
                    .iter()
                    .any(|word| text.contains(&format!("{word}{part}")));
                assert!(is_defined || text.contains(&format!("::{part}")), "{file}: {name}");
            }
        }
    }
}

#[test]
fn the_page_fits_three_screens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    // A screen has 50 lines of 160 columns.
    let lines: usize = page.lines().map(|line| line.chars().count().div_ceil(160).max(1)).sum();
    assert!(lines <= 150, "{lines} lines");
}
