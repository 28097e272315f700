//! Words that mean something only in the place where the code was written, and lock files that
//! point there.

use super::{Finding, Rule};
use crate::tree::Tree;

/// Words in two halves, so that this list does not find itself.
const FOREIGN: [(&str, &str, &str); 9] = [
    ("../", "shared", "a path outside the project"),
    ("/wo", "rk/", "an absolute path of one machine"),
    ("crates", ".io", "a package registry's host"),
    ("npmjs", ".org", "a package registry's host"),
    ("npmjs", ".com", "a package registry's host"),
    ("pypi", ".org", "a package registry's host"),
    ("pythonhosted", ".org", "a package registry's host"),
    ("proxy.golang", ".org", "a package registry's host"),
    ("deb.debian", ".org", "a package registry's host"),
];

/// A file each developer may keep, never committed: the words (tools, hosts, paths) of the place he
/// or she works in, one per line, that must not slip into the project.
pub(super) const PRIVATE_WORDS_FILE: &str = ".git/info/private-words";

/// Written by package managers, which put their registry's address in.
const LOCK_FILES: [&str; 2] = ["Cargo.lock", "package-lock.json"];

/// The only source that `Cargo.lock` may name, again in two halves.
const REGISTRY: (&str, &str) = ("registry+https://github.com/rust-lang/crates", ".io-index");

pub(super) fn check(tree: &Tree, private_words: &[String], findings: &mut Vec<Finding>) {
    let mut words: Vec<(String, &str)> = FOREIGN
        .into_iter()
        .map(|(first, second, kind)| (format!("{first}{second}"), kind))
        .collect();
    words.extend(private_words.iter().map(|word| (word.clone(), "a word of your own list")));
    for (path, text) in tree.iter() {
        let name = path.rsplit('/').next().unwrap_or(path);
        if name == "Cargo.lock" {
            check_lock(path, text, findings);
        }
        if !LOCK_FILES.contains(&name) {
            check_text(path, text, &words, findings);
        }
    }
}

fn check_text(path: &str, text: &str, words: &[(String, &str)], findings: &mut Vec<Finding>) {
    for (word, kind) in words.iter().filter(|(word, _)| text.contains(word)) {
        for (index, line) in text.lines().enumerate() {
            if line.match_indices(word).any(|(start, _)| begins_there(line, start, word)) {
                let what = format!("`{word}`, {kind}");
                findings.push(Finding::new(Rule::Workplace, path, index + 1, word, what));
            }
        }
    }
}

/// Returns true if `word` is not merely the tail of a longer word or path.
fn begins_there(line: &str, start: usize, word: &str) -> bool {
    let before = line.get(..start).and_then(|before| before.chars().last());
    let is_path = word.starts_with('/');
    !before.is_some_and(|c| {
        c.is_alphanumeric() || (is_path && matches!(c, '.' | '_' | '-' | '}' | '~'))
    })
}

fn check_lock(path: &str, text: &str, findings: &mut Vec<Finding>) {
    let registry = format!("source = \"{}{}\"", REGISTRY.0, REGISTRY.1);
    for (index, line) in text.lines().enumerate() {
        if line.starts_with("source = ") && line != registry {
            let what = format!("`{line}` in a lock file");
            findings.push(Finding::new(Rule::Lock, path, index + 1, "", what));
        }
    }
}
