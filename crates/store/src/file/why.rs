//! The explanation of a run's difference, kept next to the verdict.

use super::{Result, RunFile, SEAL, sqlite_error};
use crate::seal::Seal;
use rusqlite::params;
use seekwell_model::why::Why;

#[cfg(test)]
mod tests;

/// Key of the explanation, as JSON.
const WHY: &str = "why";
/// Key of two seals: of the attempts that are explained, and of the explanation over them.
const WHY_SEAL: &str = "why_seal";

/// State of the kept explanation.
pub(super) enum Kept {
    /// None, or one of fewer attempts than there are now.
    No,
    /// As it was written for these attempts.
    Yes(String),
    /// It was changed after it was written.
    Changed,
}

impl RunFile {
    /// Keeps the explanation of a difference between two stacks, in place of an earlier one. Earlier versions of the
    /// program ignore it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set_why(&mut self, why: &Why) -> Result<()> {
        self.writable()?;
        let json = self.to_json("the causes", why)?;
        let trials = Seal::kept(self.required_meta(SEAL)?);
        let seals = seals(&trials, &json);
        let path = self.path.clone();
        let failed = |source| sqlite_error(&path, "append to", source);
        let transaction = self.connection.savepoint().map_err(failed)?;
        let statement = "INSERT OR REPLACE INTO meta VALUES (?, ?)";
        transaction.execute(statement, params![WHY, json]).map_err(failed)?;
        transaction.execute(statement, params![WHY_SEAL, seals]).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// The explanation; `None` if there is none, trials were added since, or it was changed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn why(&self) -> Result<Option<Why>> {
        match self.kept_why()? {
            Kept::Yes(json) => self.parse_json("the causes", &json).map(Some),
            Kept::No | Kept::Changed => Ok(None),
        }
    }

    pub(super) fn kept_why(&self) -> Result<Kept> {
        let (Some(json), Some(kept)) = (self.meta(WHY)?, self.meta(WHY_SEAL)?) else {
            return Ok(Kept::No);
        };
        let trials = Seal::kept(self.required_meta(SEAL)?);
        Ok(match kept.split_once(':') {
            Some((of, _)) if of != trials.text() => Kept::No,
            Some(_) if kept == seals(&trials, &json) => Kept::Yes(json),
            _ => Kept::Changed,
        })
    }
}

fn seals(trials: &Seal, json: &str) -> String {
    format!("{}:{}", trials.text(), trials.why(json).text())
}
