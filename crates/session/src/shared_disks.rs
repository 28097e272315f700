//! The disks of a node that other nodes may see too: a worker locks them in the folder of its run.

use crate::error::SessionError;
use seekwell_cluster::{Spool, Writer};
use seekwell_host::guard;
use seekwell_host::refusal::{Refusal, RefusalKind};
use seekwell_host::sysfs::System;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Locked disks; dropping it releases them.
pub(crate) struct SharedDisks {
    spool: Spool,
    writers: Vec<Writer>,
}

impl SharedDisks {
    /// Locks these disks for a worker. A disk without a name that other nodes know it by stays unlocked: it cannot be
    /// told from theirs.
    ///
    /// # Errors
    /// [`SessionError::Refused`] for a disk that a worker of another node has.
    pub(crate) fn lock<'a>(
        spool: &Spool,
        task: &str,
        system: &System,
        disks: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Self, SessionError> {
        let mut locked = Self { spool: spool.clone(), writers: Vec::new() };
        let boot = system.boot_id().map_err(SessionError::Boot)?;
        let node = rustix::system::uname().nodename().to_string_lossy().into_owned();
        for path in disks {
            let bond = guard::bind(system, path)?;
            let Some(disk) = bond.identity().name_everywhere() else { continue };
            // Two partitions of one disk.
            if locked.writers.iter().any(|writer| writer.disk == disk) {
                continue;
            }
            let (node, boot) = (node.clone(), boot.trim().to_owned());
            locked.add(path, Writer { disk, node, boot, task: task.to_owned() })?;
        }
        Ok(locked)
    }

    fn add(&mut self, path: &Path, writer: Writer) -> Result<(), SessionError> {
        if let Some(other) = self.spool.lock_disk(&writer)? {
            return Err(refusal(path, &other, &self.spool.file_of(&other)).into());
        }
        self.writers.push(writer);
        Ok(())
    }
}

impl Drop for SharedDisks {
    fn drop(&mut self) {
        for writer in &self.writers {
            // The session releases what is left once the scheduler says that this worker has ended.
            let _ = self.spool.release_disk(writer);
        }
    }
}

fn refusal(path: &Path, other: &Writer, lock: &Path) -> Refusal {
    Refusal {
        target: path.to_owned(),
        kind: RefusalKind::Busy,
        reason: format!(
            "{} writes to this disk ({}) for the same run, as worker {}",
            other.node, other.disk, other.task
        ),
        remedy: format!(
            "give each node a disk of its own; if that worker is dead, remove {}",
            lock.display()
        ),
    }
}
