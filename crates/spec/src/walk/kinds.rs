//! Checks single values and lists of values against the kind of their field.

use super::{Item, Walker};
use crate::definition::{Entry, Form};
use crate::source::{Problem, Span};
use crate::tables::{FILESYSTEM_NAMES, SCHEDULERS, WORKLOAD_NAMES};
use seekwell_model::field::{Field, FieldKind, Value};
use seekwell_model::filesystems::NOT_AVAILABLE;
use seekwell_model::units::{Bytes, Nanos, UnitError};
use std::collections::BTreeMap;
use toml::de::{DeArray, DeTable, DeValue};

/// The kind of mistake in a value, before it is put into words.
enum Mismatch {
    /// Another type or out of range.
    Kind,
    /// A word that is none of those to choose from.
    Unknown,
    /// An empty text.
    Empty,
    /// A spelling mistake in a size or a duration.
    Unit(String),
    /// Something inside, with its place.
    Inner(Problem),
}

impl Walker<'_> {
    /// One value of the entry's kind.
    pub(super) fn value(&self, entry: &Entry, item: &Item<'_>) -> Result<Value, Problem> {
        let span = Span::from(item.span());
        convert(entry, item.get_ref()).map_err(|mismatch| {
            let name = entry.field.name;
            let shown = self.source.slice(span);
            let message = match mismatch {
                Mismatch::Inner(problem) => return problem,
                Mismatch::Empty => format!("`{name}` is empty"),
                Mismatch::Unit(message) => format!("`{name}`: {message}"),
                Mismatch::Unknown => match not_available(entry, item.get_ref()) {
                    Some(why) => format!("{} {shown}: {why}", noun(entry)),
                    None => format!("unknown {} {shown}", noun(entry)),
                },
                Mismatch::Kind => {
                    let why = why(entry, item.get_ref());
                    format!("`{name}` takes {}, not {shown}{why}", describe(entry))
                }
            };
            Problem::new(span, message, remedy(entry, item.get_ref()))
        })
    }

    /// The values of an entry that takes a list, or one value.
    pub(super) fn list(
        &self,
        entry: &Entry,
        item: &Item<'_>,
    ) -> Result<Vec<(Value, Span)>, Problem> {
        let name = entry.field.name;
        let span = Span::from(item.span());
        let array = match (item.get_ref(), entry.form) {
            (DeValue::Array(array), _) => array,
            (_, Form::Variants) => return Ok(vec![(self.value(entry, item)?, span)]),
            _ => {
                let shown = self.source.slice(span);
                let message = format!("`{name}` takes a list, not {shown}");
                let example = self.value(entry, item).map_or_else(|_| example(entry), |_| shown);
                return Err(Problem::new(span, message, format!("write {name} = [{example}]")));
            }
        };
        if array.is_empty() {
            let remedy = if entry.field.required {
                format!("write {name} = [{}], or leave the table out", example(entry))
            } else {
                format!("leave `{name}` out, or write {name} = [{}]", example(entry))
            };
            return Err(Problem::new(span, format!("the list `{name}` is empty"), remedy));
        }
        let mut values: Vec<(Value, Span)> = Vec::new();
        for element in array.iter() {
            let value = self.value(entry, element).map_err(|problem| in_list(problem, name))?;
            let span = Span::from(element.span());
            if values.iter().any(|(other, _)| *other == value) {
                let shown = self.source.slice(span);
                let message = format!("`{name}` lists {shown} twice");
                return Err(Problem::new(span, message, "write each value once"));
            }
            values.push((value, span));
        }
        Ok(values)
    }
}

/// A remedy for one value of a list, which leaves the others.
fn in_list(mut problem: Problem, name: &str) -> Problem {
    if let Some(value) = problem.remedy.strip_prefix(&format!("write {name} = ")) {
        problem.remedy = format!("write {value} in its place");
    }
    problem
}

fn convert(entry: &Entry, value: &DeValue<'_>) -> Result<Value, Mismatch> {
    match (entry.field.kind, value) {
        (FieldKind::Bool, DeValue::Boolean(truth)) => Ok(Value::Bool(*truth)),
        (FieldKind::Integer { min, max }, _) => {
            let number = whole(value).filter(|number| (min..=max).contains(number));
            number.map(Value::Integer).ok_or(Mismatch::Kind)
        }
        (FieldKind::Number { min, max }, _) => {
            let number = number(value, matches!(entry.form, Form::Percent));
            let number = number.filter(|number| (min..=max).contains(number));
            number.map(Value::Number).ok_or(Mismatch::Kind)
        }
        (FieldKind::Text, DeValue::String(text)) if text.trim().is_empty() => Err(Mismatch::Empty),
        (FieldKind::Text, DeValue::String(text)) => Ok(Value::Text(text.to_string())),
        (FieldKind::Size { min, max }, _) => {
            let bytes = match value {
                DeValue::String(text) => text.parse::<Bytes>().map_err(|error| unit(&error))?,
                _ => Bytes(whole(value).ok_or(Mismatch::Kind)?),
            };
            let in_range = (min..=max).contains(&bytes);
            if in_range { Ok(Value::Size(bytes)) } else { Err(Mismatch::Kind) }
        }
        (FieldKind::Duration, DeValue::String(text)) => {
            let duration = text.parse::<Nanos>();
            let duration = duration.map_err(|error| unit(&error))?;
            if duration.0 == 0 { Err(Mismatch::Kind) } else { Ok(Value::Duration(duration)) }
        }
        (FieldKind::Choice(words), DeValue::String(text)) => {
            let known = words.contains(&text.as_ref());
            if known { Ok(Value::Text(text.to_string())) } else { Err(Mismatch::Unknown) }
        }
        (FieldKind::TextList, DeValue::Array(array)) => text_list(entry, array),
        (FieldKind::IntegerList { .. } | FieldKind::SizeList { .. }, _) => several(entry, value),
        (FieldKind::TextTable, DeValue::Table(table)) => text_table(entry, table),
        _ => Err(Mismatch::Kind),
    }
}

/// A list of numbers or sizes, or one that stands for a list of one.
fn several(entry: &Entry, value: &DeValue<'_>) -> Result<Value, Mismatch> {
    let one = Entry { field: Field { kind: element(entry.field.kind), ..entry.field }, ..*entry };
    let values = match value {
        DeValue::Array(array) if array.is_empty() => return Err(Mismatch::Empty),
        DeValue::Array(array) => {
            array.iter().map(|item| convert(&one, item.get_ref())).collect::<Result<Vec<_>, _>>()?
        }
        single => vec![convert(&one, single)?],
    };
    let sizes = values.iter().filter_map(|value| match value {
        Value::Size(size) => Some(*size),
        _ => None,
    });
    let numbers = values.iter().filter_map(|value| match value {
        Value::Integer(number) => Some(*number),
        _ => None,
    });
    Ok(match one.field.kind {
        FieldKind::Size { .. } => Value::Sizes(sizes.collect()),
        _ => Value::Integers(numbers.collect()),
    })
}

/// The kind of an element of a list of numbers or sizes; other kinds stay as they are.
fn element(kind: FieldKind) -> FieldKind {
    match kind {
        FieldKind::IntegerList { min, max } => FieldKind::Integer { min, max },
        FieldKind::SizeList { min, max } => FieldKind::Size { min, max },
        other => other,
    }
}

/// The error's own example is left to the remedy, which knows the field.
fn unit(error: &UnitError) -> Mismatch {
    let shown = crate::source::shorten(&error.text, 40);
    Mismatch::Unit(format!("\"{shown}\" is not a {}", error.what))
}

/// A noun for the words of a choice.
fn noun(entry: &Entry) -> &'static str {
    match entry.field.kind {
        FieldKind::Choice(words) if words == FILESYSTEM_NAMES => "filesystem",
        FieldKind::Choice(words) if words == SCHEDULERS => "scheduler",
        FieldKind::Choice(words) if words == WORKLOAD_NAMES => "workload kind",
        _ => entry.field.name,
    }
}

/// The reason why a well-known name is not in the catalogue.
fn not_available(entry: &Entry, value: &DeValue<'_>) -> Option<&'static str> {
    let text = value.as_str()?.to_lowercase();
    let known = NOT_AVAILABLE.iter().find(|(name, _)| *name == text);
    known.filter(|_| noun(entry) == "filesystem").map(|(_, why)| *why)
}

/// Returns the reason for the lower limit of a number, if the entry gives one.
fn why(entry: &Entry, value: &DeValue<'_>) -> String {
    match entry.field.kind {
        FieldKind::Integer { min, .. } if !entry.why.is_empty() => {
            let small = lenient(value).is_some_and(|number| number < i128::from(min));
            if small { format!(": {}", entry.why) } else { String::new() }
        }
        _ => String::new(),
    }
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    let integer = value.as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn number(value: &DeValue<'_>, percent: bool) -> Option<f64> {
    let number = match value {
        DeValue::Float(float) => float.as_str().parse().ok()?,
        DeValue::Integer(_) => whole(value)? as f64,
        DeValue::String(text) if percent => {
            text.trim().strip_suffix('%')?.trim().parse::<f64>().ok()? / 100.0
        }
        _ => return None,
    };
    Some(number).filter(|number: &f64| number.is_finite())
}

fn text_list(entry: &Entry, array: &DeArray<'_>) -> Result<Value, Mismatch> {
    let name = entry.field.name;
    let text = |item: &Item<'_>| match item.get_ref() {
        DeValue::String(text) if !text.trim().is_empty() => Ok(text.to_string()),
        DeValue::String(_) => {
            let message = format!("an element of `{name}` is empty");
            Err(Mismatch::Inner(inner(item, message, "leave the element out")))
        }
        _ => {
            let message = format!("every element of `{name}` is a text");
            Err(Mismatch::Inner(inner(item, message, "put the element in quotes")))
        }
    };
    array.iter().map(text).collect::<Result<_, _>>().map(Value::List)
}

fn text_table(entry: &Entry, table: &DeTable<'_>) -> Result<Value, Mismatch> {
    let name = entry.field.name;
    let mut texts = BTreeMap::new();
    for (key, item) in table {
        let text = match item.get_ref() {
            DeValue::String(text) if !text.is_empty() => text.to_string(),
            // A number is meant as the text that is written into a file.
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            _ => {
                let message = format!("every value of `{name}` is a text that is not empty");
                let remedy = format!("write {} = \"…\"", key.get_ref());
                return Err(Mismatch::Inner(inner(item, message, &remedy)));
            }
        };
        texts.insert(key.get_ref().to_string(), text);
    }
    Ok(Value::Table(texts))
}

fn inner(item: &Item<'_>, message: String, remedy: &str) -> Problem {
    Problem::new(Span::from(item.span()), message, remedy)
}

/// The texts of an array that was checked, each with its place.
pub(super) fn text_items(array: &DeArray<'_>) -> Vec<(Value, Span)> {
    let text = |item: &Item<'_>| {
        let text = item.get_ref().as_str()?;
        Some((Value::Text(text.to_owned()), Span::from(item.span())))
    };
    array.iter().filter_map(text).collect()
}

/// The values that the entry takes, in words.
pub(crate) fn describe(entry: &Entry) -> String {
    match entry.field.kind {
        FieldKind::Bool => "true or false".to_owned(),
        FieldKind::Integer { min, max } => {
            format!("a whole number from {} to {}", grouped(min), grouped(max))
        }
        FieldKind::Number { min, max } if matches!(entry.form, Form::Percent) => {
            format!("a number from {min} to {max}, or \"{}%\" to \"{}%\"", min * 100.0, max * 100.0)
        }
        FieldKind::Number { min, max } => format!("a number from {min} to {max}"),
        FieldKind::Text => "a text".to_owned(),
        FieldKind::Size { min, max } => format!("a size from {min} to {max}"),
        FieldKind::Duration => "a duration above 0".to_owned(),
        FieldKind::Choice(words) => format!("one of {}", words.join(", ")),
        FieldKind::TextList => "a list of texts".to_owned(),
        FieldKind::IntegerList { min, max } => {
            format!("a whole number or a list of them from {} to {}", grouped(min), grouped(max))
        }
        FieldKind::SizeList { min, max } => format!("a size or a list of them from {min} to {max}"),
        FieldKind::TextTable => "a table of texts".to_owned(),
    }
}

/// A number with its digits grouped as TOML allows, from five digits on.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join("_")
}

/// A value that the entry takes, as TOML.
pub(crate) fn example(entry: &Entry) -> String {
    if let Some(default) = entry.field.default {
        return default.to_owned();
    }
    match entry.field.kind {
        FieldKind::Bool => "true".to_owned(),
        FieldKind::Integer { min, .. } => grouped(min),
        FieldKind::Number { min, .. } => min.to_string(),
        FieldKind::Text => match entry.field.name {
            "path" | "disk" => "\"/dev/disk/by-id/…\"".to_owned(),
            "partition" => "\"/dev/disk/by-partuuid/…\"".to_owned(),
            "limit" | "choose" => "\"quarter\"".to_owned(),
            _ => "\"…\"".to_owned(),
        },
        FieldKind::Size { min, max } => format!("\"{}\"", Bytes::gib(1).clamp(min, max)),
        FieldKind::Duration if entry.field.name == "budget" => "\"30min\"".to_owned(),
        FieldKind::Duration => "\"10s\"".to_owned(),
        FieldKind::Choice(words) => format!("\"{}\"", words.first().unwrap_or(&"")),
        FieldKind::TextList => "[\"…\"]".to_owned(),
        FieldKind::IntegerList { min, .. } => format!("[{}]", grouped(min)),
        FieldKind::SizeList { min, max } => format!("[\"{}\"]", Bytes::kib(4).clamp(min, max)),
        FieldKind::TextTable => "{ name = \"…\" }".to_owned(),
    }
}

/// The words of a choice, quoted; `None` when the entry is no choice.
pub(super) fn choices(entry: &Entry) -> Option<String> {
    match entry.field.kind {
        FieldKind::Choice(words) => Some(quote_list(words.iter().copied())),
        _ => None,
    }
}

/// The suggested replacement for a value that the entry does not take.
fn remedy(entry: &Entry, value: &DeValue<'_>) -> String {
    let name = entry.field.name;
    let write = |value: String| format!("write {name} = {value}");
    match (entry.field.kind, value) {
        (FieldKind::Choice(words), DeValue::String(text)) => {
            let near = match not_available(entry, value) {
                Some(_) => None,
                None => nearest(text, words.iter().copied()),
            };
            match near {
                Some(near) => write(format!("\"{near}\"")),
                None => format!("write one of {}", quote_list(words.iter().copied())),
            }
        }
        (FieldKind::Number { max, .. }, _) if matches!(entry.form, Form::Percent) => {
            // A bare 2 is meant as 2 %.
            let percent =
                lenient(value).filter(|number| (1..=(max * 100.0) as i128).contains(number));
            write(percent.map_or(example(entry), |number| format!("\"{number}%\"")))
        }
        (FieldKind::Integer { min, max }, _) => match lenient(value) {
            Some(number) if value.as_str().is_some() => {
                let inside = number.clamp(i128::from(min), i128::from(max));
                write(u64::try_from(inside).map_or(example(entry), grouped))
            }
            Some(number) if number > i128::from(max) => write(grouped(max)),
            Some(_) => write(grouped(min)),
            None => write(example(entry)),
        },
        (FieldKind::Size { min, max }, _) => {
            let bytes = match value {
                DeValue::String(text) => text.parse::<Bytes>().ok(),
                _ => whole(value).map(Bytes),
            };
            match bytes {
                Some(bytes) if bytes > max => write(format!("\"{max}\"")),
                Some(_) => write(format!("\"{min}\" or more")),
                None => write(example(entry)),
            }
        }
        (FieldKind::Bool, DeValue::String(text)) => {
            let yes = matches!(text.to_lowercase().as_str(), "true" | "yes" | "on" | "1");
            write(yes.to_string())
        }
        (FieldKind::Duration, DeValue::Integer(number)) if number.radix() == 10 => {
            write(format!("\"{}s\"", number.as_str().trim_start_matches('-')))
        }
        (FieldKind::TextList, DeValue::String(text)) if text.len() < 40 => {
            write(format!("[{}]", toml_text(text)))
        }
        (FieldKind::Text, DeValue::Integer(number)) => write(format!("\"{number}\"")),
        _ => write(example(entry)),
    }
}

/// A whole number, also where it is written as a text.
fn lenient(value: &DeValue<'_>) -> Option<i128> {
    match value {
        DeValue::String(text) => text.replace('_', "").trim().parse().ok(),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix()).ok(),
        _ => None,
    }
}

fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The default of an entry as a value.
pub(super) fn default_value(entry: &Entry) -> Option<Value> {
    if matches!(entry.form, Form::One) {
        return entry.field.default_value();
    }
    let item = DeValue::parse(entry.field.default?).ok()?;
    convert(entry, item.get_ref()).ok()
}

/// The name that was probably meant: few edits away, measured by the length of the word.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 60 {
        return None;
    }
    let lower = word.to_lowercase();
    let distance = |name: &str| strsim::damerau_levenshtein(&lower, &name.to_lowercase());
    // Of equally near ones the last: of ext2, ext3 and ext4 the one that is used today.
    let all: Vec<(&str, usize)> = names.into_iter().map(|name| (name, distance(name))).collect();
    let (near, edits) = *all.iter().rev().min_by_key(|(_, edits)| *edits)?;
    let length = word.chars().count().max(near.chars().count());
    (edits * 3 <= length).then_some(near)
}

/// Texts in quotes, separated by commas.
pub(crate) fn quote_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(|text| format!("\"{text}\"")).collect();
    quoted.join(", ")
}
