//! Facts about this machine: for plans, for the run file, and for `doctor`.

use crate::added;
use crate::device::Device;
use crate::identity::Identity;
use crate::memory;
use crate::mounts;
use crate::program;
use crate::queue;
use crate::sysfs::{self, System};
use seekwell_model::filesystems::{FILESYSTEMS, FilesystemDefinition, NFS_PROGRAMS, NFS_SERVER};
use seekwell_model::layers::{LAYER_KINDS, LayerKind, Naming};
use seekwell_model::plan::BackendFacts;
use seekwell_model::units::Bytes;
use seekwell_model::workloads::WORKLOAD_KINDS;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

mod doctor;

#[cfg(test)]
mod tests;

pub use doctor::{Finding, State, can_demo, findings};

/// Programs of no filesystem whose versions belong to a run, with the argument that shows them.
const VERSIONS: [(&str, &str); 4] = [
    ("hdparm", "-V"),
    ("postgres", "--version"),
    ("pgbench", "--version"),
    ("db_bench", "--version"),
];

/// Programs whose versions belong to a run, each once: those of the filesystems, and [`VERSIONS`].
fn versions() -> BTreeMap<&'static str, &'static str> {
    FILESYSTEMS.iter().filter_map(|definition| definition.version).chain(VERSIONS).collect()
}

/// The machine that a run was made on. `None` is "not known".
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// `uname -r`.
    pub kernel_release: Option<String>,
    /// `uname -v`.
    pub kernel_version: Option<String>,
    /// Model of the first CPU.
    pub cpu_model: Option<String>,
    /// CPUs that are online, as ranges.
    pub cpus_online: Option<String>,
    /// Frequency governors in use, each once.
    pub cpu_governors: Vec<String>,
    /// RAM.
    pub ram: Option<Bytes>,
    /// Swap that is on.
    pub swap: Option<Bytes>,
    /// `v1` or `v2` of the memory controller.
    pub memory_cgroup: Option<String>,
    /// Name of the distribution.
    pub distribution: Option<String>,
    /// First line that each program says about itself, by name.
    pub programs: BTreeMap<String, String>,
}

/// Size of a block device as sysfs says it, without opening the device; `None` if there is none.
#[must_use]
pub fn device_size(system: &System, path: &Path) -> Option<Bytes> {
    Some(Bytes(Device::by_path(system, path)?.numeric("size")? * 512))
}

/// Model of a block device's disk, without opening it; `None` if there is none.
#[must_use]
pub fn disk_model(system: &System, path: &Path) -> Option<String> {
    Identity::read(system, &Device::by_path(system, path)?, None).model
}

/// Serial numbers and world-wide names of the block devices of this machine.
#[must_use]
pub fn serials(system: &System) -> Vec<String> {
    let names = sysfs::names(&system.sys.join("class/block"));
    let devices = names.iter().filter_map(|name| Device::by_name(system, name));
    let identities = devices.map(|device| Identity::read(system, &device, None));
    identities
        .flat_map(|one| [one.usable_serial().map(str::to_owned), one.wwid])
        .flatten()
        .collect()
}

/// Layers below a folder at most.
const MAX_LAYERS: usize = 8;

/// The whole disk that a folder is kept on, below partitions, loop devices and layers; of several members of a layer
/// the first. `None` if there is no disk, as for a folder in memory.
#[must_use]
pub fn disk_below(system: &System, folder: &Path) -> Option<PathBuf> {
    let mut device = device_of(system, folder)?;
    for _ in 0..MAX_LAYERS {
        device = device.disk().unwrap_or(device);
        let members = sysfs::names(&device.folder.join("slaves"));
        device = match (members.first(), device.attribute("loop/backing_file")) {
            (Some(first), _) => Device::by_name(system, first)?,
            (None, Some(file)) => device_of(system, Path::new(&file))?,
            (None, None) => return Some(system.dev.join(device.name)),
        };
    }
    None
}

/// The device of the filesystem that a path is in.
fn device_of(system: &System, path: &Path) -> Option<Device> {
    let path = std::fs::canonicalize(path).ok()?;
    let mounts = mounts::of_self(system).ok()?;
    let mount = mounts::mount_of(&mounts, &path)?;
    Device::by_number(system, mount.number).or_else(|| Device::by_path(system, &mount.source))
}

/// Facts that a plan depends on. `disks` are paths as the lab names them.
///
/// Facts that cannot be read are absent, never invented.
#[must_use]
pub fn gather(system: &System, disks: &[PathBuf]) -> BackendFacts {
    let known = FILESYSTEMS.iter().filter_map(|definition| definition.kernel_type);
    let mut kernel_filesystems: Vec<String> = Vec::new();
    for kind in known {
        if mounts(system, kind) && !kernel_filesystems.iter().any(|name| name == kind) {
            kernel_filesystems.push(kind.to_owned());
        }
    }
    // Of a machine that tells nothing nothing is said.
    let is_known = !kernel_filesystems.is_empty();
    let nfs_lacks = if is_known { nfs_lacks(system) } else { Vec::new() };
    if is_known && nfs_lacks.is_empty() {
        kernel_filesystems.push(NFS_SERVER.to_owned());
    }
    let started = WORKLOAD_KINDS.iter().flat_map(|kind| kind.programs).map(|one| one.name);
    let of_layers = LAYER_KINDS.iter().flat_map(|kind| kind.definition().programs);
    let mut programs: Vec<String> = FILESYSTEMS
        .iter()
        .flat_map(programs_of)
        .chain(started)
        .chain(of_layers.chain(NFS_PROGRAMS).map(|one| one.name))
        .filter(|name| system.program(name).is_some())
        .map(str::to_owned)
        .collect();
    programs.sort();
    programs.dedup();
    let size = |path: &PathBuf| Some((path.display().to_string(), device_size(system, path)?));
    BackendFacts {
        schedulers: schedulers(system),
        kernel_filesystems,
        read_only_filesystems: read_only(system),
        nfs_lacks: nfs_lacks.into_iter().map(str::to_owned).collect(),
        programs,
        layers: layers(system),
        lab_kernel: None,
        ram: memory::ram(system).ok().flatten(),
        disk_sizes: disks.iter().filter_map(size).collect(),
    }
}

/// Layers that this kernel has, or would load a module for, and that the undo list takes down after a
/// killed run.
fn layers(system: &System) -> Vec<String> {
    let is_here = |kind: &&&dyn LayerKind| match kind.naming() {
        Naming::Added(control) => added::is_offered(system, &control),
        Naming::Array | Naming::Mapped => is_in_kernel(system, kind.definition().module),
        // The kernel's own numbers are not on the undo list.
        Naming::Kernel => false,
    };
    LAYER_KINDS.iter().filter(is_here).map(|kind| kind.definition().name.to_owned()).collect()
}

/// Parts of the kernel that an NFS server behind a link needs and that this one lacks.
pub(crate) fn nfs_lacks(system: &System) -> Vec<&'static str> {
    let parts = [
        ("NFS client (CONFIG_NFS_FS)", mounts(system, "nfs")),
        ("NFS server (CONFIG_NFSD)", mounts(system, NFS_SERVER)),
        ("delay of a link (CONFIG_NET_SCH_NETEM)", is_in_kernel(system, "sch_netem")),
        ("network namespace (CONFIG_NET_NS)", system.proc.join("self/ns/net").exists()),
    ];
    parts.into_iter().filter(|(_, is_here)| !is_here).map(|(part, _)| part).collect()
}

/// True when the kernel has this module, in itself, loaded or as a file.
fn is_in_kernel(system: &System, module: &str) -> bool {
    let folder = system.modules.join(release(system).unwrap_or_default());
    let mut lists = ["modules.builtin", "modules.dep"].into_iter();
    system.sys.join("module").join(module).exists()
        || lists.any(|list| {
            let text = sysfs::read_optional(&folder.join(list)).unwrap_or_default();
            lists_module(&text, module)
        })
}

/// Returns true if a list of module files has this module. `-` and `_` are one character there.
fn lists_module(list: &str, module: &str) -> bool {
    let name = |line: &str| {
        let path = line.split(':').next().unwrap_or_default();
        let file = path.rsplit('/').next().unwrap_or_default();
        file.split('.').next().unwrap_or_default().replace('-', "_")
    };
    list.lines().any(|line| name(line) == module)
}

/// Programs that the catalogue names for a filesystem.
pub(crate) fn programs_of(definition: &FilesystemDefinition) -> impl Iterator<Item = &'static str> {
    let prepare = definition.journal.and_then(|journal| journal.prepare.first().copied());
    [definition.maker(), definition.fsck.first().copied(), prepare].into_iter().flatten()
}

/// True when the kernel mounts this type, or would load a module for it.
pub(crate) fn mounts(system: &System, kind: &str) -> bool {
    let listed = sysfs::read_optional(&system.proc.join("filesystems")).unwrap_or_default();
    let built_in = listed.lines().any(|line| line.split_whitespace().last() == Some(kind));
    built_in || has_module(system, &format!("fs-{kind}"))
}

/// Filesystems that the kernel reads alone, as far as distributions keep its configuration.
fn read_only(system: &System) -> Vec<String> {
    let Some(release) = release(system) else { return Vec::new() };
    let places = [
        system.boot.join(format!("config-{release}")),
        system.modules.join(release).join("config"),
    ];
    let Some(config) = places.iter().find_map(|path| sysfs::read_optional(path)) else {
        return Vec::new();
    };
    let is_off = |name: &str| {
        let off = format!("# {name} is not set");
        config.lines().any(|line| line == off)
    };
    let own =
        FILESYSTEMS.iter().filter(|one| one.own.is_some_and(|own| is_off(own.writing_config())));
    own.filter_map(|one| one.kernel_type).map(str::to_owned).collect()
}

/// Release of the kernel.
pub(crate) fn release(system: &System) -> Option<String> {
    sysfs::read_optional(&system.proc.join("sys/kernel/osrelease"))
}

fn has_module(system: &System, alias: &str) -> bool {
    let Some(release) = release(system) else { return false };
    let aliases = system.modules.join(release).join("modules.alias");
    let text = sysfs::read_optional(&aliases).unwrap_or_default();
    text.lines().any(|line| line.split_whitespace().nth(1) == Some(alias))
}

/// Schedulers that loop devices and disks take, those that are modules included.
fn schedulers(system: &System) -> Vec<String> {
    let blocks = sysfs::names(&system.sys.join("class/block"));
    let preferred = blocks.iter().filter(|name| name.starts_with("loop"));
    let mut names = preferred
        .chain(blocks.iter())
        .find_map(|name| queue::schedulers(system, name).ok().filter(|names| names.len() > 1))
        .unwrap_or_default();
    for name in ["mq-deadline", "kyber", "bfq"] {
        if !names.iter().any(|known| known == name)
            && has_module(system, &format!("{name}-iosched"))
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// Describes the machine for the run file. Runs each program of the catalogue once.
#[must_use]
pub fn environment(system: &System) -> Environment {
    let processors = sysfs::read_optional(&system.proc.join("cpuinfo")).unwrap_or_default();
    let online = system.sys.join("devices/system/cpu/online");
    let versions = versions()
        .into_iter()
        .filter_map(|(name, argument)| Some((name.to_owned(), version(system, name, argument)?)));
    Environment {
        kernel_release: release(system),
        kernel_version: sysfs::read_optional(&system.proc.join("sys/kernel/version")),
        cpu_model: after_colon(&processors, "model name"),
        cpus_online: sysfs::read_optional(&online),
        cpu_governors: governors(system),
        ram: memory::ram(system).ok().flatten(),
        swap: memory::swap(system).ok().flatten(),
        memory_cgroup: memory::version(system).ok().flatten().map(|found| found.word().to_owned()),
        distribution: distribution(Path::new("/etc/os-release")),
        programs: versions.collect(),
    }
}

/// Frequency governors in use, each once.
fn governors(system: &System) -> Vec<String> {
    let folder = system.sys.join("devices/system/cpu");
    let governor =
        |cpu: &String| sysfs::read_optional(&folder.join(cpu).join("cpufreq/scaling_governor"));
    let mut governors: Vec<String> = sysfs::names(&folder).iter().filter_map(governor).collect();
    governors.sort();
    governors.dedup();
    governors
}

fn after_colon(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn distribution(path: &Path) -> Option<String> {
    let text = sysfs::read_optional(path)?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

/// The first line with a digit that a program says about itself, on either stream and with any
/// exit status: some of them count the question as a mistake.
fn version(system: &System, name: &str, argument: &str) -> Option<String> {
    let path = system.program(name)?;
    let output = program::command(system, &path).arg(argument).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| line.bytes().any(|byte| byte.is_ascii_digit())).map(str::to_owned)
}
