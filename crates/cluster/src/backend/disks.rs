//! The disks of workers that have died.

use super::Cluster;
use crate::error::ClusterError;
use crate::queue::{JobId, Live};
use std::sync::atomic::Ordering;
use std::time::Instant;

#[cfg(test)]
mod tests;

/// A worker of Slurm by its name: `TASK-RESTARTS-NODE-PROCESS-JOB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Named<'a> {
    number: u32,
    restarts: u32,
    job: &'a str,
}

impl<'a> Named<'a> {
    /// `None` for a worker that something else has started.
    fn parse(task: &'a str) -> Option<Self> {
        let mut words = task.split('-');
        let number = words.next()?.parse().ok()?;
        // Before its first restart Slurm does not set the count.
        let restarts = words.next()?;
        let restarts = if restarts.is_empty() { 0 } else { restarts.parse().ok()? };
        let (rest, job) = task.rsplit_once('-')?;
        (rest.split('-').count() >= 4).then_some(Self { number, restarts, job })
    }

    /// True for a worker in whose place the scheduler has started the other one.
    fn is_before(self, other: Self) -> bool {
        (self.job, self.number) == (other.job, other.number) && self.restarts < other.restarts
    }
}

impl Cluster {
    /// Releases the disks of workers of which no process can be on a node, as the scheduler says. `live` are the tasks
    /// of the present job.
    pub(super) fn release_disks(&mut self, live: &Live) -> Result<(), ClusterError> {
        for writer in self.spool.writers()? {
            let Some(worker) = Named::parse(&writer.task) else { continue };
            let is_present = self.job.as_ref().is_some_and(|job| job.0 == worker.job);
            let has_ended = if is_present {
                !live.on_nodes.contains(&worker.number)
            } else {
                // That of a session that died, or which this run replaced by the present one.
                let of_job = self.queue.live(&JobId(worker.job.to_owned()));
                matches!(of_job, Ok(Some(live)) if !live.on_nodes.contains(&worker.number))
            };
            let mut others = self.heard.keys().filter_map(|task| Named::parse(task));
            if has_ended || others.any(|other| worker.is_before(other)) {
                self.spool.release_disk(&writer)?;
            }
        }
        Ok(())
    }

    /// Waits for the trials under way on disks of the nodes; false if one is not over after a long time.
    pub(super) fn no_disk_is_written(&mut self) -> Result<bool, ClusterError> {
        let begun = Instant::now();
        while !self.spool.writers()?.is_empty() {
            let now = Instant::now();
            let is_enough = now.duration_since(begun) > self.patience.silent;
            if is_enough || self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if now >= self.next_question {
                self.next_question = now + self.patience.ask;
                self.release_disks(&Live::default())?;
            }
            std::thread::sleep(self.patience.look);
        }
        Ok(true)
    }
}
