//! The host backend: this machine's kernel, on scratch images and claimed disks.

use crate::devices::backings;
use crate::effects::{self, Disks, Effects};
use crate::error::SessionError;
use crate::loaded::Session;
use crate::machine::Machine;
use crate::nodes::{self, OfHosts};
use crate::options::{HOST, Options};
use crate::setup::{Opened, Setup};
use crate::shared_disks::SharedDisks;
use seekwell_agent::host_backend::{HostBackend, HostOptions, image_bytes};
use seekwell_cluster::Spool;
use seekwell_host::export;
use seekwell_host::facts;
use seekwell_host::guard::{self, Context, Purpose};
use seekwell_host::image;
use seekwell_host::refusal::{Refusal, RefusalKind};
use seekwell_host::sysfs::System;
use seekwell_host::undo;
use seekwell_model::backend::Backend;
use seekwell_model::lab::Lab;
use seekwell_model::plan::{BackendFacts, Plan};
use seekwell_model::record::Node;
use seekwell_model::stack::{Backing, Stack};
use seekwell_model::units::Bytes;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// This machine's kernel as a backend.
pub(crate) struct Host {
    machine: Machine,
    options: Options,
    /// Replacements for the lab's devices and for its external journals.
    device: Option<Backing>,
    journal: Option<Backing>,
}

impl Host {
    /// Its name in options and run files.
    pub(crate) const NAME: &str = HOST;

    /// Opens this node for the rounds of a run on a cluster, as this worker. Disks are checked here, against the claims
    /// of this node, and locked against other nodes that see them.
    ///
    /// # Errors
    /// When this user is not root, the guard refuses a disk, or a worker of another node writes to it.
    pub(crate) fn on_node(
        machine: &Machine,
        plan: &Plan,
        options: &OfHosts,
        spool: &Spool,
        task: &str,
    ) -> Result<(Box<dyn Backend>, SharedDisks), SessionError> {
        if !rustix::process::geteuid().is_root() {
            let text = "a worker on this kernel attaches loop devices, formats and mounts, which needs root; submit \
                        the run as root";
            return Err(SessionError::Unusable(text.to_owned()));
        }
        let folder = spool.folder();
        let scratch = options.scratch.clone().unwrap_or_else(|| machine.temporary.clone());
        // First of all the lock of this machine: with it no earlier worker of this node writes any more.
        let own = Self::backend_options(machine, scratch, folder);
        let backend = HostBackend::new(plan, own, None)?;
        let context = Context { claims: machine.claims(), run_file: Some(folder.to_owned()) };
        let disks = disks(plan);
        let locked = SharedDisks::lock(spool, task, &machine.system, disks.iter().copied());
        let checked = locked.and_then(|locked| {
            for disk in disks {
                guard::check(&machine.system, disk, Purpose::Write, &context)?;
            }
            check_exports(plan)?;
            Ok(locked)
        });
        match checked {
            Ok(locked) => Ok((Box::new(backend), locked)),
            Err(error) => {
                // Nothing was changed yet; why it may not write is the message.
                let _ = backend.finish();
                Err(error)
            }
        }
    }

    fn disks(&self) -> Disks {
        if self.options.cluster.is_some() { Disks::OnNodes } else { Disks::Here }
    }

    /// The refusal of a disk that another run of this machine uses names that run: its mounts are not
    /// the user's to unmount.
    fn by_other_run(&self, error: SessionError) -> SessionError {
        let SessionError::Refused(refusal) = &error else { return error };
        let (system, undo) = (&self.machine.system, self.machine.undo());
        let program = self.machine.program.file_name().unwrap_or_default().to_string_lossy();
        // The kernel keeps 15 characters of a name.
        let name: String = program.chars().take(15).collect();
        let signs = [undo.display().to_string(), format!("({name})")];
        if !signs.iter().any(|sign| refusal.reason.contains(sign))
            || !matches!(undo::lock(system, &undo), Ok(None))
        {
            return error;
        }
        let holder = undo::holder(system, &undo);
        SessionError::OtherRun { disk: refusal.target.clone(), holder }
    }

    fn backend_options(machine: &Machine, scratch: PathBuf, run_file: &Path) -> HostOptions {
        HostOptions {
            program: machine.program.clone(),
            scratch,
            state: machine.state.clone(),
            undo_directory: machine.undo(),
            claims_directory: machine.claims(),
            run_file: run_file.to_owned(),
        }
    }

    pub(crate) fn setup(
        session: &Session,
        options: &Options,
    ) -> Result<Box<dyn Setup>, SessionError> {
        let replacement = |text: &Option<String>| text.as_deref().map(backing).transpose();
        Ok(Box::new(Self {
            machine: session.machine().clone(),
            options: options.clone(),
            device: replacement(&options.device)?,
            journal: replacement(&options.journal_device)?,
        }))
    }
}

impl Setup for Host {
    fn adapt(&mut self, lab: &mut Lab, _directory: &Path) -> Result<(), SessionError> {
        if lab.trial.power_cut > 0 {
            return Err(SessionError::Unusable(format!(
                "[trial] power_cut = {}: the host backend cannot cut the power of a disk; run the lab with --place \
                 virtual, or leave power_cut out",
                lab.trial.power_cut
            )));
        }
        // Copies exist of modelled disks alone.
        lab.trial.make_once = false;
        if let Some(device) = &self.device {
            use_device(lab, device, self.journal.as_ref())?;
        }
        refuse_models(lab)
    }

    fn facts(&self, lab: &Lab) -> Result<BackendFacts, SessionError> {
        let disks: Vec<PathBuf> = backings(lab).filter_map(disk).map(Path::to_owned).collect();
        Ok(facts::gather(&self.machine.system, &disks))
    }

    fn environment(&self, _lab: &Lab) -> Result<serde_json::Value, SessionError> {
        Ok(match self.options.cluster {
            Some(_) => environment_of_nodes(),
            None => environment(&self.machine.system),
        })
    }

    fn check_devices(&self, plan: &Plan, run_file: Option<&Path>) -> Result<(), SessionError> {
        if self.options.cluster.is_some() {
            // Disks and claims are those of the nodes: each checks its own.
            return Ok(());
        }
        let context =
            Context { claims: self.machine.claims(), run_file: run_file.map(Path::to_owned) };
        for disk in disks(plan) {
            let checked = guard::check(&self.machine.system, disk, Purpose::Write, &context);
            match checked.err() {
                // A lab may be planned on another machine than the one that runs it, and by a user
                // who may not open its disks.
                Some(Refusal { kind: RefusalKind::Missing | RefusalKind::Unreadable, .. })
                    if run_file.is_none() => {}
                Some(refusal) => return Err(refusal.into()),
                None => {}
            }
        }
        Ok(())
    }

    fn check_room(&self, plan: &Plan, run_file: &Path) -> Result<(), SessionError> {
        if self.options.cluster.is_some() {
            return Ok(());
        }
        let scratch = self.options.scratch_directory(run_file);
        // A directory that is not there yet is another message, of the run.
        let checked = image_bytes(plan, &scratch)
            .into_iter()
            .filter_map(|(directory, needed)| image::check_space(directory, needed).err());
        let mut lacks =
            checked.filter(|error| matches!(error, seekwell_host::Error::NoSpace { .. }));
        lacks.next().map_or(Ok(()), |error| Err(error.into()))
    }

    fn check_start(&self, plan: &Plan, run_file: &Path) -> Result<(), SessionError> {
        if self.options.cluster.is_none() && !rustix::process::geteuid().is_root() {
            let text = "a run on this kernel attaches loop devices, formats and mounts, which needs root; run it \
                        with sudo";
            return Err(SessionError::Unusable(text.to_owned()));
        }
        // A disk that is missing or refused needs no plan to be seen.
        self.check_devices(plan, Some(run_file)).map_err(|error| self.by_other_run(error))?;
        if self.options.cluster.is_none() {
            check_exports(plan)?;
        }
        self.check_room(plan, run_file)?;
        effects::check_seen(&self.machine, Effects::of(plan)?, self.disks())
    }

    fn note_seen(&self, plan: &Plan) -> Result<(), SessionError> {
        effects::note_seen(&self.machine, &Effects::of(plan)?, self.disks())
    }

    fn check_causes(&self, plan: &Plan) -> Result<(), SessionError> {
        let is_elsewhere = self.options.cluster.is_some()
            || plan.stacks.iter().any(|stack| stack.filesystem.export.is_some());
        let is_possible = !is_elsewhere && disks(plan).is_empty();
        is_possible.then_some(()).ok_or(SessionError::NoLaws)
    }

    fn open(&self, plan: &Plan, run_file: &Path) -> Result<Opened, SessionError> {
        self.check_start(plan, run_file)?;
        if let Some(on) = &self.options.cluster {
            let environment = environment_of_nodes();
            let cluster = nodes::cluster(
                &self.machine, None, &self.options, on, plan, &environment, run_file,
            )?;
            return Ok(Opened { backend: Box::new(cluster), environment, notes: Vec::new() });
        }
        let scratch = self.options.scratch_directory(run_file);
        let options = Self::backend_options(&self.machine, scratch, run_file);
        if let Some(wait) = &self.options.wait
            && let Some(holder) = self.machine.in_use()
        {
            (wait.say)(&format!("waiting for the end of another run, {holder}"));
        }
        let wait = self.options.wait.as_ref().map(|wait| &*wait.stop);
        let backend = HostBackend::new(plan, options, wait)?;
        // From here on a path that leads to another disk ends the run: it must be the one that was planned.
        if let Err(error) = effects::check_seen(&self.machine, Effects::of(plan)?, self.disks()) {
            // Nothing was changed yet; why it may not write is the message.
            let _ = backend.finish();
            return Err(error);
        }
        let environment = environment(&self.machine.system);
        Ok(Opened { backend: Box::new(backend), environment, notes: Vec::new() })
    }
}

/// The path of a disk or partition.
fn disk(backing: &Backing) -> Option<&Path> {
    match backing {
        Backing::Disk { path } | Backing::Partition { path } => Some(path),
        Backing::Loop { .. } | Backing::Ram { .. } | Backing::Model { .. } => None,
    }
}

/// Disks and partitions that the trials of a plan write, each once.
fn disks(plan: &Plan) -> BTreeSet<&Path> {
    plan.stacks.iter().flat_map(Stack::written).filter_map(disk).collect()
}

/// Checks that the claims of directories of servers are there, each once.
fn check_exports(plan: &Plan) -> Result<(), SessionError> {
    let mut seen = BTreeSet::new();
    for export in plan.stacks.iter().filter_map(|stack| stack.filesystem.export.as_ref()) {
        if seen.insert((&export.from, &export.version)) {
            match export::check(export) {
                Err(seekwell_host::Error::Refused(refusal)) => return Err(refusal.into()),
                checked => checked?,
            }
        }
    }
    Ok(())
}

/// Replaces every device of a lab by one, and every external journal by another. Devices that
/// become equal are kept once.
fn use_device(
    lab: &mut Lab,
    device: &Backing,
    journal: Option<&Backing>,
) -> Result<(), SessionError> {
    for of_lab in &mut lab.devices {
        of_lab.backing = device.clone();
    }
    let mut kept = Vec::new();
    lab.devices.retain(|device| {
        let first = !kept.contains(&device.settings);
        kept.push(device.settings.clone());
        first
    });
    for of_lab in &mut lab.journals {
        if of_lab.external.is_some() {
            let Some(journal) = journal else {
                return Err(SessionError::Usage(format!(
                    "journal {} is outside of the filesystem; give --journal-device",
                    of_lab.name
                )));
            };
            of_lab.external = Some(journal.clone());
        }
    }
    Ok(())
}

/// Modelled devices exist in virtual time alone.
fn refuse_models(lab: &Lab) -> Result<(), SessionError> {
    let devices = lab.devices.iter().map(|device| &device.backing);
    let journals = lab.journals.iter().filter_map(|journal| journal.external.as_ref());
    let fast = lab.layers.iter().flat_map(|stack| stack.fast());
    for backing in devices.chain(journals).chain(fast) {
        if let Backing::Model { model, .. } = backing {
            return Err(SessionError::Unusable(format!(
                "the lab's device {model} is a model and no disk of this machine; add --place virtual, or write loop = \
                 \"SIZE\" or the path of a claimed disk in its place"
            )));
        }
    }
    Ok(())
}

/// A device as options write it: `loop:SIZE`, `ram:SIZE` or a stable path.
fn backing(text: &str) -> Result<Backing, SessionError> {
    let sector = Bytes(512);
    let size = |size: &str| {
        let wrong = |_| SessionError::Usage(format!("'{text}' has no size; write loop:1GiB"));
        size.parse::<Bytes>().map_err(wrong)
    };
    Ok(match text.split_once(':') {
        Some(("loop", end)) => Backing::Loop { size: size(end)?, directory: None, sector },
        Some(("ram", end)) => Backing::Ram { size: size(end)?, sector },
        _ if text.contains("-part") || text.contains("by-part") => {
            Backing::Partition { path: PathBuf::from(text) }
        }
        _ if !text.starts_with("/dev/") => {
            return Err(SessionError::Usage(format!(
                "'{text}' is not a device; write loop:SIZE, ram:SIZE or a stable path below /dev/disk"
            )));
        }
        _ => Backing::Disk { path: PathBuf::from(text) },
    })
}

/// Description of a run on the nodes of a cluster: each record tells its node.
fn environment_of_nodes() -> serde_json::Value {
    serde_json::json!({
        "place": Host::NAME,
        "cluster": true,
        "uncontrolled": [
            "differences between the nodes, except that stacks are compared within rounds, and each round within one node",
            "other processes of the nodes, their temperature and their CPU frequency",
        ],
    })
}

/// This machine as a node of a cluster.
pub(crate) fn node(system: &System) -> Node {
    let found = facts::environment(system);
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    Node { name, kernel: found.kernel_release, cpu: found.cpu_model, ram: found.ram }
}

/// Description of this machine for a run file, with everything that no run controls.
#[must_use]
pub fn environment(system: &System) -> serde_json::Value {
    let found = facts::environment(system);
    let mut uncontrolled =
        vec!["other processes of this machine, its temperature and its CPU frequency"];
    if found.swap.is_some_and(|swap| swap.0 > 0) {
        uncontrolled.push("swap, which is on");
    }
    if found.memory_cgroup.as_deref() == Some("v1") {
        uncontrolled.push("write-back, which a version 1 memory cgroup does not limit");
    }
    serde_json::json!({
        "place": "host",
        "kernel": found.kernel_release,
        "cpu": found.cpu_model,
        "ram": found.ram,
        "uncontrolled": uncontrolled,
        "machine": found,
    })
}
