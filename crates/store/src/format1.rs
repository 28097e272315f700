//! Reading format 1: records as plain JSON, one row per metric, histogram and series.

use crate::attempt::problem_of;
use crate::blob::{Problem, inflate, unpack_events, unpack_samples};
use crate::inflater::Inflater;
use flate2::Crc;
use rusqlite::{Connection, OptionalExtension, Row, params};
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;

/// An attempt of a file of format 1.
pub(crate) struct Kept {
    pub(crate) trial: PlannedTrial,
    pub(crate) written_at: String,
    pub(crate) record: Record,
}

/// Attempts of a query behind `FROM`. The inner error is damage, in words.
pub(crate) fn attempts(
    connection: &Connection,
    source: &str,
) -> rusqlite::Result<Vec<Result<Kept, Problem>>> {
    let query = format!(
        "SELECT id, trial, round, candidate, seed, record, checksum, written_at FROM {source}"
    );
    let mut statement = connection.prepare(&query)?;
    let rows = statement.query_map([], |row| {
        let trial = PlannedTrial {
            index: row.get(1)?,
            round: row.get(2)?,
            candidate: row.get(3)?,
            seed: row.get::<_, i64>(4)?.cast_unsigned(),
        };
        let kept = kept(connection, row, trial)?;
        Ok(kept.map_err(|problem| problem_of(&trial, &problem)))
    })?;
    rows.collect()
}

fn kept(
    connection: &Connection,
    row: &Row<'_>,
    trial: PlannedTrial,
) -> rusqlite::Result<Result<Kept, Problem>> {
    let (id, json, checksum): (i64, String, u32) = (row.get(0)?, row.get(5)?, row.get(6)?);
    let written_at = row.get(7)?;
    let mut crc = begin_checksum(&trial, &json);
    let histograms = histograms(connection, id, &mut crc)?;
    let mut series = |kind: &str| self::series(connection, id, kind, &mut crc);
    // In the order of their names, as the checksum was made.
    let events = series("block_events")?;
    let journal_timeline = series("journal_timeline")?;
    let timeline = series("timeline")?;
    if crc.sum() != checksum {
        return Ok(Err("does not match its checksum".to_owned()));
    }
    let record = assemble(&json, histograms, timeline, journal_timeline, events);
    Ok(record.map(|record| Kept { trial, written_at, record }))
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

fn assemble(
    json: &str,
    histograms: Vec<(u32, String, Vec<u8>)>,
    timeline: Option<Vec<u8>>,
    journal_timeline: Option<Vec<u8>>,
    events: Option<Vec<u8>>,
) -> Result<Record, Problem> {
    let mut record: Record =
        serde_json::from_str(json).map_err(|error| format!("cannot be understood ({error})"))?;
    for (position, operation, data) in histograms {
        let step =
            record.steps.get_mut(position as usize).ok_or("has a histogram without its step")?;
        step.histograms.insert(operation, inflate(&data)?);
    }
    let inflater = &mut Inflater::default();
    let mut samples =
        |blob: Option<Vec<u8>>| blob.map_or(Ok(Vec::new()), |blob| unpack_samples(&blob, inflater));
    record.timeline = samples(timeline)?;
    record.journal_timeline = samples(journal_timeline)?;
    record.block_events = events.map(|blob| unpack_events(&blob, inflater)).transpose()?;
    Ok(record)
}

fn histograms(
    connection: &Connection,
    attempt: i64,
    crc: &mut Crc,
) -> rusqlite::Result<Vec<(u32, String, Vec<u8>)>> {
    let mut statement = connection.prepare_cached(
        "SELECT position, operation, data FROM histogram WHERE attempt = ?
         ORDER BY position, operation",
    )?;
    let rows = statement.query_map([attempt], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let found: Vec<(u32, String, Vec<u8>)> = rows.collect::<rusqlite::Result<_>>()?;
    for (position, operation, data) in &found {
        crc.update(&position.to_le_bytes());
        crc.update(operation.as_bytes());
        crc.update(data);
    }
    Ok(found)
}

fn series(
    connection: &Connection,
    attempt: i64,
    kind: &str,
    crc: &mut Crc,
) -> rusqlite::Result<Option<Vec<u8>>> {
    let mut statement =
        connection.prepare_cached("SELECT data FROM series WHERE attempt = ? AND kind = ?")?;
    let data: Option<Vec<u8>> =
        statement.query_row(params![attempt, kind], |row| row.get(0)).optional()?;
    data.iter().for_each(|data| crc.update(data));
    Ok(data)
}
