//! Guest memory: the directory it is allocated in, and the number of guests that fit.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Access, StatVfsMountFlags, access, fstat, stat, statvfs};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_string, fsmount,
    fsopen,
};
use seekwell_model::units::Bytes;

#[cfg(test)]
mod tests;

/// The directory chosen for the guests' memory, and the number of guests that fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryCapacity {
    /// The directory.
    pub directory: PathBuf,
    /// Number of guests that fit at once, at most as many as requested.
    pub guests: usize,
    /// Memory for disks that were made once and are kept for the run: a part of what the guests leave.
    pub frozen: Bytes,
    /// A note for the user; `None` when everything is as requested.
    pub note: Option<String>,
}

/// Space of the filesystem of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// Free space.
    pub(crate) free: Bytes,
    /// Size.
    pub(crate) size: Bytes,
}

/// A directory with its space, or the reason why it cannot be used.
pub(crate) type Candidate = (PathBuf, Result<Space, &'static str>);

/// Directory for the guests' memory, which is never written to a disk.
pub(crate) const SHARED_MEMORY: &str = "/dev/shm";

/// A guest's memory is mapped executable, so the mount must allow programs.
const NOEXEC: &str = "is mounted noexec";

/// Measures a directory that could hold the guests' memory.
pub(crate) fn look(directory: &Path) -> Candidate {
    (directory.to_owned(), space(directory))
}

fn space(directory: &Path) -> Result<Space, &'static str> {
    let facts = statvfs(directory).map_err(|_| "cannot be used")?;
    if facts.f_flag.contains(StatVfsMountFlags::NOEXEC) {
        return Err(NOEXEC);
    }
    if access(directory, Access::WRITE_OK).is_err() {
        return Err("cannot be written to");
    }
    let bytes = |blocks: u64| Bytes(blocks.saturating_mul(facts.f_frsize));
    Ok(Space { free: bytes(facts.f_bavail), size: bytes(facts.f_blocks) })
}

/// The directory for the memory of a guest that would go to `directory`: where that is shared memory and this process
/// may mount, another tmpfs, of huge pages: a lab of small appends takes 0.74 times the CPU time (`benches/runs/virtual`), with
/// the same results. It has no name and ends with this process and its guests.
pub(crate) fn in_huge_pages(directory: &Path) -> io::Result<PathBuf> {
    static MOUNT: OnceLock<Option<OwnedFd>> = OnceLock::new();
    let mount = match directory == Path::new(SHARED_MEMORY) {
        true => MOUNT.get_or_init(|| huge_pages().ok()).as_ref(),
        false => None,
    };
    let named = mount.and_then(|mount| {
        let path = format!("/proc/{}/fd/{}", std::process::id(), mount.as_raw_fd());
        // In a namespace of processes that sees another one's /proc this is another process, or none.
        let (there, own) = (stat(&path).ok()?, fstat(mount).ok()?);
        ((there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)).then(|| PathBuf::from(path))
    });
    named.map_or_else(|| std::fs::canonicalize(directory), Ok)
}

fn huge_pages() -> io::Result<OwnedFd> {
    let options = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // As large as the machine's memory: the space was looked for in shared memory.
    for (key, value) in [("huge", "always"), ("size", "100%"), ("mode", "700")] {
        fsconfig_set_string(&options, key, value)?;
    }
    fsconfig_create(&options)?;
    let nothing_else = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&options, FsMountFlags::FSMOUNT_CLOEXEC, nothing_else)?)
}

/// RAM of this machine.
pub(crate) fn machine_memory() -> Bytes {
    let facts = rustix::system::sysinfo();
    Bytes((facts.totalram as u64).saturating_mul(u64::from(facts.mem_unit)))
}

/// RAM that programs can still have: guests of other runs are not in shared memory where they have huge pages.
/// `None` where the kernel does not say it.
pub(crate) fn available() -> Option<Bytes> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(Bytes(kib.saturating_mul(1024)))
}

/// Returns the first candidate with space for a guest of `largest`, and the number of guests that fit into it
/// and into the machine's `memory`. The first of `candidates` is the one in RAM.
///
/// # Errors
/// When no candidate has space for one guest: the space of each, and the command that helps.
pub(crate) fn choose(
    largest: Bytes,
    at_most: usize,
    memory: Bytes,
    candidates: &[Candidate],
) -> Result<MemoryCapacity, String> {
    let fitting = |space: Bytes| usize::try_from(space.0 / largest.0.max(1)).unwrap_or(usize::MAX);
    for (index, (directory, space)) in candidates.iter().enumerate() {
        let fit = space.map_or(0, |space| fitting(space.free));
        if fit > 0 {
            let guests = at_most.min(fit).min(fitting(memory)).max(1);
            let fewer = (guests < at_most).then(|| {
                format!("{guests} of {at_most} guests of {largest} fit into memory at a time")
            });
            let elsewhere = (index > 0).then(|| elsewhere(directory, &candidates[0], largest));
            let notes: Vec<String> = [fewer, elsewhere].into_iter().flatten().collect();
            let note = (!notes.is_empty()).then(|| notes.join("; "));
            let frozen = frozen(memory, Bytes(largest.0.saturating_mul(guests as u64)));
            return Ok(MemoryCapacity { directory: directory.clone(), guests, frozen, note });
        }
    }
    let found = candidates.iter().map(found).collect::<Vec<_>>().join(", ");
    let help = candidates.first().map(|wanted| format!("; to fix: {}", help(wanted, largest)));
    Err(format!("{found}{}", help.unwrap_or_default()))
}

/// Memory for frozen disks next to guests of so many bytes: a quarter of the rest. The copies that trials change,
/// the page cache of the files behind them, and other programs need the remainder.
pub(crate) fn frozen(machine: Bytes, guests: Bytes) -> Bytes {
    Bytes(machine.0.saturating_sub(guests.0) / 4)
}

fn found((directory, space): &Candidate) -> String {
    match space {
        Ok(space) => format!("{} has {} free", directory.display(), space.free),
        Err(why) => format!("{} {why}", directory.display()),
    }
}

fn elsewhere(directory: &Path, wanted: &Candidate, largest: Bytes) -> String {
    format!(
        "guest memory is in {} because {}; on a disk this makes trials several times slower; to fix: {}",
        directory.display(),
        found(wanted),
        help(wanted, largest)
    )
}

/// Returns the command that makes a directory usable for a guest.
fn help((directory, space): &Candidate, largest: Bytes) -> String {
    let option = match space {
        Ok(space) => {
            let needed = space.size.0.saturating_sub(space.free.0).saturating_add(largest.0);
            format!("size={}m", needed.div_ceil(1 << 20))
        }
        Err(why) if *why == NOEXEC => "exec".to_owned(),
        Err(_) => format!("size={}m", largest.0.div_ceil(1 << 20)),
    };
    format!("mount -o remount,{option} {}", directory.display())
}
