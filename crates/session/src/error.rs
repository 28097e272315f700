//! Errors of a session.

use crate::options::{Change, Price};
use seekwell_agent::host_backend::HostBackendError;
use seekwell_cluster::ClusterError;
use seekwell_device::DeviceError;
use seekwell_host::refusal::Refusal;
use seekwell_model::backend::BackendError;
use seekwell_model::units::Bytes;
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
    /// No backend has this name.
    #[error("unknown backend '{name}'; use {known}")]
    NoBackend {
        /// The name.
        name: String,
        /// Names of all backends.
        known: String,
    },
    /// A replacement for the lab's devices that cannot be used.
    #[error("{0}")]
    Device(String),
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
    /// A run without a verdict.
    #[error("{path} has no verdict yet; finish the run first: seekwell run --resume -o {path}")]
    NoVerdict {
        /// The run file.
        path: PathBuf,
    },
    /// Arguments of `try` that make no lab.
    #[error("{0}")]
    Tried(String),
    /// The lab file cannot be read.
    #[error("cannot read the lab {}: {source}; give the path of a TOML file", path.display())]
    ReadLab {
        /// Its path.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A mistake in the lab.
    #[error(transparent)]
    Lab(#[from] Diagnostic),
    /// The lab's trials cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A built-in device file is wrong.
    #[error(transparent)]
    Catalogue(DeviceError),
    /// A device file of the user's own cannot be read.
    #[error("cannot read the device file {}: {source}; give the path of a file that device probe wrote", path.display())]
    ReadDevice {
        /// Its path.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// A mistake in a device file of the user's own.
    #[error("{}, {source}", path.display())]
    DeviceFile {
        /// Its path, or that of the run file that holds it.
        path: PathBuf,
        /// The mistake.
        source: DeviceError,
    },
    /// A device file has the name of another device.
    #[error("{}: name = \"{name}\" is the name of another modelled device; give it another name", path.display())]
    SameName {
        /// Its path.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// Bus or changes after the name of a device do not suit it.
    #[error("{name}: {source}")]
    NamedDevice {
        /// The device as it was named.
        name: String,
        /// Cause.
        source: DeviceError,
    },
    /// A modelled device that does not exist.
    #[error(
        "modelled device '{name}' not found; {}list the devices with seekwell device list, or give the path of a .toml file",
        near.as_ref().map_or_else(String::new, |near| format!("did you mean {near}? Otherwise "))
    )]
    NoDevice {
        /// The name.
        name: String,
        /// The device that was probably meant.
        near: Option<String>,
    },
    /// A change names a device that does not exist.
    #[error("--set {change}: modelled device '{}' not found; list the devices with seekwell device list", change.device)]
    ChangedDevice {
        /// The change.
        change: Change,
    },
    /// A price of a device that the lab has not.
    #[error("--price {price}: the lab has no device '{}'; its devices are {known}", price.device)]
    PricedDevice {
        /// The price.
        price: Price,
        /// Devices of the lab.
        known: String,
    },
    /// Two prices of one device.
    #[error("--price {price}: '{}' has a price already; give each device one", price.device)]
    PricedTwice {
        /// The second price.
        price: Price,
    },
    /// A change that the device does not accept.
    #[error("--set {change}: {source}")]
    Change {
        /// The change.
        change: Box<Change>,
        /// Cause.
        source: DeviceError,
    },
    /// A lab that cuts the power of real disks.
    #[error(
        "[trial] power_cut = {cuts}: the host backend cannot cut the power of a disk; run the lab with --place virtual, or leave power_cut out"
    )]
    PowerCut {
        /// Cuts that the lab asks for.
        cuts: u32,
    },
    /// The lab's devices do not suit the virtual backend.
    #[error(transparent)]
    Models(#[from] LabError),
    /// Lab kernels are kept in the home directory, and there is none.
    #[error("lab kernels are kept in ~/.cache, and HOME is not set; set it, or XDG_CACHE_HOME")]
    NoHome,
    /// The list of lab kernels cannot be read.
    #[error(transparent)]
    Kernels(KernelError),
    /// Nothing can be recorded.
    #[error("{0}")]
    Record(String),
    /// No lab kernel, or not exactly one, fits.
    #[error("{0}")]
    Kernel(String),
    /// A program for the guests does not exist.
    #[error("--bring {}: no such file; give the path of a program", .0.display())]
    Bring(PathBuf),
    /// The virtual backend cannot be set up.
    #[error(transparent)]
    Virtual(#[from] VirtualBackendError),
    /// The host backend needs root.
    #[error(
        "a run on this kernel attaches loop devices, formats and mounts, which needs root; run it with sudo"
    )]
    NeedsRoot,
    /// The node's kernel measures for root alone.
    #[error(
        "a worker on this kernel attaches loop devices, formats and mounts, which needs root; submit the run as root"
    )]
    NodeNeedsRoot,
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
    /// The files of a trace are larger than a device.
    #[error(
        "workload {workload}: the files of the trace need {needed}, device {device} has {size}; use a larger device, or limit the replay with only"
    )]
    TraceRoom {
        /// Name of the workload.
        workload: String,
        /// Bytes of the files, in whole MiB.
        needed: Bytes,
        /// Name of the device.
        device: String,
        /// Its size.
        size: Bytes,
    },
    /// The run file cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The run file holds another lab.
    #[error(
        "the lab is not the one that {} was started with; resume without naming a lab, or start a new run with -o",
        path.display()
    )]
    OtherLab {
        /// The run file.
        path: PathBuf,
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
    /// A node of a cluster is not like the machine of the session.
    #[error(
        "this node differs from the machine of the run: {difference}; install the same packages, the same seekwell and the same lab kernel on both"
    )]
    OtherNode {
        /// Description of the difference.
        difference: String,
    },
    /// Settings of a run that another version wrote for its workers.
    #[error(
        "the run's settings for its workers cannot be read: {0}; use the same seekwell on every node"
    )]
    Settings(serde_json::Error),
    /// An option of `sbatch` that Seekwell sets itself.
    #[error("--sbatch {option}: Seekwell sets this option itself; leave it out")]
    Sbatch {
        /// The option.
        option: String,
    },
    /// An old run file cannot be renamed.
    #[error("cannot rename {}: {source}", path.display())]
    SetAside {
        /// The run file.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// No workload of the lab can run on the backend.
    #[error("no trial can run, workload {what}: {reason}")]
    NothingRuns {
        /// The last workload that was left out.
        what: String,
        /// The reason, and what to do.
        reason: String,
    },
    /// The plan has no trial.
    #[error("the lab has no trials to run")]
    NoTrial,
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
            Self::Option { .. }
            | Self::NoBackend { .. }
            | Self::Device(_)
            | Self::Tried(_)
            | Self::Trace { .. }
            | Self::TraceRoom { .. }
            | Self::Sbatch { .. } => Kind::Usage,
            Self::Refused(_) | Self::NotSeen { .. } | Self::OtherRun { .. } => Kind::Refused,
            Self::Store(StoreError::Changed { .. }) => Kind::Changed,
            _ => Kind::Failed,
        }
    }
}

/// Disks as a sentence names them.
fn named(disks: &[PathBuf]) -> String {
    let names: Vec<String> = disks.iter().map(|disk| disk.display().to_string()).collect();
    names.join(" and ")
}
