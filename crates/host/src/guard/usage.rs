//! Users of a device: the running system, mounts, swap, other layers, other processes.

use crate::device::Device;
use crate::error::Error;
use crate::mounts::{self, MountLine};
use crate::nodes::{DeviceNumber, NodeKind};
use crate::refusal::{Refusal, RefusalKind};
use crate::sysfs::{self, System};
use crate::tree::{self, Twins};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Mount points of the running system.
const SYSTEM_MOUNTS: [&str; 6] = ["/", "/boot", "/boot/efi", "/usr", "/var", "/home"];

/// A device that may be in use, and everything that a write to it can reach.
pub(crate) struct Suspect<'a> {
    pub system: &'a System,
    /// As the user named it, for messages.
    pub target: &'a Path,
    pub device: &'a Device,
    /// It, its parts, the disk around it, and every other node of the same bytes.
    pub concerned: Vec<Device>,
    /// Other nodes of its bytes alone, and the files behind it; or why they cannot be found.
    twins: Result<Twins, String>,
}

impl<'a> Suspect<'a> {
    pub(crate) fn new(system: &'a System, target: &'a Path, device: &'a Device) -> Self {
        let twins = tree::twins(system, device).map_err(|error| error.to_string());
        let mut concerned = device.concerned();
        if let Ok(twins) = &twins {
            concerned.extend(twins.devices.iter().chain(&twins.around).cloned());
        }
        Self { system, target, device, concerned, twins }
    }

    fn refuse(&self, kind: RefusalKind, reason: String, remedy: &str) -> Refusal {
        Refusal::new(self.target, kind, reason, remedy)
    }

    fn unreadable(&self, error: &Error) -> Refusal {
        Refusal::unreadable(self.target, error)
    }

    fn part(&self, number: DeviceNumber) -> Option<&Device> {
        self.concerned.iter().find(|device| device.number == number)
    }

    fn part_at(&self, path: &Path) -> Option<&Device> {
        match self.system.nodes.kind(path) {
            Ok(NodeKind::Block(number)) => self.part(number),
            Ok(NodeKind::Regular(_)) if self.is_behind(path) => Some(self.device),
            _ => None,
        }
    }

    /// True for the file that holds the bytes of the device.
    fn is_behind(&self, path: &Path) -> bool {
        let Ok(twins) = &self.twins else { return false };
        !twins.files.is_empty()
            && self.system.nodes.file_id(path).is_ok_and(|file| twins.files.contains(&file))
    }

    /// Name of a device for messages, with its relation to the suspect if it is another node.
    fn named(&self, part: &Device) -> String {
        let is_twin = |twins: &Twins| {
            let mut all = twins.devices.iter().chain(&twins.around);
            all.any(|twin| twin.name == part.name)
        };
        match &self.twins {
            Ok(twins) if is_twin(twins) => {
                format!("{}, which has the same bytes as {},", part.name, self.device.name)
            }
            _ => part.name.clone(),
        }
    }

    fn twins_are_known(&self) -> Result<(), Refusal> {
        match &self.twins {
            Ok(_) => Ok(()),
            Err(error) => Err(Refusal::unreadable(self.target, error)),
        }
    }

    /// All questions in order, the most telling answer first.
    pub(crate) fn check(&self, run_file: Option<&Path>) -> Result<(), Refusal> {
        self.not_the_system(run_file)?;
        self.not_used_by_kernel()?;
        self.not_open_elsewhere()
    }

    /// Swap, mounts and layers.
    pub(crate) fn not_used_by_kernel(&self) -> Result<(), Refusal> {
        self.twins_are_known()?;
        self.not_swap()?;
        self.not_mounted()?;
        self.not_held()
    }

    fn not_the_system(&self, run_file: Option<&Path>) -> Result<(), Refusal> {
        let lines = tree::main_mounts(self.system).map_err(|error| self.unreadable(&error))?;
        let mut parts: BTreeSet<String> =
            self.device.with_parts().into_iter().map(|part| part.name).collect();
        if let Ok(twins) = &self.twins {
            parts.extend(twins.devices.iter().map(|twin| twin.name.clone()));
        }
        let without_device = without_device(self.system);
        for line in &lines {
            let Some(place) = SYSTEM_MOUNTS.iter().find(|place| line.target == Path::new(place))
            else {
                continue;
            };
            let mut devices = tree::behind(self.system, line.number, &lines);
            devices.extend(Device::by_path(self.system, &line.source));
            if devices.is_empty() && !without_device.contains(&line.kind) {
                let kind = &line.kind;
                let error = format!(
                    "the device of {place} ({kind} on {}) is not known",
                    line.source.display()
                );
                return Err(Refusal::unreadable(self.target, &error));
            }
            let what = format!("{place} of the running system");
            self.not_below(&devices, &lines, &parts, &what)?;
        }
        if let Some(folder) = run_file.and_then(Path::parent) {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            let number = match self.system.nodes.kind(folder) {
                Ok(NodeKind::Directory(number)) => number,
                _ => return Ok(()),
            };
            let devices = tree::behind(self.system, number, &lines);
            self.not_below(&devices, &lines, &parts, "the run file")?;
        }
        Ok(())
    }

    fn not_below(
        &self,
        devices: &[Device],
        lines: &[MountLine],
        parts: &BTreeSet<String>,
        what: &str,
    ) -> Result<(), Refusal> {
        for device in devices {
            let below = tree::below(self.system, device, lines);
            if let Some(name) = below.intersection(parts).next() {
                let lower = match device.name == *name {
                    true => String::new(),
                    false => format!(", which is on {name}"),
                };
                return Err(self.refuse(
                    RefusalKind::System,
                    format!("{what} is on {}{lower}", device.name),
                    "name another disk",
                ));
            }
        }
        Ok(())
    }

    fn not_swap(&self) -> Result<(), Refusal> {
        let swaps = mounts::swaps(self.system).map_err(|error| self.unreadable(&error))?;
        for path in swaps {
            if let Some(part) = self.part_at(&path) {
                return Err(self.refuse(
                    RefusalKind::Swap,
                    format!("{} is in use as swap ({})", self.named(part), path.display()),
                    "name another device, or switch that swap off for good: swapoff, then remove it from /etc/fstab",
                ));
            }
        }
        Ok(())
    }

    fn not_mounted(&self) -> Result<(), Refusal> {
        let members = tree::btrfs_sets(self.system).into_iter().flatten();
        let names: Vec<&str> = self.concerned.iter().map(|device| device.name.as_str()).collect();
        if let Some(name) = members.into_iter().find(|name| names.contains(&name.as_str())) {
            return Err(self.refuse(
                RefusalKind::Mounted,
                format!("{name} is a member of a mounted btrfs"),
                "unmount that filesystem first, if it may be destroyed",
            ));
        }
        let mut sources: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
        for (process, lines) in all_mounts(self.system).map_err(|error| self.unreadable(&error))? {
            for line in lines {
                let by_number = self.part(line.number).map(|part| self.named(part));
                let part = by_number.or_else(|| {
                    let ask = || self.part_at(&line.source).map(|part| self.named(part));
                    sources.entry(line.source.clone()).or_insert_with(ask).clone()
                });
                if let Some(part) = part {
                    let target = line.target.display();
                    return Err(self.refuse(
                        RefusalKind::Mounted,
                        format!("{part} is mounted on {target} (seen by process {process})"),
                        &format!("unmount it first, if it may be destroyed: umount {target}"),
                    ));
                }
            }
        }
        Ok(())
    }

    fn not_held(&self) -> Result<(), Refusal> {
        for device in &self.concerned {
            // Paths of multipath are held by the device that is asked about.
            let holders = device.holders();
            if let Some(holder) = holders.iter().find(|holder| **holder != self.device.name) {
                let label = Device::by_name(self.system, holder)
                    .and_then(|found| found.attribute("dm/name"))
                    .map(|name| format!(" ({name})"));
                return Err(self.refuse(
                    RefusalKind::Held,
                    format!(
                        "{} is part of {holder}{}",
                        self.named(device),
                        label.unwrap_or_default()
                    ),
                    "name another device, or take that layer down first, if it may be destroyed",
                ));
            }
        }
        for attached in crate::loop_device::attached(self.system) {
            let backing = PathBuf::from(&attached.backing_file);
            // Another node of the same bytes, or the device itself, on what is under both.
            if self.concerned.iter().any(|device| device.name == attached.kernel_name) {
                continue;
            }
            if let Some(part) = self.part_at(&backing) {
                return Err(self.refuse(
                    RefusalKind::Held,
                    format!("{} is the backing device of {}", part.name, attached.kernel_name),
                    &format!("detach it first: losetup -d /dev/{}", attached.kernel_name),
                ));
            }
        }
        Ok(())
    }

    /// A virtual machine that uses a raw disk holds it by nothing but an open descriptor, and a
    /// database by a mapping whose descriptor is closed. Whoever only reads is no concern: a monitor,
    /// or a process that has locked the device for others.
    fn not_open_elsewhere(&self) -> Result<(), Refusal> {
        let own = self.system.own_pid();
        for process in processes(self.system).into_iter().filter(|process| *process != own) {
            let folder = self.system.proc.join(process.to_string());
            let descriptors = tables(self.system, &folder, process);
            let opened = descriptors.iter().find_map(|table| self.opened_in(table));
            let what = opened.map(|part| (part, "open for writing"));
            let what = what.or_else(|| Some((self.mapped_in(&folder)?, "mapped for writing")));
            let Some((part, how)) = what else { continue };
            let name = sysfs::read_optional(&folder.join("comm")).unwrap_or_default();
            return Err(self.refuse(
                RefusalKind::Busy,
                format!("process {process} ({name}) has {part} {how}"),
                "end that process first",
            ));
        }
        Ok(())
    }

    /// Names the device, part or backing file that a table of descriptors has open for writing.
    /// `folder` has `fd` and `fdinfo`.
    fn opened_in(&self, folder: &Path) -> Option<String> {
        sysfs::names(&folder.join("fd")).into_iter().find_map(|descriptor| {
            let part = self.at_link(&folder.join("fd").join(&descriptor))?;
            opened_for_writing(&folder.join("fdinfo").join(&descriptor)).then_some(part)
        })
    }

    fn at_link(&self, link: &Path) -> Option<String> {
        let part = self.part_at(link)?;
        if self.is_behind(link) {
            return Some(format!("the file behind {}", part.name));
        }
        Some(self.named(part))
    }

    /// Names the device, part or backing file that a process has mapped for writing.
    fn mapped_in(&self, folder: &Path) -> Option<String> {
        let maps = sysfs::read_optional(&folder.join("maps"))?;
        maps.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let (range, permissions) = (words.next()?, words.next()?);
            let inode = words.nth(2)?;
            if !permissions.ends_with('s') || inode == "0" {
                return None;
            }
            let link = folder.join("map_files").join(range);
            let part = self.at_link(&link)?;
            (permissions.contains('w') || may_be_written(folder, range)).then_some(part)
        })
    }
}

/// Folders with the tables of descriptors of a process: its own, and those of threads that have
/// another one.
fn tables(system: &System, folder: &Path, process: u32) -> Vec<PathBuf> {
    let mut tables = vec![folder.to_owned()];
    let tasks = folder.join("task");
    let threads = sysfs::names(&tasks).into_iter().filter(|name| {
        let number: Option<u32> = name.parse().ok();
        number.is_some_and(|thread| {
            thread != process && !system.nodes.share_descriptors(process, thread)
        })
    });
    tables.extend(threads.map(|name| tasks.join(name)));
    tables
}

/// True when a mapping that is read-only now may be made writable: `mw` of its `VmFlags`.
fn may_be_written(folder: &Path, range: &str) -> bool {
    let smaps = sysfs::read_optional(&folder.join("smaps")).unwrap_or_default();
    let mut lines = smaps.lines().skip_while(|line| !line.starts_with(range));
    let flags = lines.find_map(|line| line.strip_prefix("VmFlags:"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "mw"))
}

/// Filesystem types that need no device.
fn without_device(system: &System) -> BTreeSet<String> {
    let text = sysfs::read_optional(&system.proc.join("filesystems")).unwrap_or_default();
    let named = text.lines().filter_map(|line| line.strip_prefix("nodev"));
    named.map(|name| name.trim().to_owned()).chain(["rootfs".to_owned()]).collect()
}

fn processes(system: &System) -> Vec<u32> {
    sysfs::names(&system.proc).iter().filter_map(|name| name.parse().ok()).collect()
}

/// Mounts of every mount namespace that can be seen, with a process that sees it. Process 1 and this
/// one must be readable; one that ends meanwhile is no error.
fn all_mounts(system: &System) -> Result<Vec<(u32, Vec<MountLine>)>, Error> {
    let own = system.own_pid();
    let mut all = vec![(1, mounts::of(&system.proc.join("1/mountinfo"))?)];
    all.push((own, mounts::of_self(system)?));
    let mut namespaces = BTreeSet::new();
    for process in processes(system) {
        let folder = system.proc.join(process.to_string());
        if let Ok(namespace) = fs::read_link(folder.join("ns/mnt"))
            && !namespaces.insert(namespace)
        {
            continue;
        }
        match mounts::of(&folder.join("mountinfo")) {
            Ok(lines) => all.push((process, lines)),
            Err(Error::Io { source, .. }) if has_ended(&source) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// `EINVAL` is what the kernel answers for a process on its way out.
pub(super) fn has_ended(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH | libc::EINVAL))
}

/// `flags:` of `/proc/PID/fdinfo/N` is octal; its last two bits are the access mode.
pub(super) fn opened_for_writing(fdinfo: &Path) -> bool {
    let text = sysfs::read_optional(fdinfo).unwrap_or_default();
    let flags = text
        .lines()
        .find_map(|line| u32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE.cast_unsigned() != 0)
}
