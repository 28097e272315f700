//! `xtask/circle-budget.toml`: the findings that a crate may still have of a rule that is younger than its code.
//!
//! ```toml
//! [cli]                  # a folder below crates/, another top folder, or `root`
//! circle = 2
//! ```
//!
//! A budget may only fall. A crate or rule that is not listed has a budget of 0. When code moves to another
//! crate, its number moves with it.

use std::collections::{BTreeMap, BTreeSet};

use super::rust_file::room;
use super::{Finding, Rule};
use crate::tree::Tree;

/// Path of the budgets, from the root of the tree.
pub const BUDGET_FILE: &str = "xtask/circle-budget.toml";

/// Rules with budgets; every finding of another rule is refused.
const BUDGETED: [Rule; 1] = [Rule::Circle];

type Budgets = BTreeMap<String, BTreeMap<String, usize>>;

/// The findings over budget, and the budgets that can be lowered.
pub(super) struct Applied {
    pub findings: Vec<Finding>,
    pub notes: Vec<String>,
}

/// The crate or folder that a path counts for.
pub(super) fn budget_room(path: &str) -> &str {
    match (room(path), path.split_once('/')) {
        ("", Some((folder, _))) => folder,
        ("", None) => "root",
        (room, _) => room,
    }
}

/// Takes out the findings that a budget covers. A room over its budget becomes one finding.
pub(super) fn apply(tree: &Tree, findings: Vec<Finding>) -> Applied {
    let text = tree.text(BUDGET_FILE).unwrap_or_default();
    let budgets: Budgets = match toml::from_str(text) {
        Ok(budgets) => budgets,
        Err(error) => {
            let what = format!("budgets that cannot be read ({})", error.message());
            let finding = Finding::new(Rule::Exceptions, BUDGET_FILE, 1, "", what);
            return Applied { findings: vec![finding], notes: Vec::new() };
        }
    };
    let (counted, mut left): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| BUDGETED.contains(&finding.rule));
    let mut counts: BTreeMap<(String, Rule), Vec<Finding>> = BTreeMap::new();
    for finding in counted {
        let key = (budget_room(&finding.file).to_owned(), finding.rule);
        counts.entry(key).or_default().push(finding);
    }
    let mut notes = Vec::new();
    for (room, rule) in keys(&budgets, &counts) {
        let budget = budgets.get(&room).and_then(|rules| rules.get(rule.name())).copied();
        let found = counts.remove(&(room.clone(), rule)).unwrap_or_default();
        match (found.len(), budget.unwrap_or(0)) {
            (count, budget) if count < budget => notes.push(format!(
                "{BUDGET_FILE}: [{room}] {} = {budget} can be lowered to {count}",
                rule.name()
            )),
            (count, 0) if count > 0 => left.extend(found),
            (count, budget) if count > budget => left.push(over(text, &room, rule, count, budget)),
            _ => {}
        }
    }
    Applied { findings: left, notes }
}

fn keys(
    budgets: &Budgets,
    counts: &BTreeMap<(String, Rule), Vec<Finding>>,
) -> BTreeSet<(String, Rule)> {
    let planned = budgets.keys().flat_map(|room| BUDGETED.map(|rule| (room.clone(), rule)));
    planned.chain(counts.keys().cloned()).collect()
}

fn over(text: &str, room: &str, rule: Rule, count: usize, budget: usize) -> Finding {
    let header = format!("[{room}]");
    let line = text.lines().position(|line| line.trim() == header).map_or(1, |index| index + 1);
    let what = format!(
        "`{room}` has {count} findings of `{}`, its budget is {budget}; \
         `cargo xtask tidy --room {room}` lists them",
        rule.name()
    );
    Finding::new(rule, BUDGET_FILE, line, room, what)
}
