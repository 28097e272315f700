//! A CPU of its own for a worker on a node where the scheduler binds none.
//!
//! Clock and guest of a trial wait for each other all the time. Where two workers share CPUs that neither is bound to,
//! the kernel moves one's guest to the other's CPU, and both wait. Plain runs bind their lanes; so does a worker.

use rustix::fs::{FlockOperation, Mode, OFlags, flock, open};
use rustix::io;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::os::fd::OwnedFd;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Folder with a folder for each CPU. A lock on one of them leaves nothing behind.
pub(crate) const CPUS: &str = "/sys/devices/system/cpu";

/// A CPU that no other worker of this node takes. Dropping it lets others have it; the binding stays.
#[derive(Debug)]
pub(crate) struct OwnCpu {
    /// Number of the CPU.
    pub(crate) number: usize,
    _lock: OwnedFd,
}

impl OwnCpu {
    /// Binds the calling thread, and those it starts, to the first CPU that no worker has. `None` if it has only one,
    /// or if all are taken: then the kernel places it, as before.
    pub(crate) fn bind(cpus: &Path) -> Option<Self> {
        let allowed = sched_getaffinity(None).ok()?;
        if allowed.count() < 2 {
            return None;
        }
        let mut numbers = (0..CpuSet::MAX_CPU).filter(|number| allowed.is_set(*number));
        let own = numbers.find_map(|number| Some(Self { number, _lock: lock(cpus, number).ok()? }));
        let own = own?;
        let mut set = CpuSet::new();
        set.set(own.number);
        sched_setaffinity(None, &set).ok()?;
        Some(own)
    }
}

/// Locks a CPU's folder, unless another worker has it.
fn lock(cpus: &Path, number: usize) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(cpus.join(format!("cpu{number}")), flags, Mode::empty())?;
    flock(&folder, FlockOperation::NonBlockingLockExclusive)?;
    Ok(folder)
}
