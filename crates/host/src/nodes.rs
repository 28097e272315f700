//! Questions that only a device node answers: its number, and whether it is in use.

use crate::attributes::NR_REQUESTS;
use crate::loop_lock::LoopLock;
use crate::loop_status;
use rustix::fs::{FileType, Mode, OFlags, fstat, open, stat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Number of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct DeviceNumber {
    pub major: u32,
    pub minor: u32,
}

impl std::fmt::Display for DeviceNumber {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.major, self.minor)
    }
}

impl DeviceNumber {
    pub(crate) fn from_raw(raw: u64) -> Self {
        Self { major: rustix::fs::major(raw), minor: rustix::fs::minor(raw) }
    }

    /// Reads `MAJOR:MINOR`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

/// Target of a path, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    Block(DeviceNumber),
    /// With the device that its filesystem is on.
    Regular(DeviceNumber),
    /// With the device that its filesystem is on.
    Directory(DeviceNumber),
    Other,
}

/// Result of an exclusive open of a block device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub number: DeviceNumber,
    pub size_bytes: u64,
    /// `None` on kernels before 5.15.
    pub diskseq: Option<u64>,
}

/// A file, by any of its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId {
    pub device: u64,
    pub inode: u64,
}

/// Facts of a file that two filesystems show alike when one of them shows a file of the other, as overlayfs does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileFacts {
    pub id: FileId,
    pub size: u64,
    /// Seconds and nanoseconds of the last change of the content.
    pub modified: (i64, i64),
    /// The same of the last change of the inode.
    pub changed: (i64, i64),
}

/// Backing file or device of an attached loop device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BehindLoop {
    File(FileId),
    Device(DeviceNumber),
}

/// The place of a loop device's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Behind {
    pub what: BehindLoop,
    /// First byte.
    pub offset: u64,
}

/// Inode of the first PID namespace: `PROC_PID_INIT_INO` of the kernel.
pub(crate) const FIRST_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// The questions to device nodes. A test answers them from a script, because no test may need a
/// spare disk.
pub(crate) trait Nodes: Debug + Send + Sync {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;
    fn kind(&self, path: &Path) -> io::Result<NodeKind>;
    /// Opens with `O_EXCL`, which fails with `EBUSY` when a filesystem, swap or another layer of
    /// the kernel holds the device, in any namespace, and closes again.
    fn probe(&self, path: &Path) -> io::Result<Probe>;
    /// Bytes at an offset; fewer at the end of the device.
    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>>;
    /// Returns the facts of the file that a path leads to, links followed.
    fn facts(&self, path: &Path) -> io::Result<FileFacts> {
        let facts = fs::metadata(path)?;
        Ok(FileFacts {
            id: FileId { device: facts.dev(), inode: facts.ino() },
            size: facts.len(),
            modified: (facts.mtime(), facts.mtime_nsec()),
            changed: (facts.ctime(), facts.ctime_nsec()),
        })
    }
    /// Returns the place of a loop device's bytes; `None` when it is free.
    fn behind_loop(&self, node: &Path) -> io::Result<Option<Behind>>;
    /// True when every process of the machine is in this procfs: it is that of the first PID namespace.
    fn sees_all_processes(&self, proc: &Path) -> io::Result<bool>;
    /// Locks a loop device for this process, see [`LoopLock`]; `None` when another one has it.
    fn lock_loop(&self, dev: &Path, kernel_name: &str) -> io::Result<Option<LoopLock>>;
    /// Returns the loop devices that another process has locked.
    fn locked_loops(&self, dev: &Path, kernel_names: &[String]) -> BTreeSet<String>;
    /// True for a loop device over one of Seekwell's images.
    fn has_our_image(&self, node: &Path) -> bool;
    /// A descriptor that keeps the number of a device from being given to another one.
    fn hold(&self, path: &Path) -> io::Result<Option<File>>;
    /// True when two tasks have one table of descriptors; `false` if that is unknown.
    fn share_descriptors(&self, _one: u32, _other: u32) -> bool {
        false
    }
    /// Writes a file of sysfs or procfs once.
    fn write_once(&self, path: &Path, text: &str) -> io::Result<()> {
        fs::write(path, text)
    }
}

impl dyn Nodes {
    /// Writes a setting of the kernel. Linux refuses a queue's scheduler and `nr_requests` with `EBUSY` while another
    /// process changes the same queue (seen with 6.18), so that answer is waited out.
    ///
    /// Linux 6.12 informs a scheduler of a new queue length before the length is in force
    /// (`blk_mq_update_nr_requests`), and mq-deadline and bfq derive from the old one how many writes they let in: 1 or
    /// 2 on a device of depth 1, whatever is asked for. So a length is set to the number next to it first.
    pub(crate) fn write_setting(&self, path: &Path, text: &str) -> io::Result<()> {
        let is_length = path.file_name().is_some_and(|name| name == NR_REQUESTS);
        if let Some(length) = text.parse::<u32>().ok().filter(|_| is_length) {
            let neighbour = if length < MOST_REQUESTS { length + 1 } else { length - 1 };
            // Where the kernel refuses it, it says so about the length itself, or there is no scheduler to inform.
            if let Err(error) = self.write_patiently(path, &neighbour.to_string())
                && error.raw_os_error() == Some(libc::EBUSY)
            {
                return Err(error);
            }
        }
        self.write_patiently(path, text)
    }

    fn write_patiently(&self, path: &Path, text: &str) -> io::Result<()> {
        let mut tries = 0..BUSY_TRIES;
        loop {
            match self.write_once(path, text) {
                Err(error)
                    if error.raw_os_error() == Some(libc::EBUSY) && tries.next().is_some() =>
                {
                    sleep(BUSY_PAUSE);
                }
                done => return done,
            }
        }
    }
}

/// `MAX_SCHED_RQ` of the kernel.
const MOST_REQUESTS: u32 = 256;

/// Further tries of a setting that is busy, and the pause before each: a second in all, where a change takes
/// milliseconds.
const BUSY_TRIES: u32 = 200;
const BUSY_PAUSE: Duration = Duration::from_millis(5);

/// The kernel's own answers.
#[derive(Debug)]
pub(crate) struct Kernel;

impl Nodes for Kernel {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        fs::canonicalize(path)
    }

    fn kind(&self, path: &Path) -> io::Result<NodeKind> {
        let facts = stat(path)?;
        let filesystem = DeviceNumber::from_raw(facts.st_dev);
        Ok(match FileType::from_raw_mode(facts.st_mode) {
            FileType::BlockDevice => NodeKind::Block(DeviceNumber::from_raw(facts.st_rdev)),
            FileType::RegularFile => NodeKind::Regular(filesystem),
            FileType::Directory => NodeKind::Directory(filesystem),
            _ => NodeKind::Other,
        })
    }

    fn probe(&self, path: &Path) -> io::Result<Probe> {
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let node = open(path, flags, Mode::empty())?;
        let facts = fstat(&node)?;
        Ok(Probe {
            number: DeviceNumber::from_raw(facts.st_rdev),
            size_bytes: crate::blkdev::size_bytes(node.as_fd())?,
            diskseq: crate::blkdev::diskseq(node.as_fd()),
        })
    }

    fn read_at(&self, path: &Path, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let file = File::open(path)?;
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            let position = offset + filled as u64;
            match file.read_at(&mut bytes[filled..], position) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn behind_loop(&self, node: &Path) -> io::Result<Option<Behind>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = match open(node, flags, Mode::empty()) {
            Err(Errno::NXIO) => return Ok(None),
            opened => opened?,
        };
        let info = match loop_status::info(opened.as_fd()) {
            Err(Errno::NXIO) => return Ok(None),
            info => info?,
        };
        let what = match info.rdevice {
            0 => BehindLoop::File(FileId { device: info.device, inode: info.inode }),
            number => BehindLoop::Device(DeviceNumber::from_raw(number)),
        };
        Ok(Some(Behind { what, offset: info.offset }))
    }

    fn sees_all_processes(&self, proc: &Path) -> io::Result<bool> {
        // Some machines shut their process 1 off from root as well. The first thread of the kernel serves too:
        // the /proc of another PID namespace has no process of the first one.
        let namespace = match stat(proc.join("1/ns/pid")) {
            Err(Errno::ACCESS | Errno::PERM) => stat(proc.join("2/ns/pid"))?,
            found => found?,
        };
        Ok(namespace.st_ino == FIRST_PID_NAMESPACE)
    }

    fn lock_loop(&self, dev: &Path, kernel_name: &str) -> io::Result<Option<LoopLock>> {
        LoopLock::take(dev, kernel_name)
    }

    fn locked_loops(&self, dev: &Path, kernel_names: &[String]) -> BTreeSet<String> {
        LoopLock::taken(dev, kernel_names)
    }

    fn has_our_image(&self, node: &Path) -> bool {
        loop_status::has_our_image(node)
    }

    fn hold(&self, path: &Path) -> io::Result<Option<File>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        Ok(Some(File::from(open(path, flags, Mode::empty())?)))
    }

    fn share_descriptors(&self, one: u32, other: u32) -> bool {
        /// `KCMP_FILES` of `linux/kcmp.h`.
        const FILES: libc::c_long = 2;
        // SAFETY: kcmp takes numbers alone and changes nothing.
        let answer = unsafe { libc::syscall(libc::SYS_kcmp, one, other, FILES, 0_u64, 0_u64) };
        answer == 0
    }
}
