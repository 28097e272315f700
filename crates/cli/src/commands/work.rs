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
    let worked = session.work(&arguments.folder, &arguments.task, arguments.wait)?;
    terminal::talk(&format!("{} trials run", worked.trials));
    if worked.is_orphan && arguments.wait {
        // Whoever started it starts it again, for the session that continues the run.
        let text = "the session of this run died, and none continued it within a minute";
        return Err(Failure::Error(text.to_owned()));
    }
    Ok(Exit::Done)
}
