//! Locks on the machine and on undo lists. No other user can take them, and every wait for one ends
//! with the name of the process that has it.

use super::OF_SERVED;
use super::content::{Owner, load};
use super::owners::is_alive;
use crate::error::{Error, Result};
use crate::state;
use crate::sysfs::{self, System};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait for a list that another process is restoring: a scheduler switch waits for its queue,
/// and a killed owner for its last system call.
const LIST_PATIENCE: Duration = Duration::from_secs(60);
const LIST_POLL: Duration = Duration::from_millis(20);

/// Name of the lock. Up to version 0.3 it was `lock`, which any user could open and so hold.
const NAME: &str = "machine.lock";

/// The right to change this machine: one run at a time. Two runs would measure each other, and the
/// second would take what the first has set for what there was before.
///
/// The lock lasts as long as a descriptor of it is open in any process, so that a guardian that
/// inherits it keeps the machine until everything is put back. `None` when another process has it;
/// [`holder`] names it.
///
/// # Errors
/// When the folder or the file cannot be made or locked, or another user could have made it.
pub fn lock(system: &System, folder: &Path) -> Result<Option<File>> {
    state::folder(folder)?;
    let path = folder.join(NAME);
    let file = match state::create(&path) {
        Err(Error::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {
            state::open_own(&path)?
        }
        made => made?,
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        // A run of an earlier version has another lock, but a list here.
        Ok(()) => Ok(live_owner(system, folder).is_none().then_some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(Error::io("lock", &path)(error)),
    }
}

/// Another process that will put back a list in this folder.
fn live_owner(system: &System, folder: &Path) -> Option<u32> {
    let own = system.own_pid();
    super::lists(folder).iter().filter(|path| !is_of_served(path)).find_map(|path| {
        let content = state::open_own(path).and_then(|mut file| load(&mut file, path)).ok()?;
        let live = |owner: &&Owner| owner.pid != own && is_alive(system, **owner);
        content.owners.iter().find(live).map(|owner| owner.pid)
    })
}

/// True for the list of a served device: runs measure on one while it is served.
fn is_of_served(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains(OF_SERVED))
}

/// The process that has the lock of the machine, for messages: `process 4242 (seekwell)`.
#[must_use]
pub fn holder(system: &System, folder: &Path) -> String {
    match live_owner(system, folder) {
        Some(pid) => named(system, pid).unwrap_or_else(|| format!("process {pid}")),
        None => holder_of(system, &folder.join(NAME)),
    }
}

/// Locks a list that is about to be put back.
pub(super) fn lock_list(system: &System, file: &File, path: &Path) -> Result<()> {
    lock_within(system, file, path, LIST_PATIENCE)
}

pub(super) fn lock_within(
    system: &System,
    file: &File,
    path: &Path,
    patience: Duration,
) -> Result<()> {
    let begin = Instant::now();
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) => {}
            Err(error) => return Err(Error::io("lock the undo list", path)(error)),
        }
        let waited = begin.elapsed();
        if waited >= patience {
            let holder = holder_of(system, path);
            return Err(Error::Timeout {
                what: format!("the undo list {} is still locked by {holder}", path.display()),
                waited,
                remedy: "end that process, then run seekwell doctor as root".to_owned(),
            });
        }
        sleep(LIST_POLL);
    }
}

/// A process that has a lock on a file. The kernel names the process that took the lock, which may
/// have died and left its descriptor to a child: then it is a process that has the file open.
fn holder_of(system: &System, path: &Path) -> String {
    let unknown = || "an unknown process".to_owned();
    let Ok(file) = fs::metadata(path) else { return unknown() };
    let locks = sysfs::read_optional(&system.proc.join("locks")).unwrap_or_default();
    let locked = locks.lines().filter_map(|line| lock_owner(line, file.ino()));
    let all = sysfs::names(&system.proc).into_iter().filter_map(|name| name.parse().ok());
    let own = system.own_pid();
    let with_it_open = all.filter(|pid| *pid != own && has_open(system, *pid, &file));
    locked.chain(with_it_open).find_map(|pid| named(system, pid)).unwrap_or_else(unknown)
}

/// `process 42 (name)`; `None` when there is no such process.
fn named(system: &System, pid: u32) -> Option<String> {
    let name = sysfs::read_optional(&system.proc.join(pid.to_string()).join("comm"))?;
    Some(format!("process {pid} ({name})"))
}

/// The process in a line of `/proc/locks` such as `1: FLOCK  ADVISORY  WRITE 42 fe:00:1308 0 EOF`.
pub(super) fn lock_owner(line: &str, inode: u64) -> Option<u32> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let of_inode = words.get(5)?.rsplit(':').next()?.parse::<u64>().ok()? == inode;
    (*words.get(1)? == "FLOCK" && of_inode).then(|| words.get(4)?.parse().ok())?
}

fn has_open(system: &System, pid: u32, file: &fs::Metadata) -> bool {
    let folder = system.proc.join(pid.to_string()).join("fd");
    sysfs::names(&folder).iter().any(|name| {
        let facts = fs::metadata(folder.join(name));
        facts.is_ok_and(|facts| (facts.dev(), facts.ino()) == (file.dev(), file.ino()))
    })
}
