//! The plan of a run that gets more rounds.

use super::{PLAN, Result, RunFile, SEAL, SEALED, sqlite_error};
use crate::attempt::{Reader, Wanted};
use crate::seal::Seal;
use rusqlite::params;
use seekwell_model::plan::Plan;

impl RunFile {
    /// Replaces the plan by a longer one and seals the file again. The attempts stay; the verdict is
    /// forgotten, because it belongs to the shorter plan.
    ///
    /// # Errors
    /// When the file was changed after it was written, or cannot be written.
    pub fn replace_plan(&mut self, plan: &Plan) -> Result<()> {
        self.writable()?;
        self.verify()?.refuse_changed(&self.path)?;
        let json = self.to_json("the plan", plan)?;
        let seal = self.seal_with(&json)?;
        let path = self.path.clone();
        let failed = |source| sqlite_error(&path, "write the plan of", source);
        let transaction = self.connection.transaction().map_err(failed)?;
        let statement = "UPDATE meta SET value = ? WHERE key = ?";
        transaction.execute(statement, params![json, PLAN]).map_err(failed)?;
        transaction.execute(statement, params![seal, SEAL]).map_err(failed)?;
        transaction.execute("DELETE FROM verdict", []).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// The seal of all attempts behind another plan.
    fn seal_with(&self, plan: &str) -> Result<Seal> {
        let mut known = Vec::new();
        for key in SEALED {
            let value = if key == PLAN { plan.to_owned() } else { self.required_meta(key)? };
            known.push((key, value));
        }
        let attempts = Reader::of(&self.connection, Wanted::default())
            .and_then(|reader| reader.attempts("attempt ORDER BY id"))
            .map_err(self.failed("read"))?;
        let mut seal = Seal::begin(&known);
        for attempt in attempts {
            seal = seal.attempt(&attempt.map_err(|problem| self.damaged(problem))?.digest);
        }
        Ok(seal)
    }
}

#[cfg(test)]
mod tests;
