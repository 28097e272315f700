//! Databases: pgbench, db_bench and SQLite.

mod db_bench;
mod pgbench;
mod sqlite;

pub use sqlite::{steps as sqlite_steps, survey as sqlite_survey};

use crate::command::child::{self, Ended, Limits};
use crate::command::replace_directory;
use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::{Step, StepContext};
use seekwell_host::confine::Confinement;
use seekwell_model::workloads::{DbBenchParams, PgbenchParams, StepOutline};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// A database's program is ended when it takes this much longer than asked for.
const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// Reads what a benchmark printed. An error says what is missing.
type Read = fn(&str) -> Result<StepOutcome, String>;

/// The steps of `pgbench`.
#[must_use]
pub fn pgbench_steps(params: &PgbenchParams) -> Vec<Box<dyn Step>> {
    let scripts = [pgbench::prepare(params), pgbench::run(params)];
    script_steps(params.steps(), scripts, pgbench::read, true)
}

/// The steps of `db_bench`.
#[must_use]
pub fn db_bench_steps(params: &DbBenchParams) -> Vec<Box<dyn Step>> {
    let scripts = [db_bench::prepare(params), db_bench::run(params)];
    script_steps(params.steps(), scripts, db_bench::read, false)
}

fn script_steps(
    outlines: Vec<StepOutline>,
    scripts: [String; 2],
    read: Read,
    shown: bool,
) -> Vec<Box<dyn Step>> {
    let step =
        |(outline, script)| -> Box<dyn Step> { Box::new(Script { outline, script, read, shown }) };
    outlines.into_iter().zip(scripts).map(step).collect()
}

/// A shell script that prepares, or that prints what a benchmark found.
#[derive(Debug)]
struct Script {
    outline: StepOutline,
    script: String,
    read: Read,
    /// True if it finds the filesystem as `/mnt`.
    shown: bool,
}

impl Script {
    fn failed(&self, problem: String, output: &str) -> WorkloadError {
        WorkloadError::command(&self.outline.name, problem, output)
    }
}

impl Step for Script {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let step = &self.outline.name;
        let directory = context.mounted(step)?;
        // The script changes its directory; `bench` may be given a relative one.
        let directory = directory.canonicalize().map_err(WorkloadError::file("find", directory))?;
        let line = replace_directory(&self.script, &directory);
        let asked = Duration::from_nanos(self.outline.time_ns.unwrap_or(0));
        let limits = Limits { timeout: Some(asked + PATIENCE), stop: context.stop.as_deref() };
        let confinement = Confinement::new(&[])
            .and_then(|confinement| match self.shown {
                true => confinement.with_mnt(&directory),
                false => Ok(confinement),
            })
            .map_err(|source| self.failed(format!("could not be confined: {source}"), ""))?;
        let finished = child::run(&line, Path::new("/"), limits, Some(confinement))
            .map_err(|source| self.failed(format!("could not be run: {source}"), ""))?;
        let output = finished.output.text();
        if finished.ended == Ended::Stopped {
            return Err(WorkloadError::Stopped { step: step.clone() });
        }
        if let Some(problem) = finished.ended.failure("did not end in time") {
            return Err(self.failed(problem, &output));
        }
        let mut outcome = match self.outline.measured {
            true => (self.read)(&output).map_err(|problem| self.failed(problem, &output))?,
            false => StepOutcome { elapsed_ns: finished.elapsed_ns, ..StepOutcome::default() },
        };
        outcome.cpu_ns = finished.cpu_ns;
        // What the program printed is not computed again.
        let printed = std::mem::take(&mut outcome.metrics);
        outcome.compute(&self.outline.metrics);
        outcome.metrics.extend(printed);
        Ok(outcome)
    }
}

/// Settings that a script printed as lines `setting: NAME=VALUE`.
fn settings(output: &str) -> BTreeMap<String, String> {
    let lines = output.lines().filter_map(|line| line.strip_prefix("setting: "));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// The number after `before` in the first line that has it, up to the next character that is not
/// part of a number.
fn number_after(output: &str, before: &str) -> Result<f64, String> {
    let missing = || format!("printed no line with '{before}'");
    let (_, rest) = output.split_once(before).ok_or_else(missing)?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let number = rest[..end].trim_end_matches('.').parse::<f64>().ok();
    number.filter(|number| number.is_finite()).ok_or_else(missing)
}

#[cfg(test)]
mod tests;
