//! `sqlite`: transactions of the real SQLite, which is built in.

use super::pgbench::{DATABASE_METRICS, database_steps};
use super::{CacheState, FieldConflict, OperationCost, StepOutline, WorkloadKind, WorkloadParams};
use crate::field::{Values, field};
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Parameters of `sqlite`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqliteParams {
    /// Name of the measured step.
    pub step: String,
    /// `PRAGMA journal_mode`.
    pub journal_mode: String,
    /// `PRAGMA synchronous`.
    pub synchronous: String,
    /// Rows that the table has before.
    pub rows: u64,
    /// Rows that a transaction inserts.
    pub rows_per_transaction: u64,
    /// Bytes of a row's text.
    pub row_bytes: u64,
    /// Transactions before the measured ones.
    pub warm_up: u64,
    /// Measured transactions; `None` when only time bounds them.
    pub count: Option<u64>,
    /// Time bound; `None` when only the count does.
    pub time: Option<Nanos>,
}

/// Transactions of SQLite.
pub const SQLITE: WorkloadKind = WorkloadKind {
    name: "sqlite",
    doc: "The real SQLite, built in: rows inserted into a table, a transaction at a time. The latency of a transaction lasts from BEGIN until COMMIT has returned.",
    fields: &[
        field!("step": Text, default "\"sqlite\"", "Name of the measured step."),
        field!("journal_mode": Choice(&["delete", "truncate", "persist", "wal"]), default "\"delete\"",
            "`delete` (SQLite's default), `truncate` and `persist` use a rollback journal, `wal` a write-ahead log."),
        field!("synchronous": Choice(&["extra", "full", "normal", "off"]), default "\"full\"",
            "`full`: a commit is durable when it returns. `normal` with `wal`: the last commits before a power cut may be lost. `off`: the database may be corrupt after one."),
        field!("rows": integer(0, 1_000_000_000), default "10_000",
            "Rows that the table has before."),
        field!("rows_per_transaction": integer(1, 1_000_000), default "1",
            "Rows that a transaction inserts."),
        field!("row_bytes": integer(0, 1_000_000), default "200",
            "Bytes of text in a row; they do not compress."),
        field!("warm_up": integer(0, 1_000_000_000), default "20",
            "Transactions before the measured ones."),
        field!("count": integer(1, 1_000_000_000_000),
            "Measured transactions. Without `count` and `time` the step runs 5 s."),
        field!("time": Duration,
            "Ends the step after this time, or at `count`, whichever comes first."),
    ],
    on_raw: false,
    programs: &[],
    build,
};

fn build(values: &Values) -> Result<WorkloadParams, FieldConflict> {
    let word = |field| values.text(field).unwrap_or_default().to_owned();
    let count = values.integer("count");
    let unbound = count.is_none().then_some(Nanos::seconds(5));
    Ok(WorkloadParams::Sqlite(SqliteParams {
        step: word("step"),
        journal_mode: word("journal_mode"),
        synchronous: word("synchronous"),
        rows: values.count("rows"),
        rows_per_transaction: values.count("rows_per_transaction"),
        row_bytes: values.count("row_bytes"),
        warm_up: values.count("warm_up"),
        count,
        time: values.duration("time").or(unbound),
    }))
}

impl SqliteParams {
    /// Bytes of the table before the measured transactions.
    fn filled(&self) -> u64 {
        self.rows.saturating_mul(self.row_bytes.saturating_add(24))
    }

    /// Bytes of the database at its end, as far as the count says.
    #[must_use]
    pub fn predicted_bytes(&self) -> Bytes {
        let inserted = self
            .count
            .unwrap_or(10_000)
            .saturating_mul(self.rows_per_transaction)
            .saturating_mul(self.row_bytes.saturating_add(24));
        Bytes(self.filled().saturating_add(inserted).saturating_add(8 << 20))
    }

    /// The table is made and filled; then transactions are measured.
    #[must_use]
    pub fn steps(&self) -> Vec<StepOutline> {
        let measured = StepOutline {
            cache: CacheState::Cold,
            operations: self.count,
            operation: OperationCost::Sync,
            time_ns: self.time.map(|time| time.0),
            ..StepOutline::new(&self.step, DATABASE_METRICS)
        };
        database_steps(&self.step, Bytes(self.filled()), measured)
    }
}
