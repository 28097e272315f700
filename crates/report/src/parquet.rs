//! A run as Parquet: long tables that DuckDB, pandas, R and others read, nothing left out.
//!
//! A table is written trial by trial and never in memory as a whole: a run of 100,000 trials fills gigabytes.

mod rows;
mod table;

use crate::view::RunView;
use seekwell_model::plan::PlannedTrial;
use seekwell_model::record::Record;
use std::io::{self, Write};
use table::{Kind, Table};

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
    columns: fn() -> Vec<(&'static str, Kind)>,
    rows: Rows,
}

/// Rows of a table.
#[derive(Debug)]
enum Rows {
    OfTrial(fn(&mut Table<'_>, &RunView, &PlannedTrial, &Record)),
    OfRun(fn(&mut Table<'_>, &RunView)),
}

/// Text and metrics alone.
const TEXT: TableParts = TableParts { histograms: false, series: false, timeline: false };

/// The tables of a run:
///
/// - `trials.parquet`: one row per trial with its stack's value on each axis; `record` is the
///   record as JSON without what the other tables hold.
/// - `samples.parquet`: every metric of every step.
/// - `timelines.parquet`: iostat's columns of the data and the journal device.
/// - `histograms.parquet`: the slots of every latency histogram, lowest value and count.
/// - `operations.parquet`, `events.parquet`: single operations and block events, where kept.
/// - `run.parquet`: one row: plan, environment, verdict and warnings as JSON.
pub const PARQUET_TABLES: [ParquetTable; 7] = [
    ParquetTable {
        name: "trials.parquet",
        parts: TableParts { histograms: true, series: true, timeline: false },
        columns: rows::of_trials,
        rows: Rows::OfTrial(rows::trial),
    },
    ParquetTable {
        name: "samples.parquet",
        parts: TEXT,
        columns: rows::of_samples,
        rows: Rows::OfTrial(rows::samples),
    },
    ParquetTable {
        name: "timelines.parquet",
        parts: TableParts { histograms: false, series: true, timeline: true },
        columns: rows::of_timelines,
        rows: Rows::OfTrial(rows::timelines),
    },
    ParquetTable {
        name: "histograms.parquet",
        parts: TableParts { histograms: true, ..TEXT },
        columns: rows::of_histograms,
        rows: Rows::OfTrial(rows::histograms),
    },
    ParquetTable {
        name: "operations.parquet",
        parts: TEXT,
        columns: rows::of_operations,
        rows: Rows::OfTrial(rows::operations),
    },
    ParquetTable {
        name: "events.parquet",
        parts: TableParts { series: true, ..TEXT },
        columns: rows::of_events,
        rows: Rows::OfTrial(rows::events),
    },
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
