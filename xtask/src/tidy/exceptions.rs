//! `xtask/tidy.toml`: the cases for which a limit is wrong, each with its reason.
//!
//! ```toml
//! [[exception]]
//! rule = "function-length"            # the word in brackets at the end of a finding
//! file = "crates/spec/src/parse.rs"
//! item = "parse_lab"                  # optional: only this function, call, dependency or word
//! limit = 90                          # for the two lengths: how long it may get
//! reason = "one arm per table of the file format, in the order of its reference"
//! ```

use serde::Deserialize;
use toml::Spanned;

use super::{Finding, Rule};
use crate::tree::Tree;

/// Path of the exceptions, from the root of the tree.
pub const EXCEPTIONS_FILE: &str = "xtask/tidy.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    exception: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    rule: Spanned<String>,
    file: String,
    item: Option<String>,
    limit: Option<usize>,
    reason: String,
}

/// Takes out of `findings` what an entry excuses, and adds what is wrong with the entries.
pub(super) fn apply(tree: &Tree, mut findings: Vec<Finding>) -> Vec<Finding> {
    let text = tree.text(EXCEPTIONS_FILE).unwrap_or_default();
    let document: Document = match toml::from_str(text) {
        Ok(document) => document,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_at(text, span.start));
            let what = format!("an entry that cannot be read ({})", error.message());
            findings.push(Finding::new(Rule::Exceptions, EXCEPTIONS_FILE, line, "", what));
            return findings;
        }
    };
    for entry in document.exception {
        let line = line_at(text, entry.rule.span().start);
        if let Err(what) = excuse(&entry, &mut findings) {
            findings.push(Finding::new(Rule::Exceptions, EXCEPTIONS_FILE, line, "", what));
        }
    }
    findings
}

fn excuse(entry: &Entry, findings: &mut Vec<Finding>) -> Result<(), String> {
    let name = entry.rule.get_ref();
    let rule = match Rule::by_name(name) {
        Some(Rule::Exceptions | Rule::Syntax) => {
            return Err(format!("an exception from `{name}`, which knows none"));
        }
        Some(rule) => rule,
        None => return Err(format!("an exception from `{name}`, which is no rule")),
    };
    if entry.reason.trim().is_empty() {
        return Err(format!("an exception from `{name}` without a reason"));
    }
    match (rule.has_limit(), entry.limit) {
        (true, None) => return Err(format!("an exception from `{name}` without `limit`")),
        (false, Some(_)) => {
            return Err(format!("`limit` in an exception from `{name}`, which counts nothing"));
        }
        _ => {}
    }
    let fits = |finding: &Finding| {
        finding.rule == rule
            && finding.file == entry.file
            && entry.item.as_ref().is_none_or(|item| *item == finding.item)
    };
    if !findings.iter().any(fits) {
        let item = entry.item.as_ref().map(|item| format!(" ({item})")).unwrap_or_default();
        return Err(format!(
            "an exception from `{name}` for {}{item} that fits nothing",
            entry.file
        ));
    }
    findings.retain(|finding| !fits(finding) || finding.size > entry.limit);
    Ok(())
}

/// The line, counted from 1, of byte `offset`.
pub(super) fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}
