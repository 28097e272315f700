//! Doubts about a result, as data: each says what to do.

use serde::{Deserialize, Serialize};

/// A doubt about a result. Codes are stable names; texts may change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Warning {
    /// Stable name, for example `served-from-cache`.
    pub code: String,
    /// What was seen.
    pub text: String,
    /// What to do about it.
    pub remedy: String,
}

impl Warning {
    /// A warning from its three parts.
    pub fn new(code: &str, text: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { code: code.to_owned(), text: text.into(), remedy: remedy.into() }
    }
}
