//! Names of workers, which tell task, node and job.

/// A worker of Slurm by its name: `TASK-RESTARTS-NODE-PROCESS-JOB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub(super) number: u32,
    restarts: u32,
    node: &'a str,
    pub(super) job: &'a str,
}

impl<'a> Named<'a> {
    /// `None` for a worker that something else has started.
    pub(super) fn parse(task: &'a str) -> Option<Self> {
        let (number, rest) = task.split_once('-')?;
        let (restarts, rest) = rest.split_once('-')?;
        let (rest, job) = rest.rsplit_once('-')?;
        // The name of a node may have hyphens.
        let (node, _process) = rest.rsplit_once('-')?;
        // Before its first restart Slurm does not set the count.
        let restarts = if restarts.is_empty() { 0 } else { restarts.parse().ok()? };
        Some(Self { number: number.parse().ok()?, restarts, node, job })
    }

    /// True for a worker in whose place the scheduler has started the other one.
    pub(super) fn is_before(self, other: Self) -> bool {
        (self.job, self.number) == (other.job, other.number) && self.restarts < other.restarts
    }
}

/// True for two workers of one task: the scheduler starts a task again when its worker is dead.
pub(super) fn are_of_one_task(one: &str, other: &str) -> bool {
    match (Named::parse(one), Named::parse(other)) {
        (Some(one), Some(other)) => (one.job, one.number) == (other.job, other.number),
        _ => number(one).is_some() && number(one) == number(other),
    }
}

/// Number of the task that a worker's name begins with.
fn number(task: &str) -> Option<u32> {
    task.split('-').next()?.parse().ok()
}

/// Name of a worker's node; a worker that does not tell it is one by itself.
pub(super) fn node(task: &str) -> &str {
    let of_others = || match task.rsplit_once('-') {
        Some((node, process)) if process.parse::<u32>().is_ok() => node,
        _ => task,
    };
    Named::parse(task).map_or_else(of_others, |named| named.node)
}

#[cfg(test)]
mod tests;
