//! The agent as a process: one request in, messages out, one JSON object per line.

use crate::context::Saying;
use crate::trial;
use seekwell_model::FORMAT;
use seekwell_model::FormatVersion;
use seekwell_model::agent::{AgentMessage, TrialRequest};
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
pub fn serve(input: impl Read, output: impl Write) -> Result<(), ProcessError> {
    run_trial(&read_request(input)?, output)
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

/// Runs the trial of a request, saying each step and at last the record.
///
/// # Errors
/// [`ProcessError::Write`]; a trial that fails is a record, not an error.
pub fn run_trial(request: &TrialRequest, mut output: impl Write) -> Result<(), ProcessError> {
    let mut broken = None;
    let record = trial::run(request, &mut |saying| {
        let message = match saying {
            Saying::Step(name) => AgentMessage::Step { name: name.to_owned() },
            Saying::Synced(what) => AgentMessage::Synced { what: what.to_owned() },
        };
        if let Err(error) = send(&mut output, &message) {
            broken = Some(error);
        }
    });
    if let Some(error) = broken {
        return Err(ProcessError::Write(error));
    }
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
