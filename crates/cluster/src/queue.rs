//! A scheduler of clusters, as far as a run needs one.

use crate::error::ClusterError;
use std::collections::BTreeSet;

/// Name of a submitted job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobId(pub String);

impl JobId {
    /// Its number; the name of a job on one of several clusters is `NUMBER;CLUSTER`.
    #[must_use]
    pub fn number(&self) -> &str {
        self.0.split(';').next().unwrap_or_default()
    }

    /// The cluster that it is on, if there are several.
    #[must_use]
    pub fn cluster(&self) -> Option<&str> {
        self.0.split_once(';').map(|(_, cluster)| cluster)
    }
}

/// Tasks of a job that have not ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Numbers of the tasks that run.
    pub running: BTreeSet<u32>,
    /// Tasks that wait for a node or for their turn.
    pub waiting: u32,
    /// Numbers of those of them that wait until a time, as Slurm lets tasks do that were requeued.
    pub delayed: BTreeSet<u32>,
    /// Numbers of all tasks of which a process may be on a node: those that run, are suspended or are being ended.
    pub on_nodes: BTreeSet<u32>,
    /// Reason for which tasks wait.
    pub reason: Option<String>,
}

impl Live {
    /// True if no task will do anything any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.running.is_empty() && self.waiting == 0
    }
}

/// Submits workers, each a task of one job.
pub trait Queue {
    /// Submits the workers.
    ///
    /// # Errors
    /// When the scheduler refuses the job or cannot be reached.
    fn submit(&mut self) -> Result<JobId, ClusterError>;

    /// The tasks of a job that have not ended; `None` if workers are known by their heartbeats alone.
    ///
    /// # Errors
    /// When the scheduler cannot be reached.
    fn live(&mut self, job: &JobId) -> Result<Option<Live>, ClusterError>;

    /// Lets these tasks of a job begin, which wait until a time.
    ///
    /// # Errors
    /// When the scheduler cannot be reached, or refuses.
    fn hasten(&mut self, _job: &JobId, _tasks: &BTreeSet<u32>) -> Result<(), ClusterError> {
        Ok(())
    }

    /// True if its jobs go on when this process dies, so that the next session has to end them.
    fn outlives_session(&self) -> bool {
        false
    }

    /// Ends the tasks of a job.
    ///
    /// # Errors
    /// When the scheduler cannot be reached.
    fn cancel(&mut self, job: &JobId) -> Result<(), ClusterError>;
}

/// Workers that something else starts and ends, such as another scheduler.
#[derive(Clone, Copy, Debug)]
pub struct Others;

impl Queue for Others {
    fn submit(&mut self) -> Result<JobId, ClusterError> {
        Ok(JobId("others".to_owned()))
    }

    fn live(&mut self, _job: &JobId) -> Result<Option<Live>, ClusterError> {
        Ok(None)
    }

    /// They end when the folder says so.
    fn cancel(&mut self, _job: &JobId) -> Result<(), ClusterError> {
        Ok(())
    }
}
