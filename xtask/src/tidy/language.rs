//! The language of everything a person reads: banned phrases, and openings of doc comments that name nothing.

use proc_macro2::{LineColumn, TokenStream, TokenTree};
use serde::Deserialize;

use super::phrases::{Phrases, Wording};
use super::rust_file::{Purpose, RustFile};
use super::{Finding, Rule};
use crate::tree::Tree;

/// A doc comment names the thing; these words open a relative clause.
const OPENINGS: [&str; 10] =
    ["What", "Where", "Whether", "Whose", "Which", "Who", "Why", "When", "How", "Whatever"];

/// The list of banned phrases, from the root of the tree.
pub const PHRASES_FILE: &str = "xtask/phrases.toml";

/// Folders whose text files are read by people; so are the text files at the root.
const FOLDERS: [&str; 7] = ["crates", "devices", "docs", "kernel", "labs", "scripts", "web"];

/// Generated from strings that are checked where they are written, or frozen as they were published.
const NOT_CHECKED: [&str; 6] = [
    "docs/command-reference.md", "docs/lab-reference.md", "docs/replications.md",
    "labs/replicate/claims.toml", "web/package-lock.json", "web/duckdb/package-lock.json",
];

const TEXT_FILES: [&str; 5] = [".md", ".toml", ".ts", ".html", ".config"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    phrase: Vec<Wording>,
}

/// Reads the list of phrases; a list that cannot be read is a finding.
pub(super) fn phrases(tree: &Tree, findings: &mut Vec<Finding>) -> Phrases {
    let text = tree.text(PHRASES_FILE).unwrap_or_default();
    match toml::from_str::<Document>(text) {
        Ok(document) => Phrases::new(document.phrase),
        Err(error) => {
            let what = format!("a list of phrases that cannot be read ({})", error.message());
            findings.push(Finding::new(Rule::Syntax, PHRASES_FILE, 1, "", what));
            Phrases::default()
        }
    }
}

/// Checks the strings and doc comments of a production file, an example or a benchmark.
pub(super) fn check_rust(file: &RustFile<'_>, phrases: &Phrases, findings: &mut Vec<Finding>) {
    if file.purpose == Purpose::Test && !file.is_program() {
        return;
    }
    let mut texts = Vec::new();
    collect(file.tokens.clone(), &mut texts);
    for text in texts.iter().filter(|text| !file.in_test_item(text.place)) {
        let line = text.place.line;
        for hit in phrases.find(text.checked()) {
            findings.push(phrase(file.path, line, &hit.phrase, &hit.say));
        }
        if let Some(word) = text.bad_opening() {
            let what = format!("a doc comment that opens with `{word}`");
            findings.push(Finding::new(Rule::DocOpening, file.path, line, word, what));
        }
    }
}

/// Checks pages, labs, descriptions of devices, scripts and the program of the HTML report.
pub(super) fn check_texts(tree: &Tree, phrases: &Phrases, findings: &mut Vec<Finding>) {
    for (path, text) in tree.iter().filter(|(path, _)| is_checked(path)) {
        for hit in phrases.find(text) {
            let line = text.get(..hit.start).unwrap_or_default().matches('\n').count() + 1;
            findings.push(phrase(path, line, &hit.phrase, &hit.say));
        }
    }
}

fn phrase(path: &str, line: usize, phrase: &str, say: &str) -> Finding {
    let what = format!("`{phrase}` (say: {say})");
    Finding::new(Rule::Phrase, path, line, phrase, what)
}

fn is_checked(path: &str) -> bool {
    let folder = path.split_once('/').map(|(folder, _)| folder);
    let read_by_people = folder.is_none_or(|folder| FOLDERS.contains(&folder));
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_text = TEXT_FILES.iter().any(|end| name.ends_with(end))
        || name == "Makefile"
        || folder == Some("scripts");
    let is_test = path.contains("/testdata/") || path.contains("/tests/");
    read_by_people && is_text && !is_test && !NOT_CHECKED.contains(&path)
}

/// One string literal, or one doc comment of any number of lines.
struct Text {
    place: LineColumn,
    text: String,
    /// The comment belongs to what is around it (`//!`); nothing for a string.
    doc: Option<bool>,
}

impl Text {
    /// The whole string, or the first paragraph of a doc comment.
    fn checked(&self) -> &str {
        match self.doc {
            None => &self.text,
            Some(_) => self.text.split("\n\n").next().unwrap_or_default(),
        }
    }

    fn bad_opening(&self) -> Option<&'static str> {
        self.doc?;
        let first = self.text.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
        OPENINGS.into_iter().find(|word| first == Some(word))
    }
}

/// Doc comments are attributes among the tokens, in macros too.
fn collect(tokens: TokenStream, texts: &mut Vec<Text>) {
    let mut open: Option<Text> = None;
    let mut hash = false;
    let mut inner = false;
    for token in tokens {
        let place = token.span().start();
        match &token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                (hash, inner) = (true, false);
                continue;
            }
            TokenTree::Punct(punct) if hash && punct.as_char() == '!' => {
                inner = true;
                continue;
            }
            TokenTree::Group(group) => match doc_line(group).filter(|_| hash) {
                Some(line) => {
                    let line = Text { place, text: line.trim().to_owned(), doc: Some(inner) };
                    texts.extend(continued(&mut open, line));
                    hash = false;
                    continue;
                }
                None => collect(group.stream(), texts),
            },
            TokenTree::Literal(literal) => texts.extend(string(literal, place)),
            _ => {}
        }
        texts.extend(open.take());
        hash = false;
    }
    texts.extend(open);
}

/// Adds a line to the comment that is open, or opens the next and returns the one before.
fn continued(open: &mut Option<Text>, line: Text) -> Option<Text> {
    match open {
        Some(text) if text.doc == line.doc => {
            text.text.push('\n');
            text.text.push_str(&line.text);
            None
        }
        _ => open.replace(line),
    }
}

/// The text of `doc = "…"`.
fn doc_line(group: &proc_macro2::Group) -> Option<String> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(literal)]
            if name == "doc" =>
        {
            string(literal, literal.span().start()).map(|text| text.text)
        }
        _ => None,
    }
}

fn string(literal: &proc_macro2::Literal, place: LineColumn) -> Option<Text> {
    match syn::Lit::new(literal.clone()) {
        syn::Lit::Str(text) => Some(Text { place, text: text.value(), doc: None }),
        _ => None,
    }
}
