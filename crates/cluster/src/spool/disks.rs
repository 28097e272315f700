//! Locks on the nodes' disks: of the nodes that see one disk, one writes to it.
//!
//! The lock of a disk is a folder with one file, which has the name of the worker that writes. It comes into its place by
//! renaming, which succeeds in place of an empty folder alone, also over NFS. The worker removes its file at its end.
//! After the death of a worker the next one of its node removes that file, or the session does once the scheduler says
//! that the worker has ended. Nobody can remove the lock of another worker so, whoever has it by then. Silence is no
//! proof: a node that hangs may write again.

use super::{DISKS, Spool, failed, fnv, names, read, remove};
use crate::error::ClusterError;
use seekwell_trust::shown;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// Attempts to lock a disk whose lock is released meanwhile.
const MOST_ATTEMPTS: u32 = 100;

/// Time between two of them.
const UNTIL_NEXT_ATTEMPT: Duration = Duration::from_millis(10);

/// A worker that writes to a disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// Name of the disk that all nodes know, such as its world-wide name.
    pub disk: String,
    /// Name of the node.
    pub node: String,
    /// Boot of the node: several nodes may have one name.
    pub boot: String,
    /// The worker.
    pub task: String,
}

impl Writer {
    fn is_on_node_of(&self, other: &Self) -> bool {
        (&self.node, &self.boot) == (&other.node, &other.boot)
    }
}

impl Spool {
    /// Locks a disk for a worker; returns the worker of another node that has it. The lock of an earlier worker of the
    /// same node is removed: the lock of that machine, which the caller has, is free only when that one has ended.
    ///
    /// # Errors
    /// When the folder cannot be read or written, or is locked and released again and again.
    pub fn lock_disk(&self, writer: &Writer) -> Result<Option<Writer>, ClusterError> {
        let draft = self.path(DISKS).join(format!(".{}", writer.task));
        let (made, wrong) =
            (fs::DirBuilder::new().mode(0o700).create(&draft), failed("make", &draft));
        match made {
            // Of an attempt that was interrupted.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.map_err(wrong)?,
        }
        let other = self
            .write(&draft.join(&writer.task), writer, true)
            .and_then(|()| self.put_lock(&draft, writer));
        // There if the disk is another worker's.
        remove(&draft)?;
        other
    }

    /// Puts the folder with a worker's file in the place of the lock; returns the worker of another node that has it.
    fn put_lock(&self, draft: &Path, writer: &Writer) -> Result<Option<Writer>, ClusterError> {
        let lock = self.lock_of(&writer.disk);
        let mut attempts = 0;
        loop {
            let Err(error) = fs::rename(draft, &lock) else { return Ok(None) };
            match self.holder(&lock)? {
                // Over NFS a renaming that was done may be answered with an error.
                Some(holder) if holder == *writer => return Ok(None),
                Some(holder) if holder.is_on_node_of(writer) => self.release_disk(&holder)?,
                Some(holder) => return Ok(Some(holder)),
                // Released just now.
                None if attempts < MOST_ATTEMPTS => std::thread::sleep(UNTIL_NEXT_ATTEMPT),
                None => return Err(failed("lock", &lock)(error)),
            }
            attempts += 1;
        }
    }

    /// Releases the disk of a worker, unless another one has it.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn release_disk(&self, writer: &Writer) -> Result<(), ClusterError> {
        remove(&self.lock_of(&writer.disk).join(&writer.task))
    }

    /// File that locks a disk for a worker, for messages.
    #[must_use]
    pub fn file_of(&self, writer: &Writer) -> PathBuf {
        shown(&self.lock_of(&writer.disk)).join(&writer.task)
    }

    /// Folder of the lock on a disk.
    fn lock_of(&self, disk: &str) -> PathBuf {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = disk.chars().map(safe).collect();
        // Two names may become one without their other characters.
        self.path(DISKS).join(format!("{name}-{:016x}", fnv(disk.as_bytes())))
    }

    /// The worker whose file is in the folder of a lock.
    fn holder(&self, lock: &Path) -> Result<Option<Writer>, ClusterError> {
        if !lock.exists() {
            return Ok(None);
        }
        // NFS keeps a removed file that somebody reads, under another name.
        let file = names(lock)?.into_iter().find(|name| !name.starts_with('.'));
        file.map_or(Ok(None), |name| read(&lock.join(name)))
    }

    /// The workers that have locked a disk.
    pub(crate) fn writers(&self) -> Result<Vec<Writer>, ClusterError> {
        let folder = self.path(DISKS);
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let locks = names(&folder)?.into_iter().filter(|name| !name.starts_with('.'));
        let found: Result<Vec<Option<Writer>>, _> =
            locks.map(|name| self.holder(&folder.join(name))).collect();
        Ok(found?.into_iter().flatten().collect())
    }
}
