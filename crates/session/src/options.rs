//! Options of a run that are not part of the lab.

use seekwell_cluster::Say;
use seekwell_virtual::CpuCharge;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(test)]
mod tests;

/// Name of the backend on a kernel of its own machine.
pub(crate) const HOST: &str = "host";

/// Options of `sbatch` that `seekwell run` has too.
const OWN_OF_SBATCH: [&str; 2] = ["--partition=", "--account="];

/// Settings of a run that the lab does not contain. Each option except `scratch` and `more` belongs
/// to one backend; see [`BACKENDS`](crate::backends::BACKENDS).
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the backend.
    pub backend: String,
    /// Host: replaces the lab's devices: `loop:SIZE`, `ram:SIZE`, or the stable path of a claimed
    /// disk or partition.
    pub device: Option<String>,
    /// Host: the same for external journals.
    pub journal_device: Option<String>,
    /// Virtual: replaces the lab's devices by this modelled one.
    pub model: Option<String>,
    /// Virtual: runs the lab on each of these modelled devices instead of its own.
    pub on: Vec<String>,
    /// Prices of the lab's devices.
    pub prices: Vec<Price>,
    /// Virtual: the lab kernel, by the start of its id; `None` takes the current one.
    pub kernel: Option<String>,
    /// Virtual: further programs of this machine for the guests.
    pub bring: Vec<PathBuf>,
    /// Virtual: changed parameters of modelled devices.
    pub changes: Vec<Change>,
    /// Virtual: number of parallel trials; `None` for one per CPU.
    pub jobs: Option<usize>,
    /// Virtual: CPU time to charge.
    pub cpu: Option<CpuCharge>,
    /// Virtual: runs every trial twice and compares.
    pub check: bool,
    /// Virtual: folder for the traces of the measured commands of the first round.
    pub record: Option<PathBuf>,
    /// Runs the trials on the nodes of a cluster instead of this machine.
    pub cluster: Option<OnCluster>,
    /// Directory for scratch images, or for guest data that does not fit in memory.
    pub scratch: Option<PathBuf>,
    /// Rounds beyond those of the lab, until the run is stopped; `None` adds none.
    pub more: Option<More>,
    /// Host: waits for the end of another run instead of 15 s at most.
    pub wait: Option<Wait>,
}

/// The wait for another run that has the machine.
#[derive(Clone, Debug)]
pub struct Wait {
    /// Ends the wait.
    pub stop: Arc<AtomicBool>,
    /// Tells the user which run it waits for.
    pub say: fn(&str),
}

/// Workers on other machines.
#[derive(Clone, Debug)]
pub struct OnCluster {
    /// The one that starts them.
    pub workers: Workers,
    /// Ends the run while it waits for a node.
    pub stop: Arc<AtomicBool>,
    /// Tells the user what the cluster does meanwhile.
    pub say: Say,
}

/// The one that starts the workers of a run.
#[derive(Clone, Debug)]
pub enum Workers {
    /// Slurm, on the nodes that it manages.
    Slurm {
        /// Number of workers, each with one CPU.
        tasks: u32,
        /// Further options of `sbatch`.
        options: Vec<String>,
    },
    /// Something else, such as another scheduler.
    Others,
}

/// Rounds that are added to a run after it is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct More {
    /// Ends the run at the first look that decides.
    pub until_decided: bool,
}

impl Options {
    /// No options for the backend with this name.
    #[must_use]
    pub fn of(backend: &str) -> Self {
        Self { backend: backend.to_owned(), ..Self::default() }
    }

    /// Names of the options that were given, as `seekwell run` spells them.
    pub(crate) fn given(&self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("device", self.device.is_some()),
            ("journal-device", self.journal_device.is_some()),
            ("model", self.model.is_some()),
            ("on", !self.on.is_empty()),
            ("kernel", self.kernel.is_some()),
            ("bring", !self.bring.is_empty()),
            ("set", !self.changes.is_empty()),
            ("jobs", self.jobs.is_some()),
            ("cpu", self.cpu.is_some()),
            ("check", self.check),
            ("record", self.record.is_some()),
            ("nodes", self.cluster.is_some()),
            ("wait", self.wait.is_some()),
        ];
        all.into_iter().filter_map(|(name, given)| given.then_some(name))
    }

    /// The options that a run needs again to be continued, as words of a command line. What the plan
    /// holds already (devices, models) is not among them.
    #[must_use]
    pub fn again(&self) -> Vec<String> {
        // The usual one is not named, and with `--on` that is the other one.
        let is_usual = (self.backend == HOST) == self.cluster.is_none();
        let place = (!is_usual).then(|| ("--place", self.backend.clone()));
        let kernel = self.kernel.clone().map(|id| ("--kernel", id));
        let bring = self.bring.iter().map(|path| ("--bring", path.display().to_string()));
        let set = self.changes.iter().map(|change| ("--set", change.to_string()));
        let cpu = self.cpu.map(|charge| ("--cpu", charge.to_string()));
        let pairs = place.into_iter().chain(kernel).chain(bring).chain(set).chain(cpu);
        let check = self.check.then(|| "--check".to_owned());
        let cluster = self.cluster.iter().flat_map(|cluster| self.on_cluster(&cluster.workers));
        let words = pairs.flat_map(|(name, value)| [name.to_owned(), value]);
        words.chain(check).chain(cluster).collect()
    }

    /// The options that run a lab again as these do, as words of a command line: those of [`Self::again`],
    /// the devices and their prices.
    #[must_use]
    pub fn for_lab(&self) -> Vec<String> {
        let device = self.device.iter().map(|device| ("--device", device.clone()));
        let journal = self.journal_device.iter().map(|device| ("--journal-device", device.clone()));
        let model = self.model.iter().map(|model| ("--model", model.clone()));
        let on = self.on.iter().map(|model| ("--on", model.clone()));
        let prices = self.prices.iter().map(|price| ("--price", price.to_string()));
        let devices = device.chain(journal).chain(model).chain(on).chain(prices);
        let words = devices.flat_map(|(name, value)| [name.to_owned(), value]);
        self.again().into_iter().chain(words).collect()
    }

    /// The options of a run on these workers.
    fn on_cluster(&self, workers: &Workers) -> Vec<String> {
        let Workers::Slurm { tasks, options } = workers else {
            return ["--on", "workers"].map(str::to_owned).to_vec();
        };
        let mut words = ["--on", "slurm", "--nodes"].map(str::to_owned).to_vec();
        words.push(tasks.to_string());
        // A directory of the nodes.
        let scratch = self
            .scratch
            .iter()
            .flat_map(|path| ["--scratch".to_owned(), path.display().to_string()]);
        words.extend(scratch);
        let is_own = |option: &str| OWN_OF_SBATCH.iter().any(|own| option.starts_with(own));
        words.extend(options.iter().map(|option| match is_own(option) {
            true => option.clone(),
            false => format!("--sbatch={option}"),
        }));
        words
    }

    /// Directory of scratch images: the given one, else the run file's.
    #[must_use]
    pub fn scratch_directory(&self, run_file: &Path) -> PathBuf {
        let of_file = run_file.parent().filter(|parent| !parent.as_os_str().is_empty());
        self.scratch.as_deref().or(of_file).unwrap_or_else(|| Path::new(".")).to_owned()
    }
}

/// Price of a device: `DEVICE=NUMBER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Price {
    /// Name of the device in the lab, or of its model.
    pub device: String,
    /// Whole units of the user's currency.
    pub price: u32,
}

impl std::str::FromStr for Price {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // From the right: changes of a model's numbers have an equals sign too.
        let parts = text.rsplit_once('=').and_then(|(device, price)| {
            let price = price.parse().ok().filter(|price| *price > 0)?;
            (!device.is_empty()).then(|| Self { device: device.to_owned(), price })
        });
        parts.ok_or_else(|| {
            "write DEVICE=PRICE with a whole number, for example ssd-sata-250gb=45".to_owned()
        })
    }
}

impl std::fmt::Display for Price {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}={}", self.device, self.price)
    }
}

/// A changed parameter of a modelled device: `DEVICE:KEY=NUMBER`.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Name of the device.
    pub device: String,
    /// The number and its new value.
    pub number: seekwell_device::Change,
}

impl Change {
    /// A change of the number under a dotted key of the device's file.
    #[must_use]
    pub fn new(device: &str, key: &str, value: f64) -> Self {
        let number = seekwell_device::Change { key: key.to_owned(), value };
        Self { device: device.to_owned(), number }
    }
}

impl std::str::FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once(':').and_then(|(device, number)| {
            Some(Self { device: device.to_owned(), number: number.parse().ok()? })
        });
        parts.ok_or_else(|| {
            "write DEVICE:KEY=NUMBER, for example sata-2tb-5400:rotating.rpm=5900".to_owned()
        })
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.device, self.number)
    }
}
