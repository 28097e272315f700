//! Clients that wait in the queue of Slurm: the user hears why, and a wait that cannot end is ended.

use super::job_name;
use crate::error::SessionError;
use seekwell_cluster::{Programs, Waiting, clients_have_met, nodes_of, waiting};
use seekwell_model::clients::ClientsPlan;
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Time after which a start is called a wait.
const SOON: Duration = Duration::from_secs(2);

/// Time between two questions to the controller.
const UNTIL_NEXT: Duration = Duration::from_secs(10);

/// Last words of an `srun` that got no nodes.
const REFUSED: &str = "Unable to allocate resources";

/// The job of a measurement until its clients run.
pub(super) struct Queued<'a> {
    folder: PathBuf,
    /// Name of the job: its own, or that of the user's options.
    job: String,
    asked: String,
    /// The partition that was asked for; `None` is the default one.
    partition: Option<String>,
    next: Option<Instant>,
    told: Option<Waiting>,
    programs: Programs,
    say: &'a mut dyn FnMut(&str),
}

impl<'a> Queued<'a> {
    pub(super) fn new(
        folder: &std::path::Path,
        plan: &ClientsPlan,
        (nodes, options): (u32, &[String]),
        programs: Programs,
        say: &'a mut dyn FnMut(&str),
    ) -> Self {
        let partition = options.iter().find_map(|option| option.strip_prefix("--partition="));
        Self {
            folder: folder.to_owned(),
            job: given_name(options).map_or_else(|| job_name(folder), str::to_owned),
            asked: asked(plan, nodes),
            partition: partition.map(str::to_owned),
            next: Some(Instant::now() + SOON),
            told: None,
            programs,
            say,
        }
    }

    /// Tells what the job waits for, now and then; true if it cannot begin.
    pub(super) fn is_in_vain(&mut self) -> bool {
        if self.next.is_some_and(|next| next <= Instant::now()) {
            let has_begun = clients_have_met(&self.folder);
            self.next = (!has_begun).then(|| Instant::now() + UNTIL_NEXT);
            // A controller that does not answer is asked again.
            if let (false, Ok(Some(waits))) = (has_begun, waiting(&self.programs, &self.job)) {
                let programs = self.programs.clone();
                self.tell(waits, &|partition| offered(&programs, partition));
            }
        }
        self.told.as_ref().is_some_and(Waiting::is_in_vain)
    }

    fn tell(&mut self, waits: Waiting, offered: &dyn Fn(Option<&str>) -> String) {
        if self.told.as_ref() != Some(&waits) && !waits.is_in_vain() {
            let Waiting { job, reason, partition } = &waits;
            let has = offered(Some(partition));
            (self.say)(&format!("job {job} waits ({reason}): {} asked for; {has}", self.asked));
        }
        self.told = Some(waits);
    }

    /// The error of a job that got no nodes, if these words of `srun` or its last reason say so.
    pub(super) fn error(self, words: &str) -> Option<SessionError> {
        let in_vain = self.told.filter(Waiting::is_in_vain);
        let reason = match &in_vain {
            Some(waits) => format!("Slurm says {}", waits.reason),
            None if words.contains(REFUSED) => words.to_owned(),
            None => return None,
        };
        let partition = in_vain.map(|waits| waits.partition).or(self.partition);
        let offered = offered(&self.programs, partition.as_deref());
        Some(SessionError::ClientsInVain { asked: self.asked, reason, offered })
    }
}

/// The name of the job in these options, of which the last one counts.
fn given_name(options: &[String]) -> Option<&str> {
    let mut name = None;
    let mut words = options.iter().map(String::as_str);
    while let Some(word) = words.next() {
        if word == "-J" || word == "--job-name" {
            name = words.next().or(name);
        } else if let Some(given) = word.strip_prefix("--job-name=").or(word.strip_prefix("-J")) {
            name = Some(given);
        }
    }
    name
}

/// The nodes and clients that are asked for.
fn asked(plan: &ClientsPlan, nodes: u32) -> String {
    let of_node = plan.clients.div_ceil(nodes.max(1));
    let plural = |count: u32| if count == 1 { "" } else { "s" };
    format!("{nodes} node{} with {of_node} client{} each", plural(nodes), plural(of_node))
}

/// The nodes of a partition, as far as the controller tells.
fn offered(programs: &Programs, partition: Option<&str>) -> String {
    nodes_of(programs, partition).unwrap_or_else(|error| error.to_string())
}
