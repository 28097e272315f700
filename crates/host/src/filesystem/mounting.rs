//! Mounting and unmounting through the kernel's own interface, which tells why it refuses.

use crate::caches;
use crate::error::{Error, Result};
use crate::sysfs;
use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, UnmountFlags, fsconfig_create,
    fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount, unmount as umount,
};
use seekwell_model::filesystems::FilesystemDefinition;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(10);
/// A cold step waits this long for stray readers of its files.
const REMOUNT_TIMEOUT: Duration = Duration::from_secs(10);

/// Options that are a matter of the mount and not of the filesystem.
const ATTRIBUTES: [(&str, MountAttrFlags); 9] = [
    ("nosuid", MountAttrFlags::MOUNT_ATTR_NOSUID),
    ("nodev", MountAttrFlags::MOUNT_ATTR_NODEV),
    ("noexec", MountAttrFlags::MOUNT_ATTR_NOEXEC),
    ("noatime", MountAttrFlags::MOUNT_ATTR_NOATIME),
    ("relatime", MountAttrFlags::MOUNT_ATTR_RELATIME),
    ("strictatime", MountAttrFlags::MOUNT_ATTR_STRICTATIME),
    ("nodiratime", MountAttrFlags::MOUNT_ATTR_NODIRATIME),
    ("nosymfollow", MountAttrFlags::MOUNT_ATTR_NOSYMFOLLOW),
    ("ro", MountAttrFlags::MOUNT_ATTR_RDONLY),
];

/// Options that only /etc/fstab and mount(8) know.
const FSTAB_ONLY: [&str; 7] = ["defaults", "auto", "noauto", "nofail", "_netdev", "user", "nouser"];

/// Mounts a device. Options are as for `mount -o`, one per entry.
///
/// # Errors
/// [`Error::Mount`] with the kernel's own words where it has some.
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
    let error =
        |why: String| Error::Mount { source_path: source.to_owned(), kind: kind.to_owned(), why };
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC).map_err(|source| match source {
        Errno::NODEV => {
            error(format!("this kernel has no {kind}; use a kernel with {kernel_config}"))
        }
        other => error(format!("{other}; root is needed")),
    })?;
    // Nothing that a workload leaves in a filesystem is a device or gives rights.
    let mut attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let configured = configure(&context, source, options, &mut attributes);
    configured.map_err(|(option, errno)| {
        let log = log(&context);
        let said = if log.is_empty() { errno.to_string() } else { log };
        error(match option {
            Some(option) => format!("the kernel rejects the option '{option}': {said}"),
            None if errno == Errno::ROFS => format!(
                "{said}: the device, or this kernel's driver, can only be read; use a kernel with {kernel_config}"
            ),
            None => format!("{said}; the kernel's log (dmesg) may say more"),
        })
    })?;
    let mounted = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        .map_err(|errno| error(errno.to_string()))?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&mounted, "", CWD, target, flags).map_err(Error::errno("mount on", target))
}

fn configure(
    context: &OwnedFd,
    source: &Path,
    options: &[String],
    attributes: &mut MountAttrFlags,
) -> std::result::Result<(), (Option<String>, Errno)> {
    fsconfig_set_string(context, "source", source).map_err(|errno| (None, errno))?;
    for option in options {
        if option.is_empty() || option.starts_with("x-") || FSTAB_ONLY.contains(&option.as_str()) {
            continue;
        }
        let attribute = ATTRIBUTES.iter().find(|(name, _)| name == option);
        if let Some((_, flag)) = attribute {
            *attributes |= *flag;
            if option != "ro" {
                continue;
            }
        }
        let set = match option.split_once('=') {
            Some((key, value)) => fsconfig_set_string(context, key, value),
            None => fsconfig_set_flag(context, option.as_str()),
        };
        set.map_err(|errno| (Some(option.clone()), errno))?;
    }
    fsconfig_create(context).map_err(|errno| (None, errno))
}

/// Messages of the kernel about this mount: one message per read, each with a letter for its level.
fn log(context: &OwnedFd) -> String {
    let mut lines = Vec::new();
    let mut buffer = [0_u8; 1024];
    while let Ok(length) = rustix::io::read(context, &mut buffer) {
        if length == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&buffer[..length]);
        let message = text.get(2..).unwrap_or_default().trim();
        lines.push(message.to_owned());
    }
    lines.join("; ")
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
            Err(error) => return Err(Error::errno("unmount", target)(error)),
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
