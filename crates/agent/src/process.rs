//! The agent as a process: one request in, messages out, one JSON object per line.

use crate::context::Saying;
use crate::others::Others;
use crate::trial;
use seekwell_model::FORMAT;
use seekwell_model::FormatVersion;
use seekwell_model::agent::{AgentMessage, TrialRequest};
use seekwell_model::record::Record;
use std::io::{self, Read, Write};

/// Errors of an agent that could not serve.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The request could not be read.
    #[error("the agent could not read its request")]
    Read(#[source] io::Error),
    /// The request is not one.
    #[error("the agent's request is malformed; runner and agent must be the same release")]
    Malformed(#[source] serde_json::Error),
    /// The request is of a newer format.
    #[error(
        "the agent's request has format {theirs}, but this agent reads {ours}; use the same release for both"
    )]
    Newer {
        /// Format of the request.
        theirs: String,
        /// Format of this agent.
        ours: FormatVersion,
    },
    /// A message could not be written: the runner is gone.
    #[error("the agent could not reach its runner")]
    Write(#[source] io::Error),
}

/// Serves one request.
///
/// # Errors
/// [`ProcessError`]; a trial that fails is a record, not an error.
pub fn serve(input: impl Read, mut output: impl Write) -> Result<(), ProcessError> {
    let request = read_request(input)?;
    // Between two surveys the other side changes the devices.
    (0..request.surveys.max(1)).try_for_each(|_| say_trial(&request, &mut output, |_| {}))
}

/// Reads a request.
///
/// # Errors
/// [`ProcessError`] when it cannot be read or is none.
pub fn read_request(mut input: impl Read) -> Result<TrialRequest, ProcessError> {
    let mut text = String::new();
    input.read_to_string(&mut text).map_err(ProcessError::Read)?;
    let request: TrialRequest = serde_json::from_str(&text).map_err(ProcessError::Malformed)?;
    check_format(&request.format)?;
    Ok(request)
}

/// Runs the trial of a request on a machine that other programs may use, saying each step and at last the record.
///
/// # Errors
/// [`ProcessError::Write`]; a trial that fails is a record, not an error.
pub fn run_trial(request: &TrialRequest, output: impl Write) -> Result<(), ProcessError> {
    let others = Others::now();
    say_trial(request, output, |record| {
        record.others_cpu_percent =
            others.and_then(|others| others.percent_since(&record.in_force.cpus));
    })
}

/// Runs a trial, saying each step and at last the record, to which `add` may add.
fn say_trial(
    request: &TrialRequest,
    mut output: impl Write,
    add: impl FnOnce(&mut Record),
) -> Result<(), ProcessError> {
    let mut broken = None;
    let mut record = trial::run(request, &mut |saying| {
        let message = match saying {
            Saying::Step(name) => AgentMessage::Step { name: name.to_owned() },
            Saying::Found(file) => AgentMessage::Found(file),
            Saying::Database(database) => AgentMessage::Database(database),
        };
        if let Err(error) = send(&mut output, &message) {
            broken = Some(error);
        }
    });
    if let Some(error) = broken {
        return Err(ProcessError::Write(error));
    }
    add(&mut record);
    send(&mut output, &AgentMessage::Record(Box::new(record))).map_err(ProcessError::Write)
}

fn check_format(theirs: &str) -> Result<(), ProcessError> {
    let known = theirs.parse::<FormatVersion>().is_ok_and(|version| version.major == FORMAT.major);
    if known {
        Ok(())
    } else {
        Err(ProcessError::Newer { theirs: theirs.to_owned(), ours: FORMAT })
    }
}

fn send(output: &mut impl Write, message: &AgentMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message).map_err(io::Error::other)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

#[cfg(test)]
mod tests;
