//! A worker on a node of a cluster.

use crate::error::SessionError;
use crate::guests::Guests;
use crate::kept;
use crate::loaded::Session;
use crate::nodes::Settings;
use crate::setup::Opened;
use seekwell_cluster::Spool;
use std::path::Path;

impl Session {
    /// Runs trials of another machine's run, as a worker on a node, until the run has no more.
    /// Returns how many.
    ///
    /// # Errors
    /// When this node cannot run them or is not like the machine of the run, or the shared folder
    /// cannot be used.
    pub fn work(&self, folder: &Path, task: &str) -> Result<u64, SessionError> {
        let (spool, work) = Spool::open(folder)?;
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
