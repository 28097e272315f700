//! The virtual place: runs the trials of a plan, each in a guest of its own.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use seekwell_device::{DeviceError, DeviceFile, Model};
use seekwell_model::FORMAT;
use seekwell_model::agent::{AgentMessage, DeviceHandle, QueueDefaults, TrialPart, TrialRequest};
use seekwell_model::filesystems::FILESYSTEMS;
use seekwell_model::lab::TrialSettings;
use seekwell_model::plan::{Plan, PlannedTrial};
use seekwell_model::record::{InForce, Record, Status};
use seekwell_model::stack::{Backing, MemoryLimit, Stack};
use seekwell_model::units::Bytes;
use seekwell_model::warning::Warning;
use seekwell_model::workloads::WorkloadParams;
use seekwell_stats::derive_seed;

use crate::check::{Difference, difference};
use crate::content::Keeping;
use crate::end::{End, last_lines};
use crate::kernel::Kernel;
use crate::machine::{
    CpuCharge, DiskOutcome, DiskSetup, MachineError, Outcome, Settings, Trial, device_path, run,
};
use crate::mailbox::Task;
use crate::medium::{self, Word};
use crate::partition::Partition;
use crate::preparations::{Preparations, Prepared, Start};
use crate::room::{self, Room};
use crate::root::{RootBuilder, RootError, RootImage};

#[cfg(test)]
mod tests;

/// RAM of a guest when the lab names none: what a desktop of the years of the studies had.
pub const DEFAULT_MEMORY: Bytes = Bytes::mib(512);

/// Where a guest's memory belongs: never written to a disk.
const SHARED_MEMORY: &str = "/dev/shm";

/// Where the agent mounts: an empty directory in every guest.
const WORK: &str = "/mnt";

/// Host time for each second of virtual time that a trial may take; far more than any needs.
const WALL_PER_VIRTUAL: u64 = 10;

/// Lines of a console in the reason of a failure.
const CONSOLE_LINES: usize = 12;

/// Programs that steps call besides those of the filesystems, and files they read.
pub(crate) const TOOLS: [&str; 12] =
    ["sh", "tar", "cp", "rm", "mv", "cat", "dd", "sync", "env", "ls", "mkdir", "find"];
const COMMON_FILES: [&str; 1] = ["/etc/mke2fs.conf"];

/// What the virtual place needs.
#[derive(Clone, Debug)]
pub struct VirtualOptions {
    /// The lab kernel.
    pub kernel: Kernel,
    /// The seekwell program: first process and agent of every guest.
    pub program: PathBuf,
    /// Device files by the name that labs use.
    pub devices: BTreeMap<String, DeviceFile>,
    /// Further programs of this machine for the root image.
    pub bring: Vec<PathBuf>,
    /// Directory for sockets and content.
    pub scratch: PathBuf,
    /// CPU time charged.
    pub charge: CpuCharge,
    /// Run every trial twice and insist that both did the same.
    pub check: bool,
}

/// Where on this machine a trial runs, and who may end it. Without effect on results.
#[derive(Clone, Debug, Default)]
pub struct Lane {
    /// CPU for clock and guest; `None` leaves it to the host's scheduler.
    pub cpu: Option<usize>,
    /// Ends the trial when it is raised.
    pub stop: Arc<AtomicBool>,
}

/// Why the virtual place cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum VirtualPlaceError {
    /// The root image cannot be made.
    #[error("cannot make the root image of the guests")]
    Root(#[from] RootError),
    /// A guest could not be run on this machine.
    #[error("cannot run a guest")]
    Machine(#[from] MachineError),
    /// A model's file does not go with the lab.
    #[error("the model of {name} cannot be built")]
    Model {
        /// The device or journal of the lab.
        name: String,
        /// Cause.
        source: DeviceError,
    },
    /// A stack cannot be run here.
    #[error("{0}")]
    Stack(String),
    /// The request could not be written.
    #[error("cannot write the agent's request")]
    Request(#[from] serde_json::Error),
    /// No directory can hold the guests' memory.
    #[error(
        "a guest needs {needed} of shared memory, and {found}; so does giving less memory to the stacks"
    )]
    NoMemory {
        /// What a guest needs.
        needed: Bytes,
        /// What each place has.
        found: String,
    },
    /// Two runs of one trial differ.
    #[error(
        "{label} was run twice with the same seed and did not do the same: {difference}; this is an error of the virtual place, or of this kernel"
    )]
    NotRepeatable {
        /// The stack.
        label: String,
        /// Where they part.
        difference: Box<Difference>,
    },
    /// Nobody wants the trial any more.
    #[error("the trial was called off")]
    CalledOff,
    /// A thread that runs trials is gone.
    #[error("the trial's thread ended without a word")]
    Gone,
}

/// The virtual place.
#[derive(Debug)]
pub struct VirtualPlace {
    options: VirtualOptions,
    root: RootImage,
    missing: Vec<String>,
    memory_directory: PathBuf,
    preparations: Preparations,
}

impl VirtualPlace {
    /// A place with an image of this machine's tools; `find` looks for a program by name.
    ///
    /// # Errors
    ///
    /// [`VirtualPlaceError::Root`].
    pub fn new(
        options: VirtualOptions,
        find: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Result<Self, VirtualPlaceError> {
        let mut builder = RootBuilder::new(&options.program)?;
        let mut missing = Vec::new();
        for name in tools() {
            match find(name) {
                Some(path) => builder.tool(&path)?,
                None => missing.push(name.to_owned()),
            }
        }
        for file in COMMON_FILES.map(Path::new) {
            if file.is_file() {
                builder.file(file, file)?;
            }
        }
        for path in &options.bring {
            builder.tool(path)?;
        }
        let keeping = Keeping { memory_bytes: IMAGE_MEMORY, directory: options.scratch.clone() };
        let root = builder.build(keeping)?;
        let memory_directory = PathBuf::from(SHARED_MEMORY);
        let preparations = Preparations::default();
        Ok(Self { options, root, missing, memory_directory, preparations })
    }

    /// Finds room for the memory of this plan's guests, at most so many at a time; from now on it is used.
    ///
    /// # Errors
    ///
    /// [`VirtualPlaceError::NoMemory`].
    pub fn make_room(&mut self, plan: &Plan, at_most: usize) -> Result<Room, VirtualPlaceError> {
        let largest = plan.stacks.iter().map(memory).max().unwrap_or(DEFAULT_MEMORY);
        let places = [Path::new(SHARED_MEMORY), &self.options.scratch].map(room::look);
        let room = room::choose(largest, at_most, room::machine_memory(), &places);
        let room = room.map_err(|found| VirtualPlaceError::NoMemory { needed: largest, found })?;
        self.memory_directory.clone_from(&room.directory);
        Ok(room)
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.options.kernel
    }

    /// CPU time charged.
    #[must_use]
    pub fn charge(&self) -> CpuCharge {
        self.options.charge
    }

    /// The image that every guest starts from.
    #[must_use]
    pub fn root(&self) -> &RootImage {
        &self.root
    }

    /// Programs that filesystems need and this machine lacks.
    #[must_use]
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Runs one trial; `progress` hears the name of each step that begins.
    ///
    /// # Errors
    ///
    /// When the place cannot go on. A trial that fails is a record.
    pub fn run_trial(
        &self,
        plan: &Plan,
        trial: &PlannedTrial,
        lane: &Lane,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, VirtualPlaceError> {
        let guest = Guest { plan, trial, lane, part: TrialPart::Whole };
        if plan.lab.trial.freeze {
            return self.run_prepared(&guest, progress);
        }
        let disks = |settings: &Settings| self.disks(guest.stack(), trial.seed, settings);
        Ok(self.repeatably(&guest, &disks, progress)?.0)
    }

    /// A trial that begins with a copy of the prepared stack.
    fn run_prepared(
        &self,
        guest: &Guest<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Record, VirtualPlaceError> {
        let Start { disks, record: prepared } = self.prepared(guest, progress)?;
        let Some(disks) = disks else { return Ok(prepared) };
        let first = Cell::new(Some(disks));
        let disks = |_: &Settings| match first.take() {
            Some(disks) => Ok(disks),
            None => Ok(self.prepared(guest, &mut |_| {})?.disks.unwrap_or_default()),
        };
        let guest = Guest { part: TrialPart::Measure, ..*guest };
        let (mut record, _) = self.repeatably(&guest, &disks, progress)?;
        record.in_force.mkfs.clone_from(&prepared.in_force.mkfs);
        record.warnings.push(is_frozen(&prepared));
        Ok(record)
    }

    /// Copies of the disks of a stack with its filesystem and files, made now unless they are there.
    fn prepared(
        &self,
        guest: &Guest<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Start, VirtualPlaceError> {
        let plan = guest.plan;
        // Not the trial's: accesses differ from round to round, what is accessed does not.
        let trial = PlannedTrial { seed: derive_seed(plan.lab.seed, FROZEN), ..*guest.trial };
        let guest = Guest { trial: &trial, part: TrialPart::Prepare, ..*guest };
        let keeping = self.settings(&guest).keeping();
        self.preparations.start(&self.depends_on(&guest)?, &keeping, || {
            let disks = |settings: &Settings| self.disks(guest.stack(), trial.seed, settings);
            let (record, outcome) = self.repeatably(&guest, &disks, progress)?;
            let frozen = |disk: DiskOutcome| (disk.role, disk.parts.freeze());
            let failed = matches!(record.status, Status::Failed { .. });
            let disks = (!failed).then(|| outcome.disks.into_iter().map(frozen).collect());
            Ok(Prepared { disks, record })
        })
    }

    /// Everything that a prepared stack depends on.
    fn depends_on(&self, guest: &Guest<'_>) -> Result<String, VirtualPlaceError> {
        let files = guest.plan.pair(guest.trial).1.parts.first().map(WorkloadParams::preparation);
        let charge = self.options.charge;
        let all = (
            (&self.options.kernel.id, self.root.hash()),
            (guest.stack(), files, guest.trial.seed),
            (&guest.plan.lab.trial, charge.syscall_ns, charge.copy_ns_per_kib),
        );
        Ok(serde_json::to_string(&all)?)
    }

    /// Runs a guest, and where that is to be checked once more, to see whether it does the same.
    fn repeatably(
        &self,
        guest: &Guest<'_>,
        disks: &MakeDisks<'_>,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(Record, Outcome), VirtualPlaceError> {
        let (record, outcome) = self.once(guest, disks, progress)?;
        if !self.options.check {
            return Ok((record, outcome));
        }
        let (again, repeated) = self.once(guest, disks, &mut |_| {})?;
        let label = || guest.stack().label.clone();
        match difference(&outcome, &repeated) {
            Some(difference) => {
                let difference = Box::new(difference);
                Err(VirtualPlaceError::NotRepeatable { label: label(), difference })
            }
            // The disks and the output are the same, so this can only be a mistake of ours.
            None if again != record => Err(VirtualPlaceError::Stack(format!(
                "the records of two runs of {} differ although their requests do not",
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
    ) -> Result<(Record, Outcome), VirtualPlaceError> {
        let settings = self.settings(guest);
        let disks = disks(&settings)?;
        let input = serde_json::to_vec(&guest.request(disks.len() > 1))?;
        let mut heard = Heard::default();
        let outcome = run(
            Trial {
                kernel: &self.options.kernel.path,
                root: &self.root,
                disks,
                task: Task::Agent,
                input: &input,
                settings,
            },
            &mut |bytes| heard.take(bytes, progress),
        )?;
        if outcome.end == End::CalledOff {
            return Err(VirtualPlaceError::CalledOff);
        }
        let mut record = record(heard, &outcome);
        record.in_force.memory_limit = Some(memory(guest.stack()));
        if self.options.charge == CpuCharge::default() {
            record.warnings.push(cpu_is_free());
        }
        Ok((record, outcome))
    }

    fn settings(&self, guest: &Guest<'_>) -> Settings {
        let Guest { plan, trial, lane, .. } = *guest;
        let mut settings = Settings {
            memory_bytes: memory(guest.stack()).0,
            seed: trial.seed,
            cpu: lane.cpu,
            stop: lane.stop.clone(),
            charge: self.options.charge,
            keep_events: self.options.check,
            memory_directory: self.memory_directory.clone(),
            ..Settings::new(&self.options.scratch)
        };
        let timeout_ns = plan.lab.trial.timeout.0;
        settings.limits.virtual_ns = timeout_ns;
        settings.limits.wall = Duration::from_nanos(timeout_ns.saturating_mul(WALL_PER_VIRTUAL));
        settings
    }

    fn disks(
        &self,
        stack: &Stack,
        seed: u64,
        settings: &Settings,
    ) -> Result<Vec<DiskSetup>, VirtualPlaceError> {
        let data = self.model(&stack.device.name, &stack.device.backing, seed)?;
        let mut disks = vec![DiskSetup::empty("data", data, settings)];
        if let Some(backing) = &stack.journal.external {
            let journal = self.model(&stack.journal.name, backing, seed)?;
            disks.push(DiskSetup::empty("journal", journal, settings));
        }
        Ok(disks)
    }

    fn model(
        &self,
        name: &str,
        backing: &Backing,
        seed: u64,
    ) -> Result<Box<dyn Model>, VirtualPlaceError> {
        let Backing::Model { model, size } = backing else {
            return Err(VirtualPlaceError::Stack(format!(
                "{name} is a device of the host; the virtual place takes modelled devices: write model = \"NAME\" (seekwell device list)"
            )));
        };
        let source = |source| VirtualPlaceError::Model { name: name.to_owned(), source };
        let found = seekwell_device::catalogue::find(&self.options.devices, model);
        let file = found.map_err(source)?.ok_or_else(|| {
            VirtualPlaceError::Stack(format!(
                "{name} names the modelled device '{model}', which there is no file of; seekwell device list shows those there are"
            ))
        })?;
        let whole = seekwell_device::build(&file, seed);
        Ok(match size {
            None => whole,
            Some(size) => Box::new(Partition::new(whole, size.0 / 512)),
        })
    }
}

/// Makes the disks of a guest.
type MakeDisks<'a> = dyn Fn(&Settings) -> Result<Vec<DiskSetup>, VirtualPlaceError> + 'a;

/// One guest of a plan.
#[derive(Clone, Copy)]
struct Guest<'a> {
    plan: &'a Plan,
    trial: &'a PlannedTrial,
    lane: &'a Lane,
    part: TrialPart,
}

impl<'a> Guest<'a> {
    fn stack(&self) -> &'a Stack {
        self.plan.pair(self.trial).0
    }

    /// What the agent is asked to do.
    fn request(&self, external: bool) -> TrialRequest {
        let (stack, workload) = self.plan.pair(self.trial);
        let given = |position| DeviceHandle::Given { path: device_path(position) };
        // The guest has one CPU, whatever the lab says of the host's.
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
            journal: external.then(|| given(1)),
            ram: Some(memory(stack)),
            undo: None,
            work: PathBuf::from(WORK),
        }
    }
}

/// What the seed of prepared stacks is for.
const FROZEN: &str = "frozen";

fn is_frozen(prepared: &Record) -> Warning {
    let fingerprint = prepared.fingerprint.as_deref().unwrap_or("unknown");
    Warning::new(
        "frozen-populate",
        format!(
            "filesystem and files were made once for this stack (fingerprint {fingerprint}) and every trial begins with a copy: its rounds share one layout"
        ),
        "leave out [trial] freeze to have a new layout in every round",
    )
}

/// Bytes of a root image that are held in memory: all of any that fits a machine.
const IMAGE_MEMORY: u64 = 4 << 30;

/// Every program that the catalogue of filesystems names, and the common ones.
pub(crate) fn tools() -> Vec<&'static str> {
    let mut names: Vec<&str> = TOOLS.to_vec();
    for filesystem in FILESYSTEMS {
        let prepare = filesystem.journal.map(|journal| journal.prepare).unwrap_or_default();
        names.extend([filesystem.mkfs, filesystem.fsck, prepare].iter().filter_map(|c| c.first()));
    }
    names.sort_unstable();
    names.dedup();
    names
}

/// RAM of the guest for a stack. A quarter of a machine makes no sense where the machine is made.
fn memory(stack: &Stack) -> Bytes {
    match stack.memory.limit {
        MemoryLimit::Limit(bytes) => bytes,
        MemoryLimit::Quarter | MemoryLimit::Unlimited => DEFAULT_MEMORY,
    }
}

/// The stack as the agent in the guest is to bring it up: the guest's RAM is the limit already.
fn for_agent(stack: &Stack) -> Stack {
    let mut stack = stack.clone();
    stack.memory.limit = MemoryLimit::Unlimited;
    stack
}

fn cpu_is_free() -> Warning {
    Warning::new(
        "virtual-cpu-free",
        "virtual time counts no CPU time: a fast device looks as fast as it is, whatever drives it",
        "charge system calls and copies: seekwell calibrate measures what they cost here",
    )
}

/// What an agent says, line by line.
#[derive(Debug, Default)]
struct Heard {
    rest: Vec<u8>,
    taken: usize,
    words: Vec<Word>,
    record: Option<Box<Record>>,
    garbled: Option<String>,
}

impl Heard {
    fn take(&mut self, bytes: &[u8], progress: &mut dyn FnMut(&str)) {
        self.rest.extend_from_slice(bytes);
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.taken += line.len();
            match serde_json::from_slice(&line) {
                Ok(AgentMessage::Step { name }) => {
                    progress(&name);
                    self.words.push(Word { ends_at: self.taken, step: Some(name) });
                }
                Ok(AgentMessage::Record(record)) => {
                    self.record = Some(record);
                    self.words.push(Word { ends_at: self.taken, step: None });
                }
                Err(_) => self.garbled = Some(String::from_utf8_lossy(&line).trim().to_owned()),
            }
        }
    }

    /// The step that began last.
    fn step(&self) -> Option<&str> {
        self.words.iter().rev().find_map(|word| word.step.as_deref())
    }
}

/// The agent's record, with the fingerprint; one that says why, when there is none.
fn record(heard: Heard, outcome: &Outcome) -> Record {
    let fingerprint = Some(outcome.fingerprint.to_string());
    match heard.record {
        Some(mut record) if outcome.end == (End::Finished { status: 0 }) => {
            medium::add(&mut record.steps, &heard.words, &outcome.heard);
            Record { fingerprint, ..*record }
        }
        _ => {
            let stage = heard.step().unwrap_or("setup").to_owned();
            let reason = why(&outcome.end, heard.garbled.as_deref(), outcome);
            Record {
                status: Status::Failed { stage, reason },
                in_force: InForce::default(),
                steps: Vec::new(),
                timeline: Vec::new(),
                journal_timeline: Vec::new(),
                clock_cost_ns: None,
                smart: None,
                block_events: None,
                fingerprint,
                elapsed_ns: outcome.virtual_ns,
                warnings: Vec::new(),
            }
        }
    }
}

fn why(end: &End, garbled: Option<&str>, outcome: &Outcome) -> String {
    let mut parts = vec![format!("the guest ended without a record: {end}")];
    parts.extend(garbled.map(|line| format!("it said something that is no message: {line}")));
    let log = String::from_utf8_lossy(&outcome.log);
    for text in [last_lines(&log, CONSOLE_LINES), last_lines(&outcome.console, CONSOLE_LINES)] {
        if !text.trim().is_empty() {
            parts.push(text.trim().to_owned());
        }
    }
    parts.join("\n")
}
