//! `command`: any shell command, timed, with metrics read from its output.

pub(crate) mod child;
mod patterns;

use crate::error::WorkloadError;
use crate::outcome::StepOutcome;
use crate::step::{self, Step, StepContext};
use child::{Ended, Finished, Limits};
use patterns::Patterns;
use seekwell_host::confine::Confinement;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::{CommandParams, StepOutline};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Output that is kept of a command: its first and its last half of this.
pub const OUTPUT_BYTES: usize = 1 << 20;

/// The steps of a `command` workload.
#[must_use]
pub fn steps(params: &CommandParams) -> Vec<Box<dyn Step>> {
    let params = Arc::new(params.clone());
    step::each(params.steps(), |outline| Command { outline, params: Arc::clone(&params) })
}

/// The preparing or the measured command.
#[derive(Debug)]
struct Command {
    outline: StepOutline,
    params: Arc<CommandParams>,
}

impl Command {
    fn text(&self) -> &str {
        match &self.params.prepare {
            Some(prepare) if !self.outline.measured => prepare,
            _ => &self.params.run,
        }
    }

    fn failed(&self, problem: String, output: &str) -> WorkloadError {
        WorkloadError::command(&self.outline.name, problem, output)
    }

    /// Limits of the command; a mounted stack's device is there only if the command names it.
    fn confinement(&self, context: &StepContext<'_>) -> Result<Option<Confinement>, WorkloadError> {
        if self.params.privileged {
            return Ok(None);
        }
        let named = context.raw || self.text().contains("{dev}");
        let devices = if named { &[context.device][..] } else { &[] };
        let confinement = Confinement::new(devices)
            .map_err(|source| self.failed(format!("could not be confined: {source}"), ""))?;
        Ok(Some(confinement))
    }

    fn check_end(&self, finished: &Finished) -> Result<u8, WorkloadError> {
        let expected = if self.outline.measured { self.params.expect_status } else { 0 };
        let problem = match finished.ended {
            Ended::Status(status) if status == expected => return Ok(status),
            Ended::Stopped => return Ok(expected),
            Ended::Status(status) => format!("ended with status {status}, expected {expected}"),
            Ended::Signal(signal) => format!("was ended by signal {signal}"),
            Ended::TimedOut => {
                let limit = self.params.timeout.map(|time| time.to_string()).unwrap_or_default();
                format!("was not done after {limit}")
            }
        };
        Err(self.failed(problem, &finished.output.text()))
    }
}

impl Step for Command {
    fn outline(&self) -> &StepOutline {
        &self.outline
    }

    fn run(&mut self, context: &StepContext<'_>) -> Result<StepOutcome, WorkloadError> {
        let step = &self.outline.name;
        let patterns = match self.outline.measured {
            true => Patterns::compile(step, &self.params.metrics)?,
            false => Patterns::default(),
        };
        let line = substitute(self.text(), context).map_err(|missing| {
            self.failed(format!("names {missing}, which this stack does not have"), "")
        })?;
        let folder = context.directory.or(context.scratch).unwrap_or(Path::new("/"));
        let limits = Limits {
            timeout: self.params.timeout.map(|time| Duration::from_nanos(time.0)),
            stop: context.stop.as_deref(),
        };
        let confinement = self.confinement(context)?;
        let finished = child::run(&line, folder, limits, confinement)
            .map_err(|source| self.failed(format!("could not be run: {source}"), ""))?;
        let status = self.check_end(&finished)?;
        let mut outcome = StepOutcome {
            cpu_ns: finished.cpu_ns,
            elapsed_ns: finished.elapsed_ns,
            stopped: finished.ended == Ended::Stopped,
            ..StepOutcome::default()
        };
        if self.outline.measured && !outcome.stopped {
            outcome.metrics = patterns.read(step, &finished.output.text())?;
            outcome.metrics.insert("exit_status".to_owned(), f64::from(status));
        }
        outcome.warnings = warnings(step, &finished);
        Ok(outcome)
    }
}

fn warnings(step: &str, finished: &Finished) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if finished.output.cut_bytes > 0 {
        warnings.push(Warning::new(
            WarningCode::OutputCut,
            format!(
                "{} bytes from the middle of the output of {step} were not kept",
                finished.output.cut_bytes
            ),
        ));
    }
    if finished.left_processes {
        warnings.push(Warning::new(
            WarningCode::LeftProcesses,
            format!("{step} ended and left processes running; they were ended"),
        ));
    }
    warnings
}

/// Puts the paths into the command. An error names the placeholder that has none.
fn substitute(command: &str, context: &StepContext<'_>) -> Result<OsString, &'static str> {
    let mut line = command.as_bytes().to_vec();
    if command.contains("{dir}") {
        let directory = context.directory.ok_or("{dir}")?;
        line = replace(&line, b"{dir}", &quote(directory));
    }
    if command.contains("{dev}") {
        if context.device.as_os_str().is_empty() {
            return Err("{dev}");
        }
        line = replace(&line, b"{dev}", &quote(context.device));
    }
    Ok(OsString::from_vec(line))
}

/// A script with the mounted directory in the place of `{dir}`.
pub(crate) fn replace_directory(script: &str, directory: &Path) -> OsString {
    OsString::from_vec(replace(script.as_bytes(), b"{dir}", &quote(directory)))
}

fn replace(line: &[u8], placeholder: &[u8], text: &[u8]) -> Vec<u8> {
    let mut result = Vec::with_capacity(line.len() + text.len());
    let mut rest = line;
    while let Some(at) = rest.windows(placeholder.len()).position(|part| part == placeholder) {
        result.extend_from_slice(&rest[..at]);
        result.extend_from_slice(text);
        rest = &rest[at + placeholder.len()..];
    }
    result.extend_from_slice(rest);
    result
}

/// A path as one word of the shell. One of harmless characters stays as it is, so that it may
/// also stand inside quotes of the user's.
fn quote(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    let harmless = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+:@%,".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(harmless) {
        return bytes.to_vec();
    }
    let mut quoted = vec![b'\''];
    quoted.extend(replace(bytes, b"'", b"'\\''"));
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests;
