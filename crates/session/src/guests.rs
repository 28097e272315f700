//! The virtual backend: guests with a lab kernel on modelled disks, in virtual time.

use crate::devices::Devices;
use crate::error::SessionError;
use crate::loaded::Session;
use crate::machine::{self, Machine};
use crate::nodes;
use crate::options::Options;
use crate::setup::{Opened, Setup};
use rustix::thread::{CpuSet, sched_getaffinity};
use seekwell_model::lab::{Lab, Workload};
use seekwell_model::plan::{BackendFacts, Plan};
use seekwell_model::stack::{Backing, MemoryLimit, Stack};
use seekwell_model::units::Bytes;
use seekwell_model::workloads::WorkloadParams;
use seekwell_runner::why::Changed;
use seekwell_virtual::backend::memory;
use seekwell_virtual::guest;
use seekwell_virtual::kernel::{self, Kernel, KernelSet};
use seekwell_virtual::labs::{Checked, LabError};
use seekwell_virtual::{
    CpuCharge, Experiments, Lanes, RootImage, VirtualBackend, VirtualOptions, WorkCharge, labs,
};
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Guests as a backend.
pub(crate) struct Guests {
    machine: Machine,
    options: Options,
    /// Modelled devices; those of the user's own and the requested changes come with the lab.
    devices: Devices,
    kernel: OnceCell<Kernel>,
}

impl Guests {
    pub(crate) fn setup(
        session: &Session,
        options: &Options,
    ) -> Result<Box<dyn Setup>, SessionError> {
        Ok(Box::new(Self {
            machine: session.machine().clone(),
            options: options.clone(),
            devices: Devices::new(session.devices()?),
            kernel: OnceCell::new(),
        }))
    }

    /// The kernel of all guests, chosen once. Mistakes in the lab are reported without one.
    fn kernel(&self, lab: &Lab) -> Result<&Kernel, SessionError> {
        if let Some(kernel) = self.kernel.get() {
            return Ok(kernel);
        }
        let cache = self.machine.kernels.as_deref().ok_or(SessionError::NoHome)?;
        let chosen = choose_kernel(cache, self.options.kernel.as_deref(), lab)?;
        if self.charge().work != WorkCharge::default() && !chosen.set.has_layers() {
            let build = KernelSet::Layers.build_advice();
            let text = format!("this lab kernel does not charge the work of layers; {build}");
            return Err(SessionError::Kernel(text));
        }
        Ok(self.kernel.get_or_init(|| chosen))
    }

    fn charge(&self) -> CpuCharge {
        self.options.cpu.unwrap_or_default()
    }

    /// Checks that commands of this plan can be recorded in a folder.
    fn check_record(&self, folder: &Path, plan: &Plan) -> Result<(), SessionError> {
        let mut parts = plan.workloads.iter().flat_map(|workload| &workload.parts);
        if !parts.any(|part| matches!(part, WorkloadParams::Command(_))) {
            let text = "--record records workloads of kind \"command\", and the lab has none";
            return Err(SessionError::Unusable(text.to_owned()));
        }
        if self.options.cluster.is_some() {
            let text = "--record records on this machine alone; leave out --on";
            return Err(SessionError::Unusable(text.to_owned()));
        }
        let is_new = std::fs::read_dir(folder).map_or(true, |mut all| all.next().is_none());
        if !is_new {
            let folder = folder.display();
            let text = format!("--record needs a new folder, and {folder} is not empty");
            return Err(SessionError::Unusable(text));
        }
        Ok(())
    }

    fn backend(&self, lab: &Lab) -> Result<VirtualBackend, SessionError> {
        let found = labs::programs_of_layers(lab);
        let found = found.into_iter().filter_map(|name| self.machine.find(name)).map(Ok);
        let bring = self.options.bring.iter().map(|path| absolute(path)).chain(found);
        let options = VirtualOptions {
            kernel: self.kernel(lab)?.clone(),
            program: self.machine.program.clone(),
            devices: self.devices.files().clone(),
            bring: bring.collect::<Result<_, _>>()?,
            traces: traces(lab),
            scratch: self.options.scratch.clone().unwrap_or(self.machine.temporary.clone()),
            charge: self.charge(),
            check: self.options.check,
            record: self.options.record.clone(),
        };
        let folders = &self.machine.folders;
        Ok(VirtualBackend::new(options, &|name| machine::find(folders, name))?)
    }
}

/// Folders of the traces that the lab replays.
fn traces(lab: &Lab) -> Vec<PathBuf> {
    let parts = lab.workloads.iter().flat_map(|one| one.parts.iter().chain(&one.beside));
    let mut folders: Vec<PathBuf> = parts
        .filter_map(|part| match part {
            WorkloadParams::Replay(replay) => Some(replay.trace.clone()),
            WorkloadParams::Requests(requests) => Some(requests.trace.clone()),
            _ => None,
        })
        .collect();
    folders.sort();
    folders.dedup();
    folders
}

impl Guests {
    /// Refuses a change of a device that the lab does not use: it would seem to have been tried.
    fn check_changes(&mut self, lab: &Lab) -> Result<(), SessionError> {
        let used = labs::models(lab, self.devices.files());
        for change in &self.options.changes {
            let name = self.devices.named(&change.device, Path::new(""))?;
            let is_it = |word: &String| word.split(['@', ',']).next() == Some(&name);
            if !used.keys().any(is_it) {
                let used = used.keys().cloned().collect::<Vec<_>>().join(", ");
                return Err(SessionError::Usage(format!(
                    "--set {change}: the lab does not use that device; it has {used}"
                )));
            }
        }
        Ok(())
    }
}

impl Setup for Guests {
    fn adapt(&mut self, lab: &mut Lab, directory: &Path) -> Result<(), SessionError> {
        let on = self.options.on.iter().map(|word| self.devices.named(word, Path::new("")));
        let on = on.collect::<Result<Vec<String>, _>>()?;
        let is_again =
            |(nth, word): &(usize, &String)| on.iter().take(*nth).any(|one| one == *word);
        if let Some((_, word)) = on.iter().enumerate().find(is_again) {
            let text = format!("--on names {word} twice; give each device once");
            return Err(SessionError::Usage(text));
        }
        match &self.options.model {
            Some(_) if !on.is_empty() => {
                let text = "--on and --model both replace the lab's devices; give one of them";
                return Err(SessionError::Usage(text.to_owned()));
            }
            None if !on.is_empty() => labs::use_models(lab, &on)?,
            Some(model) => labs::use_model(lab, &self.devices.named(model, Path::new(""))?),
            None => self.devices.of_lab(lab, directory)?,
        }
        self.devices.change(&self.options.changes)?;
        self.check_changes(lab)?;
        // Copies of one filesystem would all report the time that making it took.
        lab.trial.make_once &= !lab.judge.metric.starts_with("mkfs.");
        labs::check(lab, self.devices.files()).map_err(|error| match error {
            LabError::NoModel { model, .. } => self.devices.none_named(&model),
            other => other.into(),
        })
    }

    fn recall(
        &mut self,
        environment: &serde_json::Value,
        run_file: &Path,
    ) -> Result<(), SessionError> {
        self.devices.of_run(environment, run_file)?;
        self.devices.change(&self.options.changes)
    }

    fn facts(&self, lab: &Lab) -> Result<BackendFacts, SessionError> {
        let has = |name: &str| self.machine.find(name).is_some();
        Ok(labs::facts(lab, self.kernel(lab)?, self.devices.files(), &has))
    }

    fn cannot_run(&self, workload: &Workload) -> Option<String> {
        let brought = |name: &str| self.options.bring.iter().any(|path| path.ends_with(name));
        let (why, remedy) = labs::cannot_run(workload, &brought)?;
        Some(format!("{why}; {remedy}"))
    }

    fn environment(&self, lab: &Lab) -> Result<serde_json::Value, SessionError> {
        let kernel = self.kernel(lab)?;
        let mut facts = serde_json::json!({
            "place": "virtual",
            "kernel": format!("{} ({} set, {})", kernel.version, kernel.set, kernel.id),
            "kernel_source": kernel.source,
            "cpu": charge_text(self.charge()),
            "models": labs::models(lab, self.devices.files()),
            "model_fingerprints": labs::fingerprints(lab, self.devices.files()),
            "guest_revision": guest::REVISION,
        });
        self.devices.keep(&mut facts);
        if !self.options.changes.is_empty() {
            let changes = self.options.changes.iter().map(ToString::to_string).collect::<Vec<_>>();
            facts["changed"] = serde_json::Value::from(changes);
        }
        Ok(facts)
    }

    fn declared(&self) -> Vec<(&'static str, String)> {
        vec![("place", "virtual".to_owned()), ("cpu", charge_text(self.charge()))]
    }

    fn experiments(
        &self,
        plan: &Plan,
        stop: &Arc<AtomicBool>,
    ) -> Result<Option<Experiments>, SessionError> {
        let cpus = cpus(self.options.jobs);
        Ok(Some(Experiments::new(self.backend(&plan.lab)?, plan, &cpus, stop.clone())?))
    }

    fn improved(&self, stack: &Stack) -> Result<Vec<Changed>, SessionError> {
        let twice = Bytes(2 * memory(stack).0);
        let mut more = stack.clone();
        more.memory.limit = MemoryLimit::Limit(twice);
        let mut all = vec![Changed { part: "memory", to: twice.to_string(), stack: more }];
        if let Backing::Model { model, size, start } = &stack.device.backing {
            for (part, to, model) in self.devices.improved(model, *size)? {
                let mut stack = stack.clone();
                stack.device.backing = Backing::Model { model, size: *size, start: *start };
                all.push(Changed { part, to, stack });
            }
        }
        Ok(all)
    }

    fn open(&self, plan: &Plan, run_file: &Path) -> Result<Opened, SessionError> {
        self.options.record.as_deref().map_or(Ok(()), |folder| self.check_record(folder, plan))?;
        let backend = self.backend(&plan.lab)?;
        let mut environment = self.environment(&plan.lab)?;
        let checked = labs::compare_with_published(&plan.lab, self.devices.files());
        add_image(&mut environment, backend.root(), &checked);
        if let Some(on) = &self.options.cluster {
            let kernel = Some(self.kernel(&plan.lab)?);
            let (machine, options) = (&self.machine, &self.options);
            let cluster =
                nodes::cluster(machine, kernel, options, on, plan, &environment, run_file)?;
            return Ok(Opened { backend: Box::new(cluster), environment, notes: Vec::new() });
        }
        let lanes = Lanes::new(backend, plan, &cpus(self.options.jobs))?;
        let notes = lanes.note().map(|note| format!("note: {note}")).into_iter().collect();
        Ok(Opened { backend: Box::new(lanes), environment, notes })
    }
}

/// The kernel whose id begins with `id`, or the best kernel of this version: with every
/// filesystem if one was built.
fn choose_kernel(cache: &Path, id: Option<&str>, lab: &Lab) -> Result<Kernel, SessionError> {
    let kernels = kernel::list(cache).map_err(SessionError::Kernels)?;
    if let Some(id) = id {
        let mut named = kernels.into_iter().filter(|kernel| kernel.id.starts_with(id));
        return match (named.next(), named.next()) {
            (Some(kernel), None) => Ok(kernel),
            (None, _) => Err(SessionError::Kernel(format!(
                "lab kernel {id} not found; list built kernels with seekwell kernel list"
            ))),
            (Some(_), Some(_)) => Err(SessionError::Kernel(format!(
                "more than one lab kernel begins with {id}; give more characters"
            ))),
        };
    }
    kernel::usual(kernels, &|set| labs::has_all(set, lab)).ok_or_else(|| {
        let set = match lab {
            lab if !labs::has_layers(KernelSet::Full, lab) => KernelSet::Layers,
            lab if labs::reduced_is_enough(lab) => KernelSet::Reduced,
            _ => KernelSet::Full,
        };
        let build = set.build_advice();
        SessionError::Kernel(format!("no lab kernel of this version found for this lab; {build}"))
    })
}

fn absolute(path: &Path) -> Result<PathBuf, SessionError> {
    let found = std::path::absolute(path).ok().filter(|path| path.is_file());
    found.ok_or_else(|| {
        let shown = path.display();
        SessionError::Unusable(format!("--bring {shown}: no such file; give the path of a program"))
    })
}

/// Number of CPUs that this process may use, up to a limit.
fn cpus(most: Option<usize>) -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let all = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    all.take(most.unwrap_or(usize::MAX)).collect()
}

fn charge_text(charge: CpuCharge) -> String {
    if charge == CpuCharge::default() {
        return "CPU time not counted".to_owned();
    }
    let (call, kib) = (charge.syscall_ns, charge.copy_ns_per_kib);
    let work = charge.work.named().into_iter().filter(|(_, ns)| *ns > 0);
    let work: String = work.map(|(name, ns)| format!(", {ns} ns a KiB of {name}")).collect();
    format!("CPU time charged: {call} ns a system call, {kib} ns a KiB copied{work}")
}

/// The programs of the guests and what the models miss. Programs differ with every build; nothing else of this machine affects
/// results.
fn add_image(environment: &mut serde_json::Value, root: &RootImage, checked: &Checked) {
    let manifest: BTreeMap<&str, &str> =
        root.manifest().iter().map(|entry| (entry.path.as_str(), entry.sha256.as_str())).collect();
    environment["image"] = root.hash().into();
    environment["image_files"] = serde_json::json!(manifest);
    let cpu = "CPU time other than what is charged, and all hardware other than disks: virtual time does not model it";
    let misses = checked.misses.iter().map(String::as_str);
    let uncontrolled: Vec<&str> = std::iter::once(cpu).chain(misses).collect();
    environment["uncontrolled"] = serde_json::json!(uncontrolled);
    environment["model_errors"] = serde_json::json!(checked.errors);
}
