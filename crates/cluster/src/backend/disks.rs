//! The disks of workers that have died.

use super::Cluster;
use super::jobs::Known;
use super::named::Named;
use crate::error::ClusterError;
use crate::queue::Live;
use crate::spool::Writer;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Cluster {
    /// Releases the disks of workers of which no process can be on a node, as the scheduler says. These `writers` were
    /// listed before it was asked: one that has begun since is not known to it yet.
    pub(super) fn release_disks(
        &self,
        writers: &[Writer],
        known: &Known<'_>,
    ) -> Result<(), ClusterError> {
        for writer in writers {
            let Some(worker) = Named::parse(&writer.task) else { continue };
            let has_ended =
                known.of(worker).is_some_and(|live| !live.on_nodes.contains(&worker.number));
            let mut others = self.heard.keys().filter_map(|task| Named::parse(task));
            if has_ended || others.any(|other| worker.is_before(other)) {
                self.spool.release_disk(writer)?;
            }
        }
        Ok(())
    }

    /// Waits for the trials under way on disks of the nodes; false if one is not over after a long time.
    pub(super) fn no_disk_is_written(&mut self) -> Result<bool, ClusterError> {
        let begun = Instant::now();
        loop {
            let writers = self.spool.writers()?;
            if writers.is_empty() {
                return Ok(true);
            }
            let now = Instant::now();
            let is_enough = now.duration_since(begun) > self.patience.silent;
            if is_enough || self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            if now >= self.next_question {
                self.next_question = now + self.patience.ask;
                let live = Live::default();
                let known = self.ask(&live, writers.iter().map(|writer| writer.task.as_str()));
                self.release_disks(&writers, &known)?;
            }
            std::thread::sleep(self.patience.look);
        }
    }
}
