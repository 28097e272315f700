//! The run file itself.

mod integrity;
mod merge;
mod prolong;
mod repair;
mod why;

use crate::attempt::{Kept, Parts, Reader, Wanted, Writing};
use crate::error::StoreError;
use crate::lock::WriterLock;
use crate::schema::{
    self, APPLICATION_ID, BEFORE_THE_TRIALS, PAGE_BYTES, TRIALS, format_of, user_version,
};
use crate::seal::Seal;
use chrono::{DateTime, SecondsFormat, Utc};
pub use integrity::Integrity;
pub use merge::Merged;
pub use repair::Repaired;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags, OptionalExtension, params};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::verdict::Verdict;
use seekwell_model::{FormatVersion, RUN_FILE_FORMAT as FORMAT};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Time that a statement waits for another process that reads or writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const PLAN: &str = "plan";
const ENVIRONMENT: &str = "environment";
const WRITER: &str = "writer";
const TOOL: &str = "tool";
const CREATED_AT: &str = "created_at";
const FORMAT_KEY: &str = "format";
/// The seal of all attempts so far.
const SEAL: &str = "seal";
/// The seal of the attempts that the last verdict was written for, which shows that a verdict was removed. Files of
/// earlier versions have none.
const VERDICT: &str = "verdict";
/// Keys without a value between the plan and the seal, which changes with every record. SQLite looks for a key from the
/// middle of the page, and reads the whole row of each key that it meets: a plan of 100,000 trials has five megabytes.
const AFTER_PLAN: [&str; 3] = ["plan.1", "plan.2", "plan.3"];
/// Keys that the first seal covers, in this order.
const SEALED: [&str; 4] = [TOOL, CREATED_AT, ENVIRONMENT, PLAN];

/// A run file, open for reading or for appending.
#[derive(Debug)]
pub struct RunFile {
    path: PathBuf,
    connection: Connection,
    /// The format that the file had when it was opened.
    format: FormatVersion,
    /// Parts of the file that the writer needs for each record.
    writing: Writing,
    /// Held by the one writer. Declared last, so that the connection closes first.
    lock: Option<WriterLock>,
}

type Result<T, E = StoreError> = std::result::Result<T, E>;

impl RunFile {
    /// Makes the file of a new run and opens it for appending. The file appears complete or not
    /// at all; nothing is ever overwritten.
    ///
    /// `environment` is an object that describes where the run is made; its `place` names the backend.
    ///
    /// # Errors
    /// When the path is taken or cannot be written.
    pub fn create(path: &Path, plan: &Plan, environment: &Value) -> Result<Self> {
        let image = Self::image(path, plan, environment)?;
        let lock = publish(path, &image)?;
        Self::connect(path, Some(lock))
    }

    /// Opens a run for reading. Another process may be writing to it: what is read is then the
    /// state after one of its trials.
    ///
    /// # Errors
    /// When the file is missing, not a run, damaged, or of another major format.
    pub fn open(path: &Path) -> Result<Self> {
        let file = Self::connect(path, None)?;
        file.connection.pragma_update(None, "query_only", true).map_err(file.failed("open"))?;
        Ok(file)
    }

    /// A run in memory, from the bytes of its file; `path` names them in messages.
    ///
    /// # Errors
    /// As [`RunFile::open`].
    pub fn from_bytes(path: &Path, bytes: &[u8]) -> Result<Self> {
        let connection =
            in_memory(bytes, true).map_err(|source| sqlite_error(path, "open", source))?;
        Self::identified(path, connection, None, bytes.len() as u64)
    }

    /// Opens a run to continue it, and checks the whole file first.
    ///
    /// # Errors
    /// As [`RunFile::open`], and when another process writes to it.
    pub fn open_for_append(path: &Path) -> Result<Self> {
        check_kind(path)?;
        let lock = WriterLock::open(path).map_err(|source| missing(path, "open", source))?;
        let Some(lock) = lock else {
            let holder = Self::open(path).and_then(|file| file.meta(WRITER)).ok().flatten();
            let holder = holder.unwrap_or_else(|| "another process".to_owned());
            return Err(StoreError::Locked { path: path.to_owned(), holder });
        };
        let file = Self::connect(path, Some(lock))?;
        file.check_integrity()?;
        file.set_meta(WRITER, &writer())?;
        // Files of earlier versions have none.
        AFTER_PLAN.iter().try_for_each(|key| file.set_meta(key, ""))?;
        Ok(file)
    }

    /// Keeps the record of a trial, durably and as a whole. Appending a trial again is another
    /// attempt: earlier ones stay in the file, the last one counts. A verdict that was set before
    /// is forgotten, because it does not know this record.
    ///
    /// # Errors
    /// When the disk is full or fails; what was kept before stays.
    pub fn append(&mut self, trial: &PlannedTrial, record: &Record) -> Result<()> {
        self.append_at(trial, record, &now())?;
        self.settle()
    }

    /// As [`Self::append`], durable only with the next record that is appended, or with [`Self::settle`]: many records
    /// cost one write to the disk.
    ///
    /// # Errors
    /// When the disk is full or fails; none of the records that were put since is kept then.
    pub fn put(&mut self, trial: &PlannedTrial, record: &Record) -> Result<()> {
        self.writable()?;
        if self.connection.is_autocommit() {
            self.connection.execute_batch("BEGIN IMMEDIATE").map_err(self.failed("append to"))?;
        }
        self.append_at(trial, record, &now())
    }

    /// Keeps what was put.
    ///
    /// # Errors
    /// When the disk is full or fails; none of the records that were put since is kept then.
    pub fn settle(&mut self) -> Result<()> {
        if self.connection.is_autocommit() {
            return Ok(());
        }
        let committed = self.connection.execute_batch("COMMIT").map_err(self.failed("append to"));
        committed
            .map_err(|error| {
                // Fails if SQLite has rolled back already.
                let _ = self.connection.execute_batch("ROLLBACK");
                self.disk_fault(error)
            })
            .inspect_err(|_| self.writing = Writing::default())
    }

    /// Keeps a record with the time at which it was first written.
    fn append_at(&mut self, trial: &PlannedTrial, record: &Record, written_at: &str) -> Result<()> {
        self.writable()?;
        let inserted = self.insert(trial, record, written_at);
        inserted.map_err(|error| {
            self.writing = Writing::default();
            self.disk_fault(error)
        })
    }

    /// SQLite calls a file that the disk does not give it damaged, and one without its journal missing.
    fn disk_fault(&self, error: StoreError) -> StoreError {
        match (&error, fault_of_disk(&self.path)) {
            (StoreError::Damaged { .. } | StoreError::Sqlite { .. }, Some(source)) => {
                StoreError::Io { action: "append to", path: self.path.clone(), source }
            }
            _ => error,
        }
    }

    fn insert(&mut self, trial: &PlannedTrial, record: &Record, written_at: &str) -> Result<()> {
        let encode = |source| self.encode("a record", source);
        let parts = Parts::of(record).map_err(encode)?;
        let path = self.path.clone();
        let failed = |source| sqlite_error(&path, "append to", source);
        // A part of the transaction that is open, or one by itself.
        let transaction = self.connection.savepoint().map_err(failed)?;
        let writing = &mut self.writing;
        let digest = parts.insert(&transaction, writing, trial, written_at).map_err(failed)?;
        let query = "SELECT value FROM meta WHERE key = ?";
        let seal = transaction.query_row(query, [SEAL], |row| row.get(0)).map_err(failed)?;
        let statement = "UPDATE meta SET value = ? WHERE key = ?";
        let next = Seal::kept(seal).attempt(&digest);
        transaction.execute(statement, params![next, SEAL]).map_err(failed)?;
        transaction.execute("DELETE FROM verdict", []).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// Indices of the trials that need not be run again: those whose last attempt did not fail.
    /// A run that is resumed runs what is missing here, trials that failed or were interrupted
    /// included.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn completed(&self) -> Result<BTreeSet<u32>> {
        let query = "SELECT trial FROM last_attempt WHERE status <> 'failed'";
        let read = || -> rusqlite::Result<BTreeSet<u32>> {
            self.connection.prepare(query)?.query_map([], |row| row.get(0))?.collect()
        };
        read().map_err(self.failed("read"))
    }

    /// The last attempt of every trial, by trial index.
    ///
    /// # Errors
    /// When the file cannot be read or a record is damaged.
    pub fn records(&self) -> Result<Vec<(PlannedTrial, Record)>> {
        self.attempts_of("last_attempt ORDER BY trial")
    }

    /// As [`Self::records`], one at a time and without parts that are not `wanted`: a run of 100,000 trials fills
    /// gigabytes.
    ///
    /// # Errors
    /// When the file cannot be read or a record is damaged; `see` may have seen others before.
    pub fn each_record(
        &self,
        wanted: &Wanted,
        see: &mut dyn FnMut(PlannedTrial, Record),
    ) -> Result<()> {
        self.each_of("last_attempt ORDER BY trial", wanted, see)
    }

    /// Returns true if no trial was kept.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn is_empty(&self) -> Result<bool> {
        let query = "SELECT NOT EXISTS (SELECT 1 FROM attempt)";
        self.connection.query_row(query, [], |row| row.get(0)).map_err(self.failed("read"))
    }

    /// Every attempt at every trial, in the order in which they were made.
    ///
    /// # Errors
    /// When the file cannot be read or a record is damaged.
    pub fn attempts(&self) -> Result<Vec<(PlannedTrial, Record)>> {
        self.attempts_of("attempt ORDER BY id")
    }

    fn attempts_of(&self, source: &str) -> Result<Vec<(PlannedTrial, Record)>> {
        let mut all = Vec::new();
        let see = &mut |trial, record| all.push((trial, record));
        self.each_of(source, &Wanted::default(), see)?;
        Ok(all)
    }

    fn each_of(
        &self,
        source: &str,
        wanted: &Wanted,
        see: &mut dyn FnMut(PlannedTrial, Record),
    ) -> Result<()> {
        let (connection, failed) = (&self.connection, self.failed("read"));
        let damaged = |problem| self.damaged(problem);
        let mut problem = None;
        let mut each = |_, kept: std::result::Result<Kept, String>| match kept {
            Ok(kept) => see(kept.trial, kept.record),
            Err(words) => problem = problem.take().or(Some(words)),
        };
        let read = Reader::of(connection, wanted.clone());
        read.and_then(|reader| reader.each(source, &mut each)).map_err(failed)?;
        problem.map_or(Ok(()), |words| Err(damaged(words)))
    }

    /// Keeps the verdict, in place of an earlier one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set_verdict(&mut self, verdict: &Verdict) -> Result<()> {
        self.writable()?;
        let json = self.to_json("the verdict", verdict)?;
        let trials = Seal::kept(self.required_meta(SEAL)?);
        let seal = trials.verdict(&json);
        let path = self.path.clone();
        let failed = |source| sqlite_error(&path, "append to", source);
        let transaction = self.connection.savepoint().map_err(failed)?;
        let statement = "INSERT OR REPLACE INTO verdict VALUES (1, ?, ?)";
        transaction.execute(statement, params![json, seal]).map_err(failed)?;
        let statement = "INSERT OR REPLACE INTO meta VALUES (?, ?)";
        transaction.execute(statement, params![VERDICT, trials]).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// The verdict over all records of the file. `None` while trials are being added.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn verdict(&self) -> Result<Option<Verdict>> {
        let query = "SELECT value FROM verdict WHERE id = 1";
        let row = self.connection.query_row(query, [], |row| row.get::<_, String>(0)).optional();
        let json = row.map_err(self.failed("read"))?;
        json.map(|json| self.parse_json("the verdict", &json)).transpose()
    }

    /// The plan with its lab.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn plan(&self) -> Result<Plan> {
        let json = self.required_meta(PLAN)?;
        self.parse_json("the plan", &json)
    }

    /// The environment that [`RunFile::create`] was given.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn environment(&self) -> Result<Value> {
        let json = self.required_meta(ENVIRONMENT)?;
        self.parse_json("the environment", &json)
    }

    /// Name of the backend on which the run was made: `place` of the environment, or `unknown`.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn backend(&self) -> Result<String> {
        let environment = self.environment()?;
        Ok(environment.get("place").and_then(Value::as_str).unwrap_or("unknown").to_owned())
    }

    /// Program and version that made the file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn tool(&self) -> Result<String> {
        self.required_meta(TOOL)
    }

    /// Returns the time at which the file was made, in RFC 3339.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn created_at(&self) -> Result<String> {
        self.required_meta(CREATED_AT)
    }

    /// Host time in ns from the start of the run to its last trial, as far as the times in the file
    /// tell: `None` before the second trial, and when the run was interrupted for most of it.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn host_ns(&self) -> Result<Option<u64>> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement =
                self.connection.prepare("SELECT written_at FROM attempt ORDER BY id")?;
            statement.query_map([], |row| row.get(0))?.collect()
        };
        let written = read().map_err(self.failed("read"))?;
        let times = std::iter::once(self.created_at()?).chain(written);
        let times: Option<Vec<i64>> = times
            .map(|time| DateTime::parse_from_rfc3339(&time).ok()?.timestamp_nanos_opt())
            .collect();
        let Some(times) = times.filter(|times| times.len() > 2 && times.is_sorted()) else {
            return Ok(None);
        };
        let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let all = times[times.len() - 1] - times[0];
        Ok(u64::try_from(all).ok().filter(|_| longest * 2 <= all))
    }

    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file itself, byte by byte, in the state after the last trial.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>> {
        self.with_bytes(|file, _| {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map(|_| bytes)
        })?
        .map_err(|source| self.unreadable(source))
    }

    /// The same for a reader that is given the open file and its number of bytes, which stay as they are meanwhile.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn with_bytes<T>(&self, read: impl FnOnce(&mut File, u64) -> T) -> Result<T> {
        // An open read keeps writers from changing the file in between.
        let transaction = self.connection.unchecked_transaction().map_err(self.failed("read"))?;
        self.required_meta(PLAN)?;
        let mut file = File::open(&self.path).map_err(|source| self.unreadable(source))?;
        let bytes = file.metadata().map_err(|source| self.unreadable(source))?.len();
        let done = read(&mut file, bytes);
        transaction.finish().map_err(self.failed("read"))?;
        Ok(done)
    }

    fn unreadable(&self, source: std::io::Error) -> StoreError {
        StoreError::Io { action: "read", path: self.path.clone(), source }
    }

    /// A copy without timelines and block events, for showing: it is no run file that could be
    /// read as one, because the checksums of its records cover what is missing.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn bytes_without_series(&self) -> Result<Vec<u8>> {
        let bytes = self.bytes()?;
        let failed = |source| sqlite_error(&self.path, "copy", source);
        let mut copy = in_memory(&bytes, false).map_err(failed)?;
        let without =
            "UPDATE attempt SET timeline = NULL, journal_timeline = NULL, block_events = NULL;
             VACUUM;";
        // A large copy would go to a temporary file, which a confined process must not make.
        copy.execute_batch("PRAGMA temp_store = MEMORY;").map_err(failed)?;
        copy.execute_batch(without).map_err(failed)?;
        Ok(copy.serialize(MAIN_DB).map_err(failed)?.to_vec())
    }

    /// Writes a copy of the state after the last trial, as a run file of its own; another process
    /// may continue writing. Nothing is overwritten.
    ///
    /// # Errors
    /// When the path is taken or cannot be written.
    pub fn export(&mut self, path: &Path) -> Result<()> {
        let failed = |source| sqlite_error(&self.path, "read", source);
        let image = self.connection.serialize(MAIN_DB).map_err(failed)?;
        publish(path, &image).map(|_| ())
    }
}

impl RunFile {
    /// A new run in memory, whose path is the one that it is for.
    fn in_memory(path: &Path, plan: &Plan, environment: &Value) -> Result<Self> {
        let image = Self::image(path, plan, environment)?;
        let connection =
            in_memory(&image, false).map_err(|source| sqlite_error(path, "prepare", source))?;
        Ok(Self {
            path: path.to_owned(),
            connection,
            format: FORMAT,
            writing: Writing::default(),
            lock: None,
        })
    }

    /// The bytes of a new run file.
    fn image(path: &Path, plan: &Plan, environment: &Value) -> Result<Vec<u8>> {
        let failed = |source| sqlite_error(path, "prepare", source);
        let json = |what, value: serde_json::Result<String>| {
            value.map_err(|source| StoreError::Encode { what, path: path.to_owned(), source })
        };
        let mut connection = Connection::open_in_memory().map_err(failed)?;
        let mut meta = vec![
            (FORMAT_KEY, FORMAT.to_string()),
            (TOOL, concat!("seekwell ", env!("CARGO_PKG_VERSION")).to_owned()),
            (CREATED_AT, now()),
            (WRITER, writer()),
            (ENVIRONMENT, json("the environment", serde_json::to_string(environment))?),
            (PLAN, json("the plan", serde_json::to_string(plan))?),
        ];
        let known: Vec<(&str, String)> = SEALED
            .iter()
            .filter_map(|key| meta.iter().find(|(known, _)| known == key))
            .map(|(key, value)| (*key, value.clone()))
            .collect();
        let seal = Seal::begin(&known).text().to_owned();
        meta.push((SEAL, seal));
        meta.extend(AFTER_PLAN.map(|key| (key, String::new())));
        let mut fill = || -> rusqlite::Result<Vec<u8>> {
            connection.pragma_update(None, "page_size", PAGE_BYTES)?;
            connection.pragma_update(None, "application_id", APPLICATION_ID)?;
            connection.pragma_update(None, "user_version", user_version(FORMAT))?;
            let transaction = connection.transaction()?;
            transaction.execute_batch(BEFORE_THE_TRIALS)?;
            transaction.execute_batch(TRIALS)?;
            for (key, value) in &meta {
                transaction.execute("INSERT INTO meta VALUES (?, ?)", params![key, value])?;
            }
            let mut insert = transaction.prepare("INSERT INTO candidate VALUES (?, ?, ?)")?;
            for (id, candidate) in (0_u32..).zip(&plan.candidates) {
                let stack = plan.stacks.get(candidate.stack as usize).map(|stack| &stack.label);
                let workload = plan.workloads.get(candidate.workload as usize).map(|w| &w.name);
                insert.execute(params![id, stack, workload])?;
            }
            drop(insert);
            transaction.commit()?;
            Ok(connection.serialize(MAIN_DB)?.to_vec())
        };
        fill().map_err(failed)
    }

    fn connect(path: &Path, lock: Option<WriterLock>) -> Result<Self> {
        check_kind(path)?;
        // Reading too may have to roll back what a killed writer left.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let failed = |source| sqlite_error(path, "open", source);
        let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        let length = std::fs::metadata(path).map_err(|source| missing(path, "open", source))?.len();
        Self::identified(path, connection, lock, length)
    }

    /// A run whose file has this length, once its header, its tables and its format are checked.
    fn identified(
        path: &Path,
        connection: Connection,
        lock: Option<WriterLock>,
        length: u64,
    ) -> Result<Self> {
        let failed = |source| sqlite_error(path, "open", source);
        let writing = Writing::default();
        let mut file = Self { path: path.to_owned(), connection, format: FORMAT, writing, lock };
        file.connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
        file.format = file.check_identity(length)?;
        // A reader of foreign files opens no temporary ones.
        let pragmas =
            [("trusted_schema", "OFF"), ("synchronous", "EXTRA"), ("temp_store", "MEMORY")];
        for (name, value) in pragmas {
            file.connection.pragma_update(None, name, value).map_err(failed)?;
        }
        Ok(file)
    }

    /// Checks the application id and the length, and returns the format.
    fn check_identity(&self, length: u64) -> Result<FormatVersion> {
        let pragma = |name: &str| -> Result<i64> {
            let value = self.connection.pragma_query_value(None, name, |row| row.get(0));
            value.map_err(self.failed("open"))
        };
        let application = pragma("application_id")?;
        if application == 0 && pragma("page_count")? == 0 {
            return Err(StoreError::Empty(self.path.clone()));
        }
        if application != i64::from(APPLICATION_ID) {
            let what = "an SQLite file of another program";
            return Err(StoreError::NotARun { path: self.path.clone(), what });
        }
        // SQLite takes a last page that is cut as if zeros followed.
        let (pages, page_bytes) = (pragma("page_count")?, pragma("page_size")?);
        if length < pages.saturating_mul(page_bytes).unsigned_abs() {
            let expected = pages * page_bytes;
            return Err(self.damaged(format!("it has {length} of its {expected} bytes")));
        }
        if let Some(problem) = schema::problem(&self.connection).map_err(self.failed("open"))? {
            return Err(self.damaged(problem));
        }
        let version = pragma("user_version")?;
        let refused = |problem| Err(StoreError::Format { path: self.path.clone(), problem });
        match format_of(version) {
            Some(found) if found.major > FORMAT.major => {
                let tool = self.tool().unwrap_or_else(|_| "a newer seekwell".to_owned());
                refused(format!(
                    "{found} (written by {tool}), and this program reads up to {FORMAT}; update \
                     seekwell to read it"
                ))
            }
            Some(found) if found.major == FORMAT.major => Ok(found),
            Some(found) if found.major > 0 => refused(format!(
                "{found}, which was written before seekwell 0.1.0 and is no longer read; run its \
                 lab again"
            )),
            _ => Err(self.damaged(format!("it states the impossible format number {version}"))),
        }
    }

    fn check_integrity(&self) -> Result<()> {
        let query = "PRAGMA quick_check(1)";
        let answer = self.connection.query_row(query, [], |row| row.get::<_, String>(0));
        match answer.map_err(self.failed("check"))? {
            answer if answer == "ok" => Ok(()),
            problem => Err(self.damaged(problem)),
        }
    }

    fn meta(&self, key: &str) -> Result<Option<String>> {
        let query = "SELECT value FROM meta WHERE key = ?";
        let row = self.connection.query_row(query, [key], |row| row.get(0)).optional();
        row.map_err(self.failed("read"))
    }

    fn required_meta(&self, key: &str) -> Result<String> {
        self.meta(key)?.ok_or_else(|| self.damaged(format!("'{key}' is not in it")))
    }

    fn set_meta(&self, key: &str, value: &str) -> Result<()> {
        let statement = "INSERT OR REPLACE INTO meta VALUES (?, ?)";
        self.connection.execute(statement, [key, value]).map_err(self.failed("write"))?;
        Ok(())
    }

    fn writable(&self) -> Result<()> {
        let refused = || StoreError::ReadOnly(self.path.clone());
        self.lock.as_ref().map(|_| ()).ok_or_else(refused)
    }

    fn to_json(&self, what: &'static str, value: &impl Serialize) -> Result<String> {
        serde_json::to_string(value).map_err(|source| self.encode(what, source))
    }

    fn parse_json<T: DeserializeOwned>(&self, what: &str, json: &str) -> Result<T> {
        let wrong = |error| self.damaged(format!("{what} cannot be understood ({error})"));
        serde_json::from_str(json).map_err(wrong)
    }

    fn encode(&self, what: &'static str, source: serde_json::Error) -> StoreError {
        StoreError::Encode { what, path: self.path.clone(), source }
    }

    fn damaged(&self, problem: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), problem }
    }

    fn failed(&self, action: &'static str) -> impl Fn(rusqlite::Error) -> StoreError + '_ {
        move |source| sqlite_error(&self.path, action, source)
    }
}

/// A database in memory from the bytes of its file.
fn in_memory(bytes: &[u8], is_read_only: bool) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.deserialize_read_exact(MAIN_DB, bytes, bytes.len(), is_read_only)?;
    Ok(connection)
}

fn now() -> String {
    DateTime::<Utc>::from(SystemTime::now()).to_rfc3339_opts(SecondsFormat::Nanos, true)
}

/// Names this process in the message to a second writer.
fn writer() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // The time makes every text different: SQLite writes nothing, and so does not clear away the
    // journal of a killed writer, when a row stays the same.
    format!("process {} on {host} (since {})", std::process::id(), now())
}

/// Refuses what is no regular file, without opening it: SQLite would wait for the writer of a FIFO.
fn check_kind(path: &Path) -> Result<()> {
    seekwell_trust::check(path).map_err(|source| missing(path, "open", source))
}

fn missing(path: &Path, action: &'static str, source: std::io::Error) -> StoreError {
    let path = path.to_owned();
    match source.kind() {
        std::io::ErrorKind::NotFound => StoreError::Missing(path),
        _ => StoreError::Io { action, path, source },
    }
}

/// Says what an error of SQLite means for a run file.
fn sqlite_error(path: &Path, action: &'static str, source: rusqlite::Error) -> StoreError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::NotARun { path, what: "not an SQLite file" },
        Some(ErrorCode::DatabaseCorrupt) => {
            StoreError::Damaged { path, problem: "SQLite finds it cut off or overwritten".into() }
        }
        Some(ErrorCode::DiskFull) => StoreError::Full(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            StoreError::Locked { path, holder: "another SQLite program".to_owned() }
        }
        _ => StoreError::Sqlite { action, path, source },
    }
}

/// The error with which the disk of a run file answers, if it fails or became read-only: that of a nameless file
/// next to it, because closing the run file a second time would drop SQLite's locks.
fn fault_of_disk(path: &Path) -> Option<std::io::Error> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let written = rustix::fs::open(folder_of(path), flags, Mode::from_raw_mode(0o600))
        .map_err(std::io::Error::from)
        .and_then(|file| {
            let mut file = File::from(file);
            file.write_all(&[0]).and_then(|()| file.sync_all())
        });
    written.err().filter(|error| matches!(error.raw_os_error(), Some(libc::EIO | libc::EROFS)))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Puts the bytes under `path`, whole and durable or not at all, and takes the writer's lock
/// before anyone can see the file.
fn publish(path: &Path, image: &[u8]) -> Result<WriterLock> {
    let folder = folder_of(path);
    let failed = |source: std::io::Error| match source.kind() {
        std::io::ErrorKind::AlreadyExists => StoreError::Exists(path.to_owned()),
        std::io::ErrorKind::StorageFull => StoreError::Full(path.to_owned()),
        _ => StoreError::Io { action: "create", path: path.to_owned(), source },
    };
    let lock = write_nameless(folder, path, image)
        .or_else(|error| match error.raw_os_error() {
            // Filesystems without nameless files (NFS, FAT), and kernels without /proc.
            Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT) => write_named(path, image),
            _ => Err(error),
        })
        .map_err(failed)?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)?;
    Ok(lock)
}

/// Writes a file without a name and links it: a process killed in between leaves nothing.
fn write_nameless(folder: &Path, path: &Path, image: &[u8]) -> std::io::Result<WriterLock> {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    use std::os::fd::AsRawFd;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(folder, flags, Mode::from_raw_mode(0o644))?);
    file.write_all(image)?;
    file.sync_all()?;
    let nameless = format!("/proc/self/fd/{}", file.as_raw_fd());
    let again = file.try_clone()?;
    let lock = WriterLock::take(file)?.ok_or(std::io::ErrorKind::WouldBlock)?;
    rustix::fs::linkat(CWD, &nameless, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
    // btrfs logs no file without a name: after a power cut the one synced above would be empty.
    again.sync_all()?;
    Ok(lock)
}

fn write_named(path: &Path, image: &[u8]) -> std::io::Result<WriterLock> {
    let mut file = File::options().read(true).write(true).create_new(true).open(path)?;
    let written = file.write_all(image).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half a file is of no use; the first error is the one to tell.
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    WriterLock::take(file)?.ok_or_else(|| std::io::ErrorKind::WouldBlock.into())
}

#[cfg(test)]
mod tests;
