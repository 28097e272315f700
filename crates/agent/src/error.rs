//! Errors of a trial, with the typed cause kept to the top.

use seekwell_host::refusal::Refusal;
use seekwell_observe::ObserveError;
use seekwell_workload::WorkloadError;
use std::io;

/// The cause of a failure, before anybody says in which stage of the trial it happened.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The host could not be changed or read.
    #[error(transparent)]
    Host(#[from] seekwell_host::Error),
    /// The guard refused to write to a device.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Counters or events could not be read.
    #[error(transparent)]
    Observe(#[from] ObserveError),
    /// Calls could not be recorded.
    #[error(transparent)]
    Capture(#[from] seekwell_capture::CaptureError),
    /// A step of the workload failed.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// A system call of the agent itself failed.
    #[error("cannot {action}: {source}")]
    Io {
        /// The attempt, as an infinitive.
        action: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The step is for a device, and the stack has none.
    #[error("the stack has no device; runner and agent must be the same release")]
    NoDevice,
    /// Something else, in words.
    #[error("{0}")]
    Other(String),
}

impl Fault {
    /// Wraps the kernel's answer to a call of the agent.
    pub fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action: action.into(), source }
    }
}

/// A failed trial: the stage and the cause.
#[derive(Debug, thiserror::Error)]
#[error("{stage}: {fault}")]
pub struct TrialError {
    /// A step's name, `setup` or `teardown`.
    pub stage: String,
    /// The cause.
    #[source]
    pub fault: Box<Fault>,
}

impl TrialError {
    /// The cause with the causes below it as one text, each once.
    #[must_use]
    pub fn reason(&self) -> String {
        let mut reason = self.fault.to_string();
        let mut cause = std::error::Error::source(&*self.fault);
        while let Some(next) = cause {
            let message = next.to_string();
            if !reason.contains(&message) {
                reason = format!("{reason}: {message}");
            }
            cause = next.source();
        }
        reason
    }
}

#[cfg(test)]
mod tests;
