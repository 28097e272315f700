//! A run as Parquet: long tables that DuckDB, pandas, R and others read, nothing left out.
//!
//! A table is written trial by trial and never in memory as a whole: a run of 100,000 trials fills gigabytes.

mod rows;
mod table;

use crate::view::RunView;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use std::io::{self, Write};
use table::Table;

/// Parts of records that a table needs, besides their text and metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableParts {
    /// Latency histograms.
    pub histograms: bool,
    /// Block events and the timeline of the journal.
    pub series: bool,
    /// The timeline.
    pub timeline: bool,
}

/// A table of a run.
#[derive(Debug)]
pub struct ParquetTable {
    /// Name of its file.
    pub name: &'static str,
    /// Parts of records that it needs.
    pub parts: TableParts,
    columns: fn() -> rows::Columns,
    rows: Rows,
}

/// Adds the rows of a trial.
type RowsOfTrial = fn(&mut Table<'_>, &RunView, &PlannedTrial, &Record);

/// Rows of a table.
#[derive(Debug)]
enum Rows {
    OfTrial(RowsOfTrial),
    OfRun(fn(&mut Table<'_>, &RunView)),
}

/// Text and metrics alone.
const TEXT: TableParts = TableParts { histograms: false, series: false, timeline: false };

/// A table with rows of each trial.
const fn of_trial(
    name: &'static str,
    parts: TableParts,
    columns: fn() -> rows::Columns,
    rows: RowsOfTrial,
) -> ParquetTable {
    ParquetTable { name, parts, columns, rows: Rows::OfTrial(rows) }
}

/// The tables of a run:
///
/// - `trials.parquet`: one row per trial with its stack's value on each axis; `record` is the
///   record as JSON without what the other tables hold.
/// - `samples.parquet`: every metric of every step.
/// - `timelines.parquet`: iostat's columns of the data and the journal device.
/// - `histograms.parquet`: the slots of every latency histogram, lowest value and count.
/// - `events.parquet`: block events, where kept.
/// - `run.parquet`: one row: plan, environment, verdict and warnings as JSON.
pub const PARQUET_TABLES: [ParquetTable; 6] = [
    of_trial(
        "trials.parquet",
        TableParts { histograms: true, series: true, timeline: false },
        rows::of_trials,
        rows::trial,
    ),
    of_trial("samples.parquet", TEXT, rows::of_samples, rows::samples),
    of_trial(
        "timelines.parquet",
        TableParts { histograms: false, series: true, timeline: true },
        rows::of_timelines,
        rows::timelines,
    ),
    of_trial(
        "histograms.parquet",
        TableParts { histograms: true, ..TEXT },
        rows::of_histograms,
        rows::histograms,
    ),
    of_trial("events.parquet", TableParts { series: true, ..TEXT }, rows::of_events, rows::events),
    ParquetTable {
        name: "run.parquet",
        parts: TEXT,
        columns: rows::of_run,
        rows: Rows::OfRun(rows::run),
    },
];

/// Shows all trials of a run with their records, one after the other.
pub type EachTrial<'a> = dyn Fn(&mut dyn FnMut(&PlannedTrial, &Record)) -> io::Result<()> + 'a;

impl ParquetTable {
    /// Writes the table of this run, whose records come from `each`.
    ///
    /// # Errors
    /// Those of `each` and `out`.
    pub fn write(
        &self,
        view: &RunView,
        each: &EachTrial<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut table = Table::new(&(self.columns)(), out)?;
        match self.rows {
            Rows::OfRun(row) => row(&mut table, view),
            Rows::OfTrial(rows) => {
                let mut written = Ok(());
                each(&mut |trial, record| {
                    rows(&mut table, view, trial, record);
                    if written.is_ok() {
                        written = table.write_some();
                    }
                })?;
                written?;
            }
        }
        table.finish()
    }
}

#[cfg(test)]
mod tests;
