//! The jobs of workers: the present one, and those of sessions that died, whose workers may run on.

use super::Cluster;
use super::named::Named;
use crate::error::ClusterError;
use crate::queue::{JobId, Live};
use std::collections::BTreeMap;

/// Tasks of all jobs whose workers have something, as the scheduler says.
pub(super) struct Known<'a> {
    /// Number of the present job.
    present: Option<String>,
    live: &'a Live,
    /// Those of other jobs, as far as the scheduler could be reached.
    others: BTreeMap<String, Live>,
}

impl Known<'_> {
    /// The tasks of a worker's job that have not ended; `None` if they are not known.
    pub(super) fn of(&self, worker: Named<'_>) -> Option<&Live> {
        if self.present.as_deref() == Some(worker.job) {
            return Some(self.live);
        }
        self.others.get(worker.job)
    }

    /// True if the scheduler runs this worker no more. Of workers that something else has started it knows nothing.
    fn has_ended(&self, task: &str) -> bool {
        Named::parse(task).is_some_and(|worker| {
            self.of(worker).is_some_and(|live| !live.running.contains(&worker.number))
        })
    }
}

impl Cluster {
    /// Asks about the other jobs of these workers, once for each. `live` are the tasks of the present one.
    pub(super) fn ask<'live>(
        &mut self,
        live: &'live Live,
        tasks: impl Iterator<Item = impl AsRef<str>>,
    ) -> Known<'live> {
        let present = self.job.as_ref().map(|job| job.number().to_owned());
        let mut asked: BTreeMap<String, Option<Live>> = BTreeMap::new();
        for task in tasks {
            let Some(worker) = Named::parse(task.as_ref()) else { continue };
            if present.as_deref() != Some(worker.job) && !asked.contains_key(worker.job) {
                // One that is not reached is asked the next time.
                let live = self.queue.live(&JobId(worker.job.to_owned())).ok().flatten();
                asked.insert(worker.job.to_owned(), live);
            }
        }
        let others = asked.into_iter().filter_map(|(job, live)| Some((job, live?))).collect();
        Known { present, live, others }
    }

    /// Submits workers if there are none. A scheduler that cannot be reached just now is asked again
    /// later: a controller is restarted more often than a cluster ends.
    pub(super) fn provide(&mut self) -> Result<(), ClusterError> {
        // Listed before the questions: whoever begins meanwhile is not judged by the answers.
        let (writers, taken) = (self.spool.writers()?, self.spool.taken()?);
        let live = match &self.job {
            Some(job) => match self.queue.live(job) {
                Ok(Some(live)) => live,
                Ok(None) | Err(_) => return Ok(()),
            },
            None => Live::default(),
        };
        let tasks = writers.iter().map(|writer| &writer.task).chain(taken.iter().map(|(_, it)| it));
        let known = self.ask(&live, tasks);
        self.release_disks(&writers, &known)?;
        self.waiting = live.waiting;
        if !live.is_over() {
            self.has_begun |= !live.running.is_empty();
            self.hasten(&live);
            self.tell_waiting(&live);
            for (index, task) in taken.iter().filter(|(_, task)| known.has_ended(task)) {
                self.lose(*index, task)?;
            }
            return Ok(());
        }
        if self.barren >= super::MOST_BARREN {
            return Err(ClusterError::Workers(format!(
                "the workers of {} jobs ended without a result; the last words of one: {}",
                self.barren,
                self.spool.last_words()
            )));
        }
        // Workers of a job that is over are gone; what they had is wanted by the next ones.
        for (index, task) in taken {
            if Named::parse(&task).is_none() || known.has_ended(&task) {
                self.spool.put_back(index, &task)?;
            }
        }
        let job = self.queue.submit()?;
        if self.queue.outlives_session() {
            self.spool.note_job(&job.0)?;
        }
        self.job = Some(job);
        self.has_begun = false;
        self.barren += 1;
        Ok(())
    }

    /// Ends the job of a session that died: its workers have the nodes that those of this one wait for.
    pub(super) fn end_earlier_job(&mut self) {
        if let Some(job) = self.spool.earlier_job().filter(|_| self.queue.outlives_session()) {
            // Workers that cannot be ended go on; the scheduler is asked about them.
            let _ = self.queue.cancel(&JobId(job));
        }
    }

    /// Ends the pause that a scheduler makes before it starts a requeued task again. All tasks of a job may begin at the
    /// same time: once one has begun, none waits for the time that the user wished.
    fn hasten(&mut self, live: &Live) {
        if let (Some(job), true) = (&self.job, self.has_begun)
            && !live.delayed.is_empty()
        {
            // Without it the task waits as long as the site wishes.
            let _ = self.queue.hasten(job, &live.delayed);
        }
    }

    /// Tells why no worker runs, once for each reason.
    fn tell_waiting(&mut self, live: &Live) {
        let reason = live.reason.clone().filter(|_| live.running.is_empty());
        if let (Some(reason), Some(job)) = (&reason, &self.job)
            && self.told.as_ref() != Some(reason)
        {
            let job = job.number();
            let fix = if IN_VAIN.contains(&reason.as_str()) {
                "; it cannot start like this: stop the run and change its options of sbatch"
                    .to_owned()
            } else if reason == HELD {
                format!("; start it with: scontrol release {job}")
            } else {
                String::new()
            };
            self.say.say(&format!("job {job} waits ({reason}){fix}"));
        }
        self.told = reason;
    }
}

/// Reasons of jobs that start under no circumstances, whichever other jobs end.
const IN_VAIN: [&str; 9] = [
    // More nodes than the partition has.
    "PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints",
    "InvalidAccount", "InvalidQOS", "AccountNotAllowed", "QOSNotAllowed", "JobHeldAdmin",
];

/// Reason of a job that its user has held.
const HELD: &str = "JobHeldUser";
