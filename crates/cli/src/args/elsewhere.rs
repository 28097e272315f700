//! Arguments of runs on other machines: on the nodes of Slurm, in the pods of Kubernetes, and of a worker there.

use crate::terminal;
use clap::{Args, Subcommand};
use seekwell_model::clients::ClientsPlan;
use seekwell_model::units::{Bytes, Nanos};
use seekwell_session::{InCluster, Launch, OnCluster, Say, Workers};
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

/// Actions of a cluster.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Measure shared storage with many clients in step, in the terms of mdtest and IOR
    Clients(ClientsArgs),
    /// Print the objects that run a lab in a Kubernetes cluster
    Manifest(ManifestArgs),
}

/// Workers on the nodes of a cluster.
#[derive(Args, Debug)]
pub struct ClusterArgs {
    /// Number of workers, each with one CPU, and with --place host each with a node of its own; for clients
    /// the number of nodes
    #[arg(long, value_name = "N", requires = "on", help_heading = CLUSTER, default_value = "4", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub nodes: u32,
    /// Partition of the cluster [default: the cluster's own]
    #[arg(long, value_name = "NAME", requires = "on", help_heading = CLUSTER)]
    pub partition: Option<String>,
    /// Account to charge [default: the user's own]
    #[arg(long, value_name = "NAME", requires = "on", help_heading = CLUSTER)]
    pub account: Option<String>,
    /// Further option of sbatch, for clients of srun, for example --sbatch=--time=60; may be given more than
    /// once
    #[arg(long, value_name = "OPTION", requires = "on", help_heading = CLUSTER, allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
}

impl ClusterArgs {
    /// The workers, perhaps on nodes that share no directory with this machine; the run ends when `stop` is raised.
    pub(super) fn workers(
        &self,
        on: &[String],
        is_apart: bool,
        stop: Arc<AtomicBool>,
    ) -> OnCluster {
        let say = Say::new(|words| terminal::talk(&terminal::harmless(words)));
        if !on.iter().any(|word| word == SLURM) {
            return OnCluster { workers: Workers::Others, stop, say };
        }
        let (tasks, options) = (self.nodes, self.options());
        OnCluster { workers: Workers::Slurm { tasks, options, is_apart }, stop, say }
    }

    /// Options of `sbatch` and `srun`.
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
    /// Take trials from standard input and write records to standard output, as worker number RANK of an allocation
    #[arg(long, value_name = "RANK", conflicts_with = "wait")]
    pub pipe: Option<u32>,
}

/// Arguments of `clients`.
#[derive(Args, Debug)]
pub struct ClientsArgs {
    /// Directory on the storage, seen by all clients at this path; a folder in it is made and removed
    pub storage: PathBuf,
    /// Clients on this machine, or on each node
    #[arg(long, value_name = "M", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub processes: u32,
    /// Start the clients on the nodes of a cluster instead of this machine
    #[arg(long, value_name = "CLUSTER", value_parser = [SLURM])]
    pub on: Option<String>,
    /// The nodes.
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Files that each client makes, reads and removes; 0 for none
    #[arg(long, value_name = "N", default_value = "1000")]
    pub files: u32,
    /// Size of each of these files
    #[arg(long, value_name = "SIZE", default_value = "4KiB")]
    pub file_size: Bytes,
    /// Make the files of all clients in one directory
    #[arg(long)]
    pub shared_directory: bool,
    /// Data that each client writes and reads in a file of its own; 0 for none
    #[arg(long, value_name = "SIZE", default_value = "64MiB")]
    pub block: Bytes,
    /// Size of a request for this data
    #[arg(long, value_name = "SIZE", default_value = "1MiB")]
    pub transfer: Bytes,
    /// End making and writing after this time; what is there by then is read
    #[arg(long, value_name = "TIME", value_parser = super::some_time, allow_hyphen_values = true)]
    pub stonewall: Option<Nanos>,
    /// Print JSON, with the figures of each client
    #[arg(long)]
    pub json: bool,
}

impl ClientsArgs {
    /// The work of every client.
    pub fn plan(&self) -> ClientsPlan {
        let nodes = if self.on.is_some() { self.cluster.nodes } else { 1 };
        ClientsPlan {
            clients: nodes.saturating_mul(self.processes),
            // On one machine there is no other node: the next client's files are read.
            per_node: if nodes > 1 { self.processes } else { 1 },
            files: self.files,
            file_bytes: self.file_size,
            shared_directory: self.shared_directory,
            block: self.block,
            transfer: self.transfer,
            stonewall_ns: self.stonewall.map(|time| time.0),
        }
    }

    /// The one that starts the clients.
    pub fn launch(&self) -> Launch {
        match self.on {
            None => Launch::Here,
            Some(_) => Launch::Slurm { nodes: self.cluster.nodes, options: self.cluster.options() },
        }
    }
}

/// Arguments of `client`.
#[derive(Args, Debug)]
pub struct ClientArgs {
    /// Folder that `clients` made
    pub folder: PathBuf,
    /// Number of the client [default: that of srun]
    #[arg(long, value_name = "N")]
    pub rank: Option<u32>,
}

/// Arguments of `manifest`.
#[derive(Args, Debug)]
pub struct ManifestArgs {
    /// Lab file
    pub lab: PathBuf,
    /// Image of the containers, as `make image` builds it
    #[arg(long, value_name = "IMAGE", default_value = concat!("seekwell:", env!("CARGO_PKG_VERSION")))]
    pub image: String,
    /// Number of workers, each with one CPU
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub workers: u32,
    /// Volume claim to share, with the access mode ReadWriteMany [default: one that the manifest makes]
    #[arg(long, value_name = "NAME")]
    pub claim: Option<String>,
    /// Storage class of the claim that the manifest makes [default: the cluster's own]
    #[arg(long, value_name = "NAME", conflicts_with = "claim")]
    pub storage_class: Option<String>,
    /// Further option of `run`, for example --option=--model=wd-raptor-wd740gd; may be given more than once
    #[arg(long = "option", value_name = "OPTION", allow_hyphen_values = true)]
    pub options: Vec<String>,
}

impl ManifestArgs {
    /// The pods.
    pub fn pods(&self) -> InCluster {
        InCluster {
            image: self.image.clone(),
            workers: self.workers,
            claim: self.claim.clone(),
            storage_class: self.storage_class.clone(),
            options: self.options.clone(),
        }
    }
}
