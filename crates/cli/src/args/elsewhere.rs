//! Arguments of runs on other machines: on the nodes of Slurm, and of a worker there.

use crate::terminal;
use clap::Args;
use seekwell_session::{OnCluster, Say, Workers};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The words of `--on` that name other machines instead of a device: those of a cluster, and those on
/// which something else starts the workers.
const SLURM: &str = "slurm";
const WORKERS: &str = "workers";

/// True if a word of `--on` names other machines.
pub(super) fn is_named(word: &str) -> bool {
    [SLURM, WORKERS].contains(&word)
}

/// Heading of the options of a cluster.
pub(super) const CLUSTER: &str = "With --on slurm";

/// Workers on the nodes of a cluster.
#[derive(Args, Debug)]
pub struct ClusterArgs {
    /// Number of workers, each with one CPU, and with --place host each with a node of its own
    #[arg(long, value_name = "N", requires = "on", help_heading = CLUSTER, default_value = "4", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub nodes: u32,
    /// Partition of the cluster [default: the cluster's own]
    #[arg(long, value_name = "NAME", requires = "on", help_heading = CLUSTER)]
    pub partition: Option<String>,
    /// Account to charge [default: the user's own]
    #[arg(long, value_name = "NAME", requires = "on", help_heading = CLUSTER)]
    pub account: Option<String>,
    /// Further option of sbatch, for example --sbatch=--time=60; may be given more than once
    #[arg(long, value_name = "OPTION", requires = "on", help_heading = CLUSTER, allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
}

impl ClusterArgs {
    /// The workers; the run ends when `stop` is raised.
    pub(super) fn workers(&self, on: &[String], stop: Arc<AtomicBool>) -> OnCluster {
        let say = Say::new(|words| terminal::talk(&terminal::harmless(words)));
        let workers = match on.iter().any(|word| word == SLURM) {
            true => Workers::Slurm { tasks: self.nodes, options: self.options() },
            false => Workers::Others,
        };
        OnCluster { workers, stop, say }
    }

    /// Options of `sbatch`.
    fn options(&self) -> Vec<String> {
        let named = [("--partition", &self.partition), ("--account", &self.account)];
        let named = named
            .into_iter()
            .filter_map(|(option, value)| value.as_ref().map(|value| format!("{option}={value}")));
        named.chain(self.sbatch.clone()).collect()
    }
}

/// Arguments of `merge`.
#[derive(Args, Debug)]
pub struct MergeArgs {
    /// Run files of one plan; they stay as they are
    #[arg(required = true, num_args = 2..)]
    pub parts: Vec<PathBuf>,
    /// Run file to write; an existing file is not overwritten
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
}

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Examine the cluster that this machine submits to instead of the machine
    #[arg(long, value_name = "CLUSTER", value_parser = [SLURM])]
    pub on: Option<String>,
    /// With --on slurm: partition to examine [default: the cluster's own]
    #[arg(long, value_name = "NAME", requires = "on")]
    pub partition: Option<String>,
    /// With --on slurm: number of workers
    #[arg(long, value_name = "N", requires = "on", default_value = "4")]
    pub nodes: u32,
    /// With --on slurm: directory of the run file
    #[arg(long, value_name = "DIR", requires = "on", default_value = ".")]
    pub folder: PathBuf,
}

/// Arguments of `work`.
#[derive(Args, Debug)]
pub struct WorkArgs {
    /// Folder that the run shares with its workers
    pub folder: PathBuf,
    /// Name of the worker
    #[arg(long, value_name = "NAME")]
    pub task: String,
    /// Wait for a run that is not there yet
    #[arg(long)]
    pub wait: bool,
}
