//! Roots of the kernel's files, so that a test can put a tree of its own in their place.

use crate::error::{Error, Result};
use crate::nodes::{Kernel, Nodes};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Folders with the system's programs, in the order of search. The caller's `PATH` is not asked: a
/// program of the same name in a user's folder must not format disks as root.
const PROGRAM_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The roots of the kernel's and the system's files.
#[derive(Clone, Debug)]
pub struct System {
    /// sysfs, `/sys`.
    pub sys: PathBuf,
    /// procfs, `/proc`.
    pub proc: PathBuf,
    /// Device nodes, `/dev`.
    pub dev: PathBuf,
    /// Run-time state, `/run`: udev's database is there.
    pub run: PathBuf,
    /// Kernel modules, `/lib/modules`.
    pub modules: PathBuf,
    /// The kernel's files, `/boot`.
    pub boot: PathBuf,
    /// Folders that programs are looked for in, in this order.
    pub programs: Vec<PathBuf>,
    pub(crate) nodes: Arc<dyn Nodes>,
}

/// Folder of the newest installed PostgreSQL server, which Debian keeps out of the usual ones.
fn postgresql() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let number = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let newest = versions.flatten().map(|entry| entry.path()).max_by_key(number)?;
    Some(newest.join("bin"))
}

impl System {
    /// This machine.
    #[must_use]
    pub fn host() -> Self {
        let programs = PROGRAM_FOLDERS.iter().map(PathBuf::from).chain(postgresql()).collect();
        let modules = "/lib/modules".into();
        Self { modules, programs, ..Self::rooted_at(Path::new("/")) }
    }

    /// A tree with `sys`, `proc`, `dev`, `run`, `modules`, `boot` and `bin` below one folder, as tests make it.
    #[must_use]
    pub fn rooted_at(root: &Path) -> Self {
        Self {
            sys: root.join("sys"),
            proc: root.join("proc"),
            dev: root.join("dev"),
            run: root.join("run"),
            modules: root.join("modules"),
            boot: root.join("boot"),
            programs: vec![root.join("bin")],
            nodes: Arc::new(Kernel),
        }
    }

    /// The executable of that name; `None` when it is not installed.
    #[must_use]
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        let executable = |path: &PathBuf| {
            path.metadata()
                .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
        };
        self.programs.iter().map(|folder| folder.join(name)).find(executable)
    }

    /// Id of this boot (`/proc/sys/kernel/random/boot_id`).
    ///
    /// # Errors
    /// When procfs cannot be read.
    pub fn boot_id(&self) -> Result<String> {
        read(&self.proc.join("sys/kernel/random/boot_id"))
    }

    /// Number of this process as procfs counts it: in a PID namespace of its own under the host's
    /// `/proc` that is another one than the process knows itself.
    #[must_use]
    pub fn own_pid(&self) -> u32 {
        let link = fs::read_link(self.proc.join("self")).ok();
        let number = link.and_then(|target| target.to_str()?.parse().ok());
        number.unwrap_or_else(std::process::id)
    }

    /// Numbers of all processes in procfs.
    pub(crate) fn processes(&self) -> Vec<u32> {
        names(&self.proc).iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// Folder of a block device, whole or partition, in `class/block`; it may not exist.
    #[must_use]
    pub fn block(&self, kernel_name: &str) -> PathBuf {
        self.sys.join("class/block").join(kernel_name)
    }

    /// Folder of the queue of a block device; a partition has that of its disk.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn queue(&self, kernel_name: &str) -> Result<PathBuf> {
        let block = self.block(kernel_name);
        let own = block.join("queue");
        if own.is_dir() {
            return Ok(own);
        }
        let real = fs::canonicalize(&block).map_err(Error::io("find", &block))?;
        let parents = real.parent().map(|disk| disk.join("queue")).filter(|queue| queue.is_dir());
        parents.ok_or_else(|| {
            let remedy = "name a disk, a partition or a loop device";
            Error::setting(kernel_name, "has no request queue", remedy)
        })
    }

    /// Kernel name of the whole disk whose queue a device uses.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn disk_of(&self, kernel_name: &str) -> Result<String> {
        let queue = self.queue(kernel_name)?;
        let real = fs::canonicalize(&queue).map_err(Error::io("find", &queue))?;
        let disk = real.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        Ok(disk.unwrap_or(kernel_name).to_owned())
    }
}

/// Reads a file of the kernel without the line end.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: &Path) -> Result<String> {
    let mut text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    text.truncate(text.trim_end().len());
    Ok(text)
}

/// Writes a file of the kernel.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(Error::io("write", path))
}

/// Reads a file of the kernel that may be missing, or may not be read on this device.
#[must_use]
pub fn read_optional(path: &Path) -> Option<String> {
    read(path).ok()
}

/// Reads a number; `None` when the file is missing.
///
/// # Errors
/// When it is there and is no number.
pub fn read_number<T: FromStr>(path: &Path) -> Result<Option<T>> {
    let text = match read(path) {
        Ok(text) => text,
        // EINVAL is what attributes answer that do not apply to the device's present state.
        Err(Error::Io { source, .. })
            if matches!(source.kind(), ErrorKind::NotFound | ErrorKind::InvalidInput) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    text.parse().map(Some).map_err(|_| Error::format(path, &text, "a number"))
}

impl Error {
    /// A file of the kernel that holds something else than was expected.
    pub(crate) fn format(path: impl Into<PathBuf>, text: &str, expected: &'static str) -> Self {
        Self::Format { path: path.into(), content: shortened(text), expected }
    }
}

/// At most 60 characters, for messages.
pub(crate) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(60).collect()
}

/// Names in a folder, sorted; empty when there is no such folder.
#[must_use]
pub fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
