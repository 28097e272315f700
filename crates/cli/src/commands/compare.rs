//! `seekwell compare`: one question, answered by two runs or by several before and after a change.

use crate::args::CompareArgs;
use crate::failure::{Exit, Failure};
use crate::{foreign, output, terminal};
use seekwell_host::confine::Reach;
use seekwell_host::output::Kind;
use seekwell_model::comparison::{RunComparison, Threshold};
use seekwell_model::plan::Plan;
use seekwell_runner::compare::{self, Side, Wanted};
use seekwell_runner::records::Records;
use seekwell_store::RunFile;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A run file, read.
struct Run {
    name: String,
    plan: Plan,
    records: Records,
    backend: String,
    environment: serde_json::Value,
    tool: String,
}

impl Run {
    /// Reads a run file.
    fn read(path: &Path) -> Result<Self, Failure> {
        let file = RunFile::open(path)?;
        let records = file.intact_records()?;
        Ok(Self {
            name: path.display().to_string(),
            plan: file.plan()?,
            records: records
                .into_iter()
                .map(|(trial, record)| (trial.index, (trial, record)))
                .collect(),
            backend: file.backend()?,
            environment: file.environment()?,
            tool: file.tool()?,
        })
    }

    /// The run as one side of a comparison.
    fn side(&self) -> Side<'_> {
        Side {
            name: &self.name,
            plan: &self.plan,
            records: &self.records,
            backend: &self.backend,
            environment: &self.environment,
            tool: &self.tool,
        }
    }
}

/// Compares the runs of two sides.
///
/// # Errors
/// When a run cannot be read or was changed, or both sides answer different questions.
pub fn run(arguments: &CompareArgs) -> Result<Exit, Failure> {
    apart(arguments)?;
    let named = [arguments.first.as_ref(), arguments.second.as_ref()].into_iter().flatten();
    let all = named.chain(&arguments.before).chain(&arguments.after);
    let reach = all.fold(Reach::default(), |reach, run| reach.reading_database(run));
    let reach = arguments.markdown.iter().fold(reach, |reach, file| reach.writing(file));
    foreign::confine(&reach);
    let first = side(arguments.first.as_ref(), &arguments.before)?;
    let second = side(arguments.second.as_ref(), &arguments.after)?;
    let before: Vec<Side<'_>> = first.iter().map(Run::side).collect();
    let after: Vec<Side<'_>> = second.iter().map(Run::side).collect();
    let wanted =
        Wanted { fail_above: arguments.fail_above, reference: arguments.reference.as_deref() };
    let found = compare::compare(&before, &after, &wanted)?;
    if let Some(path) = &arguments.markdown {
        let text = seekwell_report::compare_markdown(&found);
        output::write(path, Kind::Markdown, text.as_bytes(), false)?;
    }
    if arguments.json {
        terminal::json(&found)?;
    } else {
        let text = seekwell_report::compare_text(&found, terminal::width(), terminal::colour());
        terminal::data(&text);
    }
    Ok(exit_of(&found))
}

/// Refuses a file that is named twice.
fn apart(arguments: &CompareArgs) -> Result<(), Failure> {
    let CompareArgs { first, second, before, after, .. } = arguments;
    let named = [first, second].into_iter().flatten().chain(before).chain(after);
    let mut seen = BTreeSet::new();
    // A file that is not there is refused when it is read.
    let mut known = named.filter_map(|path| path.canonicalize().ok());
    match known.find(|path| !seen.insert(path.clone())) {
        None => Ok(()),
        Some(path) => Err(Failure::Usage(format!(
            "{} is named twice, and a run does not differ from itself; name runs from before the change and others \
             from after it",
            path.display()
        ))),
    }
}

/// The runs of one side, given alone or as a list.
fn side(one: Option<&PathBuf>, several: &[PathBuf]) -> Result<Vec<Run>, Failure> {
    one.into_iter().chain(several).map(|path| Run::read(path)).collect()
}

fn exit_of(found: &RunComparison) -> Exit {
    match found.threshold() {
        Some(Threshold::Failed) => Exit::ThresholdFailed,
        Some(Threshold::NotResolved) => Exit::NotResolved,
        Some(Threshold::Held) => Exit::Done,
        None if found.is_resolved() => Exit::Done,
        None => Exit::NotResolved,
    }
}
