//! Tables of a run file.

use rusqlite::Connection;
use seekwell_model::FormatVersion;

/// `SkWl` in the header of the file, so that `file` and SQLite can tell whose it is.
pub(crate) const APPLICATION_ID: i32 = i32::from_be_bytes(*b"SkWl");

/// The format as SQLite's `user_version`: major in the upper half, minor in the lower.
pub(crate) fn user_version(format: FormatVersion) -> i64 {
    i64::from(format.major) << 16 | i64::from(format.minor)
}

/// The format that a `user_version` states.
pub(crate) fn format_of(user_version: i64) -> Option<FormatVersion> {
    let version = u32::try_from(user_version).ok()?;
    Some(FormatVersion { major: version >> 16, minor: version & 0xffff })
}

/// Size of the pages of a new file: files of few trials have many pages that are hardly filled.
pub(crate) const PAGE_BYTES: u32 = 1024;

/// Plan, environment and what else is known before the first trial.
pub(crate) const BEFORE_THE_TRIALS: &str = "
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL          -- plan and environment are JSON
) WITHOUT ROWID;

CREATE TABLE candidate (
    id INTEGER PRIMARY KEY,      -- index into the plan's candidates
    stack TEXT NOT NULL,
    workload TEXT NOT NULL
);
";

/// Values of metrics in one row of `metric_block`.
pub(crate) const BLOCK: usize = 16;
/// Rows of `metric_block` that an attempt can have.
pub(crate) const BLOCKS: i64 = 4096;

/// The tables of attempts and the verdict. `value` is the view for people: one row per
/// metric of the last attempt of every trial.
pub(crate) const TRIALS: &str = "
CREATE TABLE prefix (
    id INTEGER PRIMARY KEY,
    workload TEXT NOT NULL,      -- whose records and histograms are deflated behind these:
    record BLOB NOT NULL,        -- zlib
    histograms BLOB NOT NULL     -- zlib
);

CREATE TABLE attempt (
    id INTEGER PRIMARY KEY,      -- rises: the last attempt of a trial counts
    trial INTEGER NOT NULL,
    round INTEGER NOT NULL,
    candidate INTEGER NOT NULL REFERENCES candidate (id),
    seed INTEGER NOT NULL,       -- 64 bits, the highest as sign
    status TEXT NOT NULL,        -- ok, marked, failed
    stage TEXT,                  -- of a failed trial
    reason TEXT,
    elapsed_ns INTEGER NOT NULL,
    written_at TEXT NOT NULL,    -- RFC 3339
    digest BLOB NOT NULL,        -- SHA-256 of what comes back of the attempt
    prefix INTEGER REFERENCES prefix (id),
    record BLOB NOT NULL,        -- JSON without metrics and what follows here, deflated
    histograms BLOB,             -- HDR histograms V2, ns, by step and operation, deflated
    timeline BLOB,
    journal_timeline BLOB,
    block_events BLOB
);
CREATE INDEX attempt_by_trial ON attempt (trial, id);

CREATE TABLE metric_name (
    id INTEGER PRIMARY KEY,      -- block * 16 + column
    step TEXT NOT NULL,
    metric TEXT NOT NULL
);

CREATE TABLE metric_block (
    id INTEGER PRIMARY KEY,      -- attempt * 4096 + block
    v0 REAL, v1 REAL, v2 REAL, v3 REAL, v4 REAL, v5 REAL, v6 REAL, v7 REAL, v8 REAL, v9 REAL, v10 REAL, v11 REAL, v12 REAL, v13 REAL, v14 REAL, v15 REAL
);

CREATE TABLE verdict (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    value TEXT NOT NULL,         -- JSON; absent while trials are being added
    seal TEXT NOT NULL           -- SHA-256 of the seal of the records and of this verdict
);

CREATE VIEW metric AS
    SELECT * FROM (
        SELECT b.id / 4096 AS attempt, n.step, n.metric, CASE n.id % 16
            WHEN 0 THEN b.v0
            WHEN 1 THEN b.v1
            WHEN 2 THEN b.v2
            WHEN 3 THEN b.v3
            WHEN 4 THEN b.v4
            WHEN 5 THEN b.v5
            WHEN 6 THEN b.v6
            WHEN 7 THEN b.v7
            WHEN 8 THEN b.v8
            WHEN 9 THEN b.v9
            WHEN 10 THEN b.v10
            WHEN 11 THEN b.v11
            WHEN 12 THEN b.v12
            WHEN 13 THEN b.v13
            WHEN 14 THEN b.v14
            WHEN 15 THEN b.v15
        END AS value
        FROM metric_block b JOIN metric_name n ON n.id / 16 = b.id % 4096
    ) WHERE value IS NOT NULL;

CREATE VIEW last_attempt AS
    SELECT * FROM attempt WHERE id IN (SELECT max(id) FROM attempt GROUP BY trial);

CREATE VIEW value AS
    SELECT a.trial, a.round, c.stack, c.workload, a.status, m.step, m.metric, m.value
    FROM last_attempt a
    JOIN candidate c ON c.id = a.candidate
    JOIN metric m ON m.attempt = a.id;
";

/// The statements that make tables and views, with the name of each.
fn statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = BEFORE_THE_TRIALS.split(";\n").chain(TRIALS.split(";\n")).map(str::trim);
    all.filter_map(|text| Some((text.split_whitespace().nth(2)?, text)))
}

/// Problem of an object in the schema of a foreign file, if it has one: a trigger, or another object under the name
/// of a table or view of a run file. Such an object could keep a reader busy without end.
pub(crate) fn problem_of(kind: &str, name: &str, text: &str) -> Option<String> {
    let is_view = kind == "view";
    if kind == "trigger" {
        return Some(format!("it has the trigger `{name}`, which no run file has"));
    }
    let begins = |word: &str| text.get(..word.len()).is_some_and(|b| b.eq_ignore_ascii_case(word));
    let same = |known: &str| known.eq_ignore_ascii_case(name);
    let ours = statements().find(|(known, _)| same(known)).map(|(_, text)| text);
    let is_ours = if is_view { Some(text) == ours } else { begins("CREATE TABLE") };
    (ours.is_some() && !is_ours)
        .then(|| format!("its {kind} `{name}` is not the one that Seekwell writes"))
}

/// The first problem of the schema of a foreign file; nothing but the schema is read.
///
/// # Errors
/// SQLite's, when the schema cannot be read.
pub(crate) fn problem(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let query = "SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE type <> 'index'";
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (kind, name, text): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        if let Some(problem) = problem_of(&kind, &name, &text) {
            return Ok(Some(problem));
        }
    }
    Ok(None)
}

/// Objects that no run file of this format has, in words.
///
/// # Errors
/// SQLite's, when the schema cannot be read.
pub(crate) fn others(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let query = "SELECT type, name FROM sqlite_schema ORDER BY name";
    let mut statement = connection.prepare(query)?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        let is_automatic = kind == "index" && name.starts_with("sqlite_autoindex_");
        let is_ours = statements().any(|(known, _)| known.eq_ignore_ascii_case(&name));
        if !is_automatic && !is_ours {
            found.push(format!("it has the {kind} `{name}`, which no run file has"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
