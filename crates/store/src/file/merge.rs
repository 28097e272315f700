//! Joins the files of parts of one run into a new one.

use super::{Integrity, RunFile};
use crate::attempt::{Kept, Reader};
use crate::error::StoreError;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{Record, Status};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Key of a merged file's environment: name, seal and attempts of each part.
const PARTS: &str = "merged_from";

/// Outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// Attempts that the new file has.
    pub kept: usize,
    /// Attempts that more than one part has, counted once for each further part.
    pub shared: usize,
    /// Trials of the plan that no part has.
    pub missing: usize,
}

/// A trial that is in the new file already.
struct Seen {
    part: PathBuf,
    digests: Vec<[u8; 32]>,
    /// Fingerprint of a trial in virtual time that went well; `Some(None)` of any other one.
    good: Option<Option<String>>,
}

impl RunFile {
    /// Writes a new file with the trials of all parts: files of one plan, each intact. A trial that several parts have
    /// is kept once. Every attempt keeps its time and its digest, and the environment tells the seal of each part, so
    /// that the new file can be compared with them. `differs` says why the environments of two parts cannot be joined.
    ///
    /// # Errors
    /// [`StoreError::NoParts`] when the parts do not fit each other; the new file is not made then.
    pub fn merge(
        parts: &[PathBuf],
        target: &Path,
        differs: &dyn Fn(&Value, &Value) -> Option<String>,
    ) -> Result<Merged> {
        let Some(first) = parts.first() else {
            return Err(no_parts(target, "no file was named".to_owned()));
        };
        let first = Self::open(first)?;
        let (plan, mut environment) = (first.plan()?, first.environment()?);
        let mut from = Vec::new();
        for path in parts {
            from.push(part_of(path, &plan, &environment, differs)?);
        }
        environment[PARTS] = from.into();
        let mut file = Self::in_memory(target, &plan, &environment)?;
        let (mut seen, mut merged) = (BTreeMap::new(), Merged { kept: 0, shared: 0, missing: 0 });
        for path in parts {
            let part = Self::open(path)?;
            let mut wrong = None;
            let mut take = |_, kept: Result<Kept, String>| {
                if wrong.is_none() {
                    let taken = kept.map_err(|problem| part.damaged(problem));
                    let taken = taken.and_then(|kept| {
                        join(&mut file, &mut seen, path, &kept).map(|is_new| match is_new {
                            true => merged.kept += 1,
                            false => merged.shared += 1,
                        })
                    });
                    wrong = taken.err();
                }
            };
            let reader = Reader::new(&part.connection).map_err(part.failed("read"))?;
            reader.each("attempt ORDER BY id", &mut take).map_err(part.failed("read"))?;
            wrong.map_or(Ok(()), Err)?;
        }
        let is_missing = |trial: &&PlannedTrial| !seen.contains_key(&trial.index);
        merged.missing = plan.trials.iter().filter(is_missing).count();
        file.export(target)?;
        Ok(merged)
    }
}

fn no_parts(path: &Path, problem: String) -> StoreError {
    StoreError::NoParts { path: path.to_owned(), problem }
}

/// Checks that a file is a part, and describes it.
fn part_of(
    path: &Path,
    plan: &seekwell_model::plan::Plan,
    environment: &Value,
    differs: &dyn Fn(&Value, &Value) -> Option<String>,
) -> Result<Value> {
    let part = RunFile::open(path)?;
    if part.plan()? != *plan {
        return Err(no_parts(path, "it has another plan than the first file".to_owned()));
    }
    if let Some(difference) = differs(environment, &part.environment()?) {
        return Err(no_parts(path, format!("another {difference} than the first file")));
    }
    match part.verify()? {
        Integrity::Intact { attempts, .. } => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let seal = part.required_meta(super::SEAL)?;
            Ok(json!({"file": name, "attempts": attempts, "seal": seal}))
        }
        Integrity::NotVerifiable => {
            let problem = "its format has no digests; open it for append once, which converts it";
            Err(no_parts(path, problem.to_owned()))
        }
        Integrity::Changed(problems) => Err(no_parts(path, problems.join("; "))),
    }
}

/// Adds an attempt unless the new file has it; true if it was added.
fn join(
    file: &mut RunFile,
    seen: &mut BTreeMap<u32, Seen>,
    path: &Path,
    kept: &Kept,
) -> Result<bool> {
    let (index, digest) = (kept.trial.index, kept.digest.bytes());
    let good = good(&kept.record);
    let known = seen.entry(index).or_insert_with(|| Seen {
        part: path.to_owned(),
        digests: Vec::new(),
        good: None,
    });
    if known.digests.contains(&digest) {
        return Ok(false);
    }
    if let Some(before) = &known.good
        && known.part != path
    {
        match &good {
            // The same trial in virtual time, run twice.
            Some(print) if print.is_some() && print == before => return Ok(false),
            // A failure does not undo the result that another part has.
            None => return Ok(false),
            Some(_) => {
                let other = known.part.display();
                let problem = format!(
                    "trial {index} has one result there and another in {other}; parts of one run share no trials"
                );
                return Err(no_parts(path, problem));
            }
        }
    }
    file.insert(&kept.trial, &kept.record, &kept.written_at)?;
    known.digests.push(digest);
    if good.is_some() {
        known.good = good;
        path.clone_into(&mut known.part);
    }
    Ok(true)
}

/// Fingerprint of a record that did not fail.
fn good(record: &Record) -> Option<Option<String>> {
    (!matches!(record.status, Status::Failed { .. })).then(|| record.fingerprint.clone())
}
