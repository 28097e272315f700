//! Errors of a session.

use seekwell_agent::host_backend::HostBackendError;
use seekwell_cluster::ClusterError;
use seekwell_device::DeviceError;
use seekwell_host::refusal::Refusal;
use seekwell_model::backend::BackendError;
use seekwell_replay::ReplayError;
use seekwell_runner::execute::RunError;
use seekwell_runner::order::PlanError;
use seekwell_runner::why::WhyError;
use seekwell_spec::Diagnostic;
use seekwell_store::StoreError;
use seekwell_virtual::labs::LabError;
use seekwell_virtual::{KernelError, VirtualBackendError};
use std::io;
use std::path::PathBuf;

/// Kind of an error, which decides what the caller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something failed.
    Failed,
    /// Options, or options and lab, contradict each other, or name a trace that cannot be used.
    Usage,
    /// Refused to protect data.
    Refused,
    /// A run file was changed after it was written.
    Changed,
}

/// Errors of a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// An option of another backend.
    #[error(
        "--{option} needs --place {of}, but the backend is {backend}; remove the option or choose the other backend"
    )]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Backend that takes it.
        of: String,
        /// Backend that was chosen.
        backend: String,
    },
    /// Options, or options and lab, that do not go together: the reason and the remedy.
    #[error("{0}")]
    Usage(String),
    /// A file, a part of a lab or a machine that cannot be used: the reason and the remedy.
    #[error("{0}")]
    Unusable(String),
    /// Laws of a backend that cannot be switched off.
    #[error(
        "causes on a real machine are tested on scratch images alone, and this run was made on disks or other nodes; run its lab with --device loop:SIZE, or with --place virtual --model NAME (seekwell device list names the models), then ask why of that run"
    )]
    NoLaws,
    /// Rounds for the cause that the user ended.
    #[error("stopped; the run file is as before")]
    CausesStopped,
    /// A difference that cannot be explained.
    #[error(transparent)]
    Why(#[from] WhyError),
    /// Arguments of `try` that make no lab.
    #[error("{0}")]
    Tried(String),
    /// A mistake in the lab.
    #[error(transparent)]
    Lab(#[from] Diagnostic),
    /// The lab's trials cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A built-in device file is wrong.
    #[error(transparent)]
    Catalogue(DeviceError),
    /// The lab's devices do not suit the virtual backend.
    #[error(transparent)]
    Models(#[from] LabError),
    /// Lab kernels are kept in the home directory, and there is none.
    #[error("lab kernels are kept in ~/.cache, and HOME is not set; set it, or XDG_CACHE_HOME")]
    NoHome,
    /// The list of lab kernels cannot be read.
    #[error(transparent)]
    Kernels(KernelError),
    /// No lab kernel, or not exactly one, fits.
    #[error("{0}")]
    Kernel(String),
    /// The virtual backend cannot be set up.
    #[error(transparent)]
    Virtual(#[from] VirtualBackendError),
    /// The host backend cannot be set up.
    #[error(transparent)]
    Host(#[from] HostBackendError),
    /// The notes of seen plans, or a command of mkfs.
    #[error(transparent)]
    Machine(#[from] seekwell_host::Error),
    /// A run that writes disks whole, and whose plan no person has seen lately.
    #[error(
        "this run writes {} whole, and no plan for this disk was shown in the last 30 days; show it with seekwell plan",
        named(disks)
    )]
    NotSeen {
        /// The disks.
        disks: Vec<PathBuf>,
    },
    /// A disk that another run on this machine uses.
    #[error("another run uses {}: {holder}; wait until it has ended", disk.display())]
    OtherRun {
        /// The disk.
        disk: PathBuf,
        /// Process of that run.
        holder: String,
    },
    /// The guard refuses a disk of the lab.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The boot of this node is unknown.
    #[error("cannot read which boot of this node it is")]
    Boot(#[source] seekwell_host::Error),
    /// A trace of the lab that cannot be replayed.
    #[error("workload {workload}: {source}")]
    Trace {
        /// Name of the workload.
        workload: String,
        /// Cause.
        source: ReplayError,
    },
    /// A trace that cannot be read or replayed.
    #[error(transparent)]
    Advice(ReplayError),
    /// The run file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run was started on the other backend, where it can be continued.
    #[error("{} {ran}; continue it {how}", path.display())]
    OtherPlace {
        /// The run file.
        path: PathBuf,
        /// Place of the run, in words.
        ran: &'static str,
        /// Option that names it.
        how: &'static str,
    },
    /// The run was started elsewhere, so old and new rounds cannot be compared.
    #[error(
        "{} was started with another {difference}, so its rounds cannot be compared with new ones; start a new run with -o",
        path.display()
    )]
    OtherMachine {
        /// The run file.
        path: PathBuf,
        /// Description of the difference.
        difference: String,
    },
    /// The workers of a cluster.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Settings of a run that another version wrote for its workers.
    #[error(
        "the run's settings for its workers cannot be read: {0}; use the same seekwell on every node"
    )]
    Settings(serde_json::Error),
    /// The run ended with an error.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A device cannot be served in real time.
    #[error(transparent)]
    Served(#[from] seekwell_serve::ServedError),
    /// A served device without latency cannot be read.
    #[error("cannot read the served device that measures the floor: {0}")]
    Floor(#[source] io::Error),
    /// The backend could not restore what it changed.
    #[error("{0}")]
    PutBack(BackendError),
}

impl SessionError {
    /// Returns its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Option { .. } | Self::Usage(_) | Self::Tried(_) | Self::Trace { .. } => {
                Kind::Usage
            }
            Self::Refused(_) | Self::NotSeen { .. } | Self::OtherRun { .. } => Kind::Refused,
            Self::Store(StoreError::Changed { .. } | StoreError::Damaged { .. }) => Kind::Changed,
            _ => Kind::Failed,
        }
    }
}

/// Disks as a sentence names them.
fn named(disks: &[PathBuf]) -> String {
    let names: Vec<String> = disks.iter().map(|disk| disk.display().to_string()).collect();
    names.join(" and ")
}
