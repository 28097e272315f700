//! One attempt at a trial: a record to rows and back.

use crate::blob::{
    Problem, deflate, inflate, pack_events, pack_samples, unpack_events, unpack_samples,
};
use flate2::Crc;
use rusqlite::{Connection, OptionalExtension, Row, params};
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{Record, Status};
use seekwell_model::warning::Warning;
use std::collections::BTreeMap;

const TIMELINE: &str = "timeline";
const JOURNAL_TIMELINE: &str = "journal_timeline";
const BLOCK_EVENTS: &str = "block_events";

/// What a record becomes: text, histograms by step and operation, and series by kind.
pub(crate) struct Parts {
    record: Record,
    json: String,
    histograms: Vec<(u32, String, Vec<u8>)>,
    series: Vec<(&'static str, Vec<u8>)>,
}

impl Parts {
    /// Takes a record apart.
    pub(crate) fn of(record: &Record) -> Result<Self, serde_json::Error> {
        let mut record = record.clone();
        set_aside_non_numbers(&mut record);
        let mut histograms = Vec::new();
        for (position, step) in (0_u32..).zip(record.steps.iter_mut()) {
            for (operation, bytes) in std::mem::take(&mut step.histograms) {
                histograms.push((position, operation, deflate(&bytes)));
            }
        }
        let mut series = Vec::new();
        let timelines = [
            (TIMELINE, std::mem::take(&mut record.timeline)),
            (JOURNAL_TIMELINE, std::mem::take(&mut record.journal_timeline)),
        ];
        for (kind, samples) in timelines {
            if !samples.is_empty() {
                series.push((kind, pack_samples(&samples)));
            }
        }
        if let Some(events) = record.block_events.take() {
            series.push((BLOCK_EVENTS, pack_events(&events)));
        }
        // The order in which the rows come back.
        series.sort_by_key(|(kind, _)| *kind);
        let json = serde_json::to_string(&record)?;
        Ok(Self { record, json, histograms, series })
    }

    fn checksum(&self, trial: &PlannedTrial) -> u32 {
        let mut crc = begin_checksum(trial, &self.json);
        for (position, operation, data) in &self.histograms {
            add_histogram(&mut crc, *position, operation, data);
        }
        self.series.iter().for_each(|(_, data)| crc.update(data));
        crc.sum()
    }

    /// Writes the rows inside the caller's transaction.
    pub(crate) fn insert(
        &self,
        connection: &Connection,
        trial: &PlannedTrial,
        written_at: &str,
    ) -> rusqlite::Result<()> {
        let (stage, reason) = match &self.record.status {
            Status::Failed { stage, reason } => (Some(stage), Some(reason)),
            Status::Ok | Status::Marked => (None, None),
        };
        connection.execute(
            "INSERT INTO attempt (trial, round, candidate, seed, status, stage, reason,
                 elapsed_ns, written_at, record, checksum)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                trial.index,
                trial.round,
                trial.candidate,
                trial.seed.cast_signed(),
                self.record.status.word(),
                stage,
                reason,
                self.record.elapsed_ns.cast_signed(),
                written_at,
                self.json,
                self.checksum(trial),
            ],
        )?;
        let attempt = connection.last_insert_rowid();
        let mut metric = connection.prepare_cached("INSERT INTO metric VALUES (?, ?, ?, ?)")?;
        for step in &self.record.steps {
            for (name, value) in &step.metrics {
                metric.execute(params![attempt, step.name, name, value])?;
            }
        }
        let mut histogram =
            connection.prepare_cached("INSERT INTO histogram VALUES (?, ?, ?, ?)")?;
        for (position, operation, data) in &self.histograms {
            histogram.execute(params![attempt, position, operation, data])?;
        }
        let mut series = connection.prepare_cached("INSERT INTO series VALUES (?, ?, ?)")?;
        for (kind, data) in &self.series {
            series.execute(params![attempt, kind, data])?;
        }
        Ok(())
    }
}

/// The checksum covers everything that comes back, in the order in which rows are read.
fn begin_checksum(trial: &PlannedTrial, json: &str) -> Crc {
    let mut crc = Crc::new();
    for number in [trial.index, trial.round, trial.candidate] {
        crc.update(&number.to_le_bytes());
    }
    crc.update(&trial.seed.to_le_bytes());
    crc.update(json.as_bytes());
    crc
}

fn add_histogram(crc: &mut Crc, position: u32, operation: &str, data: &[u8]) {
    crc.update(&position.to_le_bytes());
    crc.update(operation.as_bytes());
    crc.update(data);
}

/// JSON and SQLite have no infinite values and no "not a number": such a metric was not measured.
fn set_aside_non_numbers(record: &mut Record) {
    for step in &mut record.steps {
        let all = std::mem::take(&mut step.metrics);
        let (numbers, odd): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.into_iter().partition(|(_, value)| value.is_finite());
        step.metrics = numbers;
        for (name, value) in odd {
            step.warnings.push(Warning::new(
                "not-a-number",
                format!("{}.{name} was {value} and is left out", step.name),
                "report this as a defect, with the lab",
            ));
        }
    }
    record.clock_cost_ns = record.clock_cost_ns.filter(|cost| cost.is_finite());
}

/// A row of `attempt`.
pub(crate) struct AttemptRow {
    id: i64,
    pub(crate) trial: PlannedTrial,
    json: String,
    checksum: u32,
}

impl AttemptRow {
    /// The columns that [`AttemptRow::read`] expects.
    pub(crate) const COLUMNS: &'static str = "id, trial, round, candidate, seed, record, checksum";

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            trial: PlannedTrial {
                index: row.get(1)?,
                round: row.get(2)?,
                candidate: row.get(3)?,
                seed: row.get::<_, i64>(4)?.cast_unsigned(),
            },
            json: row.get(5)?,
            checksum: row.get(6)?,
        })
    }

    /// Puts the record together again. The inner error is damage, in words.
    pub(crate) fn record(
        &self,
        connection: &Connection,
    ) -> rusqlite::Result<Result<Record, Problem>> {
        let mut crc = begin_checksum(&self.trial, &self.json);
        let histograms = self.histograms(connection, &mut crc)?;
        let mut series = |kind: &str| self.series(connection, kind, &mut crc);
        // In the order of their names, as the checksum was made.
        let events = series(BLOCK_EVENTS)?;
        let journal_timeline = series(JOURNAL_TIMELINE)?;
        let timeline = series(TIMELINE)?;
        if crc.sum() != self.checksum {
            let index = self.trial.index;
            return Ok(Err(format!("the record of trial {index} does not match its checksum")));
        }
        Ok(self
            .assemble(histograms, timeline, journal_timeline, events)
            .map_err(|problem| format!("the record of trial {} {problem}", self.trial.index)))
    }

    fn assemble(
        &self,
        histograms: Vec<(u32, String, Vec<u8>)>,
        timeline: Option<Vec<u8>>,
        journal_timeline: Option<Vec<u8>>,
        events: Option<Vec<u8>>,
    ) -> Result<Record, Problem> {
        let mut record: Record = serde_json::from_str(&self.json)
            .map_err(|error| format!("cannot be understood ({error})"))?;
        for (position, operation, data) in histograms {
            let step = record
                .steps
                .get_mut(position as usize)
                .ok_or("has a histogram without its step")?;
            step.histograms.insert(operation, inflate(&data)?);
        }
        let samples =
            |blob: Option<Vec<u8>>| blob.map_or(Ok(Vec::new()), |blob| unpack_samples(&blob));
        record.timeline = samples(timeline)?;
        record.journal_timeline = samples(journal_timeline)?;
        record.block_events = events.map(|blob| unpack_events(&blob)).transpose()?;
        Ok(record)
    }

    fn histograms(
        &self,
        connection: &Connection,
        crc: &mut Crc,
    ) -> rusqlite::Result<Vec<(u32, String, Vec<u8>)>> {
        let mut statement = connection.prepare_cached(
            "SELECT position, operation, data FROM histogram WHERE attempt = ?
             ORDER BY position, operation",
        )?;
        let rows =
            statement.query_map([self.id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        let found: Vec<(u32, String, Vec<u8>)> = rows.collect::<rusqlite::Result<_>>()?;
        for (position, operation, data) in &found {
            add_histogram(crc, *position, operation, data);
        }
        Ok(found)
    }

    fn series(
        &self,
        connection: &Connection,
        kind: &str,
        crc: &mut Crc,
    ) -> rusqlite::Result<Option<Vec<u8>>> {
        let mut statement =
            connection.prepare_cached("SELECT data FROM series WHERE attempt = ? AND kind = ?")?;
        let data: Option<Vec<u8>> =
            statement.query_row(params![self.id, kind], |row| row.get(0)).optional()?;
        data.iter().for_each(|data| crc.update(data));
        Ok(data)
    }
}
