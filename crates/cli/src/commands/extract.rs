//! `seekwell extract`: the run file out of a report.

use crate::args::ExtractArgs;
use crate::failure::{Exit, Failure};
use crate::{foreign, output};
use seekwell_host::output::Kind;
use std::path::Path;

/// Writes the run file that is inside a report.
///
/// # Errors
/// When there is none inside, or the output cannot be written; nothing is written over.
pub fn run(arguments: &ExtractArgs) -> Result<Exit, Failure> {
    foreign::confine();
    let report = &arguments.report;
    let wrong = |path: &Path, what: &str, error: &dyn std::fmt::Display| {
        Failure::Error(format!("cannot {what} {}: {error}", path.display()))
    };
    let page = std::fs::read(report).map_err(|error| wrong(report, "read", &error))?;
    let page = String::from_utf8_lossy(&page);
    let bytes = seekwell_report::extract(&page)
        .map_err(|error| wrong(report, "extract a run file from", &error))?;
    let output = arguments.output.clone().unwrap_or_else(|| report.with_extension("seekwell"));
    output::create(&output, Kind::RunFile, &bytes)?;
    Ok(Exit::Done)
}
