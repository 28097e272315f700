//! Budgets of findings per crate.

use super::{found, tree};
use crate::tidy::budget;

/// Two circles in `stats`, and the budget of `stats`.
fn two_circles(budget: &str) -> Vec<(&'static str, &str)> {
    vec![
        ("crates/stats/src/lib.rs", "//! A room.\nmod a;\nmod b;\nmod c;\nmod d;\n"),
        ("crates/stats/src/a.rs", "//! One.\nuse crate::b::Two;\n"),
        ("crates/stats/src/b.rs", "//! Two.\nuse crate::a::One;\n"),
        ("crates/stats/src/c.rs", "//! Three.\nuse crate::d::Four;\n"),
        ("crates/stats/src/d.rs", "//! Four.\nuse crate::c::Three;\n"),
        (budget::BUDGET_FILE, budget),
    ]
}

fn stats(circles: usize) -> String {
    format!("[model]\ncircle = 0\n\n[stats]\ncircle = {circles}\n")
}

#[test]
fn a_budget_covers_findings_until_there_is_one_more() {
    assert_eq!(found(&two_circles(&stats(2))), [""; 0]);
    assert_eq!(
        found(&two_circles(&stats(1))),
        ["xtask/circle-budget.toml:4: `stats` has 2 findings of `circle`, its budget is 1; \
          `cargo xtask tidy --room stats` lists them [circle]"]
    );
    assert_eq!(found(&two_circles(&stats(0))).len(), 2, "without a budget each finding is listed");
    let text = stats(5);
    let tree = tree(&two_circles(&text));
    let applied = budget::apply(&tree, crate::tidy::all(&tree, &[]));
    assert_eq!(applied.notes, ["xtask/circle-budget.toml: [stats] circle = 5 can be lowered to 2"]);
    assert_eq!(applied.findings, []);
}

#[test]
fn the_language_has_no_budget() {
    let text = "[stats]\nphrase = 1\ndoc-opening = 1\n";
    let found = found(&[
        ("xtask/phrases.toml", "[[phrase]]\nphrases = [\"for ever\"]\nsay = \"forever\"\n"),
        ("crates/stats/src/lib.rs", "//! What waits for ever.\n"),
        (budget::BUDGET_FILE, text),
    ]);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn a_path_counts_for_its_crate_or_folder() {
    for (path, room) in [
        ("crates/cli/src/main.rs", "cli"),
        ("xtask/src/lib.rs", "xtask"),
        ("docs/how-to/a.md", "docs"),
        ("README.md", "root"),
    ] {
        assert_eq!(budget::budget_room(path), room);
    }
}
