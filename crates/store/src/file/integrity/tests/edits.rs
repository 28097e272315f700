//! Every kind of edit of every field of a run file.

use super::{Integrity, RunFile, run};
use rusqlite::types::Value;
use rusqlite::{Connection, params};
use std::path::Path;

/// Tables with the expression that names a row.
const TABLES: [(&str, &str); 7] = [
    ("meta", "key"),
    ("candidate", "id"),
    ("prefix", "id"),
    ("attempt", "id"),
    ("metric_name", "id"),
    ("metric_block", "id"),
    ("verdict", "id"),
];

/// Fields without weight: the name of the last writer, for messages, keys that have no value, and the key that only
/// shows that a verdict is missing.
const EXEMPT: [(&str, &str); 5] = [
    ("meta", "writer"),
    ("meta", "verdict"),
    ("meta", "plan.1"),
    ("meta", "plan.2"),
    ("meta", "plan.3"),
];

/// Edits that `make test` tries; all are in the long suite.
const SAMPLE: usize = 240;

#[derive(Clone, Debug)]
struct Field {
    table: &'static str,
    key: &'static str,
    row: Value,
    column: String,
    value: Value,
}

/// Every field of the file.
fn fields(connection: &Connection) -> Vec<Field> {
    let mut fields = Vec::new();
    for (table, key) in TABLES {
        let mut query = connection.prepare(&format!("SELECT {key}, * FROM {table}")).unwrap();
        let columns: Vec<String> = query.column_names().skip(1).map(str::to_owned).collect();
        let mut rows = query.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let id: Value = row.get(0).unwrap();
            let exempt = EXEMPT
                .iter()
                .any(|(of, name)| *of == table && id == Value::Text((*name).to_owned()));
            for (position, column) in columns.iter().enumerate().filter(|_| !exempt) {
                let value = row.get(position + 1).unwrap();
                fields.push(Field { table, key, row: id.clone(), column: column.clone(), value });
            }
        }
    }
    fields
}

/// The five kinds of edits: the new value, or none for "the row is gone".
fn edits(field: &Field, all: &[Field]) -> [Option<Value>; 5] {
    let next = match &field.value {
        Value::Null => Value::Integer(1),
        Value::Integer(number) => Value::Integer(number.wrapping_add(1)),
        Value::Real(number) => Value::Real(number * 2.0 + 1.0),
        Value::Text(text) => Value::Text(format!("{text}0")),
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            match bytes.last_mut() {
                Some(last) => *last ^= 1,
                None => bytes.push(0),
            }
            Value::Blob(bytes)
        }
    };
    let first = match &field.value {
        Value::Text(text) => Value::Text(text.replacen(|c: char| c.is_ascii_digit(), "7", 1)),
        Value::Blob(bytes) => Value::Blob(bytes.iter().rev().copied().collect()),
        Value::Integer(number) => Value::Integer(-number - 1),
        Value::Real(number) => Value::Real(-number),
        Value::Null => Value::Text(String::new()),
    };
    let other = all.iter().find(|other| {
        (other.table, &other.column) == (field.table, &field.column) && other.value != field.value
    });
    let other = other.map_or(Value::Integer(0), |other| other.value.clone());
    [Some(next), Some(first), Some(other), Some(Value::Null), None]
}

/// True if the edit could be made.
fn edit(path: &Path, field: &Field, value: Option<&Value>) -> bool {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF").unwrap();
    let Field { table, key, row, column, .. } = field;
    let changed = match value {
        Some(value) => {
            let statement = format!("UPDATE {table} SET {column} = ?1 WHERE {key} = ?2");
            connection.execute(&statement, params![value, row])
        }
        None => connection.execute(&format!("DELETE FROM {table} WHERE {key} = ?1"), [row]),
    };
    changed.is_ok_and(|rows| rows > 0)
}

/// True if the file is read as one without an edit.
fn passes(path: &Path) -> bool {
    let Ok(file) = RunFile::open(path) else { return false };
    matches!(file.verify(), Ok(Integrity::Intact { attempts: 12, verdict: true }))
}

/// Tries one edit of every `step`-th and returns how many could be made and those not noticed.
fn attempt(step: usize) -> (usize, usize, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = run(&folder);
    let whole = std::fs::read(&path).unwrap();
    let all = fields(&Connection::open(&path).unwrap());
    let (mut made, mut passed) = (0, Vec::new());
    let tries = all.iter().flat_map(|field| edits(field, &all).map(|value| (field, value)));
    for (field, value) in tries.step_by(step) {
        if value.as_ref() == Some(&field.value) {
            continue;
        }
        std::fs::write(&path, &whole).unwrap();
        if !edit(&path, field, value.as_ref()) {
            continue;
        }
        made += 1;
        if passes(&path) {
            passed.push(format!("{field:?} → {value:?}"));
        }
    }
    (all.len(), made, passed)
}

#[test]
fn a_sample_of_edits_of_all_fields_is_noticed() {
    let (fields, made, passed) = attempt(7);
    assert!(fields >= 200, "{fields}");
    assert!(made >= SAMPLE, "{made} edits could be made");
    assert_eq!(passed, Vec::<String>::new());
}

#[test]
#[ignore = "the whole product of fields and kinds: cargo test -p seekwell-store edits -- --ignored"]
fn every_edit_of_every_field_is_noticed() {
    let (fields, made, passed) = attempt(1);
    println!("{fields} fields × 5 kinds, {made} edits made, {} not noticed", passed.len());
    assert!(fields >= 200 && made >= 1_000, "{fields} fields, {made} edits");
    assert_eq!(passed, Vec::<String>::new());
}
