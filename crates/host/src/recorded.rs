//! The filesystem that a recording was made on, where it is mounted here, and a directory on it for a replay.

use crate::caches;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::export::random;
use crate::mounts::{self, mount_of};
use crate::nodes::DeviceNumber;
use crate::sysfs::{self, System};
use crate::undo::{EXTENSION, Target, Undo, checked};
use rustix::fs::{Advice, Mode, OFlags, fadvise, mkdir, open};
use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Bits of the minor number in a device number of a trace.
const MINOR_BITS: u32 = 20;
const MINOR: u32 = (1 << MINOR_BITS) - 1;

/// A file as a trace has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFile {
    /// Absolute path.
    pub path: PathBuf,
    /// Device number: major number << 20 | minor number.
    pub device: u32,
    /// Inode number.
    pub inode: u64,
}

/// A mounted filesystem with files of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedFilesystem {
    /// Directory in which a replay may make its own.
    directory: PathBuf,
    kind: String,
    source: PathBuf,
}

/// Reason why a replay cannot run next to the recorded files.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Absent {
    /// None of them is here.
    #[error("the filesystem that it was recorded on is not here")]
    Elsewhere,
    /// They are here, and another kernel recorded them.
    #[error("it was recorded on Linux {recorded}, and this is Linux {here}")]
    Kernel {
        /// Release in the recording.
        recorded: String,
        /// Release of this machine.
        here: String,
    },
    /// They are here, and the recording names no kernel.
    #[error("the recording does not say on which kernel it was made")]
    UnnamedKernel,
}

/// Counters of a disk since the machine's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskCounters {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Completed reads and writes.
    pub requests: u64,
    /// Sum of the durations of reads and writes, milliseconds.
    pub in_progress_ms: u64,
}

impl DiskCounters {
    /// Reads `/sys/dev/block/MAJOR:MINOR/stat`, whose sectors have 512 bytes.
    fn parse(text: &str) -> Option<Self> {
        let fields: Option<Vec<u64>> =
            text.split_whitespace().take(8).map(|field| field.parse().ok()).collect();
        let &[reads, _, read, read_ms, writes, _, written, write_ms] = fields?.as_slice() else {
            return None;
        };
        Some(Self {
            read_bytes: read.saturating_mul(512),
            written_bytes: written.saturating_mul(512),
            requests: reads + writes,
            in_progress_ms: read_ms + write_ms,
        })
    }

    /// The counts since then.
    #[must_use]
    pub fn since(self, then: Self) -> Self {
        Self {
            read_bytes: self.read_bytes.saturating_sub(then.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(then.written_bytes),
            requests: self.requests.saturating_sub(then.requests),
            in_progress_ms: self.in_progress_ms.saturating_sub(then.in_progress_ms),
        }
    }
}

impl RecordedFilesystem {
    /// The filesystem of a recording that this kernel made: one of its files is here, with the same inode on the
    /// same device. A replay will work next to `folder`, or in it where it is the root of the filesystem. Else the reason
    /// why there is none.
    ///
    /// # Errors
    /// When the mount table cannot be read.
    pub fn find(
        system: &System,
        kernel: Option<&str>,
        files: &[RecordedFile],
        folder: Option<&Path>,
    ) -> Result<std::result::Result<Self, Absent>> {
        let lines = mounts::of_self(system)?;
        let is_here = |file: &&RecordedFile| {
            let Ok(found) = fs::symlink_metadata(&file.path) else { return false };
            let mount = mount_of(&lines, &file.path).and_then(|line| joined(line.number));
            // Each subvolume of btrfs has a number of its own.
            let own = joined(DeviceNumber::from_raw(found.dev()));
            found.ino() == file.inode && [mount, own].contains(&Some(file.device))
        };
        let Some(file) = files.iter().find(is_here) else { return Ok(Err(Absent::Elsewhere)) };
        let release = sysfs::read_optional(&system.proc.join("sys/kernel/osrelease"));
        let release = release.as_deref().unwrap_or_default().trim();
        if kernel != Some(release) {
            return Ok(Err(kernel.map_or(Absent::UnnamedKernel, |recorded| Absent::Kernel {
                recorded: recorded.to_owned(),
                here: release.to_owned(),
            })));
        }
        let own = mount_of(&lines, &file.path);
        let is_on_it = |path: &&Path| path.is_dir() && mount_of(&lines, path) == own;
        let place = folder.filter(is_on_it).or(file.path.parent()).unwrap_or(Path::new("/"));
        let directory = place.parent().filter(is_on_it).unwrap_or(place);
        let own = own.filter(|_| is_on_it(&directory)).ok_or(Absent::Elsewhere);
        Ok(own.map(|mount| Self {
            directory: directory.to_owned(),
            kind: mount.kind.clone(),
            source: mount.source.clone(),
        }))
    }

    /// Filesystem and device in words.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{} on {}", self.kind, self.source.display())
    }

    /// The disk's number as block requests of a trace have it; `None` for a filesystem without one.
    #[must_use]
    pub fn disk(&self, system: &System) -> Option<u32> {
        let found = fs::metadata(&self.source).ok()?;
        let device = Device::by_number(system, DeviceNumber::from_raw(found.rdev()))?;
        // Requests are those of the whole disk.
        joined(device.disk().unwrap_or(device).number)
    }
}

/// A device number as traces have it.
fn joined(DeviceNumber { major, minor }: DeviceNumber) -> Option<u32> {
    (major < 1 << (32 - MINOR_BITS) && minor <= MINOR).then_some(major << MINOR_BITS | minor)
}

/// Counters of the disk with this number; `None` where the kernel has none.
#[must_use]
pub fn counters(system: &System, disk: u32) -> Option<DiskCounters> {
    let number = DeviceNumber { major: disk >> MINOR_BITS, minor: disk & MINOR };
    let path = system.sys.join(format!("dev/block/{number}/stat"));
    DiskCounters::parse(&sysfs::read_optional(&path)?)
}

/// A directory of a replay on the filesystem of its recording. It is on an undo list before it is made, and goes
/// with this value.
#[derive(Debug)]
pub struct CheckDirectory {
    undo: Undo,
    path: PathBuf,
    root: OwnedFd,
}

impl CheckDirectory {
    /// Makes one; the undo list gets into the folder `lists`.
    ///
    /// # Errors
    /// When list or directory cannot be made.
    pub fn make(system: &System, lists: &Path, on: &RecordedFilesystem) -> Result<Self> {
        let digits = random()?;
        let path = on.directory.join(checked::name(&digits));
        let run = format!("{}-check-{digits}", system.own_pid());
        let mut undo = Undo::create(system, &lists.join(format!("{run}.{EXTENSION}")), &run)?;
        undo.record(&Target::CheckDirectory { path: path.clone() })?;
        match made(&path) {
            Ok(root) => Ok(Self { undo, path, root }),
            Err(error) => {
                // The list names a directory that is not there.
                let _ = undo.restore_and_remove();
                Err(error)
            }
        }
    }

    /// A path to it that leads nowhere else, as long as it is open.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.root.as_raw_fd()))
    }

    /// Writes its filesystem back.
    ///
    /// # Errors
    /// The kernel's.
    pub fn sync(&self) -> Result<()> {
        caches::sync_filesystem(&self.root)
    }

    /// Drops the pages of its files, which must be written back, from the page cache.
    ///
    /// # Errors
    /// When a directory cannot be listed.
    pub fn drop_pages(&self) -> Result<()> {
        let mut left = vec![self.path()];
        while let Some(directory) = left.pop() {
            let listed = fs::read_dir(&directory).map_err(Error::io("list", &directory))?;
            for entry in listed {
                let entry = entry.map_err(Error::io("list", &directory))?;
                let kind = entry.file_type().map_err(Error::io("examine", entry.path()))?;
                if kind.is_dir() {
                    left.push(entry.path());
                } else if kind.is_file() {
                    let file = File::open(entry.path()).map_err(Error::io("open", entry.path()))?;
                    // It only advises.
                    let _ = fadvise(&file, 0, None, Advice::DontNeed);
                }
            }
        }
        Ok(())
    }

    /// Makes it anew, empty.
    ///
    /// # Errors
    /// When it cannot be removed or made.
    pub fn renew(&mut self) -> Result<()> {
        checked::remove(&self.path).map_err(Error::Argument)?;
        self.root = made(&self.path)?;
        Ok(())
    }

    /// Removes it.
    ///
    /// # Errors
    /// When it cannot be removed, or the undo list cannot be written; the list stays then.
    pub fn remove(mut self) -> Result<()> {
        let restored = self.undo.restore_and_remove()?;
        match restored.problems.first() {
            Some(problem) => Err(Error::Argument(problem.clone())),
            None => Ok(()),
        }
    }
}

impl Drop for CheckDirectory {
    fn drop(&mut self) {
        // What cannot be removed stays on the list, which the next command reads.
        let _ = self.undo.restore_and_remove();
    }
}

fn made(path: &Path) -> Result<OwnedFd> {
    mkdir(path, Mode::RWXU).map_err(Error::io("make", path))?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::empty()).map_err(Error::io("open", path))
}
