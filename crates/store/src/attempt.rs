//! One attempt at a trial: a record to rows and back.

mod copy;
mod histograms;
mod metrics;
mod writing;

use crate::blob::{
    Problem, deflate, inflate, pack_events, pack_samples, unpack_events, unpack_samples,
    unpack_told,
};
use crate::inflater::Inflater;
use crate::prefix::Prefix;
use crate::seal::Digest;
pub(crate) use copy::Copier;
use metrics::{Found, Metrics, Names};
use rusqlite::{Connection, OptionalExtension, Row, params};
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::{InForce, Record, Status};
use seekwell_model::shared::Pool;
use seekwell_model::warning::{Warning, WarningCode};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use writing::Behind;
pub(crate) use writing::Writing;

/// A record taken apart: text, metrics, histograms and series.
pub(crate) struct Parts {
    status: Status,
    elapsed_ns: u64,
    json: String,
    metrics: Metrics,
    /// All histograms in one, empty when there are none.
    histograms: Vec<u8>,
    series: Series,
}

impl Parts {
    /// Takes a record apart.
    pub(crate) fn of(record: &Record) -> Result<Self, serde_json::Error> {
        let mut record = record.clone();
        set_aside_non_numbers(&mut record);
        let histograms = histograms::take(&mut record.steps);
        let metrics = Metrics::take(&mut record.steps);
        let samples = |samples: Vec<_>| (!samples.is_empty()).then(|| pack_samples(&samples));
        let series = [
            samples(std::mem::take(&mut record.timeline)),
            samples(std::mem::take(&mut record.journal_timeline)),
            record.block_events.take().map(|events| pack_events(&events)),
        ];
        let json = serde_json::to_string(&record)?;
        let (status, elapsed_ns) = (record.status, record.elapsed_ns);
        Ok(Self { status, elapsed_ns, json, metrics, histograms, series })
    }

    /// Writes the rows inside the caller's transaction, and returns the attempt's digest. `writing` is of this file, and
    /// has to be forgotten if the transaction is undone.
    pub(crate) fn insert(
        &self,
        connection: &Connection,
        writing: &mut Writing,
        trial: &PlannedTrial,
        written_at: &str,
    ) -> rusqlite::Result<Digest> {
        let (stage, reason) = match &self.status {
            Status::Failed { stage, reason } => (Some(stage), Some(reason)),
            Status::Ok | Status::Marked => (None, None),
        };
        let prefix = self.prefix(connection, writing, trial.candidate)?;
        let text = Text { json: &self.json, metrics: &self.metrics.bytes() };
        let digest = digest(trial, written_at, &text, &self.histograms, &self.series);
        let packed =
            (!self.histograms.is_empty()).then(|| prefix.histograms.pack(&self.histograms));
        let [timeline, journal_timeline, block_events] = &self.series;
        let mut statement = connection.prepare_cached(
            "INSERT INTO attempt (trial, round, candidate, seed, status, stage, reason,
                 elapsed_ns, written_at, digest, prefix, record, histograms, timeline,
                 journal_timeline, block_events)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        statement.execute(params![
            trial.index,
            trial.round,
            trial.candidate,
            trial.seed.cast_signed(),
            self.status.word(),
            stage,
            reason,
            self.elapsed_ns.cast_signed(),
            written_at,
            digest.bytes(),
            prefix.id,
            prefix.record.pack(self.json.as_bytes()),
            packed,
            timeline,
            journal_timeline,
            block_events,
        ])?;
        self.metrics.insert(
            connection,
            writing.names(connection)?,
            connection.last_insert_rowid(),
        )?;
        Ok(digest)
    }

    /// The prefixes of the workload; this attempt's parts when it is the first that went well.
    fn prefix(
        &self,
        connection: &Connection,
        writing: &mut Writing,
        candidate: u32,
    ) -> rusqlite::Result<Arc<Behind>> {
        let workload = connection
            .prepare_cached("SELECT workload FROM candidate WHERE id = ?")?
            .query_row([candidate], |row| row.get::<_, String>(0))
            .optional()?
            .unwrap_or_default();
        if let Some(known) = writing.prefixes.get(&workload) {
            return Ok(known.clone());
        }
        let known = connection
            .prepare_cached("SELECT id, record, histograms FROM prefix WHERE workload = ?")?
            .query_row([&workload], |row| Ok((row.get(0)?, prefix(row, 1)?, prefix(row, 2)?)))
            .optional()?;
        let (id, record, histograms) = match known {
            Some(known) => known,
            None if matches!(self.status, Status::Failed { .. }) => {
                return Ok(Arc::new(Behind::of(None, &Prefix::default(), &Prefix::default())));
            }
            None => {
                let record = Prefix::of(self.json.as_bytes());
                let histograms = Prefix::of(&self.histograms);
                connection.execute(
                    "INSERT INTO prefix (workload, record, histograms) VALUES (?, ?, ?)",
                    params![workload, deflate(record.bytes()), deflate(histograms.bytes())],
                )?;
                (connection.last_insert_rowid(), record, histograms)
            }
        };
        let behind = Arc::new(Behind::of(Some(id), &record, &histograms));
        writing.know(workload, behind.clone());
        Ok(behind)
    }
}

/// A column of `prefix`. A damaged one is as good as none: what needs it misses its digest.
fn prefix(row: &Row<'_>, column: usize) -> rusqlite::Result<Prefix> {
    let packed: Vec<u8> = row.get(column)?;
    Ok(Prefix::of(&inflate(&packed).unwrap_or_default()))
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
                WarningCode::NotANumber,
                format!("{}.{name} was {value} and is left out", step.name),
            ));
        }
    }
    record.clock_cost_ns = record.clock_cost_ns.filter(|cost| cost.is_finite());
    record.others_cpu_percent = record.others_cpu_percent.filter(|share| share.is_finite());
}

/// Record and metrics, for a digest.
struct Text<'t> {
    json: &'t str,
    metrics: &'t [u8],
}

/// Timeline, timeline of the journal, block events.
type Series = [Option<Vec<u8>>; 3];

/// Digest of everything that comes back.
fn digest(
    trial: &PlannedTrial,
    written_at: &str,
    text: &Text<'_>,
    histograms: &[u8],
    series: &Series,
) -> Digest {
    let mut content = Digest::of("attempt");
    for number in [trial.index, trial.round, trial.candidate] {
        content.add(&number.to_le_bytes());
    }
    content.add(&trial.seed.to_le_bytes());
    content.add(written_at.as_bytes());
    content.add(text.json.as_bytes());
    content.add(text.metrics);
    content.add(histograms);
    for series in series {
        content.add(series.as_deref().unwrap_or_default());
    }
    content
}

/// Parts of records that a reader needs; others may be left out. All are verified.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Latency histograms.
    pub histograms: bool,
    /// Block events and the timeline of the journal.
    pub series: bool,
    /// The timeline.
    pub timeline: Timeline,
    /// Metrics by `STEP.METRIC`; `None` for all.
    pub metrics: Option<BTreeSet<String>>,
}

/// Parts of timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timeline {
    /// All columns.
    Whole,
    /// Times, requests in flight and the pressure on the CPUs: texts and verdicts tell of nothing else.
    Told,
    /// None.
    No,
}

impl Default for Wanted {
    /// Everything.
    fn default() -> Self {
        Self { histograms: true, series: true, timeline: Timeline::Whole, metrics: None }
    }
}

impl Wanted {
    /// Parts that verdicts are made from.
    #[must_use]
    pub fn by_verdicts() -> Self {
        Self { histograms: false, series: false, timeline: Timeline::Told, metrics: None }
    }

    fn has_metric(&self, step: &str, metric: &str) -> bool {
        self.metrics.as_ref().is_none_or(|wanted| wanted.contains(&format!("{step}.{metric}")))
    }
}

/// Prefixes by id: of records and of histograms.
type Prefixes = BTreeMap<i64, (Prefix, Prefix)>;

/// An attempt as it was kept.
pub(crate) struct Kept {
    /// Its row.
    pub(crate) id: i64,
    pub(crate) trial: PlannedTrial,
    pub(crate) written_at: String,
    pub(crate) record: Record,
    /// The digest that its rows have.
    pub(crate) digest: Digest,
    /// The first column that does not say what the record says.
    pub(crate) wrong_column: Option<&'static str>,
}

/// Reads attempts.
pub(crate) struct Reader<'c> {
    connection: &'c Connection,
    names: Names,
    prefixes: Prefixes,
    wanted: Wanted,
    inflater: RefCell<Inflater>,
    /// Settings in force, of which a run has few.
    in_force: RefCell<Pool<InForce>>,
}

impl<'c> Reader<'c> {
    /// Reads the names of metrics and the prefixes, which all attempts share.
    pub(crate) fn of(connection: &'c Connection, wanted: Wanted) -> rusqlite::Result<Self> {
        let names = Names::read(connection, &wanted)?;
        let mut statement = connection.prepare("SELECT id, record, histograms FROM prefix")?;
        let rows =
            statement.query_map([], |row| Ok((row.get(0)?, (prefix(row, 1)?, prefix(row, 2)?))))?;
        let prefixes = rows.collect::<rusqlite::Result<_>>()?;
        let (inflater, in_force) = (RefCell::default(), RefCell::default());
        Ok(Self { connection, names, prefixes, wanted, inflater, in_force })
    }

    /// Attempts of a query behind `FROM`. The inner error is damage, in words.
    pub(crate) fn attempts(&self, source: &str) -> rusqlite::Result<Vec<Result<Kept, Problem>>> {
        let mut all = Vec::new();
        self.each(source, &mut |_, kept| all.push(kept))?;
        Ok(all)
    }

    /// As [`Self::attempts`], one at a time and with their trials: a run of 100,000 trials fills gigabytes.
    pub(crate) fn each(
        &self,
        source: &str,
        see: &mut dyn FnMut(PlannedTrial, Result<Kept, Problem>),
    ) -> rusqlite::Result<()> {
        let query = format!(
            "SELECT id, trial, round, candidate, seed, written_at, digest, prefix, record,
                 histograms, timeline, journal_timeline, block_events, status, stage, reason,
                 elapsed_ns
             FROM {source}"
        );
        let mut statement = self.connection.prepare(&query)?;
        let mut rows = statement.query_map([], |row| {
            let trial = PlannedTrial {
                index: row.get(1)?,
                round: row.get(2)?,
                candidate: row.get(3)?,
                seed: row.get::<_, i64>(4)?.cast_unsigned(),
            };
            let kept = self.kept(row, trial)?;
            Ok((trial, kept.map_err(|problem| problem_of(&trial, &problem))))
        })?;
        rows.try_for_each(|row| row.map(|(trial, kept)| see(trial, kept)))
    }

    fn kept(&self, row: &Row<'_>, trial: PlannedTrial) -> rusqlite::Result<Result<Kept, Problem>> {
        let id: i64 = row.get(0)?;
        let written_at: String = row.get(5)?;
        let found: Vec<u8> = row.get(6)?;
        let prefix = row.get::<_, Option<i64>>(7)?.and_then(|id| self.prefixes.get(&id));
        let none = Default::default();
        let (of_record, of_histograms) = prefix.unwrap_or(&none);
        let packed: Vec<u8> = row.get(8)?;
        let histograms: Option<Vec<u8>> = row.get(9)?;
        let series = [row.get(10)?, row.get(11)?, row.get(12)?];
        let metrics = Found::read(self.connection, id, &self.names)?;
        let assembled = || {
            let inflater = &mut *self.inflater.borrow_mut();
            let json = String::from_utf8(of_record.unpack(&packed, inflater)?)
                .map_err(|_| "is not text".to_owned())?;
            let histograms =
                histograms.map(|packed| of_histograms.unpack(&packed, inflater)).transpose()?;
            let histograms = histograms.unwrap_or_default();
            let record: Record = serde_json::from_str(&json)
                .map_err(|error| format!("cannot be understood ({error})"))?;
            let text = Text { json: &json, metrics: &metrics.bytes() };
            let digest = digest(&trial, &written_at, &text, &histograms, &series);
            if digest.bytes()[..] != found {
                return Err("does not match its checksum".to_owned());
            }
            let record = assemble(record, metrics, &histograms, series, &self.wanted, inflater)?;
            Ok((record, digest))
        };
        let (mut record, digest) = match assembled() {
            Ok(both) => both,
            Err(problem) => return Ok(Err(problem)),
        };
        record.in_force.share(&mut self.in_force.borrow_mut());
        let wrong_column = wrong_column(row, &record)?;
        Ok(Ok(Kept { id, trial, written_at, record, digest, wrong_column }))
    }
}

/// Puts the parts that are wanted into the record that its text gave.
fn assemble(
    mut record: Record,
    metrics: Found<'_>,
    histograms: &[u8],
    series: Series,
    wanted: &Wanted,
    inflater: &mut Inflater,
) -> Result<Record, Problem> {
    metrics.put(&mut record.steps)?;
    if wanted.histograms {
        histograms::put(histograms, &mut record.steps)?;
    }
    let [timeline, journal_timeline, events] = series;
    record.timeline = match (timeline, wanted.timeline) {
        (None, _) | (_, Timeline::No) => Vec::new(),
        (Some(blob), Timeline::Whole) => unpack_samples(&blob, inflater)?,
        (Some(blob), Timeline::Told) => unpack_told(&blob, inflater)?,
    };
    if wanted.series {
        let journal = journal_timeline.map(|blob| unpack_samples(&blob, inflater));
        record.journal_timeline = journal.transpose()?.unwrap_or_default();
        record.block_events = events.map(|blob| unpack_events(&blob, inflater)).transpose()?;
    }
    Ok(record)
}

/// The words that end "RUN is damaged: …".
pub(crate) fn problem_of(trial: &PlannedTrial, problem: &str) -> Problem {
    format!("the record of trial {} {problem}", trial.index)
}

/// The first column for SQL users that does not say what the record says.
fn wrong_column(row: &Row<'_>, record: &Record) -> rusqlite::Result<Option<&'static str>> {
    let (stage, reason) = match &record.status {
        Status::Failed { stage, reason } => (Some(stage.as_str()), Some(reason.as_str())),
        Status::Ok | Status::Marked => (None, None),
    };
    let text = |column: usize| row.get::<_, Option<String>>(column);
    let columns = [
        ("status", text(13)?.as_deref() == Some(record.status.word())),
        ("stage", text(14)?.as_deref() == stage),
        ("reason", text(15)?.as_deref() == reason),
        ("elapsed_ns", row.get::<_, i64>(16)?.cast_unsigned() == record.elapsed_ns),
    ];
    Ok(columns.into_iter().find(|(_, right)| !right).map(|(name, _)| name))
}
