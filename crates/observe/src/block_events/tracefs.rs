//! Reaching tracefs without mounting it anywhere, and one instance in it.

use super::INSTANCE_PREFIX;
use crate::error::ObserveError;
use rustix::fs::{AtFlags, Dir, DirEntry, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

/// The usual mount point of tracefs; the fallback when we may not make a mount of our own.
const USUAL_MOUNT: &str = "/sys/kernel/tracing";

/// Opens a directory.
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::RDONLY).union(OFlags::CLOEXEC);

/// Attempts to remove an instance that is in use: one second in all.
const BUSY_ATTEMPTS: u32 = 100;
const BUSY_WAIT: Duration = Duration::from_millis(10);

/// The root directory of tracefs.
#[derive(Debug)]
pub(super) struct Tracefs {
    root: OwnedFd,
}

impl Tracefs {
    pub(super) fn open() -> Result<Self, ObserveError> {
        let root = Self::detached().or_else(|first| {
            Self::usual().ok_or(ObserveError::NoTracefs { source: first.into() })
        })?;
        Ok(Self { root })
    }

    /// A mount that is attached nowhere and ends with its descriptor (Linux 5.2).
    fn detached() -> Result<OwnedFd, Errno> {
        let context = rustix::mount::fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_create(&context)?;
        rustix::mount::fsmount(
            &context,
            FsMountFlags::FSMOUNT_CLOEXEC,
            MountAttrFlags::MOUNT_ATTR_NOSUID
                | MountAttrFlags::MOUNT_ATTR_NODEV
                | MountAttrFlags::MOUNT_ATTR_NOEXEC,
        )
    }

    /// Names of all instances, ours and others'.
    pub(super) fn instances(&self) -> Result<Vec<String>, ObserveError> {
        let failed = || ObserveError::io("read", PathBuf::from(USUAL_MOUNT).join("instances"));
        let folder = openat(&self.root, "instances", FOLDER, Mode::empty()).map_err(failed())?;
        names(&folder).map_err(failed())
    }

    /// The system's mount, when it holds what a tracefs holds.
    fn usual() -> Option<OwnedFd> {
        let root = rustix::fs::open(USUAL_MOUNT, FOLDER, Mode::empty()).ok()?;
        openat(&root, "instances", FOLDER, Mode::empty()).ok().map(|_| root)
    }
}

fn names(folder: &OwnedFd) -> Result<Vec<String>, Errno> {
    let name = |entry: DirEntry| entry.file_name().to_string_lossy().into_owned();
    Dir::read_from(folder)?.map(|entry| entry.map(name)).collect()
}

/// One tracing instance. Dropping it removes it as far as the kernel lets us.
#[derive(Debug)]
pub(super) struct Instance {
    tracefs: Tracefs,
    folder: OwnedFd,
    name: String,
    removed: bool,
}

fn check_name(name: &str) -> Result<(), ObserveError> {
    let ours = name
        .strip_prefix(INSTANCE_PREFIX)
        .is_some_and(|rest| !rest.is_empty() && !rest.contains(['/', '\0']) && name.len() <= 255);
    if ours { Ok(()) } else { Err(ObserveError::InstanceName(name.to_owned())) }
}

fn display(name: &str, file: &str) -> PathBuf {
    PathBuf::from(USUAL_MOUNT).join("instances").join(name).join(file)
}

impl Instance {
    pub(super) fn create(tracefs: Tracefs, name: &str) -> Result<Self, ObserveError> {
        check_name(name)?;
        let failed = |action| ObserveError::io(action, display(name, ""));
        let relative = format!("instances/{name}");
        mkdirat(&tracefs.root, relative.as_str(), Mode::RWXU).map_err(failed("create"))?;
        match openat(&tracefs.root, relative.as_str(), FOLDER, Mode::empty()) {
            Ok(folder) => Ok(Self { tracefs, folder, name: name.to_owned(), removed: false }),
            Err(error) => {
                // No instance may stay behind; the first error is the one to report.
                let _ = unlinkat(&tracefs.root, relative.as_str(), AtFlags::REMOVEDIR);
                Err(failed("open")(error))
            }
        }
    }

    pub(super) fn remove(tracefs: &Tracefs, name: &str) -> Result<bool, ObserveError> {
        check_name(name)?;
        let relative = format!("instances/{name}");
        for _ in 0..BUSY_ATTEMPTS {
            match unlinkat(&tracefs.root, relative.as_str(), AtFlags::REMOVEDIR) {
                Ok(()) => return Ok(true),
                Err(Errno::NOENT) => return Ok(false),
                // A child process between fork and exec still holds our descriptors.
                Err(Errno::BUSY) => std::thread::sleep(BUSY_WAIT),
                Err(error) => return Err(ObserveError::io("remove", display(name, ""))(error)),
            }
        }
        Err(ObserveError::io("remove", display(name, ""))(Errno::BUSY))
    }

    /// Removes every unused instance whose name has this prefix, and returns their names.
    pub(super) fn remove_unused(
        tracefs: &Tracefs,
        prefix: &str,
    ) -> Result<Vec<String>, ObserveError> {
        let mut names = tracefs.instances()?;
        names.retain(|name| {
            let relative = format!("instances/{name}");
            // EBUSY is the kernel's word for an instance in use.
            name.starts_with(prefix)
                && check_name(name).is_ok()
                && unlinkat(&tracefs.root, relative, AtFlags::REMOVEDIR).is_ok()
        });
        Ok(names)
    }

    /// Path of a file of the instance for messages.
    pub(super) fn path(&self, file: &str) -> PathBuf {
        display(&self.name, file)
    }

    fn open(&self, file: &str, flags: OFlags) -> Result<OwnedFd, ObserveError> {
        openat(&self.folder, file, flags | OFlags::CLOEXEC, Mode::empty())
            .map_err(ObserveError::io("open", self.path(file)))
    }

    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), ObserveError> {
        let opened = self.open(file, OFlags::WRONLY | OFlags::TRUNC)?;
        rustix::io::write(&opened, text.as_bytes())
            .map(|_| ())
            .map_err(ObserveError::io("write", self.path(file)))
    }

    pub(super) fn read(&self, file: &str) -> Result<String, ObserveError> {
        let opened = std::fs::File::from(self.open(file, OFlags::RDONLY)?);
        std::io::read_to_string(opened).map_err(ObserveError::io("read", self.path(file)))
    }

    /// Names in `per_cpu`: `cpu0`, `cpu1` …
    fn cpus(&self) -> Result<Vec<String>, ObserveError> {
        let folder = self.open("per_cpu", FOLDER)?;
        let mut names = names(&folder).map_err(ObserveError::io("read", self.path("per_cpu")))?;
        names.retain(|name| name.starts_with("cpu"));
        Ok(names)
    }

    pub(super) fn open_rings(&self) -> Result<Vec<OwnedFd>, ObserveError> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        self.cpus()?
            .iter()
            .map(|cpu| self.open(&format!("per_cpu/{cpu}/trace_pipe_raw"), flags))
            .collect()
    }

    /// Size of one page of a ring: a page of memory unless `buffer_subbuf_size_kb` (Linux 6.8)
    /// says otherwise.
    pub(super) fn page_bytes(&self) -> Result<usize, ObserveError> {
        let page = rustix::param::page_size();
        let Ok(text) = self.read("buffer_subbuf_size_kb") else { return Ok(page) };
        let kib: usize = text.trim().parse().map_err(|_| ObserveError::Malformed {
            path: self.path("buffer_subbuf_size_kb"),
            text: text.trim().to_owned(),
            expected: "a number",
        })?;
        Ok(page.max(kib * 1024))
    }

    /// Events that the kernel could not keep, over all CPUs.
    pub(super) fn lost_events(&self) -> Result<u64, ObserveError> {
        let mut lost = 0;
        for cpu in self.cpus()? {
            lost += lost_in_stats(&self.read(&format!("per_cpu/{cpu}/stats"))?);
        }
        Ok(lost)
    }

    pub(super) fn close(mut self) -> Result<(), ObserveError> {
        self.removed = true;
        Self::remove(&self.tracefs, &self.name).map(|_| ())
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if !self.removed {
            // The undo list tries again; the error cannot be reported here.
            let _ = Self::remove(&self.tracefs, &self.name);
        }
    }
}

/// The three ways in which `per_cpu/cpuN/stats` counts lost events.
pub(super) fn lost_in_stats(text: &str) -> u64 {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
        .filter_map(|(_, value)| value.trim().parse::<u64>().ok())
        .sum()
}
