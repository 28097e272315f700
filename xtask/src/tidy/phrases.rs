//! Phrases found in running text, whatever its line breaks and capitals.

use serde::Deserialize;

/// Phrases that share a better wording.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wording {
    phrases: Vec<String>,
    say: String,
}

/// The banned phrases, each with what to say instead.
#[derive(Default)]
pub(super) struct Phrases {
    list: Vec<(String, String)>,
}

/// One phrase in a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hit {
    /// Byte offset of its first letter.
    pub start: usize,
    pub phrase: String,
    pub say: String,
}

impl Phrases {
    pub(super) fn new(wordings: Vec<Wording>) -> Self {
        let pair = |phrase: String, say: &str| (phrase.to_ascii_lowercase(), say.to_owned());
        let list = wordings
            .into_iter()
            .flat_map(|Wording { phrases, say }| {
                phrases.into_iter().map(move |phrase| pair(phrase, &say))
            })
            .collect();
        Self { list }
    }

    /// Every phrase in `text`, in the order of the list, then of the text.
    pub(super) fn find(&self, text: &str) -> Vec<Hit> {
        let (plain, offsets) = normalised(text);
        let mut hits = Vec::new();
        for (phrase, say) in &self.list {
            for (start, _) in plain.match_indices(phrase.as_str()) {
                if is_whole(&plain, start, start + phrase.len()) {
                    let start = offsets.get(start).copied().unwrap_or_default();
                    hits.push(Hit { start, phrase: phrase.clone(), say: say.clone() });
                }
            }
        }
        hits
    }
}

/// Lower case, one space between words also across the markers of comment lines; with the offset of
/// each byte in the original.
fn normalised(text: &str) -> (String, Vec<usize>) {
    let (mut plain, mut offsets) = (String::with_capacity(text.len()), Vec::new());
    let mut after_newline = false;
    for (offset, character) in text.char_indices() {
        after_newline |= character == '\n';
        let is_marker = after_newline && matches!(character, '#' | '/' | '!' | '*' | '>');
        if character.is_whitespace() || is_marker {
            if !plain.ends_with(' ') {
                plain.push(' ');
                offsets.push(offset);
            }
            continue;
        }
        after_newline = false;
        plain.push(character.to_ascii_lowercase());
        offsets.extend(std::iter::repeat_n(offset, character.len_utf8()));
    }
    (plain, offsets)
}

/// No part of a longer word, option (`--place virtual`) or name.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '`');
    let before = text.get(..start).and_then(|text| text.chars().next_back());
    let after = text.get(end..).and_then(|text| text.chars().next());
    !before.is_some_and(joins) && !after.is_some_and(|c| joins(c) && c != '`')
}
