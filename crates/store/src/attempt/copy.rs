//! Attempts of another file, copied row by row as they are: nothing is packed again.

use super::metrics::Translation;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};
use std::collections::BTreeMap;

/// Columns of `attempt` that are copied, `prefix` first.
const COLUMNS: &str =
    "prefix, trial, round, candidate, seed, status, stage, reason, elapsed_ns, written_at, digest,
     record, histograms, timeline, journal_timeline, block_events";

/// Number of these columns.
const COUNT: usize = 16;

/// Copies attempts from one file to another.
pub(crate) struct Copier<'c> {
    from: &'c Connection,
    to: &'c Connection,
    names: Translation,
    /// Rows of `prefix` there by those here.
    prefixes: BTreeMap<i64, i64>,
    select: String,
    insert: String,
}

impl<'c> Copier<'c> {
    /// Gives the new file all names of metrics that the other one has.
    pub(crate) fn new(from: &'c Connection, to: &'c Connection) -> rusqlite::Result<Self> {
        let names = Translation::of(from, to)?;
        let places = ["?"; COUNT].join(", ");
        Ok(Self {
            from,
            to,
            names,
            prefixes: BTreeMap::new(),
            select: format!("SELECT {COLUMNS} FROM attempt WHERE id = ?"),
            insert: format!("INSERT INTO attempt ({COLUMNS}) VALUES ({places})"),
        })
    }

    /// Copies the attempt of this row.
    pub(crate) fn copy(&mut self, id: i64) -> rusqlite::Result<()> {
        let mut values: Vec<Value> = self
            .from
            .prepare_cached(&self.select)?
            .query_row([id], |row| (0..COUNT).map(|column| row.get(column)).collect())?;
        if let Some(Value::Integer(prefix)) = values.first() {
            values[0] = Value::Integer(self.prefix(*prefix)?);
        }
        self.to.prepare_cached(&self.insert)?.execute(params_from_iter(values))?;
        self.names.copy(self.from, id, self.to, self.to.last_insert_rowid())
    }

    /// The prefix in the new file that is the one of this row.
    fn prefix(&mut self, id: i64) -> rusqlite::Result<i64> {
        if let Some(known) = self.prefixes.get(&id) {
            return Ok(*known);
        }
        let query = "SELECT workload, record, histograms FROM prefix WHERE id = ?";
        let (workload, record, histograms) = self.from.query_row(
            query,
            [id],
            |row| -> rusqlite::Result<(String, Vec<u8>, Vec<u8>)> {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?))
            },
        )?;
        let same = "SELECT id FROM prefix WHERE workload = ? AND record = ? AND histograms = ?";
        let values = params![workload, record, histograms];
        let there = self.to.query_row(same, values, |row| row.get(0)).optional()?;
        let there = match there {
            Some(there) => there,
            None => {
                let insert = "INSERT INTO prefix (workload, record, histograms) VALUES (?, ?, ?)";
                self.to.execute(insert, values)?;
                self.to.last_insert_rowid()
            }
        };
        self.prefixes.insert(id, there);
        Ok(there)
    }
}
