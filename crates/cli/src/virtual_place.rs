//! What the commands need of the virtual place: its kernel, its devices, its paths.

use crate::args::{KernelSetArg, PlaceArgs, RunArgs};
use crate::failure::Failure;
use crate::terminal;
use rustix::thread::{CpuSet, sched_getaffinity};
use seekwell_device::DeviceFile;
use seekwell_model::lab::Lab;
use seekwell_model::plan::{Candidate, LeftOut, PlaceFacts, Plan};
use seekwell_virtual::kernel::{self, Kernel, KernelSet};
use seekwell_virtual::{CpuCharge, Lanes, VirtualOptions, VirtualPlace, labs};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folders of system tools that an ordinary user's `PATH` leaves out on Debian.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Name of the place on the command line and in run files.
pub const NAME: &str = "virtual";

/// Where lab kernels are kept: `seekwell/kernels` of the user's cache.
///
/// # Errors
/// When the user has no home.
pub fn kernels_directory() -> Result<PathBuf, Failure> {
    let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    let cache = named("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| named("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .ok_or_else(|| {
            let text =
                "lab kernels are kept in ~/.cache, and HOME is not set; set it, or XDG_CACHE_HOME";
            Failure::Error(text.to_owned())
        })?;
    Ok(cache.join("seekwell/kernels"))
}

/// Every modelled device, by name.
///
/// # Errors
/// When a file that was built in is wrong.
pub fn devices() -> Result<BTreeMap<String, DeviceFile>, Failure> {
    seekwell_device::catalogue().map_err(|error| Failure::from_error(&error))
}

/// A number of a modelled device that is changed: `DEVICE:KEY=NUMBER`.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Name of the device.
    pub device: String,
    /// Dotted key of the number in its file.
    pub key: String,
    /// The number.
    pub value: f64,
}

impl std::str::FromStr for Change {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = text.split_once(':').and_then(|(device, rest)| {
            let (key, value) = rest.split_once('=')?;
            let value = value.trim().replace('_', "").parse().ok()?;
            Some(Self { device: device.to_owned(), key: key.trim().to_owned(), value })
        });
        parts.ok_or_else(|| {
            "write DEVICE:KEY=NUMBER, for example sata-2tb-5400:rotating.rpm=5900".to_owned()
        })
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}={}", self.device, self.key, self.value)
    }
}

/// Every modelled device with these numbers changed.
fn changed_devices(changes: &[Change]) -> Result<BTreeMap<String, DeviceFile>, Failure> {
    let mut devices = devices()?;
    for change in changes {
        let Some(file) = devices.get_mut(&change.device) else {
            return Err(Failure::Error(format!(
                "--set {change}: there is no modelled device '{}'; seekwell device list shows those there are",
                change.device
            )));
        };
        *file = file
            .with(&change.key, change.value)
            .map_err(|error| Failure::Error(format!("--set {change}: {error}")))?;
    }
    Ok(devices)
}

/// A program of this machine by name.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// The kernel with this id, or the best there is: of this version, with every filesystem if such a one
/// was built.
///
/// # Errors
/// When there is none.
pub fn kernel(id: Option<&str>) -> Result<Kernel, Failure> {
    let cache = kernels_directory()?;
    let kernels = kernel::list(&cache).map_err(|error| Failure::from_error(&error))?;
    if let Some(id) = id {
        let mut named = kernels.into_iter().filter(|kernel| kernel.id.starts_with(id));
        return match (named.next(), named.next()) {
            (Some(kernel), None) => Ok(kernel),
            (None, _) => Err(Failure::Error(format!(
                "no lab kernel {id} was built; seekwell kernel list shows those there are"
            ))),
            (Some(_), Some(_)) => Err(Failure::Error(format!(
                "more than one lab kernel begins with {id}; write more of its name"
            ))),
        };
    }
    let current = |kernel: &Kernel| kernel.is_current() && from_debian(kernel);
    kernels.into_iter().filter(current).min_by_key(|kernel| kernel.set).ok_or_else(|| {
        let text = "no lab kernel of this version was built; run: seekwell kernel build";
        Failure::Error(text.to_owned())
    })
}

/// A tree of the user's own is raced only by name.
fn from_debian(kernel: &Kernel) -> bool {
    kernel.source == kernel::DEBIAN_TARBALL
}

/// What the lab is in the virtual place, and what the place offers to it.
///
/// # Errors
/// When a device of the lab is no model, or there is no kernel.
pub fn adapt(lab: &mut Lab, arguments: &PlaceArgs) -> Result<PlaceFacts, Failure> {
    let devices = changed_devices(&arguments.changes)?;
    if let Some(model) = &arguments.model {
        labs::use_model(lab, model);
    }
    labs::check(lab, &devices).map_err(|error| Failure::from_error(&error))?;
    let kernel = kernel(arguments.kernel.as_deref())?;
    if kernel.set == KernelSet::Reduced {
        terminal::talk(
            "this lab kernel has ext2, ext3, ext4, xfs and btrfs only; all filesystems: seekwell kernel build",
        );
    }
    Ok(labs::facts(lab, &kernel, &devices, &|name| find(name).is_some()))
}

/// The workloads that guests cannot run, taken out of the pairs and said why.
pub fn leave_out(
    lab: &Lab,
    bring: &[PathBuf],
    candidates: &mut Vec<Candidate>,
    left_out: &mut Vec<LeftOut>,
) {
    let brought = |name: &str| bring.iter().any(|path| path.ends_with(name));
    for (index, workload) in lab.workloads.iter().enumerate() {
        let Some((why, remedy)) = labs::cannot_run(workload, &brought) else { continue };
        let before = candidates.len();
        candidates.retain(|candidate| candidate.workload as usize != index);
        left_out.push(LeftOut {
            what: workload.name.clone(),
            reason: format!("{why}; {remedy}"),
            count: (before - candidates.len()) as u64,
        });
    }
}

/// Lanes for the trials of a plan, and what is written of the place into the run file.
///
/// # Errors
/// When the place cannot be made.
pub fn lanes(plan: &Plan, arguments: &RunArgs) -> Result<(Lanes, serde_json::Value), Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Error(format!("cannot find the program itself: {error}")))?;
    let bring = arguments.at.bring.iter().map(|path| absolute(path)).collect::<Result<_, _>>()?;
    let options = VirtualOptions {
        kernel: kernel(arguments.at.kernel.as_deref())?,
        program,
        devices: changed_devices(&arguments.at.changes)?,
        bring,
        scratch: arguments.scratch.clone().unwrap_or_else(std::env::temp_dir),
        charge: arguments.cpu.unwrap_or_default(),
        check: arguments.check,
    };
    let place = VirtualPlace::new(options, &find).map_err(|error| Failure::from_error(&error))?;
    let mut environment = decided_by(&plan.lab, &arguments.at, place.kernel(), place.charge())?;
    add_image(&mut environment, &place);
    let cpus = cpus(arguments.jobs);
    let lanes = Lanes::new(place, plan, &cpus).map_err(|error| Failure::from_error(&error))?;
    Ok((lanes, environment))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).ok().filter(|path| path.is_file()).ok_or_else(|| {
        Failure::Error(format!("cannot bring {}: there is no such file", path.display()))
    })
}

/// CPUs that this process may use, at most so many.
fn cpus(most: Option<usize>) -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let all = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    all.take(most.unwrap_or(usize::MAX)).collect()
}

/// What decides the results of a lab besides its file, its seed and the programs of the guests, as the
/// environment of a run file says it: kernel, CPU charge, and every value of the modelled devices.
///
/// # Errors
/// When there is no kernel, or a device cannot be changed as asked.
pub fn facts(
    lab: &Lab,
    arguments: &PlaceArgs,
    charge: Option<CpuCharge>,
) -> Result<serde_json::Value, Failure> {
    let kernel = kernel(arguments.kernel.as_deref())?;
    decided_by(lab, arguments, &kernel, charge.unwrap_or_default())
}

fn decided_by(
    lab: &Lab,
    arguments: &PlaceArgs,
    kernel: &Kernel,
    charge: CpuCharge,
) -> Result<serde_json::Value, Failure> {
    let cpu = if charge.syscall_ns == 0 && charge.copy_ns_per_kib == 0 {
        "CPU time not counted".to_owned()
    } else {
        let (call, kib) = (charge.syscall_ns, charge.copy_ns_per_kib);
        format!("CPU time charged: {call} ns a system call, {kib} ns a KiB copied")
    };
    let mut facts = serde_json::json!({
        "place": NAME,
        "kernel": format!("{} ({} set, {})", kernel.version, kernel.set, kernel.id),
        "kernel_source": kernel.source,
        "cpu": cpu,
        "models": labs::models(lab, &changed_devices(&arguments.changes)?),
    });
    if !arguments.changes.is_empty() {
        let changes = arguments.changes.iter().map(ToString::to_string).collect::<Vec<_>>();
        facts["changed"] = serde_json::Value::from(changes);
    }
    Ok(facts)
}

/// The programs of the guests; of this machine itself, nothing decides.
fn add_image(environment: &mut serde_json::Value, place: &VirtualPlace) {
    let manifest: BTreeMap<&str, &str> = place
        .root()
        .manifest()
        .iter()
        .map(|entry| (entry.path.as_str(), entry.sha256.as_str()))
        .collect();
    environment["image"] = place.root().hash().into();
    environment["image_files"] = serde_json::json!(manifest);
    environment["uncontrolled"] = serde_json::json!([
        "CPU time other than what is charged, and everything that is no disk: virtual time knows none"
    ]);
}

impl From<KernelSetArg> for KernelSet {
    fn from(set: KernelSetArg) -> Self {
        match set {
            KernelSetArg::Full => Self::Full,
            KernelSetArg::Reduced => Self::Reduced,
        }
    }
}
