//! `seekwell manifest`: a lab as objects of Kubernetes.

use crate::args::{self, ManifestArgs};
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_session::LabText;
use std::ffi::OsString;

/// Prints the objects.
///
/// # Errors
/// When the lab cannot be read or needs more than its text, or an option is wrong.
pub fn run(arguments: &ManifestArgs) -> Result<Exit, Failure> {
    check(&arguments.options)?;
    let yaml = seekwell_session::manifest(&LabText::read(&arguments.lab)?, arguments.pods())?;
    terminal::data(&yaml);
    Ok(Exit::Done)
}

/// Checks the options of `run` here: in a pod a mistake is found late.
fn check(options: &[String]) -> Result<(), Failure> {
    let words = ["seekwell", "run", "lab.toml", "--on", "workers"].map(OsString::from);
    let words = words.into_iter().chain(options.iter().map(OsString::from));
    args::command().try_get_matches_from(words).map(|_| ()).map_err(|error| {
        let text = error.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
        Failure::Usage(format!("--option: {first}; see seekwell run --help"))
    })
}
