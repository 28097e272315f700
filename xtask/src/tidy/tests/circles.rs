//! Modules that import each other.

use super::found;

/// Findings about circles in a crate with these files below `crates/spec/src`.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let paths: Vec<(String, &str)> =
        files.iter().map(|(name, text)| (format!("crates/spec/src/{name}"), *text)).collect();
    let files: Vec<(&str, &str)> =
        paths.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    found(&files).into_iter().filter(|line| line.ends_with("[circle]")).collect()
}

#[test]
fn modules_that_import_each_other_are_a_circle() {
    let found = circles(&[
        ("lib.rs", "//! A room.\nmod a;\nmod b;\nmod c;\npub use c::Three;\n"),
        ("a.rs", "//! One.\nuse crate::b::Two;\n"),
        ("b.rs", "//! Two.\nfn two() { crate::Three::new(); }\n"),
        ("c.rs", "//! Three.\nuse super::a;\n"),
    ]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("import each other: a, b, c"), "{found:?}");
}

#[test]
fn arrows_one_way_and_a_modules_own_parts_are_none() {
    let found = circles(&[
        ("lib.rs", "//! A room.\nmod a;\nmod b;\n"),
        ("a.rs", "//! One.\nmod part;\nuse crate::b::Two;\nuse part::Part;\n"),
        ("a/part.rs", "//! A part.\nuse super::One;\nuse crate::b::Two;\n"),
        ("b.rs", "//! Two.\n#[cfg(test)]\nmod tests;\n"),
        ("b/tests.rs", "//! Tests.\nuse crate::a::One;\n"),
    ]);
    assert_eq!(found, [""; 0]);
}
