//! A job of Slurm that waits for its nodes: its reason, and what its partition has.

use crate::error::ClusterError;
use crate::slurm::Programs;
use std::ffi::OsString;

#[cfg(test)]
mod tests;

/// Reasons of jobs that no end of other jobs lets begin.
const IN_VAIN: [&str; 9] = [
    // More nodes than the partition has.
    "PartitionConfig",
    "PartitionNodeLimit",
    "PartitionTimeLimit",
    "BadConstraints",
    "InvalidAccount",
    "InvalidQOS",
    "AccountNotAllowed",
    "QOSNotAllowed",
    "JobHeldAdmin",
];

/// State of a job that waits for its turn.
const PENDING: &str = "PENDING";

/// A job that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its number.
    pub job: String,
    /// Slurm's reason, such as `Resources`.
    pub reason: String,
    /// The partition.
    pub partition: String,
}

impl Waiting {
    /// Returns true if it waits for something that other jobs cannot give by their end.
    #[must_use]
    pub fn is_in_vain(&self) -> bool {
        is_in_vain(&self.reason)
    }
}

/// Returns true if a job with this reason never starts, whichever other jobs end.
pub(crate) fn is_in_vain(reason: &str) -> bool {
    IN_VAIN.contains(&reason)
}

/// The newest job of this user with this name, if it waits.
///
/// # Errors
/// When the controller cannot be reached.
pub fn waiting(programs: &Programs, name: &str) -> Result<Option<Waiting>, ClusterError> {
    let name = format!("--name={name}");
    // Newest first: a name that the user has chosen may be that of other jobs too.
    let words = ["--noheader", "--all", "--me", "--sort=-i", "--format=%i|%T|%P|%r", &name];
    Ok(parsed(&ask(programs, "squeue", &words)?))
}

/// The nodes of a partition in words; those of the default one without a name.
///
/// # Errors
/// When the controller cannot be reached.
pub fn nodes_of(programs: &Programs, partition: Option<&str>) -> Result<String, ClusterError> {
    let rows = ask(programs, "sinfo", &["--noheader", "--format=%P|%D|%c"])?;
    Ok(nodes_in(&rows, partition))
}

fn ask(programs: &Programs, command: &'static str, words: &[&str]) -> Result<String, ClusterError> {
    programs.output(command, &words.iter().map(OsString::from).collect::<Vec<_>>(), "")
}

/// Reads `JOB|STATE|PARTITION|REASON`.
fn parsed(text: &str) -> Option<Waiting> {
    let mut words = text.lines().next()?.trim().splitn(4, '|');
    let (job, state, partition) = (words.next()?, words.next()?, words.next()?);
    // A reason may go on with names of nodes.
    let reason = words.next()?.split(',').next()?;
    let [job, partition, reason] = [job, partition, reason].map(str::to_owned);
    (state == PENDING).then_some(Waiting { job, reason, partition })
}

/// Reads `PARTITION|NODES|CPUS`, a line for nodes of a kind; the default partition has an asterisk.
fn nodes_in(rows: &str, partition: Option<&str>) -> String {
    let rows = rows.lines().filter_map(|row| {
        let mut words = row.trim().split('|');
        Some((words.next()?, words.next()?, words.next()?))
    });
    let is_it = |name: &str| match partition {
        Some(wanted) => name.trim_end_matches('*') == wanted,
        None => name.ends_with('*'),
    };
    let rows: Vec<_> = rows.filter(|(name, ..)| is_it(name)).collect();
    let Some((name, ..)) = rows.first() else {
        return partition.map_or_else(
            || "the cluster has no default partition".to_owned(),
            |name| format!("the cluster has no partition {name}"),
        );
    };
    let kind = |(_, nodes, cpus): &(&str, &str, &str)| {
        let plural = |count: &str| if count == "1" { "" } else { "s" };
        format!("{nodes} node{} of {cpus} CPU{}", plural(nodes), plural(cpus))
    };
    let kinds: Vec<String> = rows.iter().map(kind).collect();
    format!("partition {} has {}", name.trim_end_matches('*'), kinds.join(" and "))
}
