//! Requirements that a lab must meet to run on the virtual backend, and what the backend offers to
//! a lab.

use std::collections::{BTreeMap, BTreeSet};

use seekwell_device::{DeviceError, DeviceFile, build, catalogue, truth, withheld};
use seekwell_model::filesystems::{FILESYSTEMS, NFS_PROGRAMS, NFS_SERVER, filesystem};
use seekwell_model::lab::{Lab, Workload};
use seekwell_model::layers::{LAYER_KINDS, LabKernels};
use seekwell_model::model_error::ModelErrors;
use seekwell_model::plan::{BackendFacts, LabKernelFacts};
use seekwell_model::stack::{Backing, Device};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::{WORKLOAD_KINDS, WorkloadParams};

use crate::backend::{TOOLS, tools};
use crate::kernel::{Kernel, KernelSet};

#[cfg(test)]
mod tests;

/// The lab kernel's schedulers, as the kernel calls them.
const SCHEDULERS: [&str; 4] = ["none", "mq-deadline", "kyber", "bfq"];

/// The model of a device in RAM.
const RAM: &str = "ram";

/// A device of the lab that the virtual backend cannot run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A device of the host, a size beyond the model's, or a part of the lab that hinders replacing its devices: in words.
    #[error("{0}")]
    Refused(String),
    /// A model that does not exist.
    #[error(
        "{name} names the modelled device '{model}', which does not exist; list the models with: seekwell device list"
    )]
    NoModel {
        /// The device or journal of the lab.
        name: String,
        /// The model.
        model: String,
    },
    /// A bus that the model has not.
    #[error("{name} names a modelled device that cannot be built")]
    Model {
        /// The device or journal of the lab.
        name: String,
        /// The cause.
        source: DeviceError,
    },
}

/// Replaces every device of a lab by the front of a modelled one, as large as the device was. RAM stays
/// RAM next to a device, and journals outside go to a second device of the same model. What is then alike stays once.
pub fn use_model(lab: &mut Lab, model: &str) {
    let replace = |backing: &mut Backing, stays_ram: bool| {
        let name = if stays_ram && is_ram(backing) { RAM } else { model };
        let size = backing.size();
        *backing = Backing::Model { model: name.to_owned(), size, start: None };
    };
    let stays_ram = !is_of_ram_alone(lab);
    for device in &mut lab.devices {
        replace(&mut device.backing, stays_ram);
        // The price was that of the replaced device.
        device.price = None;
    }
    lab.journals
        .iter_mut()
        .filter_map(|journal| journal.external.as_mut())
        .for_each(|one| replace(one, true));
    let parts = lab.layers.iter_mut().flat_map(|layers| &mut layers.parts);
    // The device of a cache that is a model already stays: it is what the lab asks about.
    let fast = parts.filter_map(|layer| layer.fast.as_mut());
    fast.filter(|fast| !matches!(fast, Backing::Model { .. })).for_each(|one| replace(one, true));
    let mut kept: Vec<(Backing, _)> = Vec::new();
    lab.devices.retain(|device| {
        let new = (device.backing.clone(), device.settings.clone());
        let first = !kept.contains(&new);
        kept.push(new);
        first
    });
}

/// Puts these modelled devices in the place of the lab's own, so that the device becomes an axis of the verdict. Sizes and
/// settings stay, RAM stays RAM next to a device, and devices are named like their models.
///
/// # Errors
///
/// [`LabError::Refused`] for a journal with a device of its own, and for a rule that names a device.
pub fn use_models(lab: &mut Lab, models: &[String]) -> Result<(), LabError> {
    if let Some(journal) = lab.journals.iter().find(|journal| journal.external.is_some()) {
        return Err(LabError::Refused(format!(
            "the journal {} has a device of its own, so --on cannot replace the lab's devices; remove it from the lab, or write the models into the lab",
            journal.name
        )));
    }
    let rules = lab.exclusions.iter().chain(&lab.stacks);
    if let Some(name) = rules.filter_map(|rule| rule.device.as_ref()).next() {
        return Err(LabError::Refused(format!(
            "a rule of the lab names the device {name}, which --on replaces; remove the rule, or write the models into the lab"
        )));
    }
    let stays_ram = !is_of_ram_alone(lab);
    let (ram, own): (Vec<Device>, Vec<Device>) = std::mem::take(&mut lab.devices)
        .into_iter()
        .partition(|device| stays_ram && is_ram(&device.backing));
    let alone = own.iter().all(|device| own.first().is_some_and(|first| first.base == device.base));
    for model in models {
        let mut kept: Vec<Device> = Vec::new();
        for device in &own {
            let base = if alone { model.clone() } else { format!("{model}-{}", device.base) };
            let suffix = device.name.strip_prefix(&device.base).unwrap_or_default();
            let backing =
                Backing::Model { model: model.clone(), size: device.backing.size(), start: None };
            let is_new =
                |other: &Device| (&other.backing, &other.settings) != (&backing, &device.settings);
            if kept.iter().all(is_new) {
                let name = format!("{base}{suffix}");
                let settings = device.settings.clone();
                kept.push(Device { name, backing, base, settings, price: None });
            }
        }
        lab.devices.extend(kept);
    }
    lab.devices.extend(ram.into_iter().map(|device| Device {
        backing: Backing::Model { model: RAM.to_owned(), size: device.backing.size(), start: None },
        ..device
    }));
    Ok(())
}

fn is_ram(backing: &Backing) -> bool {
    matches!(backing, Backing::Ram { .. })
}

/// Returns true where RAM is what the lab is about, and not what its devices are compared with.
fn is_of_ram_alone(lab: &Lab) -> bool {
    lab.devices.iter().all(|device| is_ram(&device.backing))
}

/// Checks that every device of a lab is a model that there is a file of.
///
/// # Errors
///
/// [`LabError`] with the first that is not.
pub fn check(lab: &Lab, devices: &BTreeMap<String, DeviceFile>) -> Result<(), LabError> {
    for (name, backing) in backings(lab) {
        let name = name.to_owned();
        let Backing::Model { model, size, start } = backing else {
            return Err(LabError::Refused(format!(
                "{name} is a device of the host, and the virtual backend needs a modelled one; write model = \"NAME\" into the lab, or run it with --model NAME (seekwell device list)"
            )));
        };
        let found = catalogue::find(devices, model);
        let found = found.map_err(|source| LabError::Model { name: name.clone(), source })?;
        let model = model.clone();
        let Some(file) = found else { return Err(LabError::NoModel { name, model }) };
        let has = capacity(&file);
        let end = size.map(|size| Bytes(size.0.saturating_add(start.map_or(0, |start| start.0))));
        if let Some(asked) = end.filter(|asked| *asked > has) {
            return Err(LabError::Refused(format!(
                "{name} has a size of {asked}, but its model '{model}' has only {has}; write a [[device]] with a smaller size, or with a model and no size (a lab without a device has one of 1GiB)"
            )));
        }
    }
    Ok(())
}

/// The values of every model that a lab names, by its name in the lab: what its trials were run on.
#[must_use]
pub fn models(
    lab: &Lab,
    devices: &BTreeMap<String, DeviceFile>,
) -> BTreeMap<String, BTreeMap<String, String>> {
    let files = modelled(lab, devices).into_iter();
    files.map(|(model, file)| (model, file.values())).collect()
}

/// Fingerprints of the lab's modelled devices by the word that names each, so that a later program can tell whether its
/// models still behave like these.
#[must_use]
pub fn fingerprints(lab: &Lab, devices: &BTreeMap<String, DeviceFile>) -> BTreeMap<String, String> {
    let files = modelled(lab, devices).into_iter();
    let hash = |file| format!("{:016x}", seekwell_device::fingerprint(&file));
    files.map(|(model, file)| (model, hash(file))).collect()
}

/// The models of a lab compared with the published figures of their devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// The figures that the models miss, a sentence for each model.
    pub misses: Vec<String>,
    /// Known errors of each model, by its name in the lab. Memory and a fixed latency stand for no device and are absent.
    pub errors: BTreeMap<String, ModelErrors>,
}

/// Compares the models of a lab with the published figures of their devices.
#[must_use]
pub fn compare_with_published(lab: &Lab, devices: &BTreeMap<String, DeviceFile>) -> Checked {
    let mut checked = Checked::default();
    let is_real = |file: &DeviceFile| !file.published().is_empty() || !file.is_abstract();
    for (model, file) in modelled(lab, devices).into_iter().filter(|(_, file)| is_real(file)) {
        let rows = truth::rows(&file);
        checked.misses.extend(truth::warning(&file, &rows));
        checked.misses.extend(withheld::warning(file.name(), file.withheld()));
        checked.errors.insert(model, truth::errors(&rows));
    }
    checked.misses.dedup();
    checked
}

/// Returns what the backend offers: filesystems of the kernel whose programs `find` finds, the
/// kernel's schedulers, and the capacities of the models that the lab names.
#[must_use]
pub fn facts(
    lab: &Lab,
    kernel: &Kernel,
    devices: &BTreeMap<String, DeviceFile>,
    find: &dyn Fn(&str) -> bool,
) -> BackendFacts {
    let in_kernel = FILESYSTEMS
        .iter()
        .filter(|one| kernel.set != KernelSet::Reduced || one.in_reduced_kernel)
        // A guest reaches no other machine.
        .filter(|one| !one.is_remote)
        .filter_map(|one| one.kernel_type);
    let mut kernel_filesystems: Vec<String> = in_kernel.map(str::to_owned).collect();
    kernel_filesystems.dedup();
    if kernel.set.has_layers() {
        kernel_filesystems.push(NFS_SERVER.to_owned());
    }
    let sizes = modelled(lab, devices).into_iter().map(|(model, file)| (model, capacity(&file)));
    BackendFacts {
        schedulers: SCHEDULERS.map(str::to_owned).to_vec(),
        kernel_filesystems,
        // A lab kernel is built with writing.
        read_only_filesystems: Vec::new(),
        nfs_lacks: Vec::new(),
        // Every program that the catalogues of filesystems and layers name. What a guest lacks of them, `cannot_run` says.
        programs: tools()
            .into_iter()
            .filter(|name| !TOOLS.contains(name))
            .chain(
                LAYER_KINDS.iter().flat_map(|kind| kind.definition().programs).map(|one| one.name),
            )
            .chain(NFS_PROGRAMS.iter().map(|one| one.name))
            .filter(|name| find(name))
            .chain(WORKLOAD_KINDS.iter().flat_map(|kind| kind.programs).map(|one| one.name))
            .map(str::to_owned)
            .collect(),
        layers: layers_in(kernel.set).map(str::to_owned).collect(),
        lab_kernel: Some(LabKernelFacts {
            set: kernel.set.to_string(),
            build_full: KernelSet::Full.build_advice(),
            build_layers: KernelSet::Layers.build_advice(),
        }),
        ram: None,
        disk_sizes: sizes.collect(),
    }
}

/// Returns true if a lab kernel of this set has what these lab kernels have.
fn has(set: KernelSet, kernels: LabKernels) -> bool {
    match set {
        KernelSet::Reduced => kernels == LabKernels::Every,
        KernelSet::Full => kernels != LabKernels::Layers,
        KernelSet::Layers => true,
    }
}

/// Names of the layers that lab kernels of a set have.
fn layers_in(set: KernelSet) -> impl Iterator<Item = &'static str> {
    let definitions = LAYER_KINDS.iter().map(|kind| kind.definition());
    definitions.filter(move |one| has(set, one.lab_kernels)).map(|one| one.name)
}

/// The layers, the filesystems and NFS that no lab kernel of these sets has, by name; empty if one has all.
#[must_use]
pub fn lacks(sets: &[KernelSet]) -> Vec<&'static str> {
    let is_full = sets.iter().any(|set| *set != KernelSet::Reduced);
    let filesystems = FILESYSTEMS.iter().filter(|one| !one.is_remote && !one.in_reduced_kernel);
    let filesystems = filesystems.filter(|_| !is_full).map(|one| one.name);
    let layers = LAYER_KINDS.iter().map(|kind| kind.definition());
    let layers = layers.filter(|one| !sets.iter().any(|set| has(*set, one.lab_kernels)));
    let nfs = (!sets.iter().any(|set| set.has_layers())).then_some("NFS");
    filesystems.chain(layers.map(|one| one.name)).chain(nfs).collect()
}

/// Programs that the layers of a lab, and NFS, need in the guest.
#[must_use]
pub fn programs_of_layers(lab: &Lab) -> BTreeSet<&'static str> {
    let layers = lab.layers.iter().flat_map(|layers| &layers.parts);
    let programs =
        layers.filter_map(|layer| layer.find()).flat_map(|kind| kind.definition().programs);
    let of_nfs = NFS_PROGRAMS.iter().filter(|_| has_nfs(lab));
    programs.chain(of_nfs).map(|one| one.name).filter(|name| !TOOLS.contains(name)).collect()
}

fn has_nfs(lab: &Lab) -> bool {
    lab.filesystems.iter().any(|one| one.nfs.is_some())
}

/// Returns true if a lab kernel of this set has every layer of this lab, and NFS if it asks for it.
#[must_use]
pub fn has_layers(set: KernelSet, lab: &Lab) -> bool {
    let layers = lab.layers.iter().flat_map(|layers| &layers.parts);
    layers.filter_map(|layer| layer.find()).all(|kind| has(set, kind.definition().lab_kernels))
        && (set.has_layers() || !has_nfs(lab))
}

/// Returns true if the reduced lab kernel has every filesystem of this lab.
#[must_use]
pub fn reduced_is_enough(lab: &Lab) -> bool {
    let filesystems = lab.filesystems.iter().filter_map(|one| filesystem(&one.kind));
    has_layers(KernelSet::Reduced, lab) && filesystems.into_iter().all(|one| one.in_reduced_kernel)
}

/// Returns true if a lab kernel of this set has all that this lab asks for.
#[must_use]
pub fn has_all(set: KernelSet, lab: &Lab) -> bool {
    has_layers(set, lab) && (set != KernelSet::Reduced || reduced_is_enough(lab))
}

/// Returns why a workload cannot run in a guest and what to do: it calls a program that is not in the
/// guest's root image. `brought` is true for programs that the user adds. Only the first word of a
/// command line is looked up.
#[must_use]
pub fn cannot_run(workload: &Workload, brought: &dyn Fn(&str) -> bool) -> Option<(String, String)> {
    let serves = |part: &&WorkloadParams| {
        matches!(part, WorkloadParams::Pgbench(_) | WorkloadParams::DbBench(_))
    };
    if let Some(part) = workload.parts.iter().chain(&workload.beside).find(serves) {
        let why = format!("{} is not in the guest's root image", part.kind_name());
        return Some((why, "run it on the host, or use the kind sqlite".to_owned()));
    }
    let commands = workload.parts.iter().chain(&workload.beside).filter_map(|part| match part {
        WorkloadParams::Command(command) => Some(command),
        _ => None,
    });
    let lines = commands.flat_map(|command| command.prepare.iter().chain([&command.run]));
    let missing = lines
        .filter_map(|line| first_program(line))
        .find(|program| is_missing(program) && !brought(program))?;
    let why = format!("{missing} is not in the guest's root image");
    let remedy = if NETWORK.contains(&missing) {
        "a guest has no network and no services; run it on the host backend".to_owned()
    } else {
        format!("bring it with --bring \"$(command -v {missing})\"")
    };
    Some((why, remedy))
}

/// Programs that a command line calls and that are not in the guest's root image: the first word of each
/// of its commands. One that talks to a service would find none in a guest.
pub fn programs_to_bring(line: &str) -> impl Iterator<Item = &str> {
    let commands = line.split(['|', '&', ';', '\n']).filter_map(first_program);
    commands.filter(|program| is_missing(program) && !NETWORK.contains(program))
}

fn is_missing(program: &str) -> bool {
    !TOOLS.contains(&program) && !BUILT_IN.contains(&program)
}

/// Programs that talk to a service: one that a guest has not, and could not reach.
const NETWORK: [&str; 12] = [
    "curl", "wget", "ssh", "scp", "nc", "psql", "pgbench", "mysql", "redis-cli", "mongosh",
    "systemctl", "docker",
];

/// Words of the shell itself.
const BUILT_IN: [&str; 24] = [
    ".", ":", "[", "break", "case", "cd", "echo", "eval", "exec", "exit", "export", "false", "for",
    "if", "printf", "read", "set", "shift", "test", "true", "ulimit", "umask", "until", "while",
];

/// The first word of a command line that is neither an assignment nor a path that the trial makes.
fn first_program(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let word = words.find(|word| !word.split('/').next().is_some_and(|one| one.contains('=')))?;
    let opens = ['(', '{', '"', '\'', '$'];
    let name = word.trim_end_matches(';').rsplit('/').next().unwrap_or(word);
    (!word.starts_with(opens) && !name.is_empty()).then_some(name)
}

fn backings(lab: &Lab) -> impl Iterator<Item = (&str, &Backing)> {
    let devices = lab.devices.iter().map(|device| (device.name.as_str(), &device.backing));
    let outside = lab
        .journals
        .iter()
        .filter_map(|journal| Some((journal.name.as_str(), journal.external.as_ref()?)));
    let parts = lab.layers.iter().flat_map(|layers| {
        layers.parts.iter().filter_map(|layer| Some((layers.name.as_str(), layer.fast.as_ref()?)))
    });
    devices.chain(outside).chain(parts)
}

/// The modelled devices of a lab by the words that name them, as far as they are known.
fn modelled(lab: &Lab, devices: &BTreeMap<String, DeviceFile>) -> BTreeMap<String, DeviceFile> {
    let known = backings(lab).filter_map(|(_, backing)| {
        let Backing::Model { model, .. } = backing else { return None };
        Some((model.clone(), catalogue::find(devices, model).ok().flatten()?))
    });
    known.collect()
}

fn capacity(file: &DeviceFile) -> Bytes {
    Bytes(build(file, 1).geometry().sectors_512.saturating_mul(512))
}
