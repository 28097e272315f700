//! A run as Parquet: long tables that DuckDB, pandas, R and others read, nothing left out.

mod rows;
mod table;

use crate::view::RunView;
use table::Table;

/// Errors of a table that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot make {name}: {source}")]
pub struct ParquetError {
    /// Name of the file.
    pub name: &'static str,
    /// The writer's error.
    #[source]
    pub source: parquet::errors::ParquetError,
}

/// The tables of a run, each with the name of its file:
///
/// - `trials.parquet`: one row per trial with its stack's value on each axis; `record` is the
///   record as JSON without what the other tables hold.
/// - `samples.parquet`: every metric of every step.
/// - `timelines.parquet`: iostat's columns of the data and the journal device.
/// - `histograms.parquet`: the slots of every latency histogram, lowest value and count.
/// - `operations.parquet`, `events.parquet`: single operations and block events, where kept.
/// - `run.parquet`: one row: plan, environment, verdict and warnings as JSON.
///
/// # Errors
/// When the writer refuses, which no run makes it do.
pub fn parquet(view: &RunView) -> Result<Vec<(&'static str, Vec<u8>)>, ParquetError> {
    let tables: [(&'static str, Table); 7] = [
        ("trials.parquet", rows::trials(view)),
        ("samples.parquet", rows::samples(view)),
        ("timelines.parquet", rows::timelines(view)),
        ("histograms.parquet", rows::histograms(view)),
        ("operations.parquet", rows::operations(view)),
        ("events.parquet", rows::events(view)),
        ("run.parquet", rows::run(view)),
    ];
    tables
        .into_iter()
        .map(|(name, table)| {
            let bytes = table.write().map_err(|source| ParquetError { name, source })?;
            Ok((name, bytes))
        })
        .collect()
}

#[cfg(test)]
mod tests;
