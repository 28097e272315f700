//! Sources of the values of a device file: every value has a source, every source and range has a value.

use std::collections::BTreeMap;

use toml::{Table, Value};

use crate::error::{DeviceError, refuse, within};

/// Tables and keys that say what the file is rather than how the device behaves.
const TALK: [&str; 11] = [
    "format", "name", "title", "kind", "sources", "ranges", "published", "compared", "withheld",
    "measurements", "probed",
];

/// Checks `[sources]` and `[ranges]` against the values.
pub(super) fn check(
    table: &Table,
    sources: &BTreeMap<String, String>,
    ranges: &BTreeMap<String, [f64; 2]>,
) -> Result<(), DeviceError> {
    let keys = all(table);
    for (key, source) in sources {
        if !keys.keys().any(|known| speaks_for(key, known)) {
            return Err(DeviceError::NoSuchKey { place: "[sources]", key: key.clone() });
        }
        if source.trim().is_empty() {
            return Err(refuse(
                &format!("sources.{key}"),
                "''",
                "must say where the value comes from",
            ));
        }
    }
    if let Some(key) = keys.keys().find(|key| !sources.keys().any(|name| speaks_for(name, key))) {
        return Err(DeviceError::NoSource(key.clone()));
    }
    let mut table = table.clone();
    for (key, [low, high]) in ranges {
        let missing = || DeviceError::NoSuchKey { place: "[ranges]", key: key.clone() };
        let value = number_at(&mut table, key).ok_or_else(missing)?;
        let number = value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64));
        within(key, number.ok_or_else(missing)?, *low, *high)?;
    }
    Ok(())
}

/// Returns true if a source for `name` covers `key`: the same key, or a table around it.
fn speaks_for(name: &str, key: &str) -> bool {
    key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The values that say how the device behaves, and its kind, as texts by dotted key.
pub(super) fn values(table: &Table) -> BTreeMap<String, String> {
    let texts = all(table).into_iter().map(|(key, value)| (key, value.to_string()));
    let kind = table.get("kind").map(|kind| ("kind".to_owned(), kind.to_string()));
    texts.chain(kind).collect()
}

/// The values that say how the device behaves, by dotted key.
fn all(table: &Table) -> BTreeMap<String, &Value> {
    let mut values = BTreeMap::new();
    for (name, value) in table.iter().filter(|(name, _)| !TALK.contains(&name.as_str())) {
        collect(name, value, &mut values);
    }
    values
}

/// All values below `value` by dotted key; tables in an array are numbered, other arrays are one value.
fn collect<'t>(key: &str, value: &'t Value, keys: &mut BTreeMap<String, &'t Value>) {
    match value {
        Value::Table(table) => {
            for (name, value) in table {
                collect(&format!("{key}.{name}"), value, keys);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_table) => {
            for (index, item) in items.iter().enumerate() {
                collect(&format!("{key}.{index}"), item, keys);
            }
        }
        _ => {
            keys.insert(key.to_owned(), value);
        }
    }
}

/// The number under a dotted key.
pub(super) fn number_at<'t>(table: &'t mut Table, key: &str) -> Option<&'t mut Value> {
    let mut parts = key.split('.');
    let mut value = table.get_mut(parts.next()?)?;
    for part in parts {
        value = match value {
            Value::Table(table) => table.get_mut(part)?,
            Value::Array(items) => items.get_mut(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    (value.is_float() || value.is_integer()).then_some(value)
}

/// The line, counted from 1, of a mistake.
pub(super) fn line_of_error(text: &str, error: &DeviceError) -> Option<usize> {
    match error {
        DeviceError::NoSuchKey { place, key } => {
            line_of_key(text, &format!("{}.{key}", place.trim_matches(['[', ']'])))
        }
        other => line_of_key(text, other.key()?),
    }
}

/// The line, counted from 1, on which the value of a dotted key is written; of its table when only that is there.
fn line_of_key(text: &str, key: &str) -> Option<usize> {
    let key = key.replace('[', ".").replace(']', "");
    let mut table = String::new();
    let mut arrays: BTreeMap<String, usize> = BTreeMap::new();
    let mut nearest = None;
    for (index, line) in text.lines().enumerate() {
        let written = match header(line) {
            Some((name, false)) => {
                table = name;
                table.clone()
            }
            Some((name, true)) => {
                let number = arrays.entry(name.clone()).or_default();
                table = format!("{name}.{number}");
                *number += 1;
                table.clone()
            }
            None => {
                let Some((name, _)) = line.split_once('=') else { continue };
                let name = name.trim().trim_matches(['"', '\'']);
                if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") }
            }
        };
        let is_nearer = nearest.is_none_or(|(length, _)| length < written.len());
        if is_nearer && speaks_for(&written, &key) {
            nearest = Some((written.len(), index + 1));
        }
    }
    nearest.map(|(_, line)| line)
}

/// The name of a table that the line opens, and true when it is one of an array.
fn header(line: &str) -> Option<(String, bool)> {
    let inner = line.split('#').next()?.trim().strip_prefix('[')?.strip_suffix(']')?;
    let of_array = inner.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    Some((of_array.unwrap_or(inner).trim().to_owned(), of_array.is_some()))
}
