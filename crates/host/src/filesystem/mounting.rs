//! Mounting and unmounting through the kernel's own interface, which tells why it refuses.

use crate::caches;
use crate::detached::detached;
use crate::error::{Error, Result};
use crate::sysfs;
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{MoveMountFlags, UnmountFlags, move_mount, unmount as umount};
use seekwell_model::filesystems::FilesystemDefinition;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(10);
/// A cold step waits this long for stray readers of its files.
const REMOUNT_TIMEOUT: Duration = Duration::from_secs(10);

/// Mounts a device. Options are as for `mount -o`, one per entry.
///
/// # Errors
/// [`Error::Argument`] with the kernel's own words where it has some.
pub fn mount(
    definition: &FilesystemDefinition,
    source: &Path,
    target: &Path,
    options: &[String],
) -> Result<()> {
    let kind = definition.kernel_type.ok_or_else(|| {
        Error::Argument(format!("{} is not mounted; use the device itself", definition.name))
    })?;
    mount_as(kind, definition.kernel_config, source, target, options)
}

/// Mounts a source as a kind of filesystem that this kernel configuration brings.
///
/// # Errors
/// As [`mount`].
pub(crate) fn mount_as(
    kind: &str,
    kernel_config: &str,
    source: &Path,
    target: &Path,
    options: &[String],
) -> Result<()> {
    let mounted = detached(kind, kernel_config, source, options)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&mounted, "", CWD, target, flags).map_err(Error::io("mount on", target))
}

/// Unmounts, waiting while a process still uses it.
///
/// # Errors
/// [`Error::Timeout`] with the processes that hold it.
pub fn unmount(target: &Path, timeout: Duration) -> Result<()> {
    let begin = Instant::now();
    loop {
        match umount(target, UnmountFlags::NOFOLLOW) {
            Ok(()) => return Ok(()),
            Err(Errno::BUSY) if begin.elapsed() < timeout => sleep(POLL),
            Err(Errno::BUSY) => {
                return Err(Error::Timeout {
                    what: format!("{} is still in use{}", target.display(), users(target)),
                    waited: begin.elapsed(),
                    remedy: "end these processes, or find them with: fuser -vm PATH".to_owned(),
                });
            }
            Err(error) => return Err(Error::io("unmount", target)(error)),
        }
    }
}

/// Processes with a file or their working folder below a path.
fn users(target: &Path) -> String {
    let proc = PathBuf::from("/proc");
    let below = |link: &Path| fs::read_link(link).is_ok_and(|path| path.starts_with(target));
    let uses = |process: &String| {
        let folder = proc.join(process);
        process.bytes().all(|byte| byte.is_ascii_digit())
            && (["cwd", "root", "exe"].iter().any(|name| below(&folder.join(name)))
                || sysfs::names(&folder.join("fd"))
                    .iter()
                    .any(|number| below(&folder.join("fd").join(number))))
    };
    let described = sysfs::names(&proc).into_iter().filter(uses).map(|process| {
        let name = sysfs::read_optional(&proc.join(&process).join("comm")).unwrap_or_default();
        format!("{process} ({name})")
    });
    let described: Vec<String> = described.collect();
    if described.is_empty() { String::new() } else { format!(" by {}", described.join(", ")) }
}

/// Unmounts, drops the buffers of the device and mounts again, so that the next step reads
/// everything from the device; a filesystem in memory stays as it is. The unmount frees the pages, inodes and names of this filesystem;
/// those of the host stay, so that no step is charged for reading programs from another disk.
///
/// # Errors
/// Those of [`unmount`], [`caches::drop_device_buffers`] and [`mount`].
pub fn remount_cold(
    definition: &FilesystemDefinition,
    source: &Path,
    target: &Path,
    options: &[String],
) -> Result<()> {
    if definition.is_in_memory {
        return Ok(());
    }
    unmount(target, REMOUNT_TIMEOUT)?;
    let device = File::open(source).map_err(Error::io("open", source))?;
    caches::drop_device_buffers(&device)?;
    mount(definition, source, target, options)
}
