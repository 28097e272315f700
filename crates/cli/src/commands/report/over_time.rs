//! Several runs of a lab: what changed from run to run.

use super::{view_as_text, write};
use crate::args::ReportArgs;
use crate::commands::compare::Run;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_host::output::Kind;
use seekwell_report::{OverTime, PastRun};
use seekwell_runner::compare::{self, Side};
use seekwell_store::{RunFile, StoreError};
use std::path::Path;

/// Shows the runs in the order in which they were made.
pub(super) fn run(arguments: &ReportArgs) -> Result<Exit, Failure> {
    let paths = std::iter::once(&arguments.run).chain(&arguments.later);
    let mut runs = paths.map(|path| read(path)).collect::<Result<Vec<_>, Failure>>()?;
    runs.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let sides: Vec<Side<'_>> = runs.iter().map(|(_, run, _)| run.side()).collect();
    let changes = compare::over_time(&sides).map_err(|error| Failure::from_error(&error))?;
    let past: Vec<PastRun> = runs.into_iter().map(|(.., past)| past).collect();
    let Some(report) = OverTime::of(&past, &changes) else { return Ok(Exit::Done) };
    if let Some(path) = &arguments.html {
        write(path, Kind::Page, &report.html(), arguments)?;
    }
    if let Some(path) = &arguments.markdown {
        write(path, Kind::Markdown, &report.markdown(), arguments)?;
    }
    if arguments.html.is_none() && arguments.markdown.is_none() {
        terminal::data(&report.text(terminal::width(), terminal::colour(), arguments.all));
    }
    Ok(Exit::Done)
}

/// The time at which a run was made, its records, and what the report shows of it.
fn read(path: &Path) -> Result<(String, Run, PastRun), Failure> {
    let wrong = |error: StoreError| Failure::from_error(&error);
    let run = Run::read(path)?;
    let file = RunFile::open(path).map_err(wrong)?;
    let created_at = file.created_at().map_err(wrong)?;
    let name = path.display().to_string();
    let past = PastRun::of(&name, &created_at, &view_as_text(&file)?);
    Ok((created_at, run, past))
}
