//! The host as a backend: makes the images, starts a guardian and one agent per trial, and hears
//! what the agent says.

mod link;
mod messages;

use crate::host_backend::link::GuardianLink;
use crate::host_backend::messages::{Heard, Listener};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use seekwell_host::facts::device_size;
use seekwell_host::guard::{self, Bond};
use seekwell_host::image::{self, Image};
use seekwell_host::namespace::{self, Child, Options};
use seekwell_host::settings::{Difference, Settings};
use seekwell_host::sysfs::System;
use seekwell_host::undo::{self, Restored, Undo};
use seekwell_model::FORMAT;
use seekwell_model::agent::{AgentMessage, DeviceHandle, QueueDefaults, TrialPart, TrialRequest};
use seekwell_model::backend::{Backend, BackendError, ImageProgress};
use seekwell_model::layers::{Layer, Naming};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::Record;
use seekwell_model::stack::{Backing, Stack};
use seekwell_model::units::Bytes;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_observe::block_events;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Seek, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Descriptor of the data image in the agent.
const DATA_FD: i32 = 10;
/// Descriptor of the journal image in the agent; those of the layers' other devices follow.
const JOURNAL_FD: i32 = 11;
/// After a kill the agent's namespace unmounts, which writes back what is dirty.
const AGENT_END: Duration = Duration::from_secs(600);
/// Search path of the agent for mkfs and the like; it gets nothing else of the caller's environment.
const AGENT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Longest wait of a run for the lock of the machine.
const LOCK_PATIENCE: Duration = Duration::from_secs(15);
const LOCK_POLL: Duration = Duration::from_millis(50);
/// Time between two messages about an image that is being written.
const BETWEEN_PROGRESS: Duration = Duration::from_millis(200);
/// Bytes of an agent's output that are kept for the message about its failure.
const KEPT_TALK: usize = 4096;

/// Settings of the host backend.
#[derive(Clone, Debug)]
pub struct HostOptions {
    /// The seekwell program itself, started as agent and as guardian.
    pub program: PathBuf,
    /// Directory for the images of loop devices that name none.
    pub scratch: PathBuf,
    /// Directory of all that Seekwell keeps on this machine. Programs of a workload do not see it.
    pub state: PathBuf,
    /// Directory for the undo list.
    pub undo_directory: PathBuf,
    /// Directory of the claims.
    pub claims_directory: PathBuf,
    /// The run file: the device that holds it is never written to.
    pub run_file: PathBuf,
}

/// Errors after which the host backend cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum HostBackendError {
    /// Something on the host failed, or a process could not be started or talked to.
    #[error("{what}")]
    Failed {
        /// The attempt.
        what: String,
        /// Cause.
        source: BackendError,
    },
    /// A stack cannot be run here.
    #[error("{0}")]
    Stack(String),
    /// A path leads to another device than when the run began.
    #[error("the run ends here, completed trials are saved")]
    Changed(#[from] seekwell_host::refusal::Refusal),
    /// A setting that a trial changed could not be restored.
    #[error(
        "the settings that the trial changed could not be restored: {0}; run seekwell doctor as root"
    )]
    PutBack(String),
}

fn failed<E: Into<BackendError>>(what: &str) -> impl FnOnce(E) -> HostBackendError {
    move |cause| HostBackendError::Failed { what: what.to_owned(), source: cause.into() }
}

fn put_back(restored: &Restored) -> Result<(), HostBackendError> {
    match restored.problems.is_empty() {
        true => Ok(()),
        false => Err(HostBackendError::PutBack(restored.problems.join("; "))),
    }
}

/// The host as a backend.
#[derive(Debug)]
pub struct HostBackend {
    system: System,
    options: HostOptions,
    run: String,
    undo: PathBuf,
    work: PathBuf,
    ram: Option<Bytes>,
    images: BTreeMap<String, Image>,
    guardian: Option<GuardianLink>,
    image_seed: u64,
    /// Identity of the plan's disks when the run began. A disk that was not found then is reported by
    /// its trial.
    bonds: BTreeMap<PathBuf, Bond>,
    /// Queue settings and sysctls before the run.
    settings: Settings,
    /// Devices whose settings the run has changed.
    touched: BTreeSet<String>,
    /// Differences that the report has already.
    told: BTreeSet<Difference>,
    /// Held by the guardian too, see [`seekwell_host::undo::lock`].
    lock: File,
}

/// Result of one start of an agent.
enum Trial {
    Recorded(Box<Record>),
    /// It died without a record: what is known of why, and whether another start may go better.
    Died {
        stage: String,
        reason: String,
        again: bool,
    },
}

impl HostBackend {
    /// A backend for this plan. Makes the undo list and starts the guardian; images are made when
    /// the first trial needs them. With `wait` it waits for the end of another run until that flag is
    /// raised, otherwise 15 s.
    ///
    /// # Errors
    /// When another run has the machine, the undo list cannot be made or the guardian cannot be started.
    pub fn new(
        plan: &Plan,
        options: HostOptions,
        wait: Option<&AtomicBool>,
    ) -> Result<Self, HostBackendError> {
        let system = System::host();
        // The number first: what cuts long names must not make two runs one.
        let run = format!("{}-{}", std::process::id(), plan.lab.name);
        let run: String =
            run.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let lock = machine_lock(&system, &options, wait)?;
        let work = undo::mount_folder(&options.undo_directory)
            .map_err(failed("cannot make the directory for mount points"))?;
        let undo = options.undo_directory.join(format!("{run}.{}", undo::EXTENSION));
        Undo::create(&system, &undo, &run).map_err(failed("cannot start the undo list"))?;
        let ram = seekwell_host::memory::ram(&system)
            .map_err(failed("cannot read the size of the memory"))?;
        let settings = Settings::read(&system);
        let bonds = plan
            .stacks
            .iter()
            .flat_map(disks)
            .filter_map(|path| Some((path.clone(), guard::bind(&system, path).ok()?)));
        let bonds = bonds.collect();
        let mut backend = Self {
            system,
            options,
            run,
            undo,
            work,
            ram,
            images: BTreeMap::new(),
            guardian: None,
            image_seed: plan.lab.seed,
            bonds,
            settings,
            touched: BTreeSet::new(),
            told: BTreeSet::new(),
            lock,
        };
        backend.ensure_guardian()?;
        Ok(backend)
    }

    /// Runs one trial. An agent that dies without a record is started once more; a second death
    /// fails the trial.
    ///
    /// # Errors
    /// When the host backend cannot continue.
    pub fn run_trial(
        &mut self,
        plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, HostBackendError> {
        let (stack, _) = plan.pair(trial);
        if !stack.layers.parts.iter().all(is_taken_down) {
            return Err(HostBackendError::Stack(format!(
                "the host backend does not run layers such as {}; run the lab with --place virtual",
                stack.layers.name
            )));
        }
        for bond in disks(stack).filter_map(|path| self.bonds.get(path)) {
            bond.check(&self.system)?;
        }
        self.make_images(stack, progress)?;
        let begun = Instant::now();
        let mut outcome = self.attempt(plan, trial, progress)?;
        if matches!(outcome, Trial::Died { again: true, .. }) {
            outcome = self.attempt(plan, trial, progress)?;
        }
        let mut record = match outcome {
            Trial::Recorded(record) => *record,
            Trial::Died { stage, reason, .. } => {
                let elapsed_ns = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
                Record { elapsed_ns, ..Record::failed(stage, reason) }
            }
        };
        self.compare_settings(&mut record);
        for path in disks(stack) {
            seekwell_host::claim::note_content(&self.system, &self.options.claims_directory, path)
                .map_err(failed("cannot record in the claim what the trial left on the device"))?;
        }
        Ok(record)
    }

    /// Compares the settings of all devices with those before the run. Each difference is reported
    /// once, in the record of the trial after which it was seen.
    fn compare_settings(&mut self, record: &mut Record) {
        let in_force = &record.in_force;
        let names = [Some(&in_force.device), in_force.journal.as_ref()];
        let names = names.into_iter().flatten().map(|device| device.kernel_name.as_str());
        // A filesystem in memory or on another machine has no device.
        let names = names.filter(|name| !name.is_empty());
        let disks = names.filter_map(|name| self.system.disk_of(name).ok());
        self.touched.extend(disks);
        let (ours, others) =
            self.settings.differences(&Settings::read(&self.system), &self.touched);
        let (by_others, ours) = ours.into_iter().partition(|found| found.by_others);
        for (differences, code) in [
            (ours, WarningCode::SettingNotRestored),
            (by_others, WarningCode::SettingChangedByOthers),
            (others, WarningCode::SettingChangedElsewhere),
        ] {
            for difference in differences {
                if self.told.insert(difference.clone()) {
                    record.warnings.push(Warning::new(code, difference.to_string()));
                }
            }
        }
    }

    /// Ends the guardian, which puts back whatever is left, and frees the images.
    ///
    /// # Errors
    /// When something could not be put back.
    pub fn finish(mut self) -> Result<(), HostBackendError> {
        self.images.clear();
        let said = self.guardian.take().map(GuardianLink::bye);
        if let Some(Err(error)) = said {
            // It died: then it is for the runner to put things back.
            let restored = undo::restore(&self.system, &self.undo)
                .map_err(failed("cannot restore the settings that the run changed"))?;
            if !restored.problems.is_empty() {
                return Err(HostBackendError::PutBack(format!(
                    "{error}; {}",
                    restored.problems.join("; ")
                )));
            }
        }
        let (mut left, _) = self.settings.differences(&Settings::read(&self.system), &self.touched);
        // What another program has changed was restored before, and the trial after which it was seen has a warning.
        left.retain(|found| !found.by_others);
        if left.is_empty() {
            return Ok(());
        }
        let left: Vec<String> = left.iter().map(ToString::to_string).collect();
        Err(HostBackendError::PutBack(left.join("; ")))
    }

    fn make_images(
        &mut self,
        stack: &Stack,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), HostBackendError> {
        for (name, backing) in images_of(stack) {
            if !self.images.contains_key(&name) {
                let image = self.make_image(&name, backing, progress)?;
                self.images.insert(name, image);
            }
        }
        Ok(())
    }

    fn make_image(
        &self,
        name: &str,
        backing: &Backing,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Image, HostBackendError> {
        let seed = self.image_seed;
        let mut told: Option<Instant> = None;
        let mut writing = |written: Bytes, size: Bytes| {
            if told.is_none_or(|told| told.elapsed() >= BETWEEN_PROGRESS) {
                told = Some(Instant::now());
                let image = ImageProgress { name: name.to_owned(), written, size };
                progress(&image.to_string());
            }
        };
        let made = match backing {
            Backing::Loop { size, directory, .. } => {
                let directory = directory.as_ref().unwrap_or(&self.options.scratch);
                writing(Bytes(0), *size);
                image::create(directory, *size, seed, &mut |written| writing(written, *size))
            }
            Backing::Ram { size, .. } => {
                writing(Bytes(0), *size);
                image::create_in_ram(&self.system, *size, seed, &mut |written| {
                    writing(written, *size);
                })
            }
            Backing::Disk { .. } | Backing::Partition { .. } | Backing::Model { .. } => {
                return Err(HostBackendError::Stack(format!("{name} has no image")));
            }
        };
        made.map_err(failed(&format!("cannot make the image of {name}")))
    }

    /// The handle of a device for the agent; the image to hand over, if it has one, is added to the others.
    fn handed<'a>(
        &'a self,
        name: &str,
        backing: &Backing,
        fd: i32,
        images: &mut Vec<(i32, &'a File)>,
    ) -> Result<DeviceHandle, HostBackendError> {
        match backing {
            Backing::Loop { sector, .. } | Backing::Ram { sector, .. } => {
                let image = self
                    .images
                    .get(name)
                    .ok_or_else(|| HostBackendError::Stack(format!("{name} has no image")))?;
                images.push((fd, image.file()));
                Ok(DeviceHandle::Image { fd, sector: *sector, layout: image.layout().clone() })
            }
            Backing::Disk { path } | Backing::Partition { path } => {
                let claims = self.options.claims_directory.clone();
                let run_file = self.options.run_file.clone();
                let bound = self.bonds.get(path).map(Bond::text);
                Ok(DeviceHandle::Claimed { path: path.clone(), claims, run_file, bound })
            }
            Backing::Model { model, .. } => Err(HostBackendError::Stack(format!(
                "{name} is the modelled device '{model}', which exists only on the virtual backend; use a loop, ram, disk or partition device"
            ))),
        }
    }

    fn attempt(
        &mut self,
        plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Trial, HostBackendError> {
        self.ensure_guardian()?;
        let (child, stdout, stderr) = self.start_agent(plan, trial)?;
        let watching = self.guardian.as_mut().map(|guardian| guardian.watch(child.pid));
        if !matches!(watching, Some(Ok(()))) {
            self.drop_guardian();
        }
        let outcome = self.listen(plan, &child, stdout, stderr, progress);
        // Whatever was heard, the agent must be gone before anything is put back.
        let _ = namespace::send_signal(&child.pidfd, Signal::KILL);
        let status = reap(&child)?;
        self.put_back()?;
        if plan.lab.trial.block_events {
            // Gone already, unless the agent was killed. Without tracefs there is none.
            let _ =
                block_events::remove_instance(&block_events::instance_name(&self.run, trial.index));
        }
        let mut heard = outcome?;
        Ok(match heard.record.take() {
            Some(record) => Trial::Recorded(record),
            None => Trial::Died {
                stage: heard.step.clone().unwrap_or_else(|| "setup".to_owned()),
                reason: heard.why(&status),
                again: heard.timed_out.is_none(),
            },
        })
    }

    fn start_agent(
        &self,
        plan: &Plan,
        trial: &PlannedTrial,
    ) -> Result<(Child, OwnedFd, OwnedFd), HostBackendError> {
        let (stack, workload) = plan.pair(trial);
        let mut images = Vec::new();
        let device = match stack.uses_device() {
            true => self.handed(&data_name(stack), &stack.device.backing, DATA_FD, &mut images)?,
            false => DeviceHandle::Unused { size: size_of(&self.system, &stack.device.backing) },
        };
        let external = stack.journal.external.as_ref().filter(|_| stack.is_on_devices());
        let journal = external
            .map(|backing| self.handed(&journal_name(stack), backing, JOURNAL_FD, &mut images))
            .transpose()?;
        let mut descriptor = JOURNAL_FD;
        let mut next = |(name, backing): (String, &Backing)| {
            descriptor += 1;
            self.handed(&name, backing, descriptor, &mut images)
        };
        let members = members(stack).map(&mut next).collect::<Result<Vec<_>, _>>()?;
        let fast = fast(stack).map(&mut next).collect::<Result<Vec<_>, _>>()?;
        let request = TrialRequest {
            format: FORMAT.to_string(),
            run: self.run.clone(),
            trial: trial.index,
            seed: trial.seed,
            part: TrialPart::Whole,
            stack: stack.clone(),
            workload: workload.clone(),
            settings: plan.lab.trial.clone(),
            defaults: QueueDefaults::default(),
            device,
            members,
            fast,
            journal,
            ram: self.ram,
            undo: Some(self.undo.clone()),
            work: self.work.clone(),
            hidden: Some(self.options.state.clone()),
            surveys: 0,
            record_data: false,
            record: false,
            on_tick: false,
        };
        let input = request_file(&request).map_err(failed("cannot write the agent's request"))?;
        let pipe = || {
            pipe_with(PipeFlags::CLOEXEC)
                .map_err(|error| failed("cannot make a pipe")(io::Error::from(error)))
        };
        let ((stdout, their_stdout), (stderr, their_stderr)) = (pipe()?, pipe()?);
        let mut descriptors =
            vec![(0, input.as_fd()), (1, their_stdout.as_fd()), (2, their_stderr.as_fd())];
        descriptors.extend(images.iter().map(|(fd, image)| (*fd, image.as_fd())));
        let arguments = [self.options.program.clone().into_os_string(), "agent".into()];
        let environment = [("PATH".into(), AGENT_PATH.into()), ("LC_ALL".into(), "C".into())];
        let options = Options {
            pid_namespace: true,
            mount_namespace: true,
            // The link and the server of NFS are not the host's.
            network_namespace: stack.filesystem.nfs.is_some(),
            die_with_parent: true,
            new_session: true,
        };
        let child = namespace::spawn(&arguments, &environment, &descriptors, &options)
            .map_err(failed("cannot start the agent"))?;
        Ok((child, stdout, stderr))
    }

    fn listen(
        &self,
        plan: &Plan,
        child: &Child,
        stdout: OwnedFd,
        stderr: OwnedFd,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Heard, HostBackendError> {
        let timeout = plan.lab.trial.timeout.to_duration();
        let mut listener = Listener::new(child.pid, stdout, stderr, KEPT_TALK);
        listener
            .listen(child.pidfd.as_fd(), timeout, &mut |message| {
                if let AgentMessage::Step { name } = message {
                    progress(name);
                }
            })
            .map_err(failed("cannot receive messages from the agent"))
    }

    /// After a trial: the guardian puts back what the agent left, or the runner if it died.
    fn put_back(&mut self) -> Result<(), HostBackendError> {
        if let Some(guardian) = &mut self.guardian {
            match guardian.done() {
                Ok(answer) if answer == "clear" => return Ok(()),
                Ok(answer) => return Err(HostBackendError::PutBack(answer)),
                Err(_) => self.drop_guardian(),
            }
        }
        let mut undo =
            Undo::open(&self.system, &self.undo).map_err(failed("cannot open the undo list"))?;
        let restored = undo
            .restore_where(|_| true)
            .map_err(failed("cannot restore the settings that the trial changed"))?;
        put_back(&restored)
    }

    /// Gives a guardian up that does not answer. It must be dead before its socket closes: one that
    /// only sleeps would take the end of the socket for the end of the run.
    fn drop_guardian(&mut self) {
        if let Some(guardian) = self.guardian.take() {
            guardian.end();
        }
    }

    fn ensure_guardian(&mut self) -> Result<(), HostBackendError> {
        if self.guardian.as_mut().is_some_and(GuardianLink::is_alive) {
            return Ok(());
        }
        let link = GuardianLink::start(&self.options.program, &self.undo, &self.lock)
            .map_err(failed("cannot start the guardian"))?;
        let mut undo =
            Undo::open(&self.system, &self.undo).map_err(failed("cannot open the undo list"))?;
        undo.add_owner(link.pid())
            .map_err(failed("cannot record the guardian in the undo list"))?;
        self.guardian = Some(link);
        Ok(())
    }
}

impl Backend for HostBackend {
    fn run(
        &mut self,
        plan: &Plan,
        trial: &PlannedTrial,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, BackendError> {
        self.run_trial(plan, trial, progress).map_err(Into::into)
    }

    fn finish(self: Box<Self>) -> Result<(), BackendError> {
        HostBackend::finish(*self).map_err(Into::into)
    }
}

/// Returns true for a layer that the undo list takes down after a killed run.
fn is_taken_down(layer: &Layer) -> bool {
    layer.find().is_some_and(|kind| kind.naming() != Naming::Kernel)
}

/// Bytes of all images that a run of this plan keeps, by the directory that holds them.
#[must_use]
pub fn image_bytes<'a>(plan: &'a Plan, scratch: &'a Path) -> BTreeMap<&'a Path, Bytes> {
    let images: BTreeMap<String, &Backing> = plan.stacks.iter().flat_map(images_of).collect();
    let mut all: BTreeMap<&Path, Bytes> = BTreeMap::new();
    for backing in images.into_values() {
        if let Backing::Loop { size, directory, .. } = backing {
            let sum = all.entry(directory.as_deref().unwrap_or(scratch)).or_default();
            sum.0 = sum.0.saturating_add(size.0);
        }
    }
    all
}

/// The images of a stack, with names.
fn images_of(stack: &Stack) -> impl Iterator<Item = (String, &Backing)> {
    let device = stack.uses_device().then(|| (data_name(stack), &stack.device.backing));
    let external = stack.journal.external.as_ref();
    let journal = external.map(|backing| (journal_name(stack), backing));
    let all = device.into_iter().chain(journal).chain(members(stack)).chain(fast(stack));
    all.filter(|(_, backing)| stack.is_on_devices() && backing.is_image())
}

fn data_name(stack: &Stack) -> String {
    format!("device {}", stack.device.base)
}

fn journal_name(stack: &Stack) -> String {
    format!("journal {}", stack.journal.name)
}

/// The devices that layers join besides the stack's own, each like it, with names.
fn members(stack: &Stack) -> impl Iterator<Item = (String, &Backing)> {
    let name = |position| format!("{} ({})", data_name(stack), position + 1);
    let joined = if stack.uses_device() { stack.layers.devices() } else { 1 };
    (1..joined).map(move |position| (name(position), &stack.device.backing))
}

/// Size of a device that a stack does not use; `None` if it is not known.
fn size_of(system: &System, backing: &Backing) -> Option<Bytes> {
    match backing {
        Backing::Disk { path } | Backing::Partition { path } => device_size(system, path),
        Backing::Loop { .. } | Backing::Ram { .. } | Backing::Model { .. } => backing.size(),
    }
}

/// The second devices of the layers' caches, with names.
fn fast(stack: &Stack) -> impl Iterator<Item = (String, &Backing)> {
    let layers = &stack.layers;
    let name = |position: usize| format!("cache {} of layer {}", position + 1, layers.name);
    let fast = if stack.is_on_devices() { layers.fast() } else { Vec::new() };
    let all = fast.into_iter().enumerate();
    all.map(move |(position, backing)| (name(position), backing))
}

/// Disks and partitions that a stack writes to.
fn disks(stack: &Stack) -> impl Iterator<Item = &PathBuf> {
    stack.written().filter_map(|backing| match backing {
        Backing::Disk { path } | Backing::Partition { path } => Some(path),
        Backing::Loop { .. } | Backing::Ram { .. } | Backing::Model { .. } => None,
    })
}

/// One run at a time; what an earlier one left is put back first.
fn machine_lock(
    system: &System,
    options: &HostOptions,
    wait: Option<&AtomicBool>,
) -> Result<File, HostBackendError> {
    let folder = &options.undo_directory;
    let begun = Instant::now();
    let waits = || match wait {
        Some(stop) => !stop.load(Ordering::Relaxed),
        None => begun.elapsed() < LOCK_PATIENCE,
    };
    let lock = loop {
        match undo::lock(system, folder).map_err(failed("cannot lock the machine for a run"))? {
            Some(lock) => break lock,
            // Every command holds it for a moment, and the guardian of a killed run until all is
            // put back.
            None if waits() => std::thread::sleep(LOCK_POLL),
            None if wait.is_some() => {
                let text = "stopped while waiting for the end of another run";
                return Err(HostBackendError::Stack(text.to_owned()));
            }
            None => {
                return Err(HostBackendError::Stack(format!(
                    "another run is active or its settings are still being restored ({} holds the \
                     lock); two runs would disturb each other: run with --wait, or wait until it has ended",
                    undo::holder(system, folder)
                )));
            }
        }
    };
    for list in undo::pending(system, folder).map_err(failed("cannot look for interrupted runs"))? {
        let restored = undo::restore(system, &list)
            .map_err(failed("cannot restore the settings that an interrupted run changed"))?;
        put_back(&restored)?;
    }
    Ok(lock)
}

/// Waits for the end of a killed agent and says how it ended.
fn reap(child: &Child) -> Result<String, HostBackendError> {
    let ended =
        namespace::ended(&child.pidfd, AGENT_END).map_err(failed("cannot wait for the agent"))?;
    if !ended {
        let text = format!("the agent (process {}) does not end: a device may hang", child.pid);
        return Err(HostBackendError::Stack(text));
    }
    let status = namespace::wait(&child.pidfd).map_err(failed("cannot reap the agent"))?;
    Ok(format!("{status:?}"))
}

/// The request in a file without a name, so that it needs no thread to write it.
fn request_file(request: &TrialRequest) -> io::Result<File> {
    let mut file = File::from(memfd_create("seekwell-request", MemfdFlags::CLOEXEC)?);
    let text = serde_json::to_vec(request).map_err(io::Error::other)?;
    file.write_all(&text)?;
    file.rewind()?;
    Ok(file)
}
