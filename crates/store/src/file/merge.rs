//! Joins the files of parts of one run into a new one.

use super::{Result, RunFile};
use crate::attempt::{Copier, Kept, Timeline, Wanted};
use crate::error::StoreError;
use crate::seal::Seal;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

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
        paths: &[PathBuf],
        target: &Path,
        differs: &dyn Fn(&Value, &Value) -> Option<String>,
    ) -> Result<Merged> {
        let Some(first) = paths.first() else {
            return Err(no_parts(target, "no file was named".to_owned()));
        };
        let first = Self::open(first)?;
        let (plan, mut environment) = (first.plan()?, first.environment()?);
        let (mut parts, mut from) = (Vec::new(), Vec::new());
        for path in paths {
            let part = Self::open(path)?;
            from.push(part_of(&part, &plan, &environment, differs)?);
            parts.push(part);
        }
        environment[PARTS] = from.into();
        let mut file = Self::in_memory(target, &plan, &environment)?;
        let mut joined = Joined::to(&file)?;
        for part in &parts {
            joined.add_all(part)?;
        }
        let Joined { seen, mut merged, .. } = joined.done()?;
        let is_missing = |trial: &&PlannedTrial| !seen.contains_key(&trial.index);
        merged.missing = plan.trials.iter().filter(is_missing).count();
        file.export(target)?;
        Ok(merged)
    }
}

fn no_parts(path: &Path, problem: String) -> StoreError {
    StoreError::NoParts { path: path.to_owned(), problem }
}

/// Checks that a file may be a part, and describes it.
fn part_of(
    part: &RunFile,
    plan: &Plan,
    environment: &Value,
    differs: &dyn Fn(&Value, &Value) -> Option<String>,
) -> Result<Value> {
    let path = part.path();
    if part.plan()? != *plan {
        return Err(no_parts(path, "it has another plan than the first file".to_owned()));
    }
    if let Some(difference) = differs(environment, &part.environment()?) {
        return Err(no_parts(path, format!("another {difference} than the first file")));
    }
    let attempts = "SELECT count(*) FROM attempt";
    let attempts = part.connection.query_row(attempts, [], |row| row.get::<_, i64>(0));
    let attempts = attempts.map_err(part.failed("read"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let seal = part.required_meta(super::SEAL)?;
    Ok(json!({"file": name, "attempts": attempts, "seal": seal}))
}

/// The new file on its way.
struct Joined<'f> {
    file: &'f RunFile,
    seal: Seal,
    seen: BTreeMap<u32, Seen>,
    merged: Merged,
}

impl<'f> Joined<'f> {
    fn to(file: &'f RunFile) -> Result<Self> {
        let seal = Seal::kept(file.required_meta(super::SEAL)?);
        // One change for all: without it SQLite makes each row by itself safe.
        file.connection.execute_batch("BEGIN").map_err(file.failed("fill"))?;
        let merged = Merged { kept: 0, shared: 0, missing: 0 };
        Ok(Self { file, seal, seen: BTreeMap::new(), merged })
    }

    /// Adds the attempts of a part that the file does not have, each as it is, while the part is verified: one pass.
    fn add_all(&mut self, part: &RunFile) -> Result<()> {
        let failed = part.failed("copy");
        let mut copier = Copier::new(&part.connection, &self.file.connection).map_err(&failed)?;
        let mut wrong = None;
        let wanted =
            Wanted { histograms: false, series: false, timeline: Timeline::No, metrics: None };
        let found = part.check(&wanted, &mut |_, kept| {
            if let (Ok(kept), None) = (kept, &wrong) {
                wrong =
                    self.add(part.path(), &kept, &mut |id| copier.copy(id).map_err(&failed)).err();
            }
        })?;
        // What a damaged file has is of no interest.
        found.refuse_changed(part.path())?;
        wrong.map_or(Ok(()), Err)
    }

    /// Adds an attempt unless the file has it.
    fn add(
        &mut self,
        path: &Path,
        kept: &Kept,
        copy: &mut dyn FnMut(i64) -> Result<()>,
    ) -> Result<()> {
        let (index, digest) = (kept.trial.index, kept.digest.bytes());
        let good = good(&kept.record);
        let known = self.seen.entry(index).or_insert_with(|| Seen {
            part: path.to_owned(),
            digests: Vec::new(),
            good: None,
        });
        if known.digests.contains(&digest) || known.outdoes(path, index, good.as_ref())? {
            self.merged.shared += 1;
            return Ok(());
        }
        copy(kept.id)?;
        self.seal = self.seal.attempt(&kept.digest);
        self.merged.kept += 1;
        known.digests.push(digest);
        if good.is_some() {
            known.good = good;
            path.clone_into(&mut known.part);
        }
        Ok(())
    }

    /// Seals the file.
    fn done(self) -> Result<Self> {
        self.file.set_meta(super::SEAL, self.seal.text())?;
        self.file.connection.execute_batch("COMMIT").map_err(self.file.failed("fill"))?;
        Ok(self)
    }
}

impl Seen {
    /// True if the result of another part makes this one superfluous.
    fn outdoes(&self, path: &Path, index: u32, good: Option<&Option<String>>) -> Result<bool> {
        let Some(before) = self.good.as_ref().filter(|_| self.part != path) else {
            return Ok(false);
        };
        match good {
            // The same trial in virtual time, run twice.
            Some(print) if print.is_some() && print == before => Ok(true),
            // A failure does not undo the result that another part has.
            None => Ok(true),
            Some(_) => {
                let other = self.part.display();
                let problem = format!(
                    "trial {index} has one result there and another in {other}; parts of one run share no trials"
                );
                Err(no_parts(path, problem))
            }
        }
    }
}

/// Fingerprint of a record that did not fail.
fn good(record: &Record) -> Option<Option<String>> {
    (!matches!(record.status, Status::Failed { .. })).then(|| record.fingerprint.clone())
}
