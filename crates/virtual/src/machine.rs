//! One guest from start to end: a kernel, a root image, modelled disks, a command; and its outcome.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant as WallClock};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::time::{ClockId, clock_gettime};
use seekwell_device::evidence::Evidence;

use crate::agreed::ENVIRONMENT;
pub use crate::agreed::{MOST_DISKS, device_path};
use crate::clock::SharedClock;
pub use crate::clock::Transport;
use crate::content::{Content, Keeping};
pub use crate::controller::OutputPart;
use crate::controller::{Controller, Halt, Limits, Mailbox, Notes, Replacement, Scene};
use crate::directory::GuestDirectory;
use crate::disk::{Disk, DiskParts};
use crate::end::{End, of_exit};
use crate::fingerprint::{Event, Fingerprint};
use crate::instant::Instant;
use crate::link::listen;
use crate::mailbox::{self, Kind, Order, OrderedDisk, Reader, Saying, Task};
use crate::memory_capacity::{SHARED_MEMORY, in_huge_pages};
use crate::port::Port;
use crate::process::{GuestProcess, Pinned};
use crate::root::RootImage;

#[cfg(test)]
mod tests;

/// Serial number of the root image's disk.
const ROOT_SERIAL: &str = "seekwell-root";

/// Time that a finished guest has to end its process.
const GRACE: Duration = Duration::from_secs(5);

/// CPU time charged in virtual time, where CPU is otherwise free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCharge {
    /// Nanoseconds per system call.
    pub syscall_ns: u32,
    /// Nanoseconds per KiB copied between the kernel and a program.
    pub copy_ns_per_kib: u32,
    /// The work of layers, which only lab kernels of the set `layers` charge.
    pub work: WorkCharge,
}

/// CPU time charged for the work of layers, in nanoseconds per KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkCharge {
    /// Enciphering and deciphering.
    pub cipher: u32,
    /// Hashes.
    pub hash: u32,
    /// Parity, for each KiB that it is computed from.
    pub parity: u32,
    /// Compression.
    pub compress: u32,
    /// Decompression.
    pub decompress: u32,
}

impl WorkCharge {
    /// Names and values, in the order in which the kernel takes them.
    #[must_use]
    pub fn named(mut self) -> [(&'static str, u32); 5] {
        self.named_mut().map(|(name, ns)| (name, *ns))
    }

    fn named_mut(&mut self) -> [(&'static str, &mut u32); 5] {
        [
            ("cipher", &mut self.cipher),
            ("hash", &mut self.hash),
            ("parity", &mut self.parity),
            ("compress", &mut self.compress),
            ("decompress", &mut self.decompress),
        ]
    }

    /// The value with this name.
    pub fn value_mut(&mut self, name: &str) -> Option<&mut u32> {
        self.named_mut().into_iter().find(|(known, _)| *known == name).map(|(_, ns)| ns)
    }
}

/// Settings of a guest.
#[derive(Clone, Debug)]
pub struct Settings {
    /// RAM of the guest in bytes, page cache included.
    pub memory_bytes: u64,
    /// Everything random in the guest follows from it.
    pub seed: u64,
    /// CPU that guest and clock share; `None` leaves it to the host's scheduler, several times slower.
    pub cpu: Option<usize>,
    /// Transport between clock and guest; an older kernel falls back to a simpler one. Does not change
    /// results.
    pub transport: Transport,
    /// CPU time charged.
    pub charge: CpuCharge,
    /// Limits of the trial.
    pub limits: Limits,
    /// Ends the trial when it is raised.
    pub stop: Arc<AtomicBool>,
    /// Keep every event, to find the first difference between two runs.
    pub keep_events: bool,
    /// Let the guest's kernel record the origin of each request. Does not change results.
    pub keep_origins: bool,
    /// Directory for sockets and for content that does not fit in memory.
    pub scratch: PathBuf,
    /// Directory for the guest's memory: on tmpfs, or it will be written to a disk.
    pub memory_directory: PathBuf,
}

impl Settings {
    /// 256 MiB, seed 1, no CPU time, generous limits.
    #[must_use]
    pub fn new(scratch: &Path) -> Self {
        Self {
            memory_bytes: 256 << 20,
            seed: 1,
            cpu: None,
            transport: Transport::Bells,
            charge: CpuCharge::default(),
            limits: Limits {
                wall: Duration::from_secs(3600),
                spin: Duration::from_secs(60),
                virtual_ns: 30 * 24 * 3600 * 1_000_000_000,
            },
            stop: Arc::default(),
            keep_events: false,
            keep_origins: false,
            scratch: scratch.to_path_buf(),
            memory_directory: PathBuf::from(SHARED_MEMORY),
        }
    }

    pub(crate) fn keeping(&self) -> Keeping {
        Keeping { memory_bytes: CONTENT_BYTES, directory: self.scratch.clone() }
    }
}

/// Bytes of content that each disk may hold in memory.
const CONTENT_BYTES: u64 = 256 << 20;

/// 2026-01-01 00:00 UTC: the time of day at which every guest starts.
const EPOCH_NS: u64 = 1_767_225_600 * 1_000_000_000;

/// A disk of a trial.
#[derive(Debug)]
pub struct DiskSetup {
    /// Role of the disk: `data`, `journal`, `member-0`. Also its serial number in the guest.
    pub role: String,
    /// Model and content.
    pub parts: DiskParts,
}

impl DiskSetup {
    /// An empty disk.
    #[must_use]
    pub fn empty(role: &str, model: Box<dyn seekwell_device::Model>, settings: &Settings) -> Self {
        let content = Content::new(model.geometry().sectors_512, settings.keeping());
        Self { role: role.to_owned(), parts: DiskParts::new(model, content) }
    }
}

/// One guest's task.
#[derive(Debug)]
pub struct Trial<'a> {
    /// The lab kernel's program.
    pub kernel: &'a Path,
    /// The root image.
    pub root: &'a RootImage,
    /// The disks; the guest sees them as [`device_path`] of their position.
    pub disks: Vec<DiskSetup>,
    /// The program that runs in the guest.
    pub task: Task,
    /// Its standard input.
    pub input: &'a [u8],
    /// Settings.
    pub settings: Settings,
}

/// A disk after the trial.
#[derive(Debug)]
pub struct DiskOutcome {
    /// As it was called.
    pub role: String,
    /// Model and content as they are now.
    pub parts: DiskParts,
    /// Work done by the model.
    pub evidence: Evidence,
}

/// Cost of a trial on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCost {
    /// Elapsed time.
    pub wall: Duration,
    /// CPU time of the guest.
    pub guest_cpu: Duration,
    /// CPU time of clock and models.
    pub controller_cpu: Duration,
    /// Elapsed time from the guest's start to the first instruction of its first program; `None`
    /// when it never came that far.
    pub start: Option<Duration>,
}

/// Result of a trial.
#[derive(Debug)]
pub struct Outcome {
    /// End of the guest.
    pub end: End,
    /// The command's standard output.
    pub output: Vec<u8>,
    /// Arrival time of each part of it.
    pub heard: Vec<OutputPart>,
    /// The command's standard error.
    pub log: Vec<u8>,
    /// Output of the guest's kernel; of a long one, the end.
    pub console: String,
    /// Hash over the requests of the disks.
    pub fingerprint: Fingerprint,
    /// Every event, if [`Settings::keep_events`].
    pub events: Option<Vec<Event>>,
    /// Virtual time at the end, in nanoseconds. A guest that lets time pass by itself may have been
    /// further.
    pub virtual_ns: u64,
    /// The disks.
    pub disks: Vec<DiskOutcome>,
    /// Cost on the host.
    pub cost: HostCost,
    /// Transport that clock and guest used.
    pub transport: Transport,
    /// Records of the guest's kernel, if it recorded calls.
    pub records: Option<File>,
    /// Origins of the requests, if [`Settings::keep_origins`].
    pub origins: Option<File>,
}

impl Outcome {
    /// Returns the command's standard output up to an instant of virtual time.
    #[must_use]
    pub fn output_by(&self, at_ns: u64) -> &[u8] {
        let heard = self.heard.iter().take_while(|heard| heard.at_ns <= at_ns);
        let bytes = heard.map(|heard| heard.bytes).sum();
        self.output.get(..bytes).unwrap_or(&self.output)
    }
}

/// A failure of this machine to run a guest.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// Too many disks.
    #[error("a trial has {0} disks, but a guest takes at most {MOST_DISKS}; use fewer")]
    TooManyDisks(usize),
    /// A system call failed.
    #[error("cannot {what}: {source}")]
    System {
        /// The action that failed.
        what: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

fn failed<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> MachineError {
    move |error| MachineError::System { what, source: error.into() }
}

/// Runs a guest to its end; `hear` gets each part of the command's output as it comes.
///
/// # Errors
///
/// [`MachineError`] when this machine could not run it. Whatever the guest does is an [`Outcome`].
pub fn run(trial: Trial<'_>, hear: &mut dyn FnMut(&[u8])) -> Result<Outcome, MachineError> {
    run_replacing(trial, &mut |bytes| {
        hear(bytes);
        None
    })
}

/// The same; `hear` may answer with new contents of the disks, while the guest uses none of them.
///
/// # Errors
///
/// As [`run`].
pub fn run_replacing(
    trial: Trial<'_>,
    hear: &mut dyn FnMut(&[u8]) -> Option<Replacement>,
) -> Result<Outcome, MachineError> {
    let started = WallClock::now();
    let cpu_before = thread_cpu();
    if trial.disks.len() > MOST_DISKS {
        return Err(MachineError::TooManyDisks(trial.disks.len()));
    }
    let cpu = trial.settings.cpu;
    let _pinned = cpu.map(Pinned::to).transpose().map_err(failed("pin to the CPU"))?;
    let roles: Vec<String> = trial.disks.iter().map(|disk| disk.role.clone()).collect();
    let site = Site::make(&trial)?;
    let (mut process, scene) = site.start(trial)?;
    let mut controller = Controller::new(&mut process, scene, started);
    let mut said = Said::default();
    let halt = controller.run(&mut |saying| said.take(saying, hear));
    let virtual_ns = controller.now_ns;
    let start = controller.first_word;
    let transport = controller.transport();
    let (ports, notes) = controller.into_parts();
    let exit = match halt {
        Halt::Gone => process.wait_or_end(GRACE),
        _ => process.end(),
    };
    let exit = exit.map_err(failed("wait for the guest"))?;
    let records = site.written(RECORDS)?;
    let origins = site.written(ORIGINS)?;
    let console = site.read_console()?;
    let end = match halt {
        Halt::Gone => of_exit(exit.status, said.exit, &console),
        Halt::Ended(end) => end,
        fault => End::Fault(fault.to_string()),
    };
    let disk = |(port, role): (Port, String)| {
        let parts = port.disk.into_parts();
        DiskOutcome { role, evidence: parts.model.evidence(), parts }
    };
    let disks = ports.into_iter().zip(roles).map(disk).collect();
    let controller_cpu = thread_cpu().saturating_sub(cpu_before);
    let cost = HostCost { wall: started.elapsed(), guest_cpu: exit.cpu, controller_cpu, start };
    let Notes { fingerprint, events, heard } = notes;
    Ok(Outcome {
        end,
        output: said.output,
        heard,
        log: said.log,
        console,
        fingerprint,
        events,
        virtual_ns,
        disks,
        cost,
        transport,
        records,
        origins,
    })
}

/// The guest's messages so far.
#[derive(Debug, Default)]
struct Said {
    output: Vec<u8>,
    log: Vec<u8>,
    exit: Option<i32>,
}

impl Said {
    fn take(
        &mut self,
        saying: Saying,
        hear: &mut dyn FnMut(&[u8]) -> Option<Replacement>,
    ) -> Option<Replacement> {
        let mut replacement = None;
        match saying.kind {
            Kind::Started => {}
            Kind::Output => {
                replacement = hear(&saying.bytes);
                self.output.extend(saying.bytes);
            }
            Kind::Log => self.log.extend(saying.bytes),
            Kind::Exit => {
                self.exit = String::from_utf8(saying.bytes).ok().and_then(|text| text.parse().ok());
            }
        }
        replacement
    }
}

/// The guest's directory, removed with all that is in it at the end.
struct Site {
    directory: GuestDirectory,
    console: File,
}

impl Site {
    fn make(trial: &Trial<'_>) -> Result<Self, MachineError> {
        let make = || {
            let directory = GuestDirectory::make_in(&trial.settings.scratch)?;
            let kernel = fs::canonicalize(trial.kernel)?;
            symlink(kernel, directory.path().join("linux"))?;
            let memory = in_huge_pages(&trial.settings.memory_directory)?;
            symlink(memory, directory.path().join("memory"))?;
            if trial.settings.keep_origins {
                File::create(directory.path().join(ORIGINS))?;
            }
            let console = memfd_create(c"seekwell-console", MemfdFlags::CLOEXEC)?;
            Ok::<_, io::Error>(Self { directory, console: File::from(console) })
        };
        make().map_err(failed("prepare the guest's directory"))
    }

    /// Starts the guest, with everything that it will connect to in place.
    fn start(&self, trial: Trial<'_>) -> Result<(GuestProcess, Scene), MachineError> {
        let directory = self.directory.path();
        let arguments = arguments(&trial);
        let settings = &trial.settings;
        let measured = trial.disks.len();
        let notes = Notes { events: settings.keep_events.then(Vec::new), ..Notes::default() };
        let (limits, stop) = (settings.limits, settings.stop.clone());
        let scene = Scene {
            listener: listen(directory, "t").map_err(failed("listen for the guest"))?,
            clock: SharedClock::new(settings.transport).map_err(failed("make the shared clock"))?,
            epoch_ns: EPOCH_NS,
            ports: ports(trial, directory)?,
            measured,
            mailbox: Mailbox { port: measured + 1, reader: Reader::default() },
            limits,
            stop,
            notes,
        };
        let console = self.console.try_clone().map_err(failed("open the guest's console"))?;
        let process = GuestProcess::start(directory, &arguments, console);
        let process = process.map_err(failed("start the guest"))?;
        Ok((process, scene))
    }

    /// A file that the kernel wrote.
    fn written(&self, name: &str) -> Result<Option<File>, MachineError> {
        match File::open(self.directory.path().join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some).map_err(failed("read the guest's records")),
        }
    }

    /// The last [`CONSOLE_BYTES`] of what was printed.
    fn read_console(mut self) -> Result<String, MachineError> {
        let mut read = || {
            let length = self.console.metadata()?.len();
            self.console.seek(SeekFrom::Start(length.saturating_sub(CONSOLE_BYTES)))?;
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut self.console, &mut bytes)?;
            Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
        };
        read().map_err(failed("read the guest's console"))
    }
}

/// File in the guest's directory that the kernel writes records to.
const RECORDS: &str = "record";

/// File in the guest's directory that the kernel writes the origins of requests to, if it is there.
const ORIGINS: &str = "origins";

/// Bytes kept of a guest's console.
const CONSOLE_BYTES: u64 = 1 << 20;

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// The kernel's command line. It is mixed into the guest's randomness, so nothing in it may depend
/// on this machine or on the moment.
fn arguments(trial: &Trial<'_>) -> Vec<String> {
    let Trial { disks, settings, .. } = trial;
    let charge = settings.charge;
    let depths = disks.iter().map(|disk| disk.parts.model.geometry().queue_depth.to_string());
    let root = device_path(disks.len());
    let mut arguments = vec![
        format!("mem={}K", settings.memory_bytes / 1024),
        "uml_dir=u".to_owned(),
        "umid=g".to_owned(),
        "con=null".to_owned(),
        "con0=null,fd:1".to_owned(),
        "loglevel=5".to_owned(),
        "norandmaps".to_owned(),
        "noreboot".to_owned(),
        "panic=-1".to_owned(),
        // Memory that a filesystem writes without having filled it must not depend on earlier use.
        "init_on_alloc=1".to_owned(),
        format!("uml_seed={}", settings.seed),
        format!("tt_syscall_ns={}", charge.syscall_ns),
        format!("tt_copy_ns_per_kib={}", charge.copy_ns_per_kib),
        "time-travel=ext:1:t".to_owned(),
        format!("virtio_blk.queue_depths={}", depths.collect::<Vec<_>>().join(",")),
    ];
    if charge.work != WorkCharge::default() {
        let work = charge.work.named().map(|(_, ns)| ns.to_string()).join(",");
        arguments.push(format!("tt_work_ns_per_kib={work}"));
    }
    arguments.extend((0..disks.len() + 2).map(|disk| format!("virtio_uml.device=d{disk}:2")));
    arguments.extend([
        format!("root={}", root.display()),
        "ro".to_owned(),
        format!("rootfstype={}", RootImage::FILESYSTEM),
        format!("init={}", RootImage::INIT),
    ]);
    // What the kernel does not know and what has the form of a variable becomes one of its first program.
    arguments.extend(ENVIRONMENT.map(|(name, value)| format!("{name}={value}")));
    arguments.extend(["--".to_owned(), RootImage::INIT_ARGUMENT.to_owned()]);
    arguments
}

fn ports(trial: Trial<'_>, directory: &Path) -> Result<Vec<Port>, MachineError> {
    let Trial { root, disks, task, input, settings, .. } = trial;
    let ordered = disks.iter().map(|disk| OrderedDisk {
        role: disk.role.clone(),
        rotational: disk.parts.model.geometry().rotational,
    });
    let order = Order { task, disks: ordered.collect() };
    let posted = mailbox::post(&order, input, settings.keeping());
    let posted = posted.map_err(failed("write the guest's order"))?;
    let unmeasured = |content: Content| {
        let model = Box::new(Instant::new(content.sectors()));
        DiskParts::new(model, content)
    };
    let root = unmeasured(Content::thaw(root.content(), settings.keeping()));
    let named = disks.into_iter().map(|disk| (disk.role, disk.parts, false));
    let others = [
        (ROOT_SERIAL.to_owned(), root, true),
        (mailbox::SERIAL.to_owned(), unmeasured(posted), false),
    ];
    let mut ports = Vec::new();
    for (index, (serial, parts, read_only)) in named.chain(others).enumerate() {
        let disk = Disk::new(index as u8, &serial, parts, read_only);
        let listener = listen(directory, &format!("d{index}"));
        ports.push(Port::new(listener.map_err(failed("listen for the guest's disks"))?, disk));
    }
    Ok(ports)
}
