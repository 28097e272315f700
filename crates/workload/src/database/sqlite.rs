//! SQLite: transactions of the library that is built in.

use crate::error::WorkloadError;
use crate::outcome::{StepOutcome, TRANSACTION};
use crate::step::{self, Step, StepContext};
use rusqlite::{Connection, params};
use seekwell_engine::clock::thread_cpu_ns;
use seekwell_engine::{Clock, MonotonicClock, clock_cost_ns};
use seekwell_model::workloads::{SqliteParams, StepOutline};
use seekwell_stats::{Histogram, Rng, derive_seed, seeded};
use std::collections::BTreeMap;
use std::path::Path;

/// The steps.
#[must_use]
pub fn steps(params: &SqliteParams) -> Vec<Box<dyn Step>> {
    step::each(params.steps(), |outline| Sqlite { outline, params: params.clone() })
}

/// Filling the table, or the measured transactions.
#[derive(Debug)]
struct Sqlite {
    outline: StepOutline,
    params: SqliteParams,
}

/// The database, below the mounted directory.
const FILE: &str = "application.db";

/// Rows of the database below `directory` and the damage that SQLite finds in it; `None` if there is none.
///
/// # Errors
/// When SQLite cannot read it, as a text.
pub fn survey(directory: &Path) -> Result<Option<(u64, Option<String>)>, String> {
    let path = directory.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let look = || {
        let connection = Connection::open(&path)?;
        let damage: String =
            connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        let rows: i64 = connection.query_row("SELECT count(*) FROM event", [], |row| row.get(0))?;
        Ok((rows.cast_unsigned(), Some(damage).filter(|damage| damage != "ok")))
    };
    look().map(Some).map_err(|error: rusqlite::Error| error.to_string())
}

const INSERT: &str = "INSERT INTO event(at, body) VALUES(?1, ?2)";

impl Sqlite {
    fn failed(&self, what: &'static str) -> impl Fn(rusqlite::Error) -> WorkloadError + '_ {
        move |error| {
            let problem = format!("failed: SQLite could not {what}: {error}");
            WorkloadError::command(&self.outline.name, problem, "")
        }
    }

    fn open(&self, directory: &Path) -> Result<Connection, WorkloadError> {
        let connection =
            Connection::open(directory.join(FILE)).map_err(self.failed("open its database"))?;
        let SqliteParams { journal_mode, synchronous, .. } = &self.params;
        // The catalogue has checked both words.
        let pragma = format!("PRAGMA journal_mode={journal_mode}");
        let mode: String = connection
            .query_row(&pragma, [], |row| row.get(0))
            .map_err(self.failed("set its journal mode"))?;
        if mode != *journal_mode {
            let problem = format!("asked for journal_mode {journal_mode} and got {mode}");
            let remedy = "choose another journal mode for this filesystem";
            return Err(WorkloadError::unfit(&self.outline.name, problem, remedy));
        }
        connection
            .execute_batch(&format!("PRAGMA synchronous={synchronous}"))
            .map_err(self.failed("set synchronous"))?;
        Ok(connection)
    }

    /// The settings in force, as SQLite reads them back, and the version of the library.
    fn settings(&self, connection: &Connection) -> Result<BTreeMap<String, String>, WorkloadError> {
        let failed = || self.failed("read back its settings");
        let journal: String =
            connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(failed())?;
        let level: i64 =
            connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).map_err(failed())?;
        let words = ["off", "normal", "full", "extra"];
        let word = usize::try_from(level).ok().and_then(|level| words.get(level));
        let synchronous = word.map_or_else(|| level.to_string(), |word| (*word).to_owned());
        if synchronous != self.params.synchronous {
            let asked = &self.params.synchronous;
            let problem = format!("asked for synchronous {asked} and got {synchronous}");
            let remedy = "report this as a defect";
            return Err(WorkloadError::unfit(&self.outline.name, problem, remedy));
        }
        let version = rusqlite::version().to_owned();
        let all =
            [("journal_mode", journal), ("synchronous", synchronous), ("sqlite_version", version)];
        Ok(all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    fn fill(&self, connection: &Connection, text: &mut Text) -> rusqlite::Result<()> {
        connection.execute_batch(
            "CREATE TABLE event(id INTEGER PRIMARY KEY, at INTEGER, body TEXT); BEGIN",
        )?;
        let mut insert = connection.prepare(INSERT)?;
        for row in 0..self.params.rows {
            insert.execute(params![row.cast_signed(), text.next()])?;
        }
        drop(insert);
        connection.execute_batch("COMMIT")
    }

    fn transaction(&self, connection: &Connection, text: &mut Text) -> rusqlite::Result<()> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        let mut insert = connection.prepare_cached(INSERT)?;
        for row in 0..self.params.rows_per_transaction {
            insert.execute(params![row.cast_signed(), text.next()])?;
        }
        connection.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    fn measure(
        &self,
        connection: &Connection,
        text: &mut Text,
        context: &StepContext<'_>,
    ) -> rusqlite::Result<StepOutcome> {
        let mut rows = self.params.rows;
        let mut commit = |text: &mut Text| -> rusqlite::Result<()> {
            self.transaction(connection, text)?;
            rows += self.params.rows_per_transaction;
            context.acknowledged.inspect(|acknowledged| acknowledged.take(rows));
            Ok(())
        };
        for _ in 0..self.params.warm_up {
            commit(text)?;
        }
        let mut outcome = StepOutcome {
            clock_cost_ns: Some(clock_cost_ns(&MonotonicClock)),
            ..StepOutcome::default()
        };
        let mut latencies = Histogram::new();
        let (begin_ns, begin_cpu_ns) = (MonotonicClock.now_ns(), thread_cpu_ns());
        let mut now_ns = begin_ns;
        let over = |now_ns: u64| self.params.time.is_some_and(|time| now_ns - begin_ns >= time.0);
        while outcome.ops < self.params.count.unwrap_or(u64::MAX) && !over(now_ns) {
            if context.is_stopped() {
                outcome.stopped = true;
                break;
            }
            let started_ns = MonotonicClock.now_ns();
            commit(text)?;
            now_ns = MonotonicClock.now_ns();
            latencies.record(now_ns - started_ns);
            outcome.ops += 1;
        }
        outcome.elapsed_ns = now_ns - begin_ns;
        outcome.cpu_ns = thread_cpu_ns().saturating_sub(begin_cpu_ns);
        outcome.keep(TRANSACTION, latencies);
        Ok(outcome)
    }
}

impl Step for Sqlite {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let directory = context.mounted(&self.outline.name)?;
        let seed = derive_seed(context.seed, &self.outline.name);
        let mut text = Text::new(self.params.row_bytes, seed);
        let connection = self.open(directory)?;
        let settings = self.settings(&connection)?;
        let mut outcome = if self.outline.measured {
            self.measure(&connection, &mut text, context).map_err(self.failed("commit"))?
        } else {
            let begin_ns = MonotonicClock.now_ns();
            self.fill(&connection, &mut text).map_err(self.failed("fill its table"))?;
            let elapsed_ns = MonotonicClock.now_ns() - begin_ns;
            StepOutcome { elapsed_ns, ..StepOutcome::default() }
        };
        connection.close().map_err(|(_, error)| self.failed("close its database")(error))?;
        outcome.compute(&self.outline.metrics);
        if self.outline.measured {
            outcome.settings = settings;
        }
        if self.outline.measured && outcome.elapsed_ns > 0 {
            let rate = outcome.ops as f64 * 1e9 / outcome.elapsed_ns as f64;
            outcome.metrics.insert("transactions_per_s".to_owned(), rate);
        }
        Ok(outcome)
    }
}

/// Text of rows: letters and digits at random.
struct Text {
    rng: Rng,
    buffer: String,
    bytes: usize,
}

impl Text {
    fn new(bytes: u64, seed: u64) -> Self {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Self { rng: seeded(seed), buffer: String::new(), bytes }
    }

    fn next(&mut self) -> &str {
        const LETTERS: &[u8; 64] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
        self.buffer.clear();
        while self.buffer.len() < self.bytes {
            let mut random = self.rng.next_u64();
            for _ in 0..10.min(self.bytes - self.buffer.len()) {
                self.buffer.push(char::from(LETTERS[(random & 63) as usize]));
                random >>= 6;
            }
        }
        &self.buffer
    }
}
