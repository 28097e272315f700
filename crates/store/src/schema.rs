//! Tables of a run file.

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

/// The tables of format 1. `value` is the view for people: one row per metric of the last attempt
/// of every trial.
pub const SCHEMA: &str = "
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL          -- plan and environment are JSON
) WITHOUT ROWID;

CREATE TABLE candidate (
    id INTEGER PRIMARY KEY,      -- index into the plan's candidates
    stack TEXT NOT NULL,
    workload TEXT NOT NULL
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
    record TEXT NOT NULL,        -- JSON without histograms, timelines and block events
    checksum INTEGER NOT NULL    -- CRC-32 of what comes back of the attempt
);
CREATE INDEX attempt_by_trial ON attempt (trial, id);

CREATE TABLE metric (
    attempt INTEGER NOT NULL REFERENCES attempt (id),
    step TEXT NOT NULL,
    metric TEXT NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (attempt, step, metric)
) WITHOUT ROWID;

CREATE TABLE histogram (
    attempt INTEGER NOT NULL REFERENCES attempt (id),
    position INTEGER NOT NULL,   -- of the step in the record
    operation TEXT NOT NULL,
    data BLOB NOT NULL,          -- HDR histogram V2, ns, deflated (zlib)
    PRIMARY KEY (attempt, position, operation)
) WITHOUT ROWID;

CREATE TABLE series (
    attempt INTEGER NOT NULL REFERENCES attempt (id),
    kind TEXT NOT NULL,          -- timeline, journal_timeline, block_events
    data BLOB NOT NULL,
    PRIMARY KEY (attempt, kind)
) WITHOUT ROWID;

CREATE TABLE verdict (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    value TEXT NOT NULL          -- JSON; absent while trials are being added
);

CREATE VIEW last_attempt AS
    SELECT * FROM attempt WHERE id IN (SELECT max(id) FROM attempt GROUP BY trial);

CREATE VIEW value AS
    SELECT a.trial, a.round, c.stack, c.workload, a.status, m.step, m.metric, m.value
    FROM last_attempt a
    JOIN candidate c ON c.id = a.candidate
    JOIN metric m ON m.attempt = a.id;
";
