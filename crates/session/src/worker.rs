//! A worker on a node of a cluster.

use crate::error::SessionError;
use crate::guests::Guests;
use crate::kept;
use crate::loaded::Session;
use crate::nodes::Settings;
use crate::setup::Opened;
use seekwell_cluster::{Spool, Worked};
use std::path::Path;
use std::time::Duration;

/// Time between two looks for a session that is not there yet.
const LOOK: Duration = Duration::from_secs(1);

impl Session {
    /// Runs trials of another machine's run, as a worker on a node, until the run has no more. A worker
    /// that waits may be started before the run.
    ///
    /// # Errors
    /// When this node cannot run them or is not like the machine of the run, or the shared folder
    /// cannot be used.
    pub fn work(&self, folder: &Path, task: &str, wait: bool) -> Result<Worked, SessionError> {
        let (spool, work) = if wait { Spool::wait(folder, LOOK)? } else { Spool::open(folder)? };
        let settings: Settings =
            serde_json::from_value(work.settings).map_err(SessionError::Settings)?;
        let mut guests = Guests::setup(self, &settings.options()?)?;
        guests.recall(&work.environment, folder)?;
        let Opened { mut backend, environment, .. } = guests.open(&work.plan, folder)?;
        if let Some(difference) = kept::difference(&work.environment, &environment) {
            return Err(SessionError::OtherNode { difference });
        }
        let ran = seekwell_cluster::work(&spool, task, &mut |trial| {
            backend.run(&work.plan, trial, &mut |_| {})
        });
        Ok(ran?)
    }
}
