//! Locks on the nodes' disks: of the nodes that see one disk, one writes to it.
//!
//! A lock appears whole with a hard link, which only one worker can make, also over NFS. Its worker removes it at its
//! end. After the death of a worker the next one of its node takes the lock over, or the session removes it once the
//! scheduler says that the worker has ended. Silence is no proof: a node that hangs may write again.

use super::{DISKS, Spool, failed, fnv, names, read, remove};
use crate::error::ClusterError;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

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
    /// same node is taken over: the lock of that machine, which the caller has, is free only when that one has ended.
    ///
    /// # Errors
    /// When the folder cannot be written, or its filesystem has no hard links.
    pub fn lock_disk(&self, writer: &Writer) -> Result<Option<Writer>, ClusterError> {
        let path = self.lock_of(&writer.disk);
        let draft = self.path(DISKS).join(format!(".{}", writer.task));
        self.write(&draft, writer)?;
        let linked = fs::hard_link(&draft, &path);
        remove(&draft)?;
        let Err(error) = linked else { return Ok(None) };
        match read::<Writer>(&path)? {
            // Over NFS a link that was made may be answered with "file exists".
            Some(holder) if holder == *writer => Ok(None),
            Some(holder) if holder.is_on_node_of(writer) => {
                self.write(&path, writer).map(|()| None)
            }
            Some(holder) => Ok(Some(holder)),
            None => Err(failed("lock", &path)(error)),
        }
    }

    /// Releases the disk of a worker, unless another one has it.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub fn release_disk(&self, writer: &Writer) -> Result<(), ClusterError> {
        let path = self.lock_of(&writer.disk);
        if read::<Writer>(&path)?.as_ref() == Some(writer) {
            self.release_if(&path, writer)?;
        }
        Ok(())
    }

    /// Removes a lock that was this worker's when it was read. Since then the next worker of the node may have taken it over:
    /// it is looked at under a name of this process alone, and put back if it is another one's.
    fn release_if(&self, path: &Path, writer: &Writer) -> Result<(), ClusterError> {
        let aside = self.path(DISKS).join(format!(".released-{}", writer.task));
        match fs::rename(path, &aside) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            moved => moved.map_err(failed("release", path))?,
        }
        if read::<Writer>(&aside)?.as_ref() != Some(writer) {
            fs::hard_link(&aside, path).map_err(failed("put back", path))?;
        }
        remove(&aside)
    }

    /// File of the lock on a disk.
    #[must_use]
    pub fn lock_of(&self, disk: &str) -> PathBuf {
        let safe = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = disk.chars().map(safe).collect();
        // Two names may become one without their other characters.
        self.path(DISKS).join(format!("{name}-{:016x}", fnv(disk.as_bytes())))
    }

    /// The workers that have locked a disk.
    pub(crate) fn writers(&self) -> Result<Vec<Writer>, ClusterError> {
        let folder = self.path(DISKS);
        if !folder.exists() {
            return Ok(Vec::new());
        }
        let locks = names(&folder)?.into_iter().filter(|name| !name.starts_with('.'));
        let found: Result<Vec<Option<Writer>>, _> =
            locks.map(|name| read(&folder.join(name))).collect();
        Ok(found?.into_iter().flatten().collect())
    }
}
