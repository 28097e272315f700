//! A run of an earlier format becomes one of today's.

use super::{FORMAT, FORMAT_KEY, Result, RunFile, SEAL, SEALED, VERDICT, publish, sqlite_error};
use crate::attempt::{Parts, Reader, Writing};
use crate::error::StoreError;
use crate::format1;
use crate::schema::{APPLICATION_ID, BEFORE_THE_TRIALS, PAGE_BYTES, TRIALS, user_version};
use crate::seal::Seal;
use rusqlite::types::Value;
use rusqlite::{Connection, MAIN_DB, OptionalExtension, params, params_from_iter};
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use std::path::Path;

/// Drops the views and tables of trials of format 1; referring tables first.
const DROP_FORMAT_1: &str = "
DROP VIEW value;
DROP VIEW last_attempt;
DROP TABLE metric;
DROP TABLE histogram;
DROP TABLE series;
DROP TABLE attempt;
DROP TABLE verdict;
";

/// An attempt to rewrite.
struct Attempt {
    written_at: String,
    trial: PlannedTrial,
    record: Record,
}

/// Errors of writing rows: SQLite, or the words after "RUN is damaged: …".
enum Failed {
    Sqlite(rusqlite::Error),
    Encode(serde_json::Error),
    Differs(String),
}

impl From<rusqlite::Error> for Failed {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl RunFile {
    /// Rewrites the file in place, in one transaction; every trial is read back and compared
    /// before it is committed.
    pub(super) fn rewrite(&mut self) -> Result<()> {
        let (attempts, verdict) = self.everything()?;
        let transaction = self.connection.transaction();
        let written = transaction.map_err(Failed::Sqlite).and_then(|transaction| {
            transaction.execute_batch(DROP_FORMAT_1)?;
            fill(&transaction, &attempts, verdict.as_deref())?;
            transaction.commit()?;
            Ok(())
        });
        written.map_err(|error| self.rewriting(error))?;
        self.format = FORMAT;
        Ok(())
    }

    /// Writes the run as a new file of today's format, as small as it gets. Every trial is read
    /// back from it and compared. Nothing is overwritten.
    ///
    /// # Errors
    /// When the path is taken or cannot be written, or this file is damaged.
    pub fn repack(&self, path: &Path) -> Result<()> {
        let (attempts, verdict) = self.everything()?;
        let image = self.packed_image(&attempts, verdict.as_deref());
        publish(path, &image.map_err(|error| self.rewriting(error))?).map(|_| ())
    }

    fn packed_image(
        &self,
        attempts: &[Attempt],
        verdict: Option<&str>,
    ) -> std::result::Result<Vec<u8>, Failed> {
        let mut new = Connection::open_in_memory()?;
        new.pragma_update(None, "page_size", PAGE_BYTES)?;
        new.pragma_update(None, "application_id", APPLICATION_ID)?;
        let transaction = new.transaction()?;
        transaction.execute_batch(BEFORE_THE_TRIALS)?;
        for (table, places) in [("meta", "?, ?"), ("candidate", "?, ?, ?")] {
            let mut statement = self.connection.prepare(&format!("SELECT * FROM {table}"))?;
            let columns = places.split(", ").count();
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let values = (0..columns).map(|column| row.get(column));
                let values: Vec<Value> = values.collect::<rusqlite::Result<_>>()?;
                let insert = format!("INSERT INTO {table} VALUES ({places})");
                transaction.execute(&insert, params_from_iter(values))?;
            }
        }
        fill(&transaction, attempts, verdict)?;
        transaction.commit()?;
        new.execute_batch("VACUUM")?;
        Ok(new.serialize(MAIN_DB)?.to_vec())
    }

    /// All attempts in order, and the text of the verdict.
    fn everything(&self) -> Result<(Vec<Attempt>, Option<String>)> {
        let (connection, order) = (&self.connection, "attempt ORDER BY id");
        let old = |kept: format1::Kept| Attempt {
            written_at: kept.written_at,
            trial: kept.trial,
            record: kept.record,
        };
        let attempts: std::result::Result<Vec<Attempt>, String> =
            if self.format.major < FORMAT.major {
                let kept = format1::attempts(connection, order).map_err(self.failed("read"))?;
                kept.into_iter().map(|kept| kept.map(old)).collect()
            } else {
                let kept = Reader::new(connection).and_then(|reader| reader.attempts(order));
                let kept = kept.map_err(self.failed("read"))?;
                kept.into_iter().map(|kept| kept.map(of_today)).collect()
            };
        let query = "SELECT value FROM verdict WHERE id = 1";
        let verdict = connection.query_row(query, [], |row| row.get(0)).optional();
        let verdict = verdict.map_err(self.failed("read"))?;
        Ok((attempts.map_err(|problem| self.damaged(problem))?, verdict))
    }

    fn rewriting(&self, error: Failed) -> StoreError {
        match error {
            Failed::Sqlite(source) => sqlite_error(&self.path, "rewrite", source),
            Failed::Encode(source) => self.encode("a record", source),
            Failed::Differs(problem) => self.damaged(problem),
        }
    }
}

fn of_today(kept: crate::attempt::Kept) -> Attempt {
    Attempt { written_at: kept.written_at, trial: kept.trial, record: kept.record }
}

/// Makes the tables of trials and fills them, seals them, and reads all of it back.
fn fill(
    connection: &Connection,
    attempts: &[Attempt],
    verdict: Option<&str>,
) -> std::result::Result<(), Failed> {
    connection.execute_batch(TRIALS)?;
    let meta = |key: &str| -> rusqlite::Result<String> {
        connection.query_row("SELECT value FROM meta WHERE key = ?", [key], |row| row.get(0))
    };
    let known: Vec<(&str, String)> =
        SEALED.iter().map(|key| Ok((*key, meta(key)?))).collect::<rusqlite::Result<_>>()?;
    let known: Vec<(&str, &str)> = known.iter().map(|(key, value)| (*key, &**value)).collect();
    let (mut seal, mut writing) = (Seal::begin(&known), Writing::default());
    for attempt in attempts {
        let parts = Parts::of(&attempt.record).map_err(Failed::Encode)?;
        let digest = parts.insert(connection, &mut writing, &attempt.trial, &attempt.written_at)?;
        seal = seal.attempt(&digest);
    }
    if let Some(verdict) = verdict {
        let sealed = seal.verdict(verdict);
        connection.execute("INSERT INTO verdict VALUES (1, ?, ?)", params![verdict, sealed])?;
    }
    let set = "INSERT OR REPLACE INTO meta VALUES (?, ?)";
    connection.execute(set, params![SEAL, seal])?;
    if verdict.is_some() {
        connection.execute(set, params![VERDICT, seal])?;
    }
    connection.execute(set, params![FORMAT_KEY, FORMAT.to_string()])?;
    connection.pragma_update(None, "user_version", user_version(FORMAT))?;
    let back = Reader::new(connection)?.attempts("attempt ORDER BY id")?;
    if back.len() != attempts.len() {
        return Err(Failed::Differs("trials are missing after it was rewritten".to_owned()));
    }
    for (back, attempt) in back.into_iter().zip(attempts) {
        let back = back.map_err(Failed::Differs)?;
        if (back.trial, &back.record, &back.written_at)
            != (attempt.trial, &attempt.record, &attempt.written_at)
        {
            let index = attempt.trial.index;
            let problem = format!("trial {index} does not come back from its new form");
            return Err(Failed::Differs(problem));
        }
    }
    Ok(())
}
