//! `seekwell work`: a worker on a node of a cluster, started by the job that `run --on slurm` submits.

use crate::args::WorkArgs;
use crate::failure::{Exit, Failure};
use crate::terminal;
use seekwell_session::{Pipe, Session};
use std::io::{BufReader, stdin, stdout};

/// Runs trials until the run has no more.
///
/// # Errors
/// When this node cannot run them; the run shows the message.
pub fn run(session: &Session, arguments: &WorkArgs) -> Result<Exit, Failure> {
    let worked = match arguments.pipe {
        Some(rank) => {
            let (input, output) = (Box::new(BufReader::new(stdin())), Box::new(stdout()));
            let pipe = Pipe { rank, task: arguments.task.clone(), input, output };
            session.work_by_pipe(&arguments.folder, pipe)?
        }
        None => session.work(&arguments.folder, &arguments.task, arguments.wait)?,
    };
    terminal::talk(&format!("{} trials run", worked.trials));
    if worked.is_orphan && arguments.wait {
        // Whoever started it starts it again, for the session that continues the run.
        let text = "the session of this run died, and none continued it within a minute";
        return Err(Failure::Error(text.to_owned()));
    }
    Ok(Exit::Done)
}
