//! The abilities of this machine, and the command that adds what is missing.

use super::{mounts, nfs_lacks, programs_of, schedulers};
use crate::caches;
use crate::memory::{self, CgroupVersion};
use crate::program;
use crate::sysfs::{self, System};
use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags, fstatvfs, open, statx};
use rustix::io::Errno;
use seekwell_model::filesystems::{FILESYSTEMS, USUAL_FILESYSTEMS, filesystem};
use seekwell_model::layers::LAYER_KINDS;
use seekwell_model::units::Bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Usability of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Ready,
    /// With a restriction that the text names.
    Limited,
    /// Not at all.
    Missing,
}

/// One line of `doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the check.
    pub what: String,
    /// Usability.
    pub state: State,
    /// Result, in words.
    pub detail: String,
    /// Remedy; `None` when there is nothing to do or nothing that helps.
    pub remedy: Option<String>,
}

impl Finding {
    fn new(what: &str, state: State, detail: impl Into<String>, remedy: Option<&str>) -> Self {
        let remedy = remedy.map(str::to_owned);
        Self { what: what.to_owned(), state, detail: detail.into(), remedy }
    }

    fn ready(what: &str, detail: impl Into<String>) -> Self {
        Self::new(what, State::Ready, detail, None)
    }

    fn limited(what: &str, detail: impl Into<String>, remedy: &str) -> Self {
        Self::new(what, State::Limited, detail, Some(remedy))
    }

    fn missing(what: &str, detail: impl Into<String>, remedy: &str) -> Self {
        Self::new(what, State::Missing, detail, Some(remedy))
    }
}

/// Looks at everything that a run on this machine may need. `scratch` is the folder for images.
#[must_use]
pub fn findings(system: &System, scratch: &Path) -> Vec<Finding> {
    let mut found = vec![root(), loops(system), images(scratch), io_schedulers(system)];
    found.extend(filesystems(system));
    found.extend(layers(system));
    found.extend([
        nfs(system),
        io_uring(system),
        memory_limit(system),
        swap(system),
        write_back(system),
        pressure(system),
        block_events(system),
        governor(system),
    ]);
    found.extend(tools(system));
    found
}

/// Returns true if the demo can run: at least two of the usual filesystems on scratch images.
#[must_use]
pub fn can_demo(system: &System, found: &[Finding]) -> bool {
    const NEEDED: [&str; 3] = ["root", "loop devices", "scratch images"];
    let lacks = |finding: &Finding| {
        finding.state == State::Missing && NEEDED.contains(&finding.what.as_str())
    };
    let can_make = |name: &&str| {
        filesystem(name).is_some_and(|definition| {
            definition.kernel_type.is_some_and(|kind| mounts(system, kind))
                && programs_of(definition).all(|program| system.program(program).is_some())
        })
    };
    !found.iter().any(lacks) && USUAL_FILESYSTEMS.into_iter().filter(can_make).count() > 1
}

/// Things of one kind: those that can be used, those without a program, those that the kernel lacks.
#[derive(Default)]
struct Sorted {
    ready: Vec<&'static str>,
    /// `NAME (PROGRAM, PROGRAM)`, and the packages that have the programs.
    without_program: Vec<String>,
    packages: BTreeSet<&'static str>,
    not_in_kernel: Vec<&'static str>,
}

impl Sorted {
    /// Adds one with its programs that are not installed.
    fn add(
        &mut self,
        name: &'static str,
        in_kernel: bool,
        missing: &BTreeMap<&'static str, &'static str>,
    ) {
        if !in_kernel {
            self.not_in_kernel.push(name);
        } else if missing.is_empty() {
            self.ready.push(name);
        } else {
            let programs: Vec<&str> = missing.keys().copied().collect();
            self.without_program.push(format!("{name} ({})", programs.join(", ")));
            self.packages.extend(missing.values());
        }
    }

    /// One finding for each of the three that there is.
    fn findings(self, what: &str, remedy: &str) -> Vec<Finding> {
        let mut found = Vec::new();
        if !self.ready.is_empty() {
            found.push(Finding::ready(what, self.ready.join(", ")));
        }
        if !self.without_program.is_empty() {
            let detail = format!("program not installed: {}", self.without_program.join(", "));
            let packages: Vec<&str> = self.packages.into_iter().collect();
            let install = program::install(&packages.join(" "));
            found.push(Finding::missing(what, detail, &install));
        }
        if !self.not_in_kernel.is_empty() {
            let detail = format!("this kernel has no {}", self.not_in_kernel.join(", "));
            found.push(Finding::missing(what, detail, remedy));
        }
        found
    }
}

fn filesystems(system: &System) -> Vec<Finding> {
    let mut sorted = Sorted::default();
    for definition in FILESYSTEMS.iter().filter(|definition| !definition.is_remote) {
        let Some(kind) = definition.kernel_type else { continue };
        let missing = programs_of(definition).filter(|name| system.program(name).is_none());
        let missing = missing.map(|name| (name, definition.package)).collect();
        sorted.add(definition.name, mounts(system, kind), &missing);
    }
    sorted.findings("filesystems", "use a kernel that has them, or choose --place virtual")
}

fn layers(system: &System) -> Vec<Finding> {
    let in_kernel = super::layers(system);
    let mut sorted = Sorted::default();
    for definition in LAYER_KINDS.iter().map(|kind| kind.definition()) {
        let missing = definition.programs.iter().filter(|one| system.program(one.name).is_none());
        let missing = missing.map(|one| (one.name, one.package)).collect();
        let is_here = in_kernel.iter().any(|name| name == definition.name);
        sorted.add(definition.name, is_here, &missing);
    }
    sorted.findings("layers", "use a kernel that has them, or choose --place virtual")
}

/// A program, its package and its purpose.
type Tool = (&'static str, &'static str, &'static str);

/// Programs of some workloads and reports.
const TOOLS: [Tool; 5] = [
    ("hdparm", "hdparm", "settings of disks"),
    ("wipefs", "util-linux", "claims"),
    ("fio", "fio", "job files"),
    ("postgres", "postgresql", "workload pgbench"),
    ("db_bench", "rocksdb-tools", "workload db_bench"),
];

fn tools(system: &System) -> Vec<Finding> {
    let what = "programs";
    let (here, missing): (Vec<&Tool>, Vec<&Tool>) =
        TOOLS.iter().partition(|(name, ..)| system.program(name).is_some());
    let mut found = Vec::new();
    if !here.is_empty() {
        let names: Vec<&str> = here.iter().map(|(name, ..)| *name).collect();
        found.push(Finding::ready(what, names.join(", ")));
    }
    if !missing.is_empty() {
        let names = missing.iter().map(|(name, _, purpose)| format!("{name} ({purpose})"));
        let detail = format!("not installed: {}", names.collect::<Vec<_>>().join(", "));
        let packages: Vec<&str> = missing.iter().map(|(_, package, _)| *package).collect();
        let install = program::install(&packages.join(" "));
        found.push(Finding::missing(what, detail, &install));
    }
    found
}

fn root() -> Finding {
    if rustix::process::geteuid().is_root() {
        return Finding::ready("root", "this is root");
    }
    let detail = "loop devices, mkfs, mount and schedulers need root";
    Finding::missing("root", detail, "run with sudo, or choose --place virtual")
}

fn loops(system: &System) -> Finding {
    let control = system.dev.join("loop-control");
    match open(&control, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty()) {
        Ok(_) => Finding::ready("loop devices", "scratch images can be attached"),
        Err(Errno::NOENT) => {
            Finding::missing("loop devices", "/dev/loop-control not found", "modprobe loop")
        }
        Err(error) => Finding::missing(
            "loop devices",
            format!("/dev/loop-control cannot be opened: {error}"),
            "run with sudo, outside a container",
        ),
    }
}

/// Asks the kernel, by a nameless file that is gone at once.
fn images(scratch: &Path) -> Finding {
    let what = "scratch images";
    let remedy = "name a scratch directory on ext4, xfs or tmpfs";
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    let place = scratch.display();
    let file = match open(scratch, flags, Mode::RUSR | Mode::WUSR) {
        Ok(file) => file,
        Err(error) => {
            let detail = format!("no nameless file with direct I/O in {place}: {error}");
            return Finding::missing(what, detail, remedy);
        }
    };
    let asked = StatxFlags::from_bits_retain(libc::STATX_DIOALIGN);
    let alignment = statx(&file, "", AtFlags::EMPTY_PATH, asked)
        .map_or(0, |facts| u64::from(facts.stx_dio_offset_align));
    let free = fstatvfs(&file).map_or(0, |facts| facts.f_bavail.saturating_mul(facts.f_frsize));
    let free_gib = free >> 30;
    if alignment > 512 {
        let detail =
            format!("{place}: direct I/O from {} on, {free_gib} GiB free", Bytes(alignment));
        let remedy = "write sector = \"4k\" in the lab, or name another scratch directory";
        return Finding::limited(what, detail, remedy);
    }
    Finding::ready(what, format!("{place}: direct I/O, {free_gib} GiB free"))
}

fn io_schedulers(system: &System) -> Finding {
    let names = schedulers(system);
    let all = ["none", "mq-deadline", "kyber", "bfq"];
    let missing: Vec<&str> =
        all.into_iter().filter(|name| !names.iter().any(|known| known == name)).collect();
    let list = names.join(", ");
    if missing.is_empty() {
        return Finding::ready("I/O schedulers", list);
    }
    let detail = if names.is_empty() { "not known".to_owned() } else { list };
    let remedy = format!("use a kernel that has {}, or choose --place virtual", missing.join(", "));
    let state = if names.is_empty() { State::Missing } else { State::Limited };
    Finding::new("I/O schedulers", state, detail, Some(&remedy))
}

fn nfs(system: &System) -> Finding {
    let lacks = nfs_lacks(system);
    if lacks.is_empty() {
        return Finding::ready("NFS", "a trial can start a server in a network of its own");
    }
    let detail = format!("this kernel has no {}", lacks.join(", "));
    let (state, detail) = match mounts(system, "nfs") {
        true => (State::Limited, format!("directories of servers can be mounted; {detail}")),
        false => (State::Missing, detail),
    };
    Finding::new("NFS", state, detail, Some("choose --place virtual for `nfs`"))
}

/// Asks with an invalid argument: a kernel that has it says so, one that has not or forbids it says
/// that.
fn io_uring(system: &System) -> Finding {
    // SAFETY: a null pointer for the parameters is answered with EFAULT and never followed.
    let result = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, std::ptr::null_mut::<u8>()) };
    let error = std::io::Error::last_os_error().raw_os_error();
    match error {
        Some(libc::EFAULT) if result < 0 => Finding::ready("io_uring", "engine io_uring works"),
        Some(libc::EPERM) => {
            let path = system.proc.join("sys/kernel/io_uring_disabled");
            let value = sysfs::read_optional(&path).unwrap_or_else(|| "unknown".to_owned());
            let detail =
                format!("forbidden (kernel.io_uring_disabled = {value}, or a container's filter)");
            let remedy = "sysctl kernel.io_uring_disabled=0, or use engine = \"psync\"";
            Finding::missing("io_uring", detail, remedy)
        }
        _ => Finding::missing(
            "io_uring",
            "not in this kernel",
            "use engine = \"psync\", or a kernel with CONFIG_IO_URING",
        ),
    }
}

fn memory_limit(system: &System) -> Finding {
    let what = "memory limit";
    match memory::version(system) {
        Ok(Some(CgroupVersion::V2)) => Finding::ready(what, "cgroup v2"),
        Ok(Some(CgroupVersion::V1)) => Finding::limited(
            what,
            "cgroup v1: limits memory, not write-back",
            "boot with systemd.unified_cgroup_hierarchy=1",
        ),
        Ok(None) | Err(_) => Finding::missing(
            what,
            "no memory controller",
            "boot with cgroup_enable=memory, or write memory = \"unlimited\" in the lab",
        ),
    }
}

fn swap(system: &System) -> Finding {
    match memory::swap(system) {
        Ok(Some(Bytes(0))) => Finding::ready("swap", "off"),
        Ok(Some(size)) => Finding::limited(
            "swap",
            format!("{size} is on: a memory limit may swap instead of limiting the cache"),
            "run swapoff -a before the run",
        ),
        Ok(None) | Err(_) => Finding::new("swap", State::Limited, "not known", None),
    }
}

fn write_back(system: &System) -> Finding {
    let what = "write-back";
    match caches::unwritten(system) {
        Ok(unwritten) if unwritten.dirty.0 + unwritten.writeback.0 < 256 << 20 => {
            Finding::ready(what, "little is dirty")
        }
        Ok(unwritten) => Finding::limited(
            what,
            format!(
                "{} MiB are dirty: something is writing on this machine",
                unwritten.dirty.0 >> 20
            ),
            "wait for it, or run: sync",
        ),
        Err(error) => Finding::new(what, State::Limited, error.to_string(), None),
    }
}

fn pressure(system: &System) -> Finding {
    if sysfs::read_optional(&system.proc.join("pressure/io")).is_some() {
        return Finding::ready("pressure", "/proc/pressure is there");
    }
    let detail = "no /proc/pressure: timelines lack it";
    Finding::missing("pressure", detail, "boot with psi=1")
}

fn block_events(system: &System) -> Finding {
    let folders = ["kernel/tracing", "kernel/debug/tracing"];
    let event = "events/block/block_rq_issue/format";
    let found = folders.iter().find(|folder| system.sys.join(folder).join(event).exists());
    if let Some(folder) = found {
        return Finding::ready("block events", format!("tracefs is on /sys/{folder}"));
    }
    if system.sys.join("kernel/tracing").is_dir() {
        return Finding::ready(
            "block events",
            "tracefs is not mounted; it is mounted when events are requested",
        );
    }
    let detail = "tracefs is not mounted, or without block events";
    Finding::missing("block events", detail, "mount -t tracefs tracefs /sys/kernel/tracing")
}

fn governor(system: &System) -> Finding {
    let governors = super::governors(system);
    match governors.as_slice() {
        [] => Finding::ready("CPU frequency", "not controlled by the kernel"),
        [one] if one == "performance" => Finding::ready("CPU frequency", "governor performance"),
        several => Finding::limited(
            "CPU frequency",
            format!("governor {}: times depend on what ran before", several.join(", ")),
            "cpupower frequency-set -g performance",
        ),
    }
}
