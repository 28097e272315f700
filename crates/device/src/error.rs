//! Mistakes in a device file.

/// A mistake in a device file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// It is not TOML, or a value is missing, unknown or of the wrong kind.
    #[error("{}{reason}", of_key(.key))]
    Syntax {
        /// Dotted key; empty when the text is not TOML at all.
        key: String,
        /// Problem.
        reason: String,
    },
    /// A value that cannot be.
    #[error("{key} = {value}: {reason}")]
    Value {
        /// Dotted key.
        key: String,
        /// The value as written.
        value: String,
        /// Reason, and what would be possible.
        reason: String,
    },
    /// A value without a source.
    #[error("{0} has no source; say in [sources] where the value comes from")]
    NoSource(String),
    /// A source or a range for a value that is not there.
    #[error("{place} names {key}, which the file does not have; remove it or correct its name")]
    NoSuchKey {
        /// Source of the name: `[sources]`, `[ranges]` or a requested change.
        place: &'static str,
        /// Dotted key.
        key: String,
    },
    /// The text after a model's name does not change one of its numbers.
    #[error(
        "'{0}' after a model's name does not change a number of it; write KEY=NUMBER, for example flash.open_units=1"
    )]
    NotAChange(String),
    /// A bus that the file does not have.
    #[error("unknown bus '{name}'; it has {known}")]
    NoSuchBus {
        /// Requested name.
        name: String,
        /// Known names, as text.
        known: String,
    },
    /// A mistake with its line in the text.
    #[error("line {line}: {mistake}")]
    At {
        /// Line in the text, counted from 1.
        line: usize,
        /// The mistake.
        mistake: Box<DeviceError>,
    },
}

fn of_key(key: &str) -> String {
    if key.is_empty() || key == "." { String::new() } else { format!("{key}: ") }
}

impl DeviceError {
    /// The dotted key it is about, if it is about one.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Syntax { key, .. } if key.is_empty() => None,
            Self::Syntax { key, .. } | Self::Value { key, .. } => Some(key),
            Self::NoSource(key) | Self::NoSuchKey { key, .. } => Some(key),
            Self::NoSuchBus { .. } => Some("bus"),
            Self::NotAChange(..) => None,
            Self::At { mistake, .. } => mistake.key(),
        }
    }

    /// The same mistake with this line, if one is known.
    pub(crate) fn at(self, line: Option<usize>) -> Self {
        match line {
            Some(line) => Self::At { line, mistake: Box::new(self) },
            None => self,
        }
    }
}

/// A value that cannot be, said by the model that knows why.
pub(crate) fn refuse(key: &str, value: impl ToString, reason: impl Into<String>) -> DeviceError {
    DeviceError::Value { key: key.to_owned(), value: value.to_string(), reason: reason.into() }
}

/// Refuses `value` unless it lies within `low` and `high`, both included.
pub(crate) fn within(key: &str, value: f64, low: f64, high: f64) -> Result<(), DeviceError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(refuse(key, value, format!("must be between {low} and {high}")))
}
