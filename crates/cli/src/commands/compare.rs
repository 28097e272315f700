//! `seekwell compare`: one question, answered by two runs.

use crate::args::CompareArgs;
use crate::failure::{Exit, Failure};
use crate::{foreign, terminal};
use seekwell_model::comparison::{RunComparison, Threshold};
use seekwell_model::plan::Plan;
use seekwell_runner::compare::{self, Side};
use seekwell_runner::records::Records;
use seekwell_store::{RunFile, StoreError};
use std::path::Path;

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
    fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |error: StoreError| Failure::from_error(&error);
        let file = RunFile::open(path).map_err(wrong)?;
        let records = file.records().map_err(wrong)?;
        Ok(Self {
            name: path.display().to_string(),
            plan: file.plan().map_err(wrong)?,
            records: records
                .into_iter()
                .map(|(trial, record)| (trial.index, (trial, record)))
                .collect(),
            backend: file.backend().map_err(wrong)?,
            environment: file.environment().map_err(wrong)?,
            tool: file.tool().map_err(wrong)?,
        })
    }

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

/// Compares two runs.
///
/// # Errors
/// When a run cannot be read, or both answer different questions.
pub fn run(arguments: &CompareArgs) -> Result<Exit, Failure> {
    foreign::confine();
    let first = Run::read(&arguments.first)?;
    let second = Run::read(&arguments.second)?;
    let found = compare::compare(&first.side(), &second.side(), arguments.fail_above)
        .map_err(|error| Failure::from_error(&error))?;
    if arguments.json {
        let text =
            serde_json::to_string_pretty(&found).map_err(|error| Failure::from_error(&error))?;
        terminal::data(&text);
    } else {
        let text = seekwell_report::compare_text(&found, terminal::width(), terminal::colour());
        terminal::data(&text);
    }
    Ok(exit_of(&found))
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
