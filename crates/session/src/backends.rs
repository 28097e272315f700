//! The backends: one line each, and the only place where one is chosen.

use crate::error::SessionError;
use crate::guests::Guests;
use crate::host::Host;
use crate::options::Options;
use crate::resolved::Session;
use seekwell_model::backend::Backend;
use seekwell_model::lab::{Lab, Workload};
use seekwell_model::plan::{PlaceFacts, Plan};
use std::path::Path;

/// Sets a backend up as the options say.
type SetUp = fn(&Session, &Options) -> Result<Box<dyn Setup>, SessionError>;

/// A backend that can be chosen by name.
pub struct Entry {
    /// Its name, as `--place` and run files have it.
    pub name: &'static str,
    /// The options that belong to it.
    pub options: &'static [&'static str],
    setup: SetUp,
}

/// Every backend.
pub const BACKENDS: [Entry; 2] = [
    Entry { name: "host", options: &["device", "journal-device"], setup: Host::setup },
    Entry {
        name: "virtual",
        options: &["model", "kernel", "bring", "set", "jobs", "cpu", "check"],
        setup: Guests::setup,
    },
];

/// A backend as it is configured, before there is a plan. Nothing is touched until [`Self::open`].
pub trait Setup {
    /// Puts the devices that were asked for into the lab, and checks that the backend has all of
    /// them.
    ///
    /// # Errors
    /// When a device of the lab cannot be used here.
    fn adapt(&self, lab: &mut Lab) -> Result<(), SessionError>;

    /// Returns the facts about the backend that a plan depends on.
    ///
    /// # Errors
    /// When they cannot be determined.
    fn facts(&self, lab: &Lab) -> Result<PlaceFacts, SessionError>;

    /// Why a workload cannot run here, and what to do; `None` when it can.
    fn cannot_run(&self, _workload: &Workload) -> Option<String> {
        None
    }

    /// Returns everything besides the lab that affects results. It is written into the run file, and
    /// compared before a run is continued.
    ///
    /// # Errors
    /// When it cannot be determined.
    fn environment(&self, lab: &Lab) -> Result<serde_json::Value, SessionError>;

    /// Checks that every device of the plan may be written.
    ///
    /// # Errors
    /// [`SessionError::Refused`] with the first that may not.
    fn check_devices(&self, _plan: &Plan, _run_file: Option<&Path>) -> Result<(), SessionError> {
        Ok(())
    }

    /// Remarks for the user so far.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Opens the backend for the trials of a plan.
    ///
    /// # Errors
    /// When it cannot be used.
    fn open(&self, plan: &Plan, run_file: &Path) -> Result<Opened, SessionError>;
}

/// A backend, ready for trials.
pub struct Opened {
    /// The backend.
    pub backend: Box<dyn Backend>,
    /// As [`Setup::environment`], with what is known only now.
    pub environment: serde_json::Value,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

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

/// The backend that the options name, set up. Options of other backends are refused: an option that
/// is ignored would seem to work.
pub(crate) fn choose(session: &Session, options: &Options) -> Result<Box<dyn Setup>, SessionError> {
    let Some(entry) = BACKENDS.iter().find(|entry| entry.name == options.backend) else {
        let known = names().join(" or ");
        return Err(SessionError::NoBackend { name: options.backend.clone(), known });
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
