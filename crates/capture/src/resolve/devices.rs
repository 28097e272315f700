//! Devices that issue the block requests of files.

use super::Resolver;
use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

const S_IFMT: u32 = 0o170_000;
const S_IFBLK: u32 = 0o060_000;
/// Types of files that a filesystem keeps on its device: regular files, directories, links.
const KEPT: [u32; 3] = [0o100_000, 0o040_000, 0o120_000];
/// Filesystems on others, which `/proc` does not name.
const ON_OTHERS: [&str; 2] = ["overlay", "zfs"];

impl Resolver {
    /// Devices that issue the requests of the trace's files, each once: of a loop device over a file on a disk of the
    /// load, only the loop device. Empty when that of a file is not known.
    pub(crate) fn devices(&self) -> Vec<u32> {
        if !self.is_here {
            return Vec::new();
        }
        let mounts = read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let files = self.entries.iter().filter(|entry| entry.inside);
        let files = files.filter_map(|entry| Some((entry.device?, &*entry.path, entry.mode?)));
        Machine { sys: Path::new("/sys"), mounts: &mounts }.serving(files).unwrap_or_default()
    }
}

/// The devices of a machine, as `/sys` and `/proc` show them.
struct Machine<'a> {
    sys: &'a Path,
    mounts: &'a str,
}

impl Machine<'_> {
    fn serving<'a>(&self, files: impl Iterator<Item = (u32, &'a str, u32)>) -> Option<Vec<u32>> {
        let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
        for (device, path, mode) in files {
            let is_device = mode & S_IFMT == S_IFBLK;
            if !is_device && (!KEPT.contains(&(mode & S_IFMT)) || !seen.insert(device)) {
                continue;
            }
            let tops = match (is_device, device >> 20) {
                (true, _) => vec![number(rustix::fs::stat(path).ok()?.st_rdev)],
                (false, 0) => self.mounted(path)?,
                (false, _) => vec![device],
            };
            tops.into_iter().try_for_each(|top| self.issuing(top, &mut found))?;
        }
        let mut below = BTreeSet::new();
        found.iter().for_each(|device| self.below(*device, &mut below));
        Some(found.difference(&below).copied().collect())
    }

    fn folder(&self, device: u32) -> PathBuf {
        self.sys.join(format!("dev/block/{}:{}", device >> 20, device & 0xf_ffff))
    }

    /// Adds the devices that issue the requests of this one: the disk of a partition, the members of an array. `None`
    /// for what issues no requests (zram, pmem) or is gone.
    fn issuing(&self, device: u32, found: &mut BTreeSet<u32>) -> Option<()> {
        let folder = self.folder(device).canonicalize().ok()?;
        let is_partition = folder.join("partition").exists();
        let disk = if is_partition { folder.parent()? } else { &folder };
        if disk.join("mq").exists() {
            found.insert(read_number(&disk.join("dev"))?);
            return Some(());
        }
        let members = numbers_in(&disk.join("slaves"));
        if members.is_empty() {
            return None;
        }
        members.into_iter().try_for_each(|member| self.issuing(member, found))
    }

    /// Adds the devices that serve the file below a loop device.
    fn below(&self, device: u32, found: &mut BTreeSet<u32>) {
        let backing = read_to_string(self.folder(device).join("loop/backing_file"));
        let file = backing.ok().and_then(|path| rustix::fs::stat(path.trim_end()).ok());
        let Some(file) = file else { return };
        let mut disks = BTreeSet::new();
        let _ = self.issuing(number(file.st_dev), &mut disks);
        for disk in disks.into_iter().filter(|disk| *disk != device) {
            if found.insert(disk) {
                self.below(disk, found);
            }
        }
    }

    /// Devices of the filesystem without a number of its own at this path: none in memory and over a network; `None`
    /// when they are not known.
    fn mounted(&self, path: &str) -> Option<Vec<u32>> {
        let mounts = self.mounts.lines().filter_map(|line| {
            let (place, origin) = line.split_once(" - ")?;
            let point = Path::new(place.split(' ').nth(4)?);
            Path::new(path).starts_with(point).then_some((point, origin))
        });
        let (_, origin) = mounts.max_by_key(|(point, _)| point.as_os_str().len())?;
        let mut words = origin.split(' ');
        let (kind, source) = (words.next()?, words.next()?);
        if ON_OTHERS.contains(&kind) {
            return None;
        }
        if !source.starts_with("/dev/") {
            return Some(Vec::new());
        }
        let device = number(rustix::fs::stat(source).ok()?.st_rdev);
        let pools = read_dir(self.sys.join("fs/btrfs")).into_iter().flatten().flatten();
        let mut pools = pools.map(|pool| numbers_in(&pool.path().join("devices")));
        Some(pools.find(|pool| pool.contains(&device)).unwrap_or_else(|| vec![device]))
    }
}

/// Numbers of the devices that this folder links to.
fn numbers_in(folder: &Path) -> Vec<u32> {
    let links = read_dir(folder).into_iter().flatten().flatten();
    links.filter_map(|link| read_number(&link.path().join("dev"))).collect()
}

fn read_number(file: &Path) -> Option<u32> {
    let text = read_to_string(file).ok()?;
    let (major, minor) = text.trim_end().split_once(':')?;
    Some(major.parse::<u32>().ok()? << 20 | minor.parse::<u32>().ok()?)
}

/// The number of a device as traces have it.
fn number(device: u64) -> u32 {
    rustix::fs::major(device) << 20 | rustix::fs::minor(device)
}

#[cfg(test)]
mod tests;
