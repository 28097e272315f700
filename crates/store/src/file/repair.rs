//! Saves the good trials of a damaged file into a new one.

use super::{APPLICATION_ID, ENVIRONMENT, PLAN, Result, RunFile, sqlite_error};
use crate::attempt::{Kept, Reader, Wanted};
use crate::error::StoreError;
use crate::schema::{self, format_of};
use rusqlite::Connection;
use seekwell_model::RUN_FILE_FORMAT as FORMAT;
use seekwell_model::plan::{Plan, PlannedTrial};
use serde_json::Value;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Attempts that are looked for in a file that no longer says how many it has, for each planned trial.
const ATTEMPTS_OF_A_TRIAL: i64 = 4;
/// The most attempts that are looked for.
const MOST_ATTEMPTS: i64 = 1_000_000;

/// Outcome of a repair.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// Plan of the run.
    pub plan: Plan,
    /// Environment in which the run was made, as JSON.
    pub environment: Value,
    /// Attempts at trials that match their checksums and were saved.
    pub saved: usize,
    /// Attempts that were found and could not be saved, in words.
    pub lost: Vec<String>,
}

impl RunFile {
    /// Writes a new file with the plan, the environment and every trial of a damaged file that matches
    /// its checksum. The damaged file stays as it is. Plan and environment have no checksum of their
    /// own: that they can be read, and that each trial is one of the plan, is all that is checked.
    ///
    /// # Errors
    /// When plan or environment cannot be read, no trial is good, or the new file cannot be made.
    pub fn repair(path: &Path, target: &Path) -> Result<Repaired> {
        let damaged = |problem: String| StoreError::Damaged { path: path.to_owned(), problem };
        let failed = |source| sqlite_error(path, "repair", source);
        let connection = in_memory(path)?;
        let (plan, environment) = known(&connection).map_err(damaged)?;
        let (kept, lost) = attempts(&connection, &plan).map_err(failed)?;
        if kept.is_empty() {
            let problem = format!("no trial can be saved: {}", lost.join("; "));
            return Err(StoreError::Damaged { path: path.to_owned(), problem });
        }
        let mut file = Self::in_memory(target, &plan, &environment)?;
        for one in &kept {
            file.insert(&one.trial, &one.record, &one.written_at)?;
        }
        file.export(target)?;
        Ok(Repaired { plan, environment, saved: kept.len(), lost })
    }
}

/// Largest file that is read into memory.
const LARGEST_BYTES: u64 = 8 << 30;

/// The bytes of the file as a database in memory that is read as far as it goes.
fn in_memory(path: &Path) -> Result<Connection> {
    let failed = |source| sqlite_error(path, "repair", source);
    let unread = |source| StoreError::Io { action: "read", path: path.to_owned(), source };
    let bytes = seekwell_trust::read(path, LARGEST_BYTES).map_err(unread)?;
    if bytes.is_empty() {
        return Err(StoreError::Empty(path.to_owned()));
    }
    let connection = super::in_memory(&bytes, false).map_err(failed)?;
    // A file that is shorter than its header says is read as far as it goes.
    connection.pragma_update(None, "writable_schema", true).map_err(failed)?;
    let number = |name: &str| -> rusqlite::Result<i64> {
        connection.pragma_query_value(None, name, |row| row.get(0))
    };
    let ours = number("application_id").map_err(failed)? == i64::from(APPLICATION_ID);
    let format = format_of(number("user_version").map_err(failed)?);
    if !ours || format.is_none_or(|format| format.major != FORMAT.major) {
        let problem =
            format!("its header does not say that it is a run file of format {}", FORMAT.major);
        return Err(StoreError::Damaged { path: path.to_owned(), problem });
    }
    // A schema that cannot be read has its own words later.
    if let Ok(Some(problem)) = schema::problem(&connection) {
        return Err(StoreError::Damaged { path: path.to_owned(), problem });
    }
    Ok(connection)
}

/// Plan and environment; an error says what is lost.
fn known(connection: &Connection) -> Result<(Plan, Value), String> {
    let text = |key: &str| {
        let query = "SELECT value FROM meta WHERE key = ?";
        let text: rusqlite::Result<String> = connection.query_row(query, [key], |row| row.get(0));
        text.map_err(|error| format!("the {key} is lost ({error})"))
    };
    let lost = |key: &str, error: serde_json::Error| format!("the {key} is lost ({error})");
    let plan = serde_json::from_str(&text(PLAN)?).map_err(|error| lost(PLAN, error))?;
    let environment =
        serde_json::from_str(&text(ENVIRONMENT)?).map_err(|error| lost(ENVIRONMENT, error))?;
    Ok((plan, environment))
}

/// The attempts that can be read one by one, and what is wrong with the others.
fn attempts(connection: &Connection, plan: &Plan) -> rusqlite::Result<(Vec<Kept>, Vec<String>)> {
    let last: Option<i64> =
        connection.query_row("SELECT max(id) FROM attempt", [], |row| row.get(0)).unwrap_or(None);
    let usual = ATTEMPTS_OF_A_TRIAL.saturating_mul(plan.trials.len().max(1) as i64);
    let last = last.unwrap_or(usual).clamp(usual, MOST_ATTEMPTS);
    let reader = Reader::of(connection, Wanted::default())?;
    let (mut kept, mut lost) = (Vec::new(), Vec::new());
    let mut unreadable: Option<(i64, i64, String)> = None;
    for id in 1..=last {
        match reader.attempts(&format!("attempt WHERE id = {id}")) {
            Ok(found) => {
                for one in found {
                    match one.and_then(|one| of_plan(one, plan)) {
                        Ok(one) => kept.push(one),
                        Err(problem) => lost.push(problem),
                    }
                }
            }
            Err(error) => match &mut unreadable {
                Some((_, end, _)) if *end + 1 == id => *end = id,
                _ => lost.extend(unreadable.replace((id, id, error.to_string())).map(unread)),
            },
        }
    }
    lost.extend(unreadable.map(unread));
    Ok((kept, lost))
}

/// Attempts that cannot be read, in words: no page says any more that there were fewer.
fn unread((first, last, error): (i64, i64, String)) -> String {
    match first == last {
        true => format!("attempt {first} cannot be read ({error})"),
        false => {
            format!("attempts {first} to {last}, if there were so many, cannot be read ({error})")
        }
    }
}

/// A trial that the plan does not have is none of this run.
fn of_plan(kept: Kept, plan: &Plan) -> Result<Kept, String> {
    let planned = |trial: &&PlannedTrial| trial.index == kept.trial.index;
    let fits = match plan.trials.iter().find(planned) {
        Some(trial) => *trial == kept.trial,
        // The later rounds of a race are not in the plan of its file.
        None => (kept.trial.candidate as usize) < plan.candidates.len() && plan.race.is_some(),
    };
    match fits {
        true => Ok(kept),
        false => Err(format!("trial {} is not in the plan", kept.trial.index)),
    }
}
