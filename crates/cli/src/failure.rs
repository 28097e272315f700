//! Ends of a command: exit codes, and errors as one message with the failure, its place, its cause and
//! the fix.

use crate::terminal;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use seekwell_host::refusal::Refusal;
use seekwell_session::{Kind, SessionError};
use seekwell_store::StoreError;
use std::error::Error;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Exit status of a command that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, or verdict reached: 0.
    Done,
    /// The evidence does not decide: 4.
    NotResolved,
    /// A threshold that was given or a rule failed: 5.
    ThresholdFailed,
    /// The recorded command failed: 1.
    CommandFailed,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::NotResolved => Self::from(4),
            Exit::ThresholdFailed => Self::from(5),
            Exit::CommandFailed => Self::FAILURE,
        }
    }
}

/// Errors of a command.
#[derive(Debug)]
pub enum Failure {
    /// Something went wrong: 1.
    Error(String),
    /// The arguments are wrong: 2.
    Usage(String),
    /// Refused to protect data: 3.
    Refused(String),
    /// A run file was changed after it was written, or is damaged: 6.
    Changed(String),
}

impl Failure {
    /// An error with its chain of causes.
    pub fn from_error(error: &(dyn Error + 'static)) -> Self {
        let text = chain(error);
        match kind(error) {
            Kind::Failed => Self::Error(text),
            Kind::Usage => Self::Usage(text),
            Kind::Refused => Self::Refused(text),
            Kind::Changed => Self::Changed(text),
        }
    }

    /// Prints the message and gives the exit code.
    pub fn show(&self) -> ExitCode {
        let (word, text, code) = match self {
            Self::Error(text) => ("error", text, 1),
            Self::Usage(text) => ("usage", text, 2),
            Self::Refused(text) => ("refused", text, 3),
            Self::Changed(text) => ("changed", text, 6),
        };
        terminal::talk(&format!("seekwell: {word}: {}", terminal::harmless(text)));
        ExitCode::from(code)
    }
}

/// Every error becomes a failure by `?`. `Failure` must not implement `Error`, or this would not compile.
impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::from_error(&error)
    }
}

/// The kind that a session gives its errors; of others a refusal of the guard and a changed or damaged run
/// file have their own.
fn kind(error: &(dyn Error + 'static)) -> Kind {
    if let Some(error) = error.downcast_ref::<SessionError>() {
        return error.kind();
    }
    let of_host = error.downcast_ref::<seekwell_host::Error>();
    if error.is::<Refusal>() || matches!(of_host, Some(seekwell_host::Error::Refused(_))) {
        return Kind::Refused;
    }
    match error.downcast_ref() {
        Some(StoreError::Changed { .. } | StoreError::Damaged { .. }) => Kind::Changed,
        _ => Kind::Failed,
    }
}

/// The messages of an error and its causes, joined by colons; a cause that its error already
/// quotes is not said twice.
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let message = next.to_string();
        if !text.contains(&message) {
            let _ = write!(text, ": {message}");
        }
        cause = next.source();
    }
    text
}

/// Shows what clap has to say: help and version on standard output with 0, mistakes with 2. An unknown
/// option is no value: the advice names the table of a lab that has such a key, if one has.
pub fn usage(mut error: clap::Error) -> ExitCode {
    if error.kind() == ErrorKind::UnknownArgument {
        let key = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(option)) => option.strip_prefix("--").map(str::to_owned),
            _ => None,
        };
        let owner = key.and_then(|key| seekwell_spec::owner_of_key(&key.replace('-', "_")));
        let mut advice = match error.remove(ContextKind::Suggested) {
            Some(ContextValue::StyledStrs(advice)) => advice,
            _ => Vec::new(),
        };
        advice.retain(|advice| !advice.to_string().contains("as a value, use"));
        advice.extend(owner.map(|owner| format!("{owner} in a lab file").into()));
        if !advice.is_empty() {
            error.insert(ContextKind::Suggested, ContextValue::StyledStrs(advice));
        }
    }
    let text = error.render().to_string();
    let is_wide = |room| text.lines().any(|line| line.chars().count() > room);
    if error.use_stderr() && terminal::talk_columns().is_some_and(is_wide) {
        terminal::talk(&text);
    } else {
        // Nothing can be done when the terminal is gone.
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
