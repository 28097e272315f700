//! Brings a stack up and takes it down: devices, queue settings, memory, filesystem, timeline.

use crate::measure::Observer;
use crate::mounted::{self, MountPlan, Mounted};
use crate::torn::{self, Torn};
use crate::trial::{Say, TrialError, mark};
use seekwell_host::filesystem::{self, Checked};
use seekwell_host::guard::{self, Context, Purpose, WriteToken};
use seekwell_host::identity::Identity;
use seekwell_host::image;
use seekwell_host::loop_device::{self, LoopDevice};
use seekwell_host::memory::{self, MemoryGroup};
use seekwell_host::queue::{self, Wanted};
use seekwell_host::sysfs::System;
use seekwell_host::undo::Undo;
use seekwell_host::{caches, namespace};
use seekwell_model::agent::{DeviceHandle, TrialPart, TrialRequest};
use seekwell_model::filesystems::{self, FilesystemDefinition};
use seekwell_model::record::{DeviceInForce, Record, SmartReading, StepRecord};
use seekwell_model::stack::{MemoryLimit, Overlay};
use seekwell_model::units::Bytes;
use seekwell_model::warning::Warning;
use seekwell_model::workloads::{CacheState, StepOutline};
use seekwell_observe::block_events::{self, BlockEventOptions, BlockEventStream};
use seekwell_observe::timeline::{Timeline, TimelineOptions};
use seekwell_workload::StepContext;
use std::fs::File;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SETUP: &str = "setup";
const TEARDOWN: &str = "teardown";
/// A disk that does not answer smartctl by then is unknown.
const SMART: Duration = Duration::from_secs(20);
/// Single operations kept per thread, about 100 MB of a record: a longer step keeps its first ones.
const MOST_SINGLE_IOS: usize = 1_000_000;
const WRITE_BACK: &str = "write_back";
/// Mounting, and checking, after a shutdown in the midst of writing.
const MOUNT_TORN: &str = "mount_torn";
const FSCK_TORN: &str = "fsck_torn";

/// A block device of the stack, the right to write to it, and what frees it.
struct Attached {
    token: WriteToken,
    identity: Identity,
    /// Held for the whole trial: its last close frees the device.
    _loop_device: Option<LoopDevice>,
    handle: DeviceHandle,
}

/// A stack on its way up, up, or on its way down.
pub struct BroughtUp<'a> {
    request: &'a TrialRequest,
    system: System,
    definition: Option<&'static FilesystemDefinition>,
    origin_ns: u64,
    undo: Option<Undo>,
    memory: Option<MemoryGroup>,
    cpus: Vec<u32>,
    sector_bytes: u32,
    data: Option<Attached>,
    journal: Option<Attached>,
    raw_file: Option<File>,
    timeline: Option<Timeline>,
    events: Option<BlockEventStream>,
    mounted: Option<Mounted>,
}

impl<'a> BroughtUp<'a> {
    /// A stack of which nothing is up yet.
    #[must_use]
    pub fn new(request: &'a TrialRequest, origin_ns: u64) -> Self {
        Self {
            request,
            system: System::host(),
            definition: filesystems::filesystem(&request.stack.filesystem.kind),
            origin_ns,
            undo: None,
            memory: None,
            cpus: vec![],
            sector_bytes: 512,
            data: None,
            journal: None,
            raw_file: None,
            timeline: None,
            events: None,
            mounted: None,
        }
    }

    /// Whether there is no filesystem.
    #[must_use]
    pub fn is_raw(&self) -> bool {
        self.definition.is_some_and(FilesystemDefinition::is_raw)
    }

    /// Brings everything up, in the order in which it must be: limits, devices, queue settings,
    /// observation, filesystem.
    ///
    /// # Errors
    /// With the stage that failed. What is up by then is for [`Self::take_down`].
    pub fn bring_up(&mut self, record: &mut Record, say: &mut Say<'_>) -> Result<(), TrialError> {
        say(SETUP);
        self.pin()?;
        self.open_undo()?;
        self.attach_devices()?;
        self.limit_memory(record)?;
        self.set_queues(record)?;
        self.observe(record)?;
        if self.is_raw() {
            return self.open_raw();
        }
        if self.request.part != TrialPart::Measure {
            self.make_filesystem(record, say)?;
        }
        self.mount(record, say)
    }

    fn definition(&self) -> Result<&'static FilesystemDefinition, TrialError> {
        self.definition.ok_or_else(|| {
            let kind = &self.request.stack.filesystem.kind;
            TrialError::words(SETUP, format!("there is no filesystem '{kind}'"))
        })
    }

    fn data(&self) -> Result<&Attached, TrialError> {
        self.data.as_ref().ok_or_else(|| TrialError::words(SETUP, "the device is not attached"))
    }

    fn pin(&mut self) -> Result<(), TrialError> {
        self.cpus = match &self.request.settings.cpus {
            Some(cpus) => cpus.clone(),
            // Two workloads on one CPU would take turns, and the turns would be measured.
            None if self.request.workload.is_accompanied() => {
                namespace::allowed_cpus().map_err(TrialError::in_stage(SETUP))?
            }
            None => namespace::default_cpus(&self.system).map_err(TrialError::in_stage(SETUP))?,
        };
        namespace::set_affinity(&self.cpus).map_err(TrialError::in_stage(SETUP))
    }

    fn open_undo(&mut self) -> Result<(), TrialError> {
        let undo = match &self.request.undo {
            Some(path) => {
                let mut undo =
                    Undo::open(&self.system, path).map_err(TrialError::in_stage(SETUP))?;
                // Who puts back what a killed agent changed waits until it is gone.
                undo.add_owner(self.system.own_pid()).map_err(TrialError::in_stage(SETUP))?;
                undo
            }
            None => Undo::in_memory(&self.system),
        };
        self.undo = Some(undo);
        Ok(())
    }

    fn undo(undo: &mut Option<Undo>) -> Result<&mut Undo, TrialError> {
        undo.as_mut().ok_or_else(|| TrialError::words(SETUP, "there is no undo list"))
    }

    fn attach_devices(&mut self) -> Result<(), TrialError> {
        let mut undo = self.undo.take();
        let attached = self.attach_both(Self::undo(&mut undo)?);
        self.undo = undo;
        (self.data, self.journal) = attached?;
        Ok(())
    }

    fn attach_both(
        &self,
        undo: &mut Undo,
    ) -> Result<(Option<Attached>, Option<Attached>), TrialError> {
        let data = self.attach(&self.request.device, None, undo)?;
        let Some(handle) = &self.request.journal else { return Ok((Some(data), None)) };
        let journal = self.definition()?.journal;
        let size = self.request.stack.journal.size.or(journal.map(|journal| journal.default));
        Ok((Some(data), Some(self.attach(handle, size, undo)?)))
    }

    fn attach(
        &self,
        handle: &DeviceHandle,
        limit: Option<Bytes>,
        undo: &mut Undo,
    ) -> Result<Attached, TrialError> {
        let setup = || TrialError::in_stage::<seekwell_host::Error>(SETUP);
        let (token, loop_device) = match handle {
            DeviceHandle::Image { fd, sector, .. } => {
                let image = borrow_image(*fd)?;
                let mut note = |name: &str| undo.record_free_loop(name);
                let system = &self.system;
                let device = loop_device::attach_noted(system, &image, *sector, limit, &mut note)
                    .map_err(setup())?;
                let token = guard::scratch(&self.system, &device, &image)
                    .map_err(TrialError::in_stage(SETUP))?;
                (token, Some(device))
            }
            DeviceHandle::Claimed { path, claims, run_file, bound } => {
                let context = Context { claims: claims.clone(), run_file: Some(run_file.clone()) };
                let verified = guard::check(&self.system, path, Purpose::Write, &context)
                    .map_err(TrialError::in_stage(SETUP))?;
                if let Some(bound) = bound {
                    verified.is_bound(bound).map_err(TrialError::in_stage(SETUP))?;
                }
                (verified.permit().map_err(TrialError::in_stage(SETUP))?, None)
            }
            DeviceHandle::Given { path } => {
                let token =
                    guard::given(&self.system, path).map_err(TrialError::in_stage(SETUP))?;
                (token, None)
            }
        };
        let identity = token.identity().cloned().ok_or_else(|| {
            TrialError::words(SETUP, format!("{} is no block device", token.path().display()))
        })?;
        Ok(Attached { token, identity, _loop_device: loop_device, handle: handle.clone() })
    }

    fn limit_memory(&mut self, record: &mut Record) -> Result<(), TrialError> {
        record.in_force.cpus.clone_from(&self.cpus);
        record.in_force.swap = memory::swap(&self.system).map_err(TrialError::in_stage(SETUP))?;
        let limit = match (self.request.stack.memory.limit, self.request.ram) {
            (MemoryLimit::Limit(bytes), _) => bytes,
            (MemoryLimit::Quarter, Some(ram)) => Bytes(ram.0 / 4),
            (MemoryLimit::Quarter, None) | (MemoryLimit::Unlimited, _) => return Ok(()),
        };
        let undo = Self::undo(&mut self.undo)?;
        let group = memory::limit(&self.system, &self.request.run, limit, undo)
            .map_err(TrialError::in_stage(SETUP))?;
        record.in_force.memory_limit = Some(group.limit());
        record.in_force.memory_cgroup = Some(group.version().word().to_owned());
        if group.version() == memory::CgroupVersion::V1 {
            record.warnings.push(Warning::new(
                "memory-v1",
                "the memory limit is a version 1 cgroup, which does not limit write-back",
                "boot with systemd.unified_cgroup_hierarchy=1 to limit write-back too",
            ));
        }
        self.memory = Some(group);
        Ok(())
    }

    fn set_queues(&mut self, record: &mut Record) -> Result<(), TrialError> {
        let stack = &self.request.stack;
        let wanted = Wanted::new(&stack.device.settings, &stack.scheduler, &self.request.defaults);
        // What the lab sets on the data device is not asked of the journal's.
        let plain = Wanted::new(&Default::default(), &stack.scheduler, &self.request.defaults);
        let undo = Self::undo(&mut self.undo)?;
        for (attached, wanted) in [(&self.data, &wanted), (&self.journal, &plain)] {
            let Some(attached) = attached else { continue };
            let name = attached.identity.kernel_name.as_str();
            let said = queue::apply(&self.system, name, wanted, undo)
                .map_err(TrialError::in_stage(SETUP))?;
            record.warnings.extend(said);
        }
        record.in_force.device = self.in_force(self.data()?)?;
        self.sector_bytes = record.in_force.device.queue.logical_block_bytes.unwrap_or(512);
        record.in_force.journal =
            self.journal.as_ref().map(|journal| self.in_force(journal)).transpose()?;
        Ok(())
    }

    fn in_force(&self, attached: &Attached) -> Result<DeviceInForce, TrialError> {
        let identity = &attached.identity;
        let queue = queue::read(&self.system, &identity.kernel_name)
            .map_err(TrialError::in_stage(SETUP))?;
        Ok(DeviceInForce {
            kernel_name: identity.kernel_name.clone(),
            size: identity.size,
            model: identity.model.clone(),
            serial: identity.serial.clone(),
            firmware: identity.firmware.clone(),
            queue,
        })
    }

    fn observe(&mut self, record: &mut Record) -> Result<(), TrialError> {
        let device = self.data()?.identity.kernel_name.as_str().to_owned();
        let options = TimelineOptions {
            root: PathBuf::from("/"),
            device: device.clone(),
            journal: self
                .journal
                .as_ref()
                .map(|journal| journal.identity.kernel_name.as_str().to_owned()),
            interval: self.request.settings.sample_interval.to_duration(),
            origin_ns: self.origin_ns,
        };
        self.timeline = Some(Timeline::start(&options).map_err(TrialError::in_stage(SETUP))?);
        if self.request.settings.block_events {
            self.start_events(&device)?;
        }
        if matches!(self.request.device, DeviceHandle::Claimed { .. }) {
            record.smart = Some(SmartReading { before: self.smart(), after: None });
        }
        Ok(())
    }

    fn start_events(&mut self, device: &str) -> Result<(), TrialError> {
        let number = block_events::DeviceNumber::read(Path::new("/"), device)
            .map_err(TrialError::in_stage(SETUP))?;
        let instance = block_events::instance_name(&self.request.run, self.request.trial);
        // What a killed agent left that tried this trial before; mostly there is none.
        let _ = block_events::remove_instance(&instance);
        let options = BlockEventOptions::new(instance, number, self.origin_ns);
        self.events = Some(BlockEventStream::start(&options).map_err(TrialError::in_stage(SETUP))?);
        Ok(())
    }

    /// SMART data of the data device; `None` is unknown.
    fn smart(&self) -> Option<serde_json::Value> {
        let path = self.data.as_ref()?.token.path();
        seekwell_observe::smart::read_smart(&self.system.program("smartctl")?, path, SMART).ok()?
    }

    fn open_raw(&mut self) -> Result<(), TrialError> {
        let file = self.data()?.token.open(false).map_err(TrialError::in_stage(SETUP))?;
        self.raw_file = Some(file);
        Ok(())
    }

    fn make_filesystem(
        &mut self,
        record: &mut Record,
        say: &mut Say<'_>,
    ) -> Result<(), TrialError> {
        say("mkfs");
        let definition = self.definition()?;
        let observer = self.observer("mkfs")?;
        let stack = &self.request.stack;
        let (data, journal) = (self.data()?, self.journal.as_ref());
        let body = || {
            let made = filesystem::make(
                &self.system,
                definition,
                &stack.filesystem,
                &stack.journal,
                &data.token,
                journal.map(|journal| &journal.token),
            )
            .map_err(TrialError::in_stage("mkfs"))?;
            record.in_force.mkfs = made.commands;
            Ok(())
        };
        let mut durable = || self.flush_devices("mkfs");
        let step = observer.housekeeping("mkfs", body, Some(&mut durable))?;
        record.steps.push(step);
        Ok(())
    }

    fn mount(&mut self, record: &mut Record, say: &mut Say<'_>) -> Result<(), TrialError> {
        say("mount");
        let observer = self.observer("mount")?;
        let plan = self.mount_plan()?;
        let mut mounted = None;
        let body = || {
            mounted = Some(plan.mount().map_err(TrialError::in_stage("mount"))?);
            Ok(())
        };
        let step = observer.housekeeping("mount", body, None)?;
        record.steps.push(step);
        self.mounted = mounted;
        self.read_back(record)
    }

    fn mount_plan(&self) -> Result<MountPlan, TrialError> {
        let work = &self.request.work;
        mounted::private_work(work).map_err(TrialError::in_stage("mount"))?;
        self.plan_with(self.request.stack.filesystem.overlay)
    }

    /// A plan in the work directory that is there.
    fn plan_with(&self, overlay: Option<Overlay>) -> Result<MountPlan, TrialError> {
        let stack = &self.request.stack;
        let (definition, work) = (self.definition()?, &self.request.work);
        let journal = self.journal.as_ref().map(|journal| journal.token.path());
        let options =
            filesystem::mount_options(definition, &stack.filesystem, &stack.journal, journal)
                .map_err(TrialError::in_stage("mount"))?;
        let device = self.data()?.token.path();
        Ok(MountPlan::new(definition, device, options, work, overlay))
    }

    fn read_back(&self, record: &mut Record) -> Result<(), TrialError> {
        let mount_point = self.mounted.as_ref().map(Mounted::filesystem);
        let journal = self.journal.as_ref().map(|journal| journal.token.path());
        let found = filesystem::read_back(
            &self.system,
            self.definition()?,
            self.data()?.token.path(),
            journal,
            mount_point.as_deref(),
        )
        .map_err(TrialError::in_stage("mount"))?;
        record.in_force.block_bytes = found.block_bytes;
        record.in_force.journal_bytes = found.journal_bytes;
        record.in_force.mount = found.mount;
        Ok(())
    }

    /// What is read around every step.
    ///
    /// # Errors
    /// When no device is attached.
    pub fn observer(&self, stage: &str) -> Result<Observer, TrialError> {
        let data =
            self.data.as_ref().ok_or_else(|| TrialError::words(stage, "no device is attached"))?;
        Ok(Observer {
            device: data.identity.kernel_name.as_str().to_owned(),
            journal: self
                .journal
                .as_ref()
                .map(|journal| journal.identity.kernel_name.as_str().to_owned()),
            origin_ns: self.origin_ns,
        })
    }

    /// Puts the cache into the state that a step starts from.
    ///
    /// # Errors
    /// When the filesystem cannot be remounted or the caches cannot be dropped.
    pub fn prepare(&mut self, outline: &StepOutline) -> Result<(), TrialError> {
        // Past the page cache the filesystem still keeps its metadata in memory: a step that counts
        // reads of metadata begins without.
        if outline.cache != CacheState::Cold && !outline.reports("metadata_reads") {
            return Ok(());
        }
        let stage = &outline.name;
        end_strays();
        if let Some(mounted) = &mut self.mounted {
            return mounted.make_cold().map_err(TrialError::in_stage(stage));
        }
        match &self.raw_file {
            Some(file) => caches::drop_device_buffers(file).map_err(TrialError::in_stage(stage)),
            None => Ok(()),
        }
    }

    /// Where the workload works; `None` on a raw device.
    #[must_use]
    pub fn directory(&self) -> Option<PathBuf> {
        self.mounted.as_ref().map(Mounted::directory)
    }

    /// What a step is given to run in [`Self::directory`].
    ///
    /// # Errors
    /// When no device is attached.
    pub fn context<'s>(
        &'s self,
        directory: Option<&'s Path>,
    ) -> Result<StepContext<'s>, TrialError> {
        let data = self.data()?;
        Ok(StepContext {
            directory,
            device: data.token.path(),
            device_file: self.raw_file.as_ref(),
            raw: self.is_raw(),
            seed: self.request.seed,
            cpus: &self.cpus,
            stop: None,
            device_bytes: data.identity.size.0,
            sector_bytes: self.sector_bytes,
            scratch: None,
            keep_samples: if self.request.settings.single_ios { MOST_SINGLE_IOS } else { 0 },
        })
    }

    /// Brings everything onto the devices: syncfs, then a flush of each device.
    ///
    /// # Errors
    /// When a write-back or a flush fails: data was lost.
    pub fn make_durable(&self, stage: &str) -> Result<(), TrialError> {
        if let Some(mounted) = &self.mounted {
            mounted.sync().map_err(TrialError::in_stage(stage))?;
        }
        self.flush_devices(stage)
    }

    fn flush_devices(&self, stage: &str) -> Result<(), TrialError> {
        for attached in self.data.iter().chain(&self.journal) {
            let path = attached.token.path();
            let file = File::open(path).map_err(TrialError::in_stage(stage))?;
            caches::flush_device(&file).map_err(TrialError::in_stage(stage))?;
        }
        Ok(())
    }

    /// Takes down whatever is up, as far as it goes, also after a failure.
    ///
    /// # Errors
    /// The first thing that could not be taken down.
    pub fn take_down(&mut self, record: &mut Record, say: &mut Say<'_>) -> Result<(), TrialError> {
        end_strays();
        let was_mounted = self.mounted.is_some();
        let mut done = self.write_back(record, say).and(self.unmount(record, say));
        let check = self.request.settings.fsck && self.request.part != TrialPart::Prepare;
        if done.is_ok() && was_mounted && check {
            done = self.fsck(record, say);
        }
        let tear = self.request.settings.fsck_torn && self.request.part != TrialPart::Prepare;
        if done.is_ok() && was_mounted && tear {
            done = self.torn(record, say);
        }
        self.raw_file = None;
        self.stop_observing(record);
        let images = self.check_images(record);
        let queues = self.restore_queues();
        let memory = self.leave_memory();
        self.journal = None;
        self.data = None;
        done.and(images).and(queues).and(memory).and(self.restore_freed())
    }

    /// Settings of loop devices go back when they are free: detaching sets some anew.
    fn restore_freed(&mut self) -> Result<(), TrialError> {
        let Some(undo) = &mut self.undo else { return Ok(()) };
        let restored = undo
            .restore_where(|target| target.device().is_some())
            .map_err(TrialError::in_stage(TEARDOWN))?;
        if restored.problems.is_empty() {
            return Ok(());
        }
        Err(TrialError::words(TEARDOWN, restored.problems.join("; ")))
    }

    /// The layer in memory reaches the device; the last writing step is durable only then.
    fn write_back(&mut self, record: &mut Record, say: &mut Say<'_>) -> Result<(), TrialError> {
        let observer = self.observer(WRITE_BACK)?;
        let Some(mounted) = self.mounted.as_mut().filter(|mounted| mounted.writes_back()) else {
            return Ok(());
        };
        say(WRITE_BACK);
        let body = || mounted.write_back().map_err(TrialError::in_stage(WRITE_BACK));
        let step = observer.housekeeping(WRITE_BACK, body, None)?;
        self.flush_devices(WRITE_BACK)?;
        let elapsed = step.metrics.get("elapsed").copied().unwrap_or_default();
        let durable = |step: &mut StepRecord| {
            step.metrics.get_mut("elapsed_durable").map(|value| *value += elapsed)
        };
        let _ = record.steps.iter_mut().rev().find_map(durable);
        record.steps.push(step);
        Ok(())
    }

    fn unmount(&mut self, record: &mut Record, say: &mut Say<'_>) -> Result<(), TrialError> {
        let Some(mounted) = self.mounted.take() else { return Ok(()) };
        say("umount");
        let observer = self.observer("umount")?;
        let body = || mounted.unmount().map_err(TrialError::in_stage("umount"));
        let mut durable = || self.flush_devices("umount");
        let step = observer.housekeeping("umount", body, Some(&mut durable))?;
        record.steps.push(step);
        Ok(())
    }

    fn fsck(&self, record: &mut Record, say: &mut Say<'_>) -> Result<(), TrialError> {
        let checked = self.timed_check("fsck", record, say)?;
        if let Some(checked) = checked.filter(|checked| !checked.clean) {
            let words = beginning(&checked.output);
            let text = format!("'{}' found damage after a clean unmount: {words}", checked.command);
            mark(
                record,
                Warning::new(
                    "fsck-damage",
                    text,
                    "do not use this stack; report it to its developers",
                ),
            );
        }
        Ok(())
    }

    /// Runs the filesystem's checker as a step; `None` where it has none.
    fn timed_check(
        &self,
        step: &'static str,
        record: &mut Record,
        say: &mut Say<'_>,
    ) -> Result<Option<Checked>, TrialError> {
        let definition = self.definition()?;
        if definition.fsck.is_empty() {
            return Ok(None);
        }
        say(step);
        let journal = self.journal.as_ref().map(|journal| journal.token.path());
        let (system, device) = (&self.system, self.data()?.token.path());
        let mut checked = None;
        let body = || {
            checked = filesystem::fsck(system, definition, device, journal)
                .map_err(TrialError::in_stage(step))?;
            Ok(())
        };
        let record_of_step = self.observer(step)?.housekeeping(step, body, None)?;
        record.steps.push(record_of_step);
        Ok(checked)
    }

    /// Ends the filesystem in the midst of writing, then times what mounting takes that mends it,
    /// and its check.
    fn torn(&self, record: &mut Record, say: &mut Say<'_>) -> Result<(), TrialError> {
        let definition = self.definition()?;
        if definition.journal.is_none() {
            record.warnings.push(not_torn(definition.name, Torn::NoJournal));
            return Ok(());
        }
        let mounted = self.plan_with(None)?.mount().map_err(TrialError::in_stage(MOUNT_TORN))?;
        let torn = torn::tear(&mounted.filesystem()).map_err(TrialError::in_stage(MOUNT_TORN))?;
        mounted.unmount().map_err(TrialError::in_stage(MOUNT_TORN))?;
        if torn != Torn::Down {
            record.warnings.push(not_torn(definition.name, torn));
            return Ok(());
        }
        say(MOUNT_TORN);
        let plan = self.plan_with(None)?;
        let mut mounted = None;
        let body = || {
            mounted = Some(plan.mount().map_err(TrialError::in_stage(MOUNT_TORN))?);
            Ok(())
        };
        let step = self.observer(MOUNT_TORN)?.housekeeping(MOUNT_TORN, body, None)?;
        record.steps.push(step);
        if let Some(mounted) = mounted {
            mounted.unmount().map_err(TrialError::in_stage(MOUNT_TORN))?;
        }
        let Some(checked) = self.timed_check(FSCK_TORN, record, say)?.filter(|found| !found.clean)
        else {
            return Ok(());
        };
        record.warnings.push(Warning::new(
            "fsck-torn-damage",
            format!(
                "'{}' found damage after a shutdown in the midst of writing and a mount: {}",
                checked.command,
                beginning(&checked.output)
            ),
            "do not use this stack; report it to its developers",
        ));
        Ok(())
    }

    fn stop_observing(&mut self, record: &mut Record) {
        if let Some(timeline) = self.timeline.take() {
            let seen = timeline.stop();
            record.timeline = seen.device;
            record.journal_timeline = seen.journal;
            record.warnings.extend(seen.warnings);
        }
        if let Some(events) = self.events.take() {
            match events.stop() {
                Ok(events) => record.block_events = Some(events),
                Err(error) => record.warnings.push(Warning::new(
                    "no-block-events",
                    format!("the block event stream was lost: {error}"),
                    "run the trial again",
                )),
            }
        }
        let after = self.smart();
        if let Some(smart) = &mut record.smart {
            smart.after = after;
        }
    }

    /// Whether the images are still what was measured: a discard, a truncation or a copy on write
    /// of the host's filesystem turns a trial into a test of that filesystem.
    fn check_images(&self, record: &mut Record) -> Result<(), TrialError> {
        for attached in self.data.iter().chain(&self.journal) {
            let DeviceHandle::Image { fd, layout, .. } = &attached.handle else { continue };
            let image = borrow_image(*fd)?;
            let now = image::layout(&image).map_err(TrialError::in_stage(TEARDOWN))?;
            if let Some(difference) = image::difference(layout, &now) {
                let text = format!(
                    "the image under {} changed: {difference}",
                    attached.identity.kernel_name.as_str()
                );
                mark(
                    record,
                    Warning::new(
                        "image-changed",
                        text,
                        "use a scratch directory whose filesystem writes in place, and no discard unless it is the axis",
                    ),
                );
            }
        }
        Ok(())
    }

    fn restore_queues(&mut self) -> Result<(), TrialError> {
        let Some(undo) = &mut self.undo else { return Ok(()) };
        for attached in self.data.iter().chain(&self.journal) {
            let restored =
                queue::restore(&self.system, attached.identity.kernel_name.as_str(), undo)
                    .map_err(TrialError::in_stage(TEARDOWN))?;
            if !restored.problems.is_empty() {
                return Err(TrialError::words(TEARDOWN, restored.problems.join("; ")));
            }
        }
        Ok(())
    }

    fn leave_memory(&mut self) -> Result<(), TrialError> {
        match (self.memory.take(), &mut self.undo) {
            (Some(group), Some(undo)) => group.remove(undo).map_err(TrialError::in_stage(TEARDOWN)),
            _ => Ok(()),
        }
    }
}

/// The begin of what a program said.
fn beginning(output: &str) -> String {
    output.chars().take(500).collect()
}

/// Why nothing was measured after a shutdown in the midst of writing.
fn not_torn(filesystem: &str, torn: Torn) -> Warning {
    let (why, remedy) = match torn {
        Torn::Full => {
            ("it has no room for a file more", "use a larger device, or leave fsck_torn out")
        }
        Torn::NoJournal => (
            "it has no journal, so that unmounting would write what was to be lost",
            "use it on ext3, ext4 or xfs, or cut the power in the virtual place",
        ),
        Torn::Unknown | Torn::Down => (
            "this kernel cannot end it in the midst of writing",
            "use it on ext3, ext4 or xfs, or cut the power in the virtual place",
        ),
    };
    let text = format!("{filesystem} was not checked after a torn shutdown: {why}");
    Warning::new("not-torn", text, remedy)
}

/// Ends what a command of the workload left running: as process 1 of its namespace this process is
/// the parent of all that is left. Anywhere else there is nothing that could be told from the rest.
fn end_strays() {
    if std::process::id() != 1 {
        return;
    }
    // SAFETY: kill takes numbers; -1 is every other process of this PID namespace.
    unsafe { libc::kill(-1, libc::SIGKILL) };
    // SAFETY: waitpid with a null status only reaps.
    while unsafe { libc::waitpid(-1, std::ptr::null_mut(), 0) } > 0 {}
}

/// The image that was handed over under this number.
fn borrow_image(fd: i32) -> Result<OwnedFd, TrialError> {
    if fd < 3 {
        return Err(TrialError::words(SETUP, format!("descriptor {fd} cannot be an image")));
    }
    // SAFETY: the place that started this process opened the image under this number, and nothing
    // here closes it; the borrow ends with the clone. A number that is not open fails the clone.
    let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
    borrowed.try_clone_to_owned().map_err(TrialError::in_stage(SETUP))
}
