//! Users of a device: the running system, mounts, swap, other layers, other processes.

use crate::device::Device;
use crate::error::Error;
use crate::identity::Identity;
use crate::mounts::{self, MountLine};
use crate::nodes::{BehindLoop, DeviceNumber, NodeKind, Probe};
use crate::refusal::{Refusal, RefusalKind};
use crate::sysfs::{self, System};
use crate::tree::{self, Twins};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Mount points of the running system.
const SYSTEM_MOUNTS: [&str; 6] = ["/", "/boot", "/boot/efi", "/usr", "/var", "/home"];

/// Target of the link to a descriptor of an io_uring.
const RING: &str = "anon_inode:[io_uring]";
/// Looks at a ring before it counts as one that does not name its files, and the pause before each.
const RING_TRIES: u32 = 200;
const RING_PAUSE: Duration = Duration::from_millis(5);

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
        Self::of(system, target, device, false)
    }

    /// A loop device over an image of the run.
    pub(crate) fn over_own_image(system: &'a System, target: &'a Path, device: &'a Device) -> Self {
        Self::of(system, target, device, true)
    }

    fn of(system: &'a System, target: &'a Path, device: &'a Device, is_own_image: bool) -> Self {
        let twins = tree::twins(system, device, is_own_image).map_err(|error| error.to_string());
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
        if twins.files.is_empty() {
            return false;
        }
        let Ok(facts) = self.system.nodes.facts(path) else { return false };
        // A file that vanishes between two looks is in use by nothing that is found by its path.
        twins.files.iter().any(|file| file.is_also(self.system, path, facts.id) == Some(true))
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
            // Another node of the same bytes, or the device itself, on what is under both.
            if self.concerned.iter().any(|device| device.name == attached.kernel_name) {
                continue;
            }
            let node = self.system.dev.join(&attached.kernel_name);
            let part = match self.system.nodes.behind_loop(&node) {
                Ok(Some(behind)) => match behind.what {
                    BehindLoop::Device(number) => self.part(number),
                    // One over another part of the same file: one over the same part is a twin.
                    BehindLoop::File(_) => None,
                },
                Ok(None) => None,
                Err(_) => self.part_at(Path::new(&attached.backing_file)),
            };
            if let Some(part) = part {
                return Err(self.refuse(
                    RefusalKind::Held,
                    format!("{} is the backing device of {}", part.name, attached.kernel_name),
                    &format!("detach it first: losetup -d /dev/{}", attached.kernel_name),
                ));
            }
        }
        Ok(())
    }

    /// Its identity, if the kernel opens it and every other node of its bytes with `O_EXCL`. That is the one question that
    /// the kernel answers for all namespaces, also for mounts that no namespace shows.
    pub(crate) fn exclusive_identity(&self, node: &Path) -> Result<Identity, Refusal> {
        let others = self.concerned.iter().filter(|part| part.name != self.device.name);
        for part in others.filter(|part| !self.is_held_by_itself(part)) {
            self.not_held_exclusively(part)?;
        }
        let probe = self.system.nodes.probe(node).map_err(|error| match error.raw_os_error() {
            Some(libc::EBUSY) => self.busy("it"),
            _ => Refusal::unreadable(self.target, &error),
        })?;
        self.is_still(&probe, self.device)?;
        Ok(Identity::read(self.system, self.device, Some(&probe)))
    }

    /// True for the paths of a multipath device, which holds them.
    fn is_held_by_itself(&self, part: &Device) -> bool {
        let is_held = |part: &Device| part.holders().contains(&self.device.name);
        is_held(part) || part.disk().as_ref().is_some_and(is_held)
    }

    fn not_held_exclusively(&self, part: &Device) -> Result<(), Refusal> {
        let probe = |part: &Device| self.system.nodes.probe(&self.system.dev.join(&part.name));
        // The kernel refuses a disk with a partition in use. It refuses all partitions of a disk in use as a whole.
        let is_of_another_partition = || {
            let partitions = part.partitions();
            partitions.iter().any(|inner| self.part(inner.number).is_none())
                && partitions.iter().any(|inner| probe(inner).is_ok())
        };
        match probe(part) {
            Ok(found) => self.is_still(&found, part),
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => {
                match is_of_another_partition() {
                    true => Ok(()),
                    false => Err(self.busy(&self.named(part))),
                }
            }
            Err(_) if !part.folder.exists() => Ok(()),
            Err(error) => Err(Refusal::unreadable(self.target, &format!("{}: {error}", part.name))),
        }
    }

    fn busy(&self, name: &str) -> Refusal {
        self.refuse(
            RefusalKind::Busy,
            format!(
                "the kernel says that {name} is in use (O_EXCL: EBUSY), though no mount or layer can be seen"
            ),
            "look in other containers and at lazily unmounted filesystems, or name another device",
        )
    }

    fn is_still(&self, probe: &Probe, part: &Device) -> Result<(), Refusal> {
        if probe.number == part.number {
            return Ok(());
        }
        let (name, number) = (&part.name, probe.number);
        let what = if part.name == self.device.name { "it" } else { name.as_str() };
        Err(self.refuse(
            RefusalKind::Changed,
            format!("{what} became {number} while it was checked"),
            "check again",
        ))
    }

    /// A virtual machine that uses a raw disk holds it by nothing but an open descriptor, and a
    /// database by a mapping whose descriptor is closed. Whoever only reads is no concern: a monitor,
    /// or a process that has locked the device for others.
    fn not_open_elsewhere(&self) -> Result<(), Refusal> {
        let own = self.system.own_pid();
        for process in self.system.processes().into_iter().filter(|process| *process != own) {
            let folder = self.system.proc.join(process.to_string());
            let descriptors = tables(self.system, &folder, process);
            let opened = descriptors.iter().find_map(|table| self.opened_in(&folder, table));
            let mapped =
                || Some((self.mapped_in(&folder, process)?, "mapped for writing".to_owned()));
            let Some((part, how)) = opened.or_else(mapped) else { continue };
            let name = sysfs::read_optional(&folder.join("comm")).unwrap_or_default();
            return Err(self.refuse(
                RefusalKind::Busy,
                format!("process {process} ({name}) has {part} {how}"),
                "end that process first",
            ));
        }
        Ok(())
    }

    /// Names the device, part or backing file that a table of descriptors has open for writing, and how. `table` has `fd`
    /// and `fdinfo`, `process` the root.
    fn opened_in(&self, process: &Path, table: &Path) -> Option<(String, String)> {
        sysfs::names(&table.join("fd")).into_iter().find_map(|descriptor| {
            let link = table.join("fd").join(&descriptor);
            let information = table.join("fdinfo").join(&descriptor);
            match self.at_link(&link) {
                Some(part) if opened_for_writing(&information) => {
                    Some((part, "open for writing".to_owned()))
                }
                Some(_) => None,
                None => {
                    let is_ring = fs::read_link(&link).is_ok_and(|to| to == Path::new(RING));
                    is_ring.then(|| self.registered_in(process, &information))?
                }
            }
        })
    }

    /// Names the device, part or backing file that is registered with an io_uring, whose descriptor may be closed. The ring
    /// does not tell whether for writing.
    fn registered_in(&self, process: &Path, information: &Path) -> Option<(String, String)> {
        let registered = |part: String| (part, "registered with an io_uring".to_owned());
        for _ in 0..RING_TRIES {
            let text = sysfs::read_optional(information)?;
            let mut lines = text.lines().skip_while(|line| !line.starts_with("UserFiles:"));
            // The kernel leaves the files out while a thread is inside the ring.
            if lines.next().is_some() {
                let mut files = lines.map_while(|line| {
                    let (slot, path) = line.trim_start().split_once(": ")?;
                    slot.parse::<u32>().ok().map(|_| mounts::unescape(path))
                });
                return files.find_map(|path| self.at_shown(process, &path)).map(registered);
            }
            sleep(RING_PAUSE);
        }
        Some((
            "files".to_owned(),
            "registered with an io_uring that is too busy to name them".to_owned(),
        ))
    }

    /// Names the device, part or backing file that a process has open under this path. Some kernels show the last component
    /// alone.
    fn at_shown(&self, process: &Path, shown: &Path) -> Option<String> {
        let shown = shown.to_str()?.trim_end_matches(" (deleted)");
        let below = process.join("root").join(shown.trim_start_matches('/'));
        if shown.starts_with('/') && self.system.nodes.kind(&below).is_ok() {
            return self.at_link(&below);
        }
        let name = Path::new(shown).file_name()?;
        if let Some(part) = self.concerned.iter().find(|part| name == part.name.as_str()) {
            return Some(self.named(part));
        }
        let mut files =
            self.twins.as_ref().ok()?.files.iter().filter_map(|file| file.path.as_ref());
        let is_file = files.any(|path| path.file_name() == Some(name));
        is_file.then(|| format!("the file behind {}", self.device.name))
    }

    fn at_link(&self, link: &Path) -> Option<String> {
        let part = self.part_at(link)?;
        if self.is_behind(link) {
            return Some(format!("the file behind {}", part.name));
        }
        Some(self.named(part))
    }

    /// Names the device, part or backing file that a process has mapped for writing. The first thread of a process may have
    /// ended; then another one has its memory.
    fn mapped_in(&self, folder: &Path, process: u32) -> Option<String> {
        let maps = |folder: &Path| {
            let text = sysfs::read_optional(&folder.join("maps")).filter(|text| !text.is_empty());
            text.map(|text| (folder.to_owned(), text))
        };
        let others = || {
            let mut others = threads(folder).into_iter().filter(|thread| *thread != process);
            others.find_map(|thread| maps(&self.system.proc.join(thread.to_string())))
        };
        let (folder, maps) = maps(folder).or_else(others)?;
        maps.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let (range, permissions) = (words.next()?, words.next()?);
            let inode = words.nth(2)?;
            if !permissions.ends_with('s') || inode == "0" {
                return None;
            }
            let link = folder.join("map_files").join(range);
            let part = self.at_link(&link)?;
            (permissions.contains('w') || may_be_written(&folder, range)).then_some(part)
        })
    }
}

/// Folders with the tables of descriptors of a process: its own, and those of threads that have
/// another one.
fn tables(system: &System, folder: &Path, process: u32) -> Vec<PathBuf> {
    let mut tables = vec![folder.to_owned()];
    let with_own = threads(folder)
        .into_iter()
        .filter(|thread| *thread != process && !system.nodes.share_descriptors(process, *thread));
    tables.extend(with_own.map(|thread| folder.join("task").join(thread.to_string())));
    tables
}

/// Numbers of the threads of a process.
fn threads(folder: &Path) -> Vec<u32> {
    sysfs::names(&folder.join("task")).iter().filter_map(|name| name.parse().ok()).collect()
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

/// Mounts of every mount namespace that can be seen, with a process that sees it. Process 1 and this
/// one must be readable; one that ends meanwhile is no error.
fn all_mounts(system: &System) -> Result<Vec<(u32, Vec<MountLine>)>, Error> {
    let own = system.own_pid();
    let mut all = vec![(1, mounts::of(&system.proc.join("1/mountinfo"))?)];
    all.push((own, mounts::of_self(system)?));
    let mut namespaces = BTreeSet::new();
    for process in system.processes() {
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
