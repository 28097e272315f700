//! The virtual backend: runs the trials of a plan, each in a guest of its own.

mod power_cut;
mod transcript;

pub use power_cut::SequenceCut;
pub use transcript::was_ended_by_host;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use seekwell_capture::guest;
use seekwell_device::{DeviceFile, Model};
use seekwell_model::FORMAT;
use seekwell_model::agent::{DeviceHandle, QueueDefaults, TrialPart, TrialRequest};
use seekwell_model::filesystems::{FILESYSTEMS, FilesystemDefinition, filesystem};
use seekwell_model::lab::TrialSettings;
use seekwell_model::laws::{Law, LawSet};
use seekwell_model::origin::{OriginKind, TracedStep};
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{Record, Status};
use seekwell_model::stack::{Backing, MemoryLimit, Stack};
use seekwell_model::units::Bytes;
use seekwell_model::warning::{Warning, WarningCode};
use seekwell_model::workloads::WorkloadParams;
use seekwell_model::workloads::replay::guest_trace;
use seekwell_stats::derive_seed;

use crate::check::{Difference, difference};
use crate::content::Keeping;
use crate::end::End;
use crate::kernel::Kernel;
use crate::machine::{
    CpuCharge, DiskOutcome, DiskSetup, MachineError, Outcome, Settings, Trial, device_path, run,
};
use crate::mailbox::Task;
use crate::memory_capacity::{self, MemoryCapacity, SHARED_MEMORY};
use crate::origins::{self, Step};
use crate::partition::Partition;
use crate::preparations::{Preparations, Prepared, Start};
use crate::root::{RootBuilder, RootError, RootImage};
use transcript::Transcript;

/// Default RAM of a guest: that of a desktop in the years of the studies.
pub const DEFAULT_MEMORY: Bytes = Bytes::mib(512);

/// Mount point for the agent: an empty directory in every guest.
const WORK: &str = "/mnt";

/// Limit of host time per second of virtual time; far more than any trial needs.
const WALL_PER_VIRTUAL: u64 = 10;

/// Extra programs and files that workload steps need.
pub(crate) const TOOLS: [&str; 12] =
    ["sh", "tar", "cp", "rm", "mv", "cat", "dd", "sync", "env", "ls", "mkdir", "find"];
const COMMON_FILES: [&str; 1] = ["/etc/mke2fs.conf"];

/// Options of the virtual backend.
#[derive(Clone, Debug)]
pub struct VirtualOptions {
    /// The lab kernel.
    pub kernel: Kernel,
    /// The seekwell program: first process and agent of every guest.
    pub program: PathBuf,
    /// Device files by their names in labs.
    pub devices: BTreeMap<String, DeviceFile>,
    /// Further programs of this machine for the root image.
    pub bring: Vec<PathBuf>,
    /// Folders of traces that workloads replay.
    pub traces: Vec<PathBuf>,
    /// Directory for sockets and content.
    pub scratch: PathBuf,
    /// CPU time charged.
    pub charge: CpuCharge,
    /// Run every trial twice and fail if the runs differ.
    pub check: bool,
    /// Folder for the traces of the measured commands of the first round.
    pub record: Option<PathBuf>,
}

/// CPU of a trial on this machine, and the flag that ends it. Neither changes results.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// CPU for clock and guest; `None` leaves it to the host's scheduler.
    pub cpu: Option<usize>,
    /// Ends the trial when it is raised.
    pub stop: Arc<AtomicBool>,
}

/// A failure of the virtual backend.
#[derive(Debug, thiserror::Error)]
pub enum VirtualBackendError {
    /// The root image cannot be made.
    #[error("cannot make the root image of the guests")]
    Root(#[from] RootError),
    /// This machine could not run a guest.
    #[error("cannot start a guest")]
    Machine(#[from] MachineError),
    /// The model of a device, the disk after a power cut, the recorded calls of a guest or their trace cannot be made or
    /// read: in words.
    #[error("{0}")]
    Step(String, #[source] Box<dyn Error + Send + Sync>),
    /// A stack that this backend cannot run.
    #[error("{0}")]
    Stack(String),
    /// The agent's request could not be written.
    #[error("cannot write the agent's request")]
    Request(#[from] serde_json::Error),
    /// No directory has space for a guest's memory.
    #[error("a guest needs {needed} of shared memory, but {found}; or give the stacks less memory")]
    NoMemory {
        /// Memory of a guest.
        needed: Bytes,
        /// Space of each directory.
        found: String,
    },
    /// Two runs of one trial differ.
    #[error(
        "two trials of {label} with the same seed differ: {difference}; this is a bug of the virtual backend or of this kernel"
    )]
    NotRepeatable {
        /// The stack.
        label: String,
        /// The first difference.
        difference: Box<Difference>,
    },
    /// The trial was cancelled.
    #[error("the trial was cancelled")]
    CalledOff,
    /// A thread that runs trials ended.
    #[error("the trial's thread ended without a result")]
    Gone,
}

fn failed<E: Into<Box<dyn Error + Send + Sync>>>(
    what: String,
) -> impl FnOnce(E) -> VirtualBackendError {
    move |source| VirtualBackendError::Step(what, source.into())
}

/// Result of the backend.
pub(crate) type Result<T, E = VirtualBackendError> = std::result::Result<T, E>;

/// The virtual backend.
#[derive(Debug)]
pub struct VirtualBackend {
    options: VirtualOptions,
    root: RootImage,
    memory_directory: PathBuf,
    preparations: Preparations,
}

impl VirtualBackend {
    /// Makes a backend with an image of this machine's tools; `find` looks for a program by name.
    ///
    /// # Errors
    ///
    /// [`VirtualBackendError::Root`].
    pub fn new(options: VirtualOptions, find: &dyn Fn(&str) -> Option<PathBuf>) -> Result<Self> {
        let mut builder = RootBuilder::new(&options.program)?;
        for path in tools().into_iter().filter_map(find) {
            builder.tool(&path)?;
        }
        for file in COMMON_FILES.map(Path::new) {
            if file.is_file() {
                builder.file(file, file)?;
            }
        }
        for path in &options.bring {
            builder.tool(path)?;
        }
        for folder in &options.traces {
            builder.folder(folder, &guest_trace(folder))?;
        }
        let keeping = Keeping { memory_bytes: IMAGE_MEMORY, directory: options.scratch.clone() };
        let root = builder.build(keeping)?;
        let memory_directory = PathBuf::from(SHARED_MEMORY);
        let free = memory_capacity::frozen(memory_capacity::machine_memory(), DEFAULT_MEMORY);
        let preparations = Preparations::new(free);
        Ok(Self { options, root, memory_directory, preparations })
    }

    /// Chooses the directory for the memory of this plan's guests, and how many of them, at most so many, fit
    /// at a time.
    ///
    /// # Errors
    ///
    /// [`VirtualBackendError::NoMemory`].
    pub fn reserve_memory(&mut self, plan: &Plan, at_most: usize) -> Result<MemoryCapacity> {
        let largest = plan.stacks.iter().map(memory).max().unwrap_or(DEFAULT_MEMORY);
        let candidates =
            [Path::new(SHARED_MEMORY), &self.options.scratch].map(memory_capacity::look);
        let machine = memory_capacity::machine_memory();
        let machine = memory_capacity::available().map_or(machine, |left| left.min(machine));
        let capacity = memory_capacity::choose(largest, at_most, machine, &candidates)
            .map_err(|found| VirtualBackendError::NoMemory { needed: largest, found })?;
        self.memory_directory.clone_from(&capacity.directory);
        self.preparations.bound(capacity.frozen);
        Ok(capacity)
    }

    /// Returns the image that every guest starts from.
    #[must_use]
    pub fn root(&self) -> &RootImage {
        &self.root
    }

    /// Runs one trial; `progress` gets the name of each step when it begins.
    ///
    /// # Errors
    ///
    /// When the backend fails. A failed trial is a record.
    pub fn run_trial(
        &self,
        plan: &Plan,
        trial: &PlannedTrial,
        lane: &Lane,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record> {
        let guest = Guest::whole(plan, trial, lane);
        let mut record = self.run_steps(&guest, progress)?;
        if plan.lab.trial.power_cut > 0 {
            self.cut_power(&guest, &mut record, progress)?;
        }
        Ok(record)
    }

    /// Runs one trial with laws switched off, without power cuts. What the trial starts from is that of the
    /// whole machine, where the lab makes it once: the empty filesystem, or the frozen files.
    ///
    /// # Errors
    ///
    /// When the backend fails. A failed trial is a record.
    pub fn run_without(
        &self,
        plan: &Plan,
        trial: &PlannedTrial,
        lane: &Lane,
        off: LawSet,
    ) -> Result<Record> {
        self.run_steps(&Guest { off, ..Guest::whole(plan, trial, lane) }, &mut |_| {})
    }

    /// Runs one trial without power cuts and returns the requests of a step with their origins; `None` if the trial
    /// failed or the kernel does not record origins. The record is that of [`Self::run_without`] with every law on.
    ///
    /// # Errors
    ///
    /// When the backend fails. A failed trial is a record.
    pub fn run_traced(
        &self,
        plan: &Plan,
        trial: &PlannedTrial,
        lane: &Lane,
        step: &str,
    ) -> Result<(Record, Option<TracedStep>)> {
        let seen = RefCell::default();
        let trace = Some(Trace { step, seen: &seen });
        let guest = Guest { trace, ..Guest::whole(plan, trial, lane) };
        let record = self.run_steps(&guest, &mut |_| {})?;
        Ok((record, seen.take()))
    }

    /// Laws of a stack's devices and of the machine.
    ///
    /// # Errors
    ///
    /// When the stack has a device that this backend cannot model.
    pub fn laws(&self, stack: &Stack) -> Result<LawSet> {
        let disks = self.disks(stack, 1, &Settings::new(&self.options.scratch))?;
        let laws = disks.iter().map(|disk| disk.parts.model.laws());
        let cpu = self.options.charge != CpuCharge::default();
        Ok(laws.fold(LawSet::NONE.with(Law::Cpu, cpu), LawSet::union))
    }

    /// Runs a trial without power cuts.
    fn run_steps(&self, guest: &Guest<'_>, progress: &mut dyn FnMut(&str)) -> Result<Record> {
        let trial_settings = &guest.plan.lab.trial;
        if trial_settings.freeze && !guest.is_volatile() {
            return self.run_prepared(guest, progress);
        }
        if trial_settings.make_once && !guest.is_raw() && !guest.is_volatile() {
            return self.run_made(guest, progress);
        }
        let disks = |settings: &Settings| self.disks(guest.stack(), guest.trial.seed, settings);
        Ok(self.repeatably(guest, &disks, progress)?.0)
    }

    /// Runs a trial from a copy of the stack with its files.
    fn run_prepared(&self, guest: &Guest<'_>, progress: &mut dyn FnMut(&str)) -> Result<Record> {
        let parts = (TrialPart::Prepare, TrialPart::Measure);
        let (prepared, record) = self.run_copy(guest, parts, progress)?;
        let Some(mut record) = record else { return Ok(prepared) };
        record.in_force.mkfs.clone_from(&prepared.in_force.mkfs);
        record.warnings.push(is_frozen(&prepared));
        Ok(record)
    }

    /// Runs a trial from a copy of the stack's empty filesystem. The record is that of a trial that
    /// made it itself, with its steps at the same times.
    fn run_made(&self, guest: &Guest<'_>, progress: &mut dyn FnMut(&str)) -> Result<Record> {
        let (made, record) = self.run_copy(guest, (TrialPart::Make, TrialPart::Made), progress)?;
        Ok(match record {
            Some(record) => record.behind(made),
            None => made,
        })
    }

    /// Runs the second part of a trial on a copy of what the first part left; returns the records of
    /// both, and of the first alone if it failed.
    fn run_copy(
        &self,
        guest: &Guest<'_>,
        (first, second): (TrialPart, TrialPart),
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Record, Option<Record>)> {
        let before = Guest { part: first, ..*guest };
        let Start { disks, record: prepared } = self.prepared(&before, progress)?;
        let Some(disks) = disks else { return Ok((prepared, None)) };
        let copy = Cell::new(Some(disks));
        let disks = |_: &Settings| match copy.take() {
            Some(disks) => Ok(disks),
            None => Ok(self.prepared(&before, &mut |_| {})?.disks.unwrap_or_default()),
        };
        let guest = Guest { part: second, ..*guest };
        let (record, _) = self.repeatably(&guest, &disks, progress)?;
        Ok((prepared, Some(record)))
    }

    /// Returns copies of a stack's disks after the guest's part, which is run the first time.
    fn prepared(&self, guest: &Guest<'_>, progress: &mut dyn FnMut(&str)) -> Result<Start> {
        let plan = guest.plan;
        // One seed for all rounds: accesses differ from round to round, the layout does not.
        let trial = PlannedTrial { seed: derive_seed(plan.lab.seed, FROZEN), ..*guest.trial };
        let guest = Guest { trial: &trial, off: LawSet::NONE, trace: None, ..*guest };
        let keeping = self.settings(&guest).keeping();
        self.preparations.start(&self.depends_on(&guest)?, &keeping, || {
            let disks = |settings: &Settings| self.disks(guest.stack(), trial.seed, settings);
            let (record, outcome) = self.repeatably(&guest, &disks, progress)?;
            let is_final = outcome.end == End::Finished { status: 0 };
            let frozen = |disk: DiskOutcome| (disk.role, disk.parts.freeze());
            let failed = matches!(record.status, Status::Failed { .. });
            let disks = (!failed).then(|| outcome.disks.into_iter().map(frozen).collect());
            Ok(Prepared { disks, record, is_final })
        })
    }

    /// Returns a key of everything that a prepared stack depends on.
    fn depends_on(&self, guest: &Guest<'_>) -> Result<String> {
        let workload = guest.plan.pair(guest.trial).1;
        let files = match guest.part {
            TrialPart::Make => None,
            _ => workload.parts.first().map(WorkloadParams::preparation),
        };
        let charge = self.options.charge;
        let all = (
            (&self.options.kernel.id, self.root.hash()),
            (guest.stack(), files, guest.trial.seed),
            (&guest.plan.lab.trial, charge.to_string()),
        );
        Ok(serde_json::to_string(&all)?)
    }

    /// Runs a guest; with `check`, twice, and compares the runs.
    fn repeatably(
        &self,
        guest: &Guest<'_>,
        disks: &MakeDisks<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Record, Outcome)> {
        let (record, outcome) = self.once(guest, disks, progress)?;
        if !self.options.check {
            return Ok((record, outcome));
        }
        let (again, repeated) = self.once(guest, disks, &mut |_| {})?;
        let label = || guest.stack().label.clone();
        match difference(&outcome, &repeated) {
            Some(difference) => {
                let difference = Box::new(difference);
                Err(VirtualBackendError::NotRepeatable { label: label(), difference })
            }
            // Disks and output are equal, so the records must be: this is a bug in this program.
            None if again != record => Err(VirtualBackendError::Stack(format!(
                "the records of two trials of {} differ although their I/O is the same; please report this bug",
                label()
            ))),
            None => Ok((record, outcome)),
        }
    }

    fn once(
        &self,
        guest: &Guest<'_>,
        disks: &MakeDisks<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Record, Outcome)> {
        let settings = self.settings(guest);
        let mut disks = disks(&settings)?;
        disks.iter_mut().for_each(|disk| disk.parts.model.switch_off(guest.off));
        let mut request = guest.request();
        request.record = self.options.record.is_some() && guest.is_recorded();
        let (mut record, mut outcome) = self.run_agent(&request, disks, settings, progress)?;
        if let (true, Some(records)) = (record.status == Status::Ok, outcome.records.take()) {
            self.keep_trace(guest, records)?;
        }
        if let Some(trace) = guest.trace {
            trace.take(guest.stack(), &record, &mut outcome)?;
        }
        record.in_force.memory_limit = Some(memory(guest.stack()));
        if self.options.charge == CpuCharge::default() {
            record.warnings.push(cpu_is_free());
        }
        Ok((record, outcome))
    }

    /// Makes a trace of a guest's records.
    fn keep_trace(&self, guest: &Guest<'_>, mut records: File) -> Result<()> {
        let Some(folder) = &self.options.record else { return Ok(()) };
        let folder = folder.join(guest.trace_name());
        guest::trace_of(&mut records, &folder, &self.options.kernel.version)
            .map(drop)
            .map_err(failed(format!("cannot make a trace of {}", guest.stack().label)))
    }

    /// Runs a guest whose agent gets this request.
    fn run_agent(
        &self,
        request: &TrialRequest,
        disks: Vec<DiskSetup>,
        settings: Settings,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Record, Outcome)> {
        let input = serde_json::to_vec(request)?;
        let mut transcript = Transcript::default();
        let trial = self.trial(disks, &input, settings);
        let outcome = run(trial, &mut |bytes| transcript.take(bytes, progress))?;
        if outcome.end == End::CalledOff {
            return Err(VirtualBackendError::CalledOff);
        }
        let record = transcript::record(transcript, &outcome);
        Ok((record, outcome))
    }

    /// A guest whose agent gets this input.
    fn trial<'a>(
        &'a self,
        disks: Vec<DiskSetup>,
        input: &'a [u8],
        settings: Settings,
    ) -> Trial<'a> {
        let kernel = &self.options.kernel.path;
        Trial { kernel, root: &self.root, disks, task: Task::Agent, input, settings }
    }

    fn settings(&self, guest: &Guest<'_>) -> Settings {
        let Guest { plan, trial, lane, .. } = *guest;
        let mut settings = Settings {
            memory_bytes: memory(guest.stack()).0,
            seed: trial.seed,
            cpu: lane.cpu,
            stop: lane.stop.clone(),
            charge: if guest.off.contains(Law::Cpu) {
                CpuCharge::default()
            } else {
                self.options.charge
            },
            keep_events: self.options.check || guest.trace.is_some(),
            keep_origins: guest.trace.is_some(),
            memory_directory: self.memory_directory.clone(),
            ..Settings::new(&self.options.scratch)
        };
        let timeout_ns = plan.lab.trial.timeout.0;
        settings.limits.virtual_ns = timeout_ns;
        settings.limits.wall = Duration::from_nanos(timeout_ns.saturating_mul(WALL_PER_VIRTUAL));
        settings
    }

    fn disks(&self, stack: &Stack, seed: u64, settings: &Settings) -> Result<Vec<DiskSetup>> {
        let (name, backing) = (&stack.device.name, &stack.device.backing);
        let data = self.model(name, backing, seed)?;
        let mut disks = vec![DiskSetup::empty("data", data, settings)];
        for position in 1..stack.layers.devices() {
            // Devices of one model differ: disks of an array do not turn in step.
            let role = format!("member-{position}");
            let member = self.model(name, backing, derive_seed(seed, &role))?;
            disks.push(DiskSetup::empty(&role, member, settings));
        }
        for (position, backing) in stack.layers.fast().into_iter().enumerate() {
            let role = format!("fast-{position}");
            let fast = self.model(&stack.layers.name, backing, derive_seed(seed, &role))?;
            disks.push(DiskSetup::empty(&role, fast, settings));
        }
        if let Some(backing) = &stack.journal.external {
            let journal = self.model(&stack.journal.name, backing, seed)?;
            disks.push(DiskSetup::empty("journal", journal, settings));
        }
        Ok(disks)
    }

    fn model(&self, name: &str, backing: &Backing, seed: u64) -> Result<Box<dyn Model>> {
        let Backing::Model { model, size, start } = backing else {
            return Err(VirtualBackendError::Stack(format!(
                "{name} is a device of the host, and the virtual backend needs a modelled one: write model = \"NAME\" (seekwell device list)"
            )));
        };
        let found = seekwell_device::catalogue::find(&self.options.devices, model)
            .map_err(failed(format!("the model of {name} cannot be built")))?;
        let file = found.ok_or_else(|| {
            VirtualBackendError::Stack(format!(
                "{name} names the modelled device '{model}', which does not exist; list the models with: seekwell device list"
            ))
        })?;
        let whole = seekwell_device::build(&file, seed);
        Ok(match size {
            None => whole,
            Some(size) => {
                let start = start.map_or(0, |start| start.0 / 512);
                Box::new(Partition::new(whole, start, size.0 / 512))
            }
        })
    }
}

/// Makes the disks of a guest.
type MakeDisks<'a> = dyn Fn(&Settings) -> Result<Vec<DiskSetup>> + 'a;

/// One guest of a plan.
#[derive(Clone, Copy)]
struct Guest<'a> {
    plan: &'a Plan,
    trial: &'a PlannedTrial,
    lane: &'a Lane,
    part: TrialPart,
    /// Laws that are switched off.
    off: LawSet,
    trace: Option<Trace<'a>>,
}

/// The step whose requests are kept, and the place for them.
#[derive(Clone, Copy)]
struct Trace<'a> {
    step: &'a str,
    seen: &'a RefCell<Option<TracedStep>>,
}

impl Trace<'_> {
    fn take(&self, stack: &Stack, record: &Record, outcome: &mut Outcome) -> Result<()> {
        let step = record.steps.iter().find(|step| step.name == self.step);
        let begin_ns = transcript::begin_ns(outcome, self.step);
        let (Some(step), Some(begin_ns)) = (step, begin_ns) else { return Ok(()) };
        let (Some(file), Some(events)) = (outcome.origins.take(), &outcome.events) else {
            return Ok(());
        };
        let failed = |source| MachineError::System { what: "read origins of requests", source };
        let origins = origins::read(file).map_err(failed)?;
        let durable = step.metrics.get("elapsed_durable").map_or(0, |s| (s * 1e9) as u64);
        let is_raw = filesystem(&stack.filesystem.kind).is_some_and(FilesystemDefinition::is_raw);
        let only = outcome.disks.iter().map(|disk| match disk.role.as_str() {
            "journal" => Some(OriginKind::Journal),
            _ => is_raw.then_some(OriginKind::Data),
        });
        let devices = outcome.disks.iter().map(|disk| disk.parts.model.geometry().sectors_512);
        let window = Step {
            begin_ns,
            elapsed_ns: (step.ended_ns - step.started_ns).max(durable),
            devices: devices.collect(),
            only: only.collect(),
        };
        // A kernel that records nothing leaves the file empty.
        *self.seen.borrow_mut() = (!origins.is_empty()).then(|| window.of(events, &origins));
        Ok(())
    }
}

impl<'a> Guest<'a> {
    /// A whole trial with every law on.
    fn whole(plan: &'a Plan, trial: &'a PlannedTrial, lane: &'a Lane) -> Self {
        Self { plan, trial, lane, part: TrialPart::Whole, off: LawSet::NONE, trace: None }
    }

    fn stack(&self) -> &'a Stack {
        self.plan.pair(self.trial).0
    }

    /// Returns true if it is the guest whose measured commands are recorded.
    fn is_recorded(&self) -> bool {
        let measures = matches!(self.part, TrialPart::Whole | TrialPart::Measure | TrialPart::Made);
        self.trial.round == 0 && measures
    }

    /// Returns the name of its trace's folder: number of the trial, stack and workload.
    fn trace_name(&self) -> String {
        let (stack, workload) = self.plan.pair(self.trial);
        let plain = |text: &str| {
            let harmless = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
            text.chars().map(harmless).collect::<String>()
        };
        format!("{:03}-{}-{}", self.trial.index, plain(&stack.label), plain(&workload.name))
    }

    /// Returns true if the stack has no filesystem.
    fn is_raw(&self) -> bool {
        filesystem(&self.stack().filesystem.kind).is_some_and(FilesystemDefinition::is_raw)
    }

    /// Returns true if a layer or the filesystem forgets its content, so that no copy of it can be
    /// made.
    fn is_volatile(&self) -> bool {
        if filesystem(&self.stack().filesystem.kind).is_some_and(|one| one.is_in_memory) {
            return true;
        }
        let layers = self.stack().layers.parts.iter().filter_map(|layer| layer.find());
        layers.into_iter().any(|kind| kind.definition().is_volatile)
    }

    /// Returns the request to the agent. The disks are in the order of [`VirtualBackend::disks`].
    fn request(&self) -> TrialRequest {
        let (stack, workload) = self.plan.pair(self.trial);
        let joined = stack.layers.devices() as usize;
        let layered = joined + stack.layers.fast().len();
        let given = |position| DeviceHandle::Given { path: device_path(position) };
        // The guest has one CPU, regardless of the lab's setting for the host.
        let settings = TrialSettings { cpus: None, ..self.plan.lab.trial.clone() };
        TrialRequest {
            format: FORMAT.to_string(),
            run: "virtual".to_owned(),
            trial: self.trial.index,
            seed: self.trial.seed,
            part: self.part,
            stack: for_agent(stack),
            workload: workload.clone(),
            settings,
            defaults: QueueDefaults::default(),
            device: given(0),
            members: (1..joined).map(given).collect(),
            fast: (joined..layered).map(given).collect(),
            journal: stack.journal.external.is_some().then(|| given(layered)),
            ram: Some(memory(stack)),
            undo: None,
            work: PathBuf::from(WORK),
            hidden: None,
            surveys: 0,
            record_data: false,
            record: false,
            on_tick: true,
        }
    }
}

/// Name that the seed of prepared stacks is derived from.
const FROZEN: &str = "frozen";

fn is_frozen(prepared: &Record) -> Warning {
    let fingerprint = prepared.fingerprint.as_deref().unwrap_or("unknown");
    Warning::new(
        WarningCode::FrozenPopulate,
        format!(
            "filesystem and files were made once for this stack (fingerprint {fingerprint}); every trial starts from a copy, so all rounds share one layout"
        ),
    )
}

/// Bytes of a root image kept in memory: enough for any image.
const IMAGE_MEMORY: u64 = 4 << 30;

/// Returns the programs of all filesystems and the common ones.
pub(crate) fn tools() -> Vec<&'static str> {
    let mut names: Vec<&str> = TOOLS.to_vec();
    for filesystem in FILESYSTEMS {
        let prepare = filesystem.journal.map(|journal| journal.prepare).unwrap_or_default();
        names.extend(filesystem.maker());
        names.extend([filesystem.fsck, prepare].iter().filter_map(|c| c.first()));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns the guest's RAM for a stack. A quarter of the machine has no meaning for a machine made to measure.
#[must_use]
pub fn memory(stack: &Stack) -> Bytes {
    match stack.memory.limit {
        MemoryLimit::Limit(bytes) => bytes,
        MemoryLimit::Quarter | MemoryLimit::Unlimited => DEFAULT_MEMORY,
    }
}

/// Returns the stack for the agent in the guest, where the RAM is the memory limit.
fn for_agent(stack: &Stack) -> Stack {
    let mut stack = stack.clone();
    stack.memory.limit = MemoryLimit::Unlimited;
    stack
}

fn cpu_is_free() -> Warning {
    Warning::new(
        WarningCode::VirtualCpuFree,
        "virtual time counts no CPU time, so differences caused by the CPU are missing",
    )
}
