//! `seekwell work`: a worker on a node of a cluster, started by the job that `run --on slurm` submits.

use crate::args::WorkArgs;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_session::Session;

/// Runs trials until the run has no more.
///
/// # Errors
/// When this node cannot run them; the run shows the message.
pub fn run(session: &Session, arguments: &WorkArgs) -> Result<Exit, Failure> {
    let trials = session.work(&arguments.folder, &arguments.task)?;
    terminal::talk(&format!("{trials} trials run"));
    Ok(Exit::Done)
}
