//! Memory: how much there is, how much a trial may use, and whether swap is on.

use crate::cgroup;
use crate::error::{Error, Result};
use crate::mounts::{self, MountLine};
use crate::sysfs::{self, System, write};
use crate::undo::{self, Restored, Target, Undo};
use seekwell_model::units::Bytes;
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Version of the memory controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CgroupVersion {
    /// Its own hierarchy. Limits memory; write-back is not limited by it.
    V1,
    /// The unified hierarchy.
    V2,
}

impl CgroupVersion {
    /// As records have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V2 => "v2",
        }
    }

    fn limit_file(self) -> &'static str {
        match self {
            Self::V1 => "memory.limit_in_bytes",
            Self::V2 => "memory.max",
        }
    }
}

/// Mount point of the memory controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Controller {
    pub version: CgroupVersion,
    pub root: PathBuf,
}

/// A group with a memory limit; this process is in it.
#[derive(Debug)]
pub struct MemoryGroup {
    directory: PathBuf,
    home: PathBuf,
    /// Version of the controller.
    pub version: CgroupVersion,
    /// The limit in force, as read back.
    pub limit: Bytes,
}

impl MemoryGroup {
    /// Puts this process back to where it was and removes the group.
    ///
    /// # Errors
    /// [`Error::Io`] when another process is still in it; the undo list removes it then.
    pub fn remove(self, undo: &mut Undo) -> Result<()> {
        // "0" is the writer itself, whatever its number in this PID namespace.
        write(&self.home.join("cgroup.procs"), "0")?;
        cgroup::remove(&self.directory)?;
        undo.forget(&Target::CgroupDirectory { path: self.directory })
    }
}

/// Limits this process and its future children to so many bytes of memory, page cache included.
///
/// `name` becomes part of the group's name and should hold the run's id. The group is in the undo
/// list before it exists.
///
/// # Errors
/// Without root or without a memory controller.
pub fn limit(system: &System, name: &str, limit: Bytes, undo: &mut Undo) -> Result<MemoryGroup> {
    let controller = controller(system)?.ok_or_else(|| {
        Error::setting(
            "memory limit",
            "the kernel has no memory controller (CONFIG_MEMCG)",
            "write memory = \"unlimited\" in the lab or boot with cgroup_enable=memory",
        )
    })?;
    let home = own_group(system, &controller)?;
    let directory = controller.root.join(group_name(name));
    if controller.version == CgroupVersion::V2 {
        enable_controller(&controller.root)?;
    }
    undo.record(&Target::CgroupDirectory { path: directory.clone() })?;
    match fs::create_dir(&directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(Error::io("make the memory group (root is needed)", &directory)(error));
        }
        _ => {}
    }
    let file = directory.join(controller.version.limit_file());
    write(&file, &limit.0.to_string())?;
    let in_force = sysfs::read_number::<u64>(&file)?
        .ok_or_else(|| Error::format(&file, "nothing", "the limit just written"))?;
    write(&directory.join("cgroup.procs"), "0")?;
    Ok(MemoryGroup { directory, home, version: controller.version, limit: Bytes(in_force) })
}

/// Sets a file of `/proc/sys/vm`, which holds for the whole machine until the undo list restores it.
///
/// # Errors
/// When the kernel has no such file or takes another value.
pub fn set_vm(system: &System, name: &str, value: &str, undo: &mut Undo) -> Result<()> {
    // Setting a ratio clears the bytes that were set in its place.
    for file in [name.replace("_ratio", "_bytes"), name.to_owned()] {
        let path = undo::sysctl(system, &file);
        if path.exists() {
            undo.record(&Target::File { path })?;
        }
    }
    let path = undo::sysctl(system, name);
    let refused = |what: String| {
        let remedy = "take it out of [[memory]] vm, or write a value that sysctl -w accepts";
        Error::setting(&format!("vm.{name}"), what, remedy)
    };
    let written = fs::OpenOptions::new().write(true).open(&path);
    written
        .and_then(|mut file| file.write_all(value.as_bytes()))
        .map_err(|error| refused(format!("cannot be set to {value}: {error}")))?;
    match sysfs::read_optional(&path) {
        Some(found) if found == value => Ok(()),
        found => Err(refused(format!("is {} after {value} was set", found.unwrap_or_default()))),
    }
}

/// Restores what [`set_vm`] set.
///
/// # Errors
/// When the undo list cannot be written.
pub fn restore_vm(undo: &mut Undo) -> Result<Restored> {
    undo.restore_where(|target| matches!(target, Target::File { .. }))
}

fn group_name(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("seekwell-{}", name.chars().map(safe).collect::<String>())
}

/// Version of the memory controller in use; `None` when there is none.
///
/// # Errors
/// When procfs cannot be read.
pub fn version(system: &System) -> Result<Option<CgroupVersion>> {
    Ok(controller(system)?.map(|found| found.version))
}

/// Finds the controller: on a hybrid system it is in exactly one of the two hierarchies.
pub(crate) fn controller(system: &System) -> Result<Option<Controller>> {
    let lines = mounts::of_self(system)?;
    let has_memory = |line: &&MountLine| {
        line.kind == "cgroup" && line.super_options.split(',').any(|option| option == "memory")
    };
    if let Some(line) = lines.iter().find(has_memory) {
        return Ok(Some(Controller { version: CgroupVersion::V1, root: line.target.clone() }));
    }
    let unified = lines.iter().filter(|line| line.kind == "cgroup2").find(|line| {
        let controllers = sysfs::read_optional(&line.target.join("cgroup.controllers"));
        controllers.is_some_and(|text| text.split_whitespace().any(|name| name == "memory"))
    });
    Ok(unified.map(|line| Controller { version: CgroupVersion::V2, root: line.target.clone() }))
}

/// Left switched on afterwards: others may rely on it by now, and it sets no limit.
fn enable_controller(root: &Path) -> Result<()> {
    let file = root.join("cgroup.subtree_control");
    if sysfs::read(&file)?.split_whitespace().any(|name| name == "memory") {
        return Ok(());
    }
    write(&file, "+memory")
}

/// The group of this process, to go back to.
fn own_group(system: &System, controller: &Controller) -> Result<PathBuf> {
    let path = system.proc.join("self/cgroup");
    let text = sysfs::read(&path)?;
    let own = text.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':');
        let (number, names, group) = (parts.next()?, parts.next()?, parts.next()?);
        let ours = match controller.version {
            CgroupVersion::V1 => names.split(',').any(|name| name == "memory"),
            CgroupVersion::V2 => number == "0" && names.is_empty(),
        };
        ours.then(|| group.trim_start_matches('/').to_owned())
    });
    let group = own.ok_or_else(|| Error::format(path, &text, "a line of the memory controller"))?;
    Ok(controller.root.join(group))
}

/// A line of `/proc/meminfo`; `None` when this kernel has no such line.
pub(crate) fn meminfo(system: &System, key: &str) -> Result<Option<Bytes>> {
    let path = system.proc.join("meminfo");
    let text = sysfs::read(&path)?;
    let Some(value) = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
    else {
        return Ok(None);
    };
    let kib = value.trim().trim_end_matches("kB").trim().parse();
    kib.map(|count: u64| Some(Bytes::kib(count)))
        .map_err(|_| Error::format(path, value, "a number of kB"))
}

/// RAM of the machine (`MemTotal`); `None` when the kernel does not say.
///
/// # Errors
/// When `/proc/meminfo` cannot be read.
pub fn ram(system: &System) -> Result<Option<Bytes>> {
    meminfo(system, "MemTotal")
}

/// Swap that is on (`SwapTotal`), 0 when none is; `None` when the kernel does not say.
///
/// # Errors
/// When `/proc/meminfo` cannot be read.
pub fn swap(system: &System) -> Result<Option<Bytes>> {
    meminfo(system, "SwapTotal")
}
