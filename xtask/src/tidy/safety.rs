//! A SAFETY comment directly above every unsafe block and every unsafe impl, in tests and in macros
//! too.

use proc_macro2::{Delimiter, LineColumn, TokenStream, TokenTree};

use super::rust_file::RustFile;
use super::{Finding, Rule};

const MARK: &str = "SAFETY:";

pub(super) fn check(file: &RustFile<'_>, findings: &mut Vec<Finding>) {
    let lines: Vec<&str> = file.text.lines().collect();
    let mut places = Vec::new();
    scan(file.tokens.clone(), &mut places);
    for (place, kind) in places {
        // It is above the word itself, or above the statement that contains the block.
        let unit = file.units.iter().filter(|unit| unit.holds(place)).map(|unit| unit.start).max();
        let starts = [Some(place.line), unit.map(|start| start.line)];
        if !starts.into_iter().flatten().any(|line| has_comment_above(&lines, line)) {
            let what = format!("{kind} without a SAFETY comment");
            findings.push(Finding::new(Rule::Safety, file.path, place.line, kind, what));
        }
    }
}

fn scan(tokens: TokenStream, places: &mut Vec<(LineColumn, &'static str)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for pair in tokens.windows(2) {
        let [TokenTree::Ident(word), next] = pair else { continue };
        if word != "unsafe" {
            continue;
        }
        match next {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                places.push((word.span().start(), "unsafe block"));
            }
            TokenTree::Ident(next) if next == "impl" => {
                places.push((word.span().start(), "unsafe impl"));
            }
            _ => {}
        }
    }
    for token in tokens {
        if let TokenTree::Group(group) = token {
            scan(group.stream(), places);
        }
    }
}

/// Returns true if the comment lines directly above line `line` (from 1) give a reason after the
/// mark.
fn has_comment_above(lines: &[&str], line: usize) -> bool {
    let above = lines.get(..line.saturating_sub(1)).unwrap_or_default();
    let comment: Vec<&str> =
        above.iter().rev().map(|line| line.trim()).take_while(|line| is_comment(line)).collect();
    // `comment` runs upwards: what follows the mark's line stands before it here.
    comment.iter().enumerate().any(|(index, line)| {
        line.split_once(MARK).is_some_and(|(_, reason)| {
            let below = comment.iter().take(index).map(|line| line.trim_matches(['/', '*', ' ']));
            std::iter::once(reason.trim_matches(['/', '*', ' ']))
                .chain(below)
                .any(|part| !part.is_empty())
        })
    })
}

fn is_comment(line: &str) -> bool {
    ["//", "/*", "*"].iter().any(|start| line.starts_with(start)) || line.ends_with("*/")
}
