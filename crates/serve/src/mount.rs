//! A FUSE file system of this process that is mounted nowhere.

use rustix::fd::{AsRawFd as _, OwnedFd};
use rustix::fs::{Mode, OFlags, open};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};
use std::path::Path;

/// Name of its only file.
pub const FILE_NAME: &str = "seekwell-served-device";

/// A file system: the connection to the kernel, and the directory.
#[derive(Debug)]
pub(crate) struct Mount {
    pub connection: OwnedFd,
    /// Keeps it until the file is opened.
    pub directory: OwnedFd,
}

impl Mount {
    /// Makes one.
    ///
    /// # Errors
    /// The kernel's error: without `/dev/fuse`, or without root.
    pub(crate) fn new(device: &Path) -> rustix::io::Result<Self> {
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let connection = open(device, flags, Mode::empty())?;
        let context = fsopen("fuse", FsOpenFlags::FSOPEN_CLOEXEC)?;
        let number = connection.as_raw_fd().to_string();
        for (key, value) in [
            ("source", "seekwell"),
            ("fd", &number),
            ("rootmode", "40700"),
            ("user_id", "0"),
            ("group_id", "0"),
        ] {
            fsconfig_set_string(&context, key, value)?;
        }
        fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NODEV | MountAttrFlags::MOUNT_ATTR_NOSUID;
        let directory = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        Ok(Self { connection, directory })
    }
}
