//! A value as YAML, as people expect to read a manifest.

use serde_json::Value;

#[cfg(test)]
mod tests;

/// Spaces that a level is moved to the right.
const STEP: usize = 2;

/// A document.
pub(crate) fn document(value: &Value) -> String {
    let mut text = String::from("---\n");
    lines(value, 0, &mut text);
    text
}

/// The lines of a value that begins on a line of its own.
fn lines(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, member) in members {
                text.push_str(&" ".repeat(indent));
                entry(&format!("{}:", scalar(name)), member, indent, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                text.push_str(&" ".repeat(indent));
                item_lines(item, indent, text);
            }
        }
        _ => {
            text.push_str(&" ".repeat(indent));
            text.push_str(&inline(value));
            text.push('\n');
        }
    }
}

/// An item of a list; the first line of a table follows its dash.
fn item_lines(item: &Value, indent: usize, text: &mut String) {
    if is_nested(item) {
        let mut inner = String::new();
        lines(item, indent + STEP, &mut inner);
        text.push_str("- ");
        text.push_str(inner.trim_start_matches(' '));
    } else {
        entry("-", item, indent, text);
    }
}

/// A value after the word that opens its line.
fn entry(word: &str, value: &Value, indent: usize, text: &mut String) {
    text.push_str(word);
    match value {
        Value::String(block) if is_block(block) => {
            // With its indentation stated, a text may begin with spaces; "+" keeps its last line ends.
            text.push_str(&format!(" |{STEP}+\n"));
            for line in block.lines() {
                if !line.is_empty() {
                    text.push_str(&" ".repeat(indent + STEP));
                    text.push_str(line);
                }
                text.push('\n');
            }
        }
        _ if is_nested(value) => {
            text.push('\n');
            lines(value, indent + STEP, text);
        }
        _ => {
            text.push(' ');
            text.push_str(&inline(value));
            text.push('\n');
        }
    }
}

fn is_nested(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// A text of several whole lines that YAML can hold as it is.
fn is_block(text: &str) -> bool {
    let plain = |letter: char| {
        letter == '\n' || letter == '\t' || (' '..='~').contains(&letter) || is_letter(letter)
    };
    text.ends_with('\n') && text.chars().all(plain)
}

/// Letters outside of ASCII that YAML prints, line ends of other kinds excepted.
fn is_letter(letter: char) -> bool {
    ('\u{a0}'..='\u{d7ff}').contains(&letter) && !matches!(letter, '\u{2028}' | '\u{2029}')
}

/// A value on one line. What JSON writes, YAML reads.
fn inline(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// A text, in quotes unless it can only be read as itself.
fn scalar(text: &str) -> String {
    let mut letters = text.chars();
    let plain = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '/')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "-./_".contains(letter))
        && !is_word_of_yaml(text);
    if plain { text.to_owned() } else { escaped(&Value::from(text).to_string()) }
}

/// A quoted text of JSON without the letters that YAML refuses and JSON keeps as they are.
fn escaped(quoted: &str) -> String {
    let mut text = String::new();
    for letter in quoted.chars() {
        if (' '..='~').contains(&letter) || is_letter(letter) {
            text.push(letter);
        } else {
            text.push_str(&format!("\\U{:08x}", u32::from(letter)));
        }
    }
    text
}

/// Words that readers of YAML take for something else than a text.
fn is_word_of_yaml(text: &str) -> bool {
    const WORDS: [&str; 9] = ["true", "false", "yes", "no", "on", "off", "null", "y", "n"];
    WORDS.contains(&text.to_ascii_lowercase().as_str())
}
