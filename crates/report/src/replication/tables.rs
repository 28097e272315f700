//! Everything behind the page as tables.

use super::result;
use crate::csv::{inert, quote};
use seekwell_model::replication::{ClaimOutcome, LabRun, Replication, StudyOutcome, ValueOutcome};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A table with its text as comma-separated values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationTable {
    /// Name, part of its file's name.
    pub name: &'static str,
    /// The text, with a header; numbers have four significant digits, and what is not known is empty.
    pub text: String,
}

/// Columns of the values as in JSON, with the path below an outcome.
const VALUES: &str = "id line usage fitted_since published unit measured/centre measured/low measured/high measured/rounds ratio range/0 range/1 reason note";
const CLAIMS: &str =
    "id line says result not_counted/reason reason because at_ends/same at_ends/of runs";
const CONDITIONS: &str =
    "id kind what says wanted published found/centre found/low found/high found/rounds agrees";
const RUNS: &str = "study lab set file trials left_out kernel models";
const NOTES: &str = "study kind text";

/// Returns every value, claim, condition, run and remark of the studies.
#[must_use]
pub fn replication_tables(found: &Replication) -> Vec<ReplicationTable> {
    let table = |name, columns: &str, rows: fn(&StudyOutcome) -> Vec<Value>| {
        let mut text = format!("{}\n", columns.replace('/', ".").replace(' ', ","));
        for row in found.studies.iter().flat_map(rows) {
            let cell =
                |column: &str| row.pointer(&format!("/{column}")).map_or(String::new(), cell);
            text.push_str(&columns.split(' ').map(cell).collect::<Vec<_>>().join(","));
            text.push('\n');
        }
        ReplicationTable { name, text }
    };
    vec![
        table("values", VALUES, values),
        table("claims", CLAIMS, claims),
        table("conditions", CONDITIONS, conditions),
        table("runs", RUNS, runs),
        table("notes", NOTES, notes),
    ]
}

/// A value of a cell; a missing one is empty.
fn cell(value: &Value) -> String {
    match value {
        Value::String(text) => quote(&inert(text)),
        Value::Number(number) if number.is_f64() => digits(number.as_f64().unwrap_or(f64::NAN)),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Four significant digits.
fn digits(value: f64) -> String {
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    format!("{value:.*}", usize::try_from(3 - magnitude as i32).unwrap_or_default())
}

/// An outcome with more columns.
fn with(outcome: &impl Serialize, more: &[(&str, Value)]) -> Value {
    let mut row = json!(outcome);
    for (column, value) in more {
        row[*column] = value.clone();
    }
    row
}

fn values(study: &StudyOutcome) -> Vec<Value> {
    // A published number keeps all its digits.
    let row =
        |value: &ValueOutcome| with(value, &[("published", json!(value.published.to_string()))]);
    study.values.iter().map(row).collect()
}

fn claims(study: &StudyOutcome) -> Vec<Value> {
    let row = |claim: &ClaimOutcome| {
        let runs: BTreeSet<&str> = claim.shown_by.iter().map(|shown| shown.file.as_str()).collect();
        let runs = Vec::from_iter(runs).join(" ");
        with(claim, &[("result", json!(result(claim))), ("runs", json!(runs))])
    };
    study.claims.iter().map(row).collect()
}

/// The conditions and experiments of the claims, and further quantities of claims and values.
fn conditions(study: &StudyOutcome) -> Vec<Value> {
    fn row(id: &str, kind: &str, one: &impl Serialize) -> Value {
        with(one, &[("id", json!(id)), ("kind", json!(kind))])
    }
    let mut rows = Vec::new();
    for value in &study.values {
        rows.extend(value.also.iter().map(|also| row(&value.id, "not scored", also)));
    }
    for claim in &study.claims {
        rows.extend(claim.tests.iter().map(|test| row(&claim.id, "condition", test)));
        rows.extend(claim.experiment.iter().map(|test| row(&claim.id, "experiment", test)));
        rows.extend(claim.also.iter().map(|also| row(&claim.id, "not scored", also)));
    }
    rows
}

fn runs(study: &StudyOutcome) -> Vec<Value> {
    let models = |lab: &LabRun| lab.models_since().unwrap_or_else(|| "today's".to_owned());
    let row = |lab| with(lab, &[("study", json!(study.key)), ("models", json!(models(lab)))]);
    study.labs.iter().map(row).collect()
}

fn notes(study: &StudyOutcome) -> Vec<Value> {
    let kinds = [
        ("replacement", std::slice::from_ref(&study.stands_for)),
        ("note", &study.notes),
        ("change after a miss", &study.changes),
        ("erratum", &study.errata),
    ];
    let rows = |(kind, texts): (&'static str, &[String])| {
        let row = |text: &String| json!({ "study": study.key, "kind": kind, "text": text });
        texts.iter().map(row).collect::<Vec<_>>()
    };
    kinds.into_iter().flat_map(rows).collect()
}
