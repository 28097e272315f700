//! Verification of a run file against its digests.

use super::{FORMAT_KEY, Result, RunFile, SEAL, SEALED, VERDICT, why};
use crate::attempt::{Kept, Reader, Wanted};
use crate::error::StoreError;
use crate::schema;
use crate::seal::Seal;
use rusqlite::OptionalExtension;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use std::collections::BTreeMap;
use std::path::Path;

/// Result of checking the digests of a run file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// All parts are as they were written.
    Intact {
        /// Attempts that were checked.
        attempts: usize,
        /// A verdict over all of them is sealed with them.
        verdict: bool,
    },
    /// Parts that are not, in words.
    Changed(Vec<String>),
}

impl Integrity {
    /// Refuses a file that was changed.
    ///
    /// # Errors
    /// [`StoreError::Changed`] for the file at `path`.
    pub fn refuse_changed(self, path: &Path) -> Result<()> {
        match self {
            Self::Changed(parts) => Err(StoreError::Changed { path: path.to_owned(), parts }),
            Self::Intact { .. } => Ok(()),
        }
    }
}

impl RunFile {
    /// Computes all digests again: plan, environment, attempts in order, columns with their
    /// records, and verdict.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn verify(&self) -> Result<Integrity> {
        self.check(&Wanted::default(), &mut |_, _| {})
    }

    /// [`Self::records`] and [`Self::verify`] in one pass over the file. Parts that are not `wanted` may be left out, and of
    /// each record stays, as soon as it is read, what `take` makes of it: a run of 100,000 trials fills gigabytes.
    ///
    /// # Errors
    /// When the file cannot be read or a record that counts is damaged.
    pub fn verified<T>(
        &self,
        wanted: &Wanted,
        take: &mut dyn FnMut(&PlannedTrial, Record) -> T,
    ) -> Result<(Vec<(PlannedTrial, T)>, Integrity)> {
        let mut last = BTreeMap::new();
        let integrity = self.check(wanted, &mut |trial, kept| {
            let kept = kept.map(|kept| (kept.trial, take(&kept.trial, kept.record)));
            last.insert(trial.index, kept);
        })?;
        let records: std::result::Result<_, String> = last.into_values().collect();
        Ok((records.map_err(|problem| self.damaged(problem))?, integrity))
    }

    /// [`Self::records`] of a file that is as it was written.
    ///
    /// # Errors
    /// [`StoreError::Changed`], and when the file cannot be read or a record that counts is damaged.
    pub fn intact_records(&self) -> Result<Vec<(PlannedTrial, Record)>> {
        let (records, integrity) = self.verified(&Wanted::default(), &mut |_, record| record)?;
        integrity.refuse_changed(&self.path)?;
        Ok(records)
    }

    /// Verifies the file and shows every attempt on the way.
    pub(super) fn check(
        &self,
        wanted: &Wanted,
        show: &mut dyn FnMut(PlannedTrial, std::result::Result<Kept, String>),
    ) -> Result<Integrity> {
        let mut changed = self.wrong_labels()?;
        changed.extend(schema::others(&self.connection).map_err(self.failed("read"))?);
        if self.required_meta(FORMAT_KEY)? != self.format.to_string() {
            changed.push("the format is not the one of the header".to_owned());
        }
        let mut known = Vec::new();
        for key in SEALED {
            known.push((key, self.required_meta(key)?));
        }
        let mut seal = Seal::begin(&known);
        let (mut number, mut damaged) = (0, false);
        let mut see = |trial, attempt: std::result::Result<Kept, String>| {
            number += 1;
            match &attempt {
                Ok(kept) => {
                    seal = seal.attempt(&kept.digest);
                    let index = kept.trial.index;
                    changed.extend(kept.wrong_column.map(|column| {
                        format!("column {column} of trial {index} differs from its record")
                    }));
                }
                Err(problem) => {
                    damaged = true;
                    changed.push(problem.clone());
                }
            }
            show(trial, attempt);
        };
        Reader::of(&self.connection, wanted.clone())
            .and_then(|reader| reader.each("attempt ORDER BY id", &mut see))
            .map_err(self.failed("read"))?;
        let found = Seal::kept(self.required_meta(SEAL)?);
        if found != seal && !damaged {
            changed.push(
                "plan, environment, date or program was changed, or a trial was added, removed or \
                 moved"
                    .to_owned(),
            );
        }
        let verdict = self.sealed_verdict()?;
        if let Some((text, kept)) = &verdict
            && found.verdict(text) != *kept
        {
            changed.push("the verdict is not the one that was written for these trials".to_owned());
        }
        if verdict.is_none() && self.meta(VERDICT)?.as_deref() == Some(found.text()) {
            changed.push("the verdict that was written for these trials was removed".to_owned());
        }
        if matches!(self.kept_why()?, why::Kept::Changed) {
            changed.push("the causes are not those that were written for these trials".to_owned());
        }
        Ok(match changed.is_empty() {
            true => Integrity::Intact { attempts: number, verdict: verdict.is_some() },
            false => Integrity::Changed(changed),
        })
    }

    fn sealed_verdict(&self) -> Result<Option<(String, Seal)>> {
        let query = "SELECT value, seal FROM verdict WHERE id = 1";
        let row = self
            .connection
            .query_row(query, [], |row| Ok((row.get(0)?, Seal::kept(row.get(1)?))))
            .optional();
        row.map_err(self.failed("read"))
    }

    /// Labels of stacks and workloads for SQL users that differ from those of the plan.
    fn wrong_labels(&self) -> Result<Vec<String>> {
        let plan = self.plan()?;
        let read = || -> rusqlite::Result<Vec<(u32, String, String)>> {
            let query = "SELECT id, stack, workload FROM candidate ORDER BY id";
            let mut statement = self.connection.prepare(query)?;
            statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?.collect()
        };
        let found = read().map_err(self.failed("read"))?;
        let planned: Vec<(u32, String, String)> = (0..)
            .zip(&plan.candidates)
            .filter_map(|(id, candidate)| {
                let stack = plan.stacks.get(candidate.stack as usize)?;
                let workload = plan.workloads.get(candidate.workload as usize)?;
                Some((id, stack.label.clone(), workload.name.clone()))
            })
            .collect();
        let other = "SELECT count(*) FROM attempt a JOIN prefix p ON p.id = a.prefix
             JOIN candidate c ON c.id = a.candidate WHERE p.workload IS NOT c.workload";
        let other: i64 =
            self.connection.query_row(other, [], |row| row.get(0)).map_err(self.failed("read"))?;
        let mut wrong = Vec::new();
        if found != planned {
            wrong.push("the table of candidates differs from the plan".to_owned());
        }
        if other > 0 {
            wrong.push("a prefix names another workload than its trials have".to_owned());
        }
        Ok(wrong)
    }
}

#[cfg(test)]
mod tests;
