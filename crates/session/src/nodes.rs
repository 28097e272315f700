//! Trials on the nodes of a cluster: the session's side; a worker's is `worker`.

use crate::error::SessionError;
use crate::machine::Machine;
use crate::options::{Change, HOST, OnCluster, Options, Workers};
use seekwell_cluster::{Array, Cluster, Others, Patience, Queue, Slurm, Spool, Unit, Work};
use seekwell_model::plan::Plan;
use seekwell_virtual::Kernel;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// End of the name of the folder that session and workers share, next to the run file.
const FOLDER: &str = ".nodes";

/// The backend of the workers with its options.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "lowercase")]
pub(crate) enum Settings {
    /// Guests on modelled disks: any node runs any trial.
    Virtual(OfGuests),
    /// The nodes' own kernels: a node runs whole rounds.
    Host(OfHosts),
}

/// Options of the host backend that a worker needs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OfHosts {
    /// Directory for scratch images on the node; `None` for that of its temporary files.
    pub(crate) scratch: Option<PathBuf>,
}

impl Settings {
    fn of(options: &Options) -> Self {
        if options.backend == HOST {
            return Self::Host(OfHosts { scratch: options.scratch.clone() });
        }
        Self::Virtual(OfGuests::of(options))
    }

    pub(crate) fn unit(&self) -> Unit {
        match self {
            Self::Virtual(_) => Unit::Trial,
            Self::Host(_) => Unit::Round,
        }
    }
}

/// Options of the virtual backend that a worker needs; devices come with the environment.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OfGuests {
    kernel: Option<String>,
    bring: Vec<PathBuf>,
    changes: Vec<String>,
    cpu: Option<String>,
    check: bool,
    /// Each worker takes a CPU of its node for itself. Pods may not see each other's locks.
    #[serde(default)]
    pub(crate) own_cpu: bool,
}

impl OfGuests {
    fn of(options: &Options) -> Self {
        Self {
            kernel: options.kernel.clone(),
            bring: options.bring.clone(),
            changes: options.changes.iter().map(ToString::to_string).collect(),
            cpu: options.cpu.map(|cpu| cpu.to_string()),
            check: options.check,
            own_cpu: matches!(
                options.cluster,
                Some(OnCluster { workers: Workers::Slurm { .. }, .. })
            ),
        }
    }

    /// The options of a worker: one guest at a time, wherever the scheduler of the node puts it.
    pub(crate) fn options(&self) -> Result<Options, SessionError> {
        fn wrong(error: impl std::fmt::Display) -> SessionError {
            SessionError::Settings(<serde_json::Error as serde::de::Error>::custom(error))
        }
        let changes = self.changes.iter().map(|text| text.parse::<Change>());
        Ok(Options {
            kernel: self.kernel.clone(),
            bring: self.bring.clone(),
            changes: changes.collect::<Result<_, _>>().map_err(wrong)?,
            cpu: self.cpu.as_ref().map(|text| text.parse()).transpose().map_err(wrong)?,
            check: self.check,
            jobs: Some(0),
            ..Options::of("virtual")
        })
    }
}

/// The backend of a run on a cluster; guests have this lab kernel.
pub(crate) fn cluster(
    machine: &Machine,
    kernel: Option<&Kernel>,
    options: &Options,
    on: &OnCluster,
    plan: &Plan,
    environment: &Value,
    run_file: &Path,
) -> Result<Cluster, SessionError> {
    if let Workers::Slurm { options, .. } = &on.workers
        && let Some(option) = Slurm::set_by_us(options)
    {
        let text = format!("--sbatch {option}: Seekwell sets this option itself; leave it out");
        return Err(SessionError::Usage(text));
    }
    let settings = Settings::of(options);
    let unit = settings.unit();
    let settings = serde_json::to_value(settings).map_err(SessionError::Settings)?;
    let work = Work { plan: plan.clone(), environment: environment.clone(), settings };
    let spool = folder(run_file);
    let queue = queue(machine, kernel, &on.workers, &spool);
    let cluster = Cluster::later(&spool, work, queue, Patience::default(), on.stop.clone());
    Ok(cluster.by(unit).saying(on.say.clone()))
}

/// Starts the workers.
fn queue(
    machine: &Machine,
    kernel: Option<&Kernel>,
    workers: &Workers,
    spool: &Path,
) -> Box<dyn Queue> {
    match workers {
        Workers::Slurm { tasks, options: given } => {
            let array = Array {
                program: machine.program.clone(),
                logs: Spool::logs_in(spool),
                spool: spool.to_owned(),
                tasks: *tasks,
                is_exclusive: kernel.is_none(),
                options: given.clone(),
            };
            Box::new(Slurm::new(array, machine.slurm()))
        }
        Workers::Others => Box::new(Others),
    }
}

/// The shared folder of a run.
fn folder(run_file: &Path) -> PathBuf {
    let mut name = run_file.as_os_str().to_owned();
    name.push(FOLDER);
    std::path::absolute(&name).unwrap_or_else(|_| PathBuf::from(name))
}
