//! Landlock: the files that a process may open for the rest of its life. Kernels before 5.13, and those
//! that do not have it switched on, have no such limit.

use rustix::fs::{CWD, FileType, Mode, OFlags};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Files that a reader opens besides those that are open already.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    reads: Vec<PathBuf>,
    writes: Vec<PathBuf>,
    fills: Vec<PathBuf>,
    keeps: Vec<PathBuf>,
}

impl Reach {
    /// Reads this file or folder.
    #[must_use]
    pub fn reading(mut self, path: &Path) -> Self {
        self.reads.push(path.to_owned());
        self
    }

    /// Writes this file, which may not exist yet: drafts of it are made in its folder.
    #[must_use]
    pub fn writing(mut self, path: &Path) -> Self {
        self.writes.push(path.to_owned());
        self
    }

    /// Makes files in this folder, which exists, and removes it with them when its work fails.
    #[must_use]
    pub fn filling(mut self, folder: &Path) -> Self {
        self.fills.push(folder.to_owned());
        self
    }

    /// Reads a trace, folder or pack, and keeps what has no room in memory in a file without a name in the same folder.
    #[must_use]
    pub fn reading_trace(mut self, path: &Path) -> Self {
        let folder = if path.is_dir() { path } else { folder_of(path) };
        self.keeps.push(folder.to_owned());
        self.reading(path)
    }

    /// Reads a database of SQLite: what a killed writer left is rolled back first.
    #[must_use]
    pub fn reading_database(mut self, path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push("-journal");
        let journal = PathBuf::from(name);
        if journal.symlink_metadata().is_ok() {
            self.writes.extend([path.to_owned(), journal]);
        }
        self.reading(path)
    }
}

/// Rights of `linux/landlock.h`.
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_DIR: u64 = 1 << 3;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const TRUNCATE: u64 = 1 << 14;

const READ: u64 = READ_FILE | READ_DIR;
/// Rights in the folder of an output: drafts, the rename into place, and the sync of the folder.
const WRITE_IN: u64 = WRITE_FILE | READ_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | TRUNCATE;
/// Rights to an output that exists: it is compared with the new one before it is replaced.
const WRITE: u64 = READ_FILE | WRITE_FILE | TRUNCATE;
/// Rights that exist for files that are no folders.
const OF_FILES: u64 = READ_FILE | WRITE_FILE | TRUNCATE;

/// Rights that each version of Landlock restricts: all of its own.
const RIGHTS: [u64; 5] =
    [(1 << 13) - 1, (1 << 14) - 1, (1 << 15) - 1, (1 << 15) - 1, (1 << 16) - 1];
/// Connecting and binding of TCP, from version 4 on.
const TCP: u64 = 3;
const TCP_SINCE: usize = 4;

const CREATE_RULESET_VERSION: u32 = 1;
const RULE_PATH_BENEATH: u32 = 1;

#[repr(C)]
struct Ruleset {
    access_fs: u64,
    access_net: u64,
}

#[repr(C, packed)]
struct PathBeneath {
    allowed: u64,
    parent: i32,
}

/// Limits the files that this process opens from now on. Returns false where the kernel has no Landlock.
///
/// # Errors
/// The kernel's. The process must not be able to get new privileges (`no_new_privs`).
pub(super) fn limit(reach: &Reach) -> io::Result<bool> {
    let Some(version) = version() else { return Ok(false) };
    let handled = RIGHTS[version.min(RIGHTS.len()) - 1];
    let rules = ruleset(version, handled)?;
    for path in &reach.reads {
        allow(&rules, path, READ & handled)?;
    }
    for path in &reach.writes {
        // A terminal or a pipe is written to as it is.
        if path.symlink_metadata().is_ok_and(|about| about.is_file()) || !path.exists() {
            allow(&rules, folder_of(path), WRITE_IN & handled)?;
        }
        allow(&rules, path, WRITE & handled)?;
    }
    for folder in &reach.fills {
        allow(&rules, folder, (READ | WRITE_IN) & handled)?;
        // Of the folder around it nothing but empty folders can be removed.
        allow(&rules, folder_of(folder), REMOVE_DIR & handled)?;
    }
    for folder in &reach.keeps {
        allow(&rules, folder, (READ_FILE | WRITE_FILE) & handled)?;
    }
    // SAFETY: the call takes a descriptor and a number.
    let done = unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) };
    if done == 0 { Ok(true) } else { Err(io::Error::last_os_error()) }
}

/// True where the kernel has Landlock.
#[cfg(test)]
pub(super) fn is_there() -> bool {
    version().is_some()
}

/// Version of Landlock; `None` where there is none.
fn version() -> Option<usize> {
    let none = std::ptr::null::<Ruleset>();
    // SAFETY: without a ruleset the call takes numbers.
    let version = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, CREATE_RULESET_VERSION)
    };
    usize::try_from(version).ok().filter(|version| *version > 0)
}

fn ruleset(version: usize, handled: u64) -> io::Result<OwnedFd> {
    let access_net = if version >= TCP_SINCE { TCP } else { 0 };
    let rules = Ruleset { access_fs: handled, access_net };
    // Earlier kernels take the first field alone.
    let known = if version >= TCP_SINCE { size_of::<Ruleset>() } else { size_of::<u64>() };
    // SAFETY: the ruleset lives during the call, which copies `known` bytes of it.
    let made =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, known, 0) };
    match i32::try_from(made) {
        // SAFETY: the kernel has just made this descriptor for us alone.
        Ok(made) if made >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(made) }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Allows these rights at a path and below it. A path that leads nowhere needs none: nothing is opened there.
fn allow(rules: &OwnedFd, path: &Path, rights: u64) -> io::Result<()> {
    let Ok(place) = rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
    else {
        return Ok(());
    };
    let facts = rustix::fs::fstat(place.as_fd())?;
    let is_folder = FileType::from_raw_mode(facts.st_mode) == FileType::Directory;
    let allowed = if is_folder { rights } else { rights & OF_FILES };
    let rule = PathBeneath { allowed, parent: place.as_raw_fd() };
    // SAFETY: the rule and its descriptor live during the call, which copies the rule.
    let done = unsafe {
        let rules = rules.as_raw_fd();
        libc::syscall(libc::SYS_landlock_add_rule, rules, RULE_PATH_BENEATH, &raw const rule, 0)
    };
    let error = io::Error::last_os_error();
    // A pipe of the shell is in no filesystem that Landlock restricts.
    if done == 0 || error.raw_os_error() == Some(libc::EBADFD) { Ok(()) } else { Err(error) }
}

/// The folder in which a file is made: the nearest that exists, because missing ones are made too.
fn folder_of(path: &Path) -> &Path {
    let above = path.ancestors().skip(1).find(|folder| folder.is_dir());
    above.unwrap_or(Path::new("."))
}
