//! The backends: one line each, and the only place where one is chosen.

use crate::error::SessionError;
use crate::guests::Guests;
use crate::host::Host;
use crate::loaded::Session;
use crate::options::Options;
use crate::setup::Setup;

/// Sets up a backend according to the options.
type SetUp = fn(&Session, &Options) -> Result<Box<dyn Setup>, SessionError>;

/// A backend that can be chosen by name.
pub struct Entry {
    /// Its name in `--place` and run files.
    pub name: &'static str,
    /// The options that belong to it.
    pub options: &'static [&'static str],
    setup: SetUp,
}

/// Every backend.
pub const BACKENDS: [Entry; 2] = [
    Entry {
        name: Host::NAME,
        options: &["device", "journal-device", "nodes", "wait"],
        setup: Host::setup,
    },
    Entry {
        name: "virtual",
        options: &[
            "model", "on", "kernel", "bring", "set", "jobs", "cpu", "check", "record", "nodes",
        ],
        setup: Guests::setup,
    },
];

/// Names of all backends.
#[must_use]
pub fn names() -> Vec<&'static str> {
    BACKENDS.iter().map(|entry| entry.name).collect()
}

/// Returns true if an option belongs to the backend with this name.
#[must_use]
pub fn takes(backend: &str, option: &str) -> bool {
    BACKENDS.iter().any(|entry| entry.name == backend && entry.options.contains(&option))
}

/// Sets up the backend named by the options. Options of other backends are refused: an ignored
/// option would seem to work.
pub(crate) fn choose(session: &Session, options: &Options) -> Result<Box<dyn Setup>, SessionError> {
    let Some(entry) = BACKENDS.iter().find(|entry| entry.name == options.backend) else {
        let (name, known) = (&options.backend, names().join(" or "));
        return Err(SessionError::Usage(format!("unknown backend '{name}'; use {known}")));
    };
    if let Some(option) = options.given().find(|option| !entry.options.contains(option)) {
        let takers = BACKENDS.iter().filter(|entry| entry.options.contains(&option));
        let of = takers.map(|entry| entry.name).collect::<Vec<_>>().join(" or ");
        return Err(SessionError::Option { option, of, backend: options.backend.clone() });
    }
    (entry.setup)(session, options)
}

#[cfg(test)]
mod tests;
