//! Mounts without a mount point, through the kernel's own interface, which tells why it refuses.

use crate::error::{Error, Result};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};
use std::os::fd::OwnedFd;
use std::path::Path;

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

/// Mounts a source as a kind of filesystem that this kernel configuration brings. The mount ends when
/// it is closed, unless it gets a mount point.
///
/// # Errors
/// [`Error::Argument`] with the kernel's own words where it has some.
pub(crate) fn detached(
    kind: &str,
    kernel_config: &str,
    source: &Path,
    options: &[String],
) -> Result<OwnedFd> {
    let error = |why: String| {
        Error::Argument(format!("cannot mount {} as {kind}: {why}", source.display()))
    };
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
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
        .map_err(|errno| error(errno.to_string()))
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
